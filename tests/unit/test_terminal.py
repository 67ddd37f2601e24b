# SPDX-License-Identifier: Apache-2.0
"""What comes from outside cannot steer the terminal."""

import io
import tomllib

from rich.table import Table
from rich.text import Text

from hoplab.host.terminal import SafeConsole, visible, visible_toml

HOSTILE = "a\x1b[2Jb\x9b31mc\x07\rd\u202ee\udc9b"


def test_control_characters_are_shown_as_escapes() -> None:
    shown = "a\\x1b[2Jb\\x9b31mc\\x07\\x0dd\\u202ee\\x9b"
    assert visible(HOSTILE) == shown
    assert visible("Zoë\t→ n0\n") == "Zoë\t→ n0\n"


def test_whatever_is_printed_is_shown_so() -> None:
    table = Table(title=Text("\x1b]0;title\x07"))
    table.add_column("\x9b")
    table.add_row(Text(HOSTILE))
    for printed in (HOSTILE, Text(HOSTILE), table):
        file = io.StringIO()
        SafeConsole(file=file, width=80).print(printed, markup=False, highlight=False)
        assert not set(file.getvalue()) & set("\x1b\x9b\x07\r\u202e\udc9b")
        assert "\\x9b" in file.getvalue()


def test_a_terminal_still_gets_colours() -> None:
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, color_system="standard").print("[red]x[/] \x9b")
    assert "\x1b[31mx" in file.getvalue()
    assert "\x9b" not in file.getvalue()


def test_toml_means_the_same_afterwards() -> None:
    text = 'title = "a\x9bb\u202e"\n'
    assert tomllib.loads(visible_toml(text)) == tomllib.loads(text)
    assert "\x9b" not in visible_toml(text)

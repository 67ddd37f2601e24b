# SPDX-License-Identifier: Apache-2.0
"""What commands say where no guest is needed."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.cli import get_docs_for_click
from typer.testing import CliRunner

from hoplab.front.commands import cli, start
from hoplab.front.commands import study as command
from hoplab.front.commands.cli import app
from hoplab.host.machine import select, uml
from hoplab.many.study.folder import names

SCENARIO = """
seed = 7
[topology]
kind = "chain"
stations = 2
[[flow]]
source = "n0"
destination = "n1"
"""


def test_help_breaks_no_word_and_names_no_type_of_a_switch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["--help"], ["run", "--help"], ["init", "--help"]):
        cli.command()(args=words, standalone_mode=False)
    said = capsys.readouterr().out
    assert "<bool>" not in said
    assert {"random-waypoint,", "ns2-stock,"} <= set(said.split())


def test_the_page_of_options_has_whole_sentences() -> None:
    made = cli.command()
    import typer

    text = get_docs_for_click(obj=made, ctx=typer.Context(made), name="hoplab", title="Options")
    assert "..." not in re.sub(r"^\$ .*$|^\* `[^`]*`", "", text, flags=re.MULTILINE)


def test_what_would_be_run_is_printed_and_nothing_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SCENARIO)
    machine = SimpleNamespace(kernel=Path("/m/linux"), root=Path("/m/root.cpio"), id="abc")
    monkeypatch.setattr(select, "chosen", lambda file: machine)
    monkeypatch.setattr(uml, "_facts", lambda: {"confinement": "x", "environment": {"A": "b c"}})
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["run", str(file), "--show-command"]).stdout.splitlines()
    words = shlex.split(said[1])
    assert words[:5] == ["env", "-i", "A=b c", "/m/linux", "mem=320M"]
    assert words[-1] == "entropy_seed=7" and "initrd=root.cpio" in words
    assert said[3] == "python3 -S -P -m hoplab.guest.lab /out"
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


def test_a_title_holds_nothing_that_an_override_changes() -> None:
    title = start.text(start.Start(congestion_control="vegas")).splitlines()[1]
    assert title.startswith('title = "TCP over a chain network"')


def test_every_study_is_listed_with_a_sentence() -> None:
    rows = list(zip(*(column.cells for column in command.listing().columns), strict=True))
    assert [str(name) for name, _ in rows] == names()
    assert all(str(sentence).endswith(".") for _, sentence in rows)

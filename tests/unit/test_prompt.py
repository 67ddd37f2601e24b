# SPDX-License-Identifier: Apache-2.0
"""Who may have a prompt on a network, and how commands from a pipe or a file reach it."""

import contextlib
import json
import os
import sys
from io import BytesIO
from pathlib import Path

import pytest

from hoplab.guest.lab.prompt import Prompt, with_addresses
from hoplab.host.runs import kinds, launch
from hoplab.host.runs.piped import PART, Piped, parts
from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.file import parse
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.plan import plan
from hoplab.model.scenario.resolve import resolve

ADDRESSES = {"n1": "10.0.0.2", "n12": "10.0.0.13"}


def chain() -> Scenario:
    document = {"duration_s": 1, "topology": {"kind": "chain", "stations": 2}}
    return resolve(parse(document, "test"))


@pytest.mark.parametrize("kind", ["closed", "null", "file", "pipe"])
def test_a_prompt_needs_commands(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it is refused in one line, before anything is made."""
    file = tmp_path / "commands"
    file.write_text("n0 ping n1\n")
    reading, writing = os.pipe()
    given = {"null": os.open(os.devnull, os.O_RDONLY), "file": os.open(file, os.O_RDONLY)}
    given["pipe"] = reading
    monkeypatch.setattr(kinds.OwnGuest, "require", lambda *_: None)
    monkeypatch.setattr(kinds.OwnGuest, "prompt", lambda *_: 7)
    with contextlib.ExitStack() as stack:
        for descriptor in (*given.values(), writing):
            stack.callback(os.close, descriptor)
        stdin = os.fdopen(given[kind], closefd=False) if kind in given else None
        monkeypatch.setattr(sys, "stdin", stdin)
        if kind in ("file", "pipe"):
            assert launch.shell(chain(), tmp_path, kinds.OwnGuest()) == 7
            return
        with pytest.raises(ScenarioError, match=r"^standard input: has no commands") as told:
            launch.shell(chain(), tmp_path / "out", kinds.OwnGuest())
    assert told.value.exit_status == 2 and "\n" not in str(told.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("ping n1", "ping 10.0.0.2"),
        ("ping n1& echo n12;", "ping 10.0.0.2& echo 10.0.0.13;"),
        ("ping n12|tail", "ping 10.0.0.13|tail"),
        ("ssh root@n1 'n1' n1.example", "ssh root@n1 'n1' n1.example"),
        ("ls /n1 n", "ls /n1 n"),
    ],
)
def test_names_of_stations_that_are_words_become_addresses(command: str, found: str) -> None:
    assert with_addresses(command, ADDRESSES) == found


def test_a_script_ends_with_its_last_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Or with ``exit``; its status is that of the last one."""
    prompt = Prompt(plan(chain()), {})
    assert prompt.obey(["# said", "", "  nodes  ", "n7 ls\n"]) == 2
    assert prompt.obey(["n7 ls", "nodes\n", "exit", "n7 ls"]) == 0
    said = capsys.readouterr().out
    assert said.count("10.0.0.1 ") == 2
    assert said.count("n7: no such station") == 2


def test_help_says_how_a_command_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    prompt = Prompt(plan(chain()), {})
    prompt.onecmd("help")
    prompt.onecmd("help nodes")
    said = capsys.readouterr().out
    assert said.count("STATION COMMAND") == 1
    assert "every station with its address" in said


def test_commands_come_one_at_a_time_and_whole() -> None:
    lines = [b"n0 echo a\n", b"n0 echo " + b"x" * 5000 + b"\n", b"n0 echo \xff"]
    piped = Piped(BytesIO(b"".join(lines)))
    with contextlib.closing(piped), piped.other.makefile("rwb", buffering=0) as guest:
        found: list[bytes | None] = []
        while not found or found[-1] is not None:
            text, mark = "", b"+"
            while mark == b"+":
                guest.write(b"\n")
                answer = guest.readline()
                assert len(answer) <= PART + 2
                mark, text = answer[:1], text + answer[1:-1].decode()
            said = json.loads(text)
            found.append(said and said.encode("utf-8", "surrogateescape"))
    assert found == [*lines, None]
    assert parts(b"") == [b".null\n"]

# SPDX-License-Identifier: Apache-2.0
"""Who may have a prompt on a network, and how commands from a pipe or a file reach it."""

import contextlib
import json
import os
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.lab.present import Present
from hoplab.guest.lab.prompt import Prompt, with_addresses
from hoplab.host.runs import kinds, launch
from hoplab.host.runs.piped import PART, Piped, parts
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.faults import Event
from hoplab.model.keys.scenario import Scenario
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

ADDRESSES = {"n1": "10.0.0.2", "n12": "10.0.0.13"}


def chain(stations: int = 2, **more: Any) -> Scenario:
    document = {"duration_s": 1, "topology": {"kind": "chain", "stations": stations}, **more}
    return resolve(parse(document, "test"))


def prompt_on(scenario: Scenario, now_s: Callable[[], float] = lambda: 0.0) -> Prompt:
    return Prompt(plan(scenario), {}, Present(scenario, now_s))


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
    prompt = prompt_on(chain())
    assert prompt.obey(["# said", "", "  nodes  ", "n7 ls\n"]) == 2
    assert prompt.obey(["n7 ls", "nodes\n", "exit", "n7 ls"]) == 0
    said = capsys.readouterr().out
    assert said.count("10.0.0.1 ") == 2
    assert said.count("n7: no such station") == 2


def test_help_says_how_a_command_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    prompt = prompt_on(chain())
    prompt.onecmd("help")
    prompt.onecmd("help nodes")
    said = capsys.readouterr().out
    assert said.count("STATION COMMAND") == 1
    assert "every station with its address" in said


def test_places_and_links_are_those_of_now(capsys: pytest.CaptureFixture[str]) -> None:
    """By movement, by events of the scenario, and by what a user does."""
    way = [{"t_s": 0, "x_m": 0, "y_m": 0}, {"t_s": 10, "x_m": 0, "y_m": 100}]
    stations = [
        {"name": "n0", "waypoints": [list(point.values()) for point in way]},
        *({"name": f"n{i}", "x_m": 200.0 * i, "y_m": 0.0} for i in (1, 2)),
    ]
    events = [
        {"at_s": 5, "kind": "move", "station": "n1", "x_m": 200, "y_m": 20},
        {"at_s": 8, "kind": "down", "station": "n2"},
    ]
    scenario = resolve(parse({"duration_s": 9, "station": stations, "event": events}, "test"))
    now = [0.0]
    present = Present(scenario, lambda: now[0])
    prompt = Prompt(plan(scenario), {}, present)

    def told() -> tuple[list[str], list[str]]:
        prompt.onecmd("nodes")
        nodes = [line.split(maxsplit=2)[2] for line in capsys.readouterr().out.splitlines()]
        prompt.onecmd("links")
        return nodes, [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    chain = ["n0 n1", "n1 n0 n2", "n2 n1"]
    now[0] = -1.0  # before the measured part
    assert told() == (["radio  0 m, 0 m", "radio  200 m, 0 m", "radio  400 m, 0 m"], chain)
    now[0] = 6.0
    assert told() == (["radio  0 m, 60 m", "radio  200 m, 20 m", "radio  400 m, 0 m"], chain)
    # Dragged, and dragged on: the place is that of the last request at once.
    for x_m, y_m in ((350.0, 50.0), (600.0, 30.0)):
        event = {"at_s": 6.0, "kind": "move", "station": "n1", "x_m": x_m, "y_m": y_m}
        present.take(Event.model_validate(event))
    nodes, links = told()
    assert nodes[1] == "radio  600 m, 30 m"
    assert links == ["n0 (nobody)", "n1 n2", "n2 n1"]
    now[0] = 30.0  # which is beyond the scenario's duration, too
    nodes, links = told()
    assert nodes == ["radio  0 m, 100 m", "radio  600 m, 30 m", "off    400 m, 0 m"]
    assert links == ["n0 (nobody)", "n1 (nobody)", "n2 (nobody)"]


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

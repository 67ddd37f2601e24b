# SPDX-License-Identifier: Apache-2.0
"""Answers that a command asks for before it needs them."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from hoplab.host.machine import ahead
from hoplab.model.resources import PROJECT

SAYS = (sys.executable, "-c", "import sys; print('yes'); sys.stderr.write('no'); sys.exit(3)")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ahead.Command]]:
    """Every program that is started, in order."""
    commands: list[ahead.Command] = []
    start = ahead._started

    def noted(command: ahead.Command) -> "subprocess.Popen[str]":
        commands.append(command)
        return start(command)

    monkeypatch.setattr(ahead, "_started", noted)
    monkeypatch.setattr(ahead, "KERNEL", SAYS)
    monkeypatch.setattr(ahead, "_asked", {})
    monkeypatch.setattr(ahead, "_answered", set())
    yield commands


def test_what_was_asked_for_is_not_asked_again(started: list[ahead.Command]) -> None:
    ahead.ask()
    assert started == [SAYS, ahead.FACTS]
    for _ in range(2):
        said = ahead.answer(SAYS)
        assert (said.returncode, said.stdout, said.stderr) == (3, "yes\n", "no")
    assert started == [SAYS, ahead.FACTS, SAYS]
    assert '"confinement"' in ahead.answer(ahead.FACTS).stdout


def test_a_program_that_is_not_there_is_told_who_needs_it(
    started: list[ahead.Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "KERNEL", ("/nowhere/build",))
    ahead.ask()
    with pytest.raises(FileNotFoundError, match="/nowhere/build"):
        ahead.answer(ahead.KERNEL)
    ahead.close()


def test_what_is_known_is_not_asked_and_nothing_is_left(started: list[ahead.Command]) -> None:
    ahead.answer(SAYS)
    ahead.ask()
    assert started == [SAYS, ahead.FACTS]
    process = ahead._asked[ahead.FACTS]
    ahead.close()
    assert process.returncode is not None and not ahead._asked


def test_only_commands_of_guests_ask() -> None:
    """A help page does not, nor what reads a run."""
    code = (
        "import sys; sys.argv = ['hoplab', *sys.argv[1:]]\n"
        "from hoplab.host.machine import ahead\n"
        "ahead.ask = lambda: print('asks')\n"
        "from hoplab.__main__ import main\n"
        "main()\n"
    )

    def said(*words: str) -> str:
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True).stdout

    assert said("run", "/nowhere.toml").startswith("asks")
    assert "asks" not in said("run", "--help")
    assert "asks" not in said("ls")

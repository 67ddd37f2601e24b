# SPDX-License-Identifier: Apache-2.0
"""When the watch takes a guest for one that hangs, by what the host shows of it."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from hoplab.host.machine import clock, pace, processes, uml, watch
from hoplab.host.machine.cores import Core
from hoplab.host.machine.guests import Boot, Guest
from hoplab.host.machine.processes import Process
from hoplab.model.errors import GuestFailed

LOOKS = 5
BUSY = "; it computed in spinner (3 of 3 looks)"


def verdict(
    monkeypatch: pytest.MonkeyPatch, folder: Path, virtual_s: list[float | None]
) -> str | None:
    """Return the verdict on a guest that computes 20 s before each look and shows these clocks."""
    looks: list[int] = []

    def seen(pid: int) -> list[Process]:
        looks.append(pid)
        return [Process(pid, "R", 20.0 * len(looks), 0.0)]

    looked = iter(virtual_s)
    monkeypatch.setattr(watch, "TICK_S", 0.001)
    monkeypatch.setattr(processes, "of", seen)
    monkeypatch.setattr(processes, "has_ended", lambda pid: len(looks) == len(virtual_s))
    monkeypatch.setattr(clock, "virtual_s", lambda pid, binary: next(looked))
    monkeypatch.setattr(clock, "running", lambda pid, binary: None)
    guest = subprocess.Popen(["sleep", "60"], start_new_session=True)
    core = Core()
    try:
        watched = watch.Watch(guest, folder, folder, core, watch.Limits(progress=True))
        watched._thread.join(60.0)  # it ends with a verdict, or when the guest has gone
        watched.close()
        return watched.verdict
    finally:
        core.close()
        watch.kill(guest)
        guest.wait()


def test_a_clock_that_stands_is_a_hang(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = verdict(monkeypatch, tmp_path, [1.0] * LOOKS)
    assert told is not None and told.startswith("hung: no virtual time passed in 40 s")


def test_a_clock_that_cannot_be_read_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A guest that ends has none. Before its end its clock went on, unseen by the last look."""
    assert verdict(monkeypatch, tmp_path, [1.0, 2.0] + [None] * LOOKS) is None


def told(
    monkeypatch: pytest.MonkeyPatch, folder: Path, core: Core, virtual_s: list[float]
) -> list[str]:
    """Return the reports about a guest that computes 2 s before each look, with these clocks."""
    looks: list[int] = []

    def seen(pid: int) -> list[Process]:
        looks.append(pid)
        return [Process(pid, "R", 2.0 * len(looks), 0.0)]

    looked = iter(virtual_s)
    monkeypatch.setattr(processes, "of", seen)
    monkeypatch.setattr(processes, "has_ended", lambda pid: len(looks) == len(virtual_s))
    monkeypatch.setattr(clock, "virtual_s", lambda pid, binary: next(looked))
    monkeypatch.setattr(clock, "running", lambda pid, binary: "spinner")
    guest = subprocess.Popen(["sleep", "60"], start_new_session=True)
    lines: list[str] = []
    try:
        limits = watch.Limits(True, tell=lines.append, tell_after_s=5.0)
        with closing(watch.Watch(guest, folder, folder, core, limits)) as watched:
            watched._thread.join(60.0)
        assert watched.verdict is None
    finally:
        watch.kill(guest)
        guest.wait()
    return lines


@pytest.mark.parametrize(
    ("virtual_s", "lines"),
    [
        (
            [1.0] * 9,
            ["no virtual time passed in 6 s of processor time" + BUSY],
        ),
        (
            [1.0 + 0.1 * look for look in range(9)],
            ["only 0.3 virtual s passed in 6 s of processor time" + BUSY],
        ),
        ([1.0 + 0.25 * look for look in range(9)], []),
    ],
)
@pytest.mark.usefixtures("quick")
def test_a_clock_that_creeps_is_told_once(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    core: Core,
    virtual_s: list[float],
    lines: list[str],
) -> None:
    """A loop that reads the clock moves it by 256 ns each time, so no limit ever ends it."""
    assert told(monkeypatch, tmp_path, core, [virtual_s[0], *virtual_s]) == lines


@pytest.fixture
def core() -> Iterator[Core]:
    with closing(Core()) as core:
        yield core


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch looks often, and takes a guest for hung after some hundred looks."""
    monkeypatch.setattr(watch, "TICK_S", 0.001)
    monkeypatch.setattr(watch, "SLEEP_LIMIT_S", 0.5)


@pytest.mark.usefixtures("quick")
def test_a_guest_that_has_ended_does_not_hang(tmp_path: Path, core: Core) -> None:
    """Nobody has asked for its end yet, so it is a zombie, which uses no processor."""
    guest = subprocess.Popen(["true"], start_new_session=True)
    processes.wait_for_end(guest.pid)
    watched = watch.Watch(guest, tmp_path, tmp_path, core, watch.Limits(progress=True, wall_s=1e-9))
    watched._thread.join(60.0)
    assert not watched._thread.is_alive() and watched.verdict is None
    assert guest.wait() == 0


@pytest.mark.usefixtures("quick")
def test_what_an_ended_guest_leaves_does_not_hold_its_output(tmp_path: Path, core: Core) -> None:
    guest = subprocess.Popen(
        ["sh", "-c", "echo said; sleep 1000 & exit 3"],
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    with closing(watch.Watch(guest, tmp_path, tmp_path, core, watch.Limits(progress=True))):
        assert guest.stdout is not None and guest.stdout.read() == b"said\n"
    assert guest.wait() == 3
    guest.stdout.close()


@pytest.mark.usefixtures("quick")
def test_a_pace_leaves_an_ended_guest_to_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it reaped, its number could be another process's when the watch asks for it."""
    guest = subprocess.Popen(["true"], start_new_session=True)
    processes.wait_for_end(guest.pid)
    ahead = count()
    monkeypatch.setattr(clock, "virtual_s", lambda pid, binary: float(next(ahead)))
    held: list[bool] = []
    slow = pace.Pace(1e-3, lambda: 0.0, 1e9)
    with closing(pace.Pacer(guest, tmp_path, slow, held.append)) as pacer:
        while not held:
            pacer._ended.wait(0.001)
    assert held == [True, False]
    assert os.waitid(os.P_PID, guest.pid, os.WEXITED | os.WNOWAIT) is not None
    assert guest.wait() == 0


@pytest.mark.usefixtures("quick")
def test_a_guest_that_ran_ahead_before_the_first_look_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy host may start the pace's thread late."""
    guest = subprocess.Popen(["sleep", "60"], start_new_session=True)
    clocks = iter([0.6, None])
    monkeypatch.setattr(clock, "virtual_s", lambda pid, binary: next(clocks))
    held: list[bool] = []
    try:
        with closing(
            pace.Pacer(guest, tmp_path, pace.Pace(60, lambda: 0.0, 1), held.append)
        ) as pacer:
            pacer._thread.join(60.0)  # it ends at the clock that cannot be read
        assert held == [True, False]
    finally:
        watch.kill(guest)
        guest.wait()


class Ordinary(Guest):
    """A program in a guest's place."""

    kernel = Path("/bin/sh")
    root = ()

    def __init__(self, script: str) -> None:
        self._script = script

    def command(self, boot: Boot) -> list[str]:
        return [str(self.kernel), "-c", self._script]

    def writable(self) -> list[str]:
        return []

    def prepare(self, folder: Path, argv: object, boot: Boot, terminal: str) -> None:
        pass


@pytest.mark.usefixtures("quick")
def test_a_guest_that_ends_before_its_owner_looks_has_its_status() -> None:
    """On a busy host the owner imports for longer than a short run takes."""

    def while_booting() -> None:
        (watching,) = (t for t in threading.enumerate() if t.name == "watch")
        watching.join(60.0)

    result = uml.run_guest(
        Ordinary("echo 7 >status; echo begun"),
        [],
        streams=uml.Streams(on_line=lambda line: None, while_booting=while_booting),
        limits=watch.Limits(progress=True),
    )
    assert result.exit_status == 7


@pytest.mark.usefixtures("quick")
def test_a_guest_that_only_fails_to_stop_has_its_status() -> None:
    """Its command has ended, and all that it wrote is there."""
    result = uml.run_guest(
        Ordinary("echo 0 >status; sleep 1000"), [], limits=watch.Limits(progress=True)
    )
    assert result.exit_status == 0
    with pytest.raises(GuestFailed, match="hung: all its processes slept"):
        uml.run_guest(Ordinary("sleep 1000"), [], limits=watch.Limits(progress=True))

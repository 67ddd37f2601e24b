# SPDX-License-Identifier: Apache-2.0
"""When the watch takes a guest for one that hangs, by what the host shows of it."""

from __future__ import annotations

import subprocess
from itertools import count
from pathlib import Path

import pytest

from hoplab.host.machine import clock, processes, watch
from hoplab.host.machine.cores import Core
from hoplab.host.machine.processes import Process

LOOKS = 5


def verdict(
    monkeypatch: pytest.MonkeyPatch, folder: Path, virtual_s: list[float | None]
) -> str | None:
    """Return the verdict on a guest that computes 20 s before each look and shows these clocks."""
    look = count()

    def seen(pid: int) -> list[Process]:
        at = next(look)
        return [Process(pid, "R", 20.0 * (at + 1), 0.0)] if at < len(virtual_s) else []

    looked = iter(virtual_s)
    monkeypatch.setattr(watch, "TICK_S", 0.001)
    monkeypatch.setattr(processes, "of", seen)
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

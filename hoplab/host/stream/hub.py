# SPDX-License-Identifier: Apache-2.0
"""A run's stream: the thread that follows its records, and the outlets it feeds."""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from hoplab.host.stream import grafana
from hoplab.host.stream.about import Seconds, health_rows, plan_rows, run_row
from hoplab.host.stream.follow import Follower, content
from hoplab.host.stream.outlet import NICE, Account, Outlet
from hoplab.host.stream.sink import NANOSECONDS, Batch, Course, Sink
from hoplab.model.keys.resolved import Resolved

PAUSE_S = 0.05
"""Seconds between two readings of the records."""
GRACE_S = 5.0
"""Seconds that all sinks together have for their last rows."""
SAMPLES = "nodes"
"""The table that shows a run's progress."""


class Stream:
    """Gives a run's rows to ``sinks`` during the run. It serves one run; `close` it in any case."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        grace_s: float = GRACE_S,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """``tell`` receives the address at which the run can be watched, once it has begun."""
        self.accounts: list[Account] = []
        """The fate of the rows, one account for each sink, once the stream is closed."""
        self.course: Course | None = None
        """The run, once it has been launched and its time 0 has a date."""
        self._outlets = [Outlet(sink) for sink in sinks]
        self._grace_s = grace_s
        self._tell = tell
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._follower: Follower | None = None
        self._seconds = Seconds(0.0)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close("complete" if error is None else "failed")

    def begin(
        self,
        folder: Path,
        scenario: Resolved,
        machine: str,
        real_time: bool,
        endless: bool = False,
    ) -> None:
        """Follow the run in ``folder``, which is being launched; returns at once. An ``endless``
        one is followed beyond the scenario's duration."""
        if not self._outlets:
            return
        launched_ns = time.time_ns() // NANOSECONDS * NANOSECONDS
        end_s = math.inf if endless else scenario.duration_s
        self._follower = Follower(folder, end_s, self._followed)
        self._seconds = Seconds(end_s)
        self._thread = threading.Thread(
            target=self._follow,
            args=(folder, scenario, machine, None if real_time else launched_ns),
            name="stream",
            daemon=True,
        )
        self._thread.start()

    def progress(self, t_s: float, wall_s: float, goodput_kbps: float) -> None:
        """Report the run's progress."""
        row = {"t_s": t_s, "wall_s": round(wall_s, 3), "goodput_kbps": goodput_kbps}
        self._deliver(Batch("progress", [row]))

    def close(self, state: str = "complete") -> None:
        """End the stream after the run, when no more records come. Delivers the rest and ends the
        sinks, within the grace time. ``state`` is "complete" or "failed"."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._follower is not None:
            with contextlib.suppress(OSError):
                while self._follower.poll():
                    pass
            self._follower.close()
        if self.course is not None:
            self._last_words(self.course, state)
        deadline = time.monotonic() + self._grace_s
        for outlet in self._outlets:
            outlet.close(max(0.0, deadline - time.monotonic()))
        self.accounts = [outlet.account() for outlet in self._outlets]

    def warnings(self) -> list[str]:
        """Return lines for the user about rows that the sinks did not take."""
        lines = [warning for account in self.accounts if (warning := account.warning()) is not None]
        unreadable = self._follower.unreadable if self._follower is not None else 0
        if unreadable:
            lines.append(f"stream: {unreadable} lines of the run's records could not be read")
        return lines

    def summary(self) -> list[str]:
        """Return a line for each sink: the rows that it took, and the run's place on its axis of
        time."""
        if self.course is None:
            return []
        begin_s = self.course.start_ns / NANOSECONDS
        span = [
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(begin_s + t_s))
            for t_s in (0.0, self._seconds.end_s)
        ]
        lines = [
            f"stream: {account.samples} samples to {account.sink}, {span[0]} to {span[1]}"
            for account in self.accounts
        ]
        return lines + [f"Grafana: {link}" for link in [self.link()] if link is not None]

    def link(self) -> str | None:
        """Return the run's page in Grafana, if a database has its samples."""
        if self.course is None or not any(outlet.is_database for outlet in self._outlets):
            return None
        return grafana.of_run(self.course)

    def _followed(self, batch: Batch) -> None:
        """Pass on a follower's rows. A row of the run itself goes with each second."""
        self._deliver(batch)
        if batch.table == SAMPLES and self.course is not None:
            for t_s in self._seconds.reached(row["t_s"] for row in batch.rows):
                self._deliver(Batch("run", [run_row(self.course, "running", float(t_s))]))

    def _deliver(self, batch: Batch) -> None:
        for outlet in self._outlets:
            outlet.put(batch)

    def _follow(self, folder: Path, scenario: Resolved, machine: str, start_ns: int | None) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        while start_ns is None:
            # In real time the lab reports when time 0 is, before there are any rows.
            start_ns = told(folder, "realtime_epoch_ns")
            if self._ended.wait(PAUSE_S):
                return
        self.course = Course(folder.name, folder, scenario, machine, start_ns)
        for outlet in self._outlets:
            outlet.begin(self.course)
        self._deliver(Batch("run", [run_row(self.course, "running", 0.0)]))
        if self._tell is not None and (link := self.link()) is not None:
            self._tell(f"Grafana: {link}")
        if planned := plan_rows(self.course):
            self._deliver(Batch("plan", planned))
        assert self._follower is not None
        while not self._ended.wait(PAUSE_S):
            with contextlib.suppress(OSError):
                while self._follower.poll() and not self._ended.is_set():
                    pass

    def _last_words(self, course: Course, state: str) -> None:
        health = health_rows(_json(course.folder / "raw" / "medium.json"))
        if health:
            self._deliver(Batch("health", health))
        row = run_row(course, state, self._seconds.end_s)
        self._deliver(Batch("run", [row]))


def _json(path: Path) -> Any:
    try:
        return json.loads(content(path))
    except (OSError, ValueError, RecursionError):
        return None


def told(folder: Path, key: str) -> int | None:
    """Return a number from the lab's account of itself so far (`hoplab.guest.lab.account`)."""
    value = _json(folder / "raw" / "verdict.json")
    number = value.get(key) if isinstance(value, dict) else None
    return number if isinstance(number, int) else None

# SPDX-License-Identifier: Apache-2.0
"""The programs of a run: started, awaited, watched, stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from hoplab.guest.lab.clock import NANOSECONDS, Clock
from hoplab.guest.network.hosts import Hosts
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.probes.connections import Connections
from hoplab.guest.probes.listeners import listens
from hoplab.guest.probes.options import SackNotes
from hoplab.guest.probes.overhead import Overhead
from hoplab.guest.system.note import NOTES
from hoplab.guest.system.processes import Change
from hoplab.guest.traffic import processor, programs
from hoplab.guest.traffic.programs import Task
from hoplab.model import writing
from hoplab.model.errors import DaemonDied
from hoplab.model.keys.program import Ready
from hoplab.model.keys.resolved import ResolvedProgram
from hoplab.model.network.plan import Plan
from hoplab.model.network.reach import ETHERNET_MTU
from hoplab.model.records.writer import Records

GRACE_S = 5.0
"""Seconds between the signal that asks a program to end and the signal that forces it to."""
POLL_S = 0.01
"""Virtual seconds between two checks whether a program is ready."""
Action = Callable[[float], None]


class Programs:
    """Every program of a run, in the scenario's order."""

    def __init__(
        self,
        plan: Plan,
        namespaces: Namespaces,
        out: Path,
        clock: Clock,
        records: Records,
        sack: SackNotes,
    ) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._records = records
        self._out = out
        self._end_s = plan.scenario.duration_s
        self._early, self._early_s = plan.early, plan.early_s
        self._begun = False
        """Whether a program has been started."""
        self._narrow(plan)
        self._place = NOTES / f"{os.getpid()}-programs"
        shutil.rmtree(self._place, ignore_errors=True)  # left by a crashed process of this number
        self._hosts = Hosts(self._place / "etc", plan.host_names)
        self.tasks = [
            programs.made(program, self._place / "work", out) for program in plan.scenario.program
        ]
        if plan.scenario.machine.file:
            added = self._place / "added"
            programs.put(plan.scenario.machine.file, added)
            for task in self.tasks:
                task.found_first = added
        # Report what is missing before anything runs.
        found = {task.name: Path(programs.command(task)[0]) for task in self.tasks}
        self.doubts = [
            f"program {name}: {path.name} has instructions that draw random numbers from the "
            "processor (RDRAND, RDSEED); if it uses them, runs differ"
            for name, path in found.items()
            if processor.draws(path)
        ]
        """Reasons why the run may not be repeatable."""
        self._connections: Connections | None = None
        if any(program.measure for program in plan.scenario.program):
            self._connections = Connections(plan, self.tasks, records, out, sack)
        self._overhead: dict[str, Overhead] = {}
        """By routing daemon, the count of its packets."""
        for program in plan.scenario.program:
            if program.routing:
                self._count(program.name, program.station)
        self._before = signal.signal(signal.SIGCHLD, self._on_child)

    def _count(self, name: str, station: str) -> None:
        self._overhead[name] = Overhead(station, self._namespaces)

    def _narrow(self, plan: Plan) -> None:
        """Give radios the MTU that Linux gives a card, because a program sends the largest packets
        that fit. The longest frame of hwsim has no room for a QoS header. Stations use that header
        once they have heard each other's beacon. A program that tunnels packets needs room for its
        own headers, and narrows its tunnel."""
        if plan.scenario.is_found or plan.scenario.routing.protocol in (
            "dsr",
            "batman-adv",
            "hwmp",
        ):
            return
        for station in plan.radios:
            netlink = self._namespaces.netlink(station)
            further = [wlan.interface for wlan in plan.wlans[station][1:]]
            for interface in (plan.interface[station], *further):
                index = self._namespaces.index(station, interface)
                netlink.link("set", index=index, mtu=ETHERNET_MTU)

    def start_early(self) -> None:
        """Start the routing daemons at once, then the programs that time 0 waits for, and wait for
        each of these. Raises `DaemonDied` for the first one that is not ready within its time."""
        for task in self.tasks:
            if _routes_from_the_start(task.program):
                self._start(task, round(self._clock.now_s(), 9))
        lead_s = self._early_s
        for program in self._early:
            ready = program.ready
            assert ready is not None
            task = next(task for task in self.tasks if task.program is program)
            self._clock.sleep_until(-lead_s)
            self._start(task, -lead_s)
            self._wait(task, ready, ready.wait_s - lead_s)
            lead_s -= ready.wait_s

    def agenda(self) -> Iterator[tuple[float, int, int, Action]]:
        """Return the starts and stops in the form of the run's agenda, but not in order of time."""
        if self._overhead:
            yield 0.0, -1, 0, self._begin_to_count
        for i, task in enumerate(self.tasks):
            program = task.program
            if program.ready is None and not _routes_from_the_start(program):
                yield program.begin_s, 0, i, self._starter(task)
            stop_s = program.stop_s
            if stop_s is not None and stop_s < self._end_s:
                number = programs.signal_number(program)
                yield stop_s, 3, i, self._stopper(task, number)
                yield stop_s + GRACE_S, 3, i, self._stopper(task, signal.SIGKILL)

    def sample(self, t_s: float) -> None:
        """Add rows for every connection of the measured programs."""
        if self._connections is not None and self._begun:
            self._connections.sample(t_s)

    def drain(self) -> None:
        """Make room for further packets."""
        if self._connections is not None:
            self._connections.drain()

    def changed(self, change: Change, t_s: float) -> bool:
        """Return whether the child that changed is one of these programs. Raises `DaemonDied` if
        the change is an error."""
        for task in self.tasks:
            if task.process is None or task.process.pid != change.pid or task.status is not None:
                continue
            if change.status is None:
                raise DaemonDied(f"program {task.name}: {change} at {t_s:g} s")
            self._ended(task, change.status)
            self._judge(task)
            return True
        return False

    def finish(self) -> None:
        """Ask all programs to end, since the measured part is over. Raises `DaemonDied` for the
        first program that should have ended before."""
        self.sample(self._end_s)
        for task in self.tasks:
            if task.name in self._overhead:
                for counter, value in self._overhead[task.name].counts().items():
                    node = task.program.station
                    self._records.add("routing", node=node, counter=counter, value=value)
        going = [task for task in self.tasks if task.process is not None and task.status is None]
        for task in going:
            if task.program.expect is not None and not task.stopping:
                self._stop()
                raise DaemonDied(
                    f"program {task.name}: had not ended by {self._end_s:g} s, but expect is "
                    f"{task.program.expect}; it said last: {task.said}"
                )
        self._stop()

    def close(self) -> None:
        """End the programs that still run, keep what they wrote, and remove their folders."""
        self._stop()
        signal.signal(signal.SIGCHLD, self._before)
        try:
            if self._connections is not None:
                self._connections.close()
            for task in self.tasks:
                programs.keep(task, self._out)
            for overhead in self._overhead.values():
                overhead.close()
        finally:
            self._hosts.close()
            shutil.rmtree(self._place, ignore_errors=True)

    def _start(self, task: Task, t_s: float) -> None:
        if self._connections is not None and not self._begun:
            self._connections.begin()
        self._begun = True
        # Record the start first, because a program that computes endlessly never gives the
        # processor back. The host's file system hands over what was written when a file is closed.
        self._event(t_s, task, "program-start", task.name)
        self._records.flush()
        writing.added(self._out / "raw" / "events.jsonl").close()
        with contextlib.ExitStack() as stack:
            if task.name in self._overhead:
                stack.enter_context(self._overhead[task.name].counting())
            programs.start(task, self._namespaces, self._hosts)
        task.begin_s = t_s

    def _begin_to_count(self, t_s: float) -> None:
        for overhead in self._overhead.values():
            overhead.begin()

    def _starter(self, task: Task) -> Action:
        return lambda t_s: self._start(task, t_s)

    def _stopper(self, task: Task, number: int) -> Action:
        def stop(t_s: float) -> None:
            if task.process is None or task.status is not None:
                return
            if task.program.expect is not None and not task.stopping:
                raise DaemonDied(
                    f"program {task.name}: had not ended by its stop at {t_s:g} s, but expect is "
                    f"{task.program.expect}; it said last: {task.said}"
                )
            task.stopping = True
            task.signal(number)

        return stop

    def _stop(self) -> None:
        """End all programs that still run: by their signal, or by force if the signal does not
        help."""
        going = [task for task in self.tasks if task.process is not None and task.status is None]
        for task in going:
            task.stopping = True
            task.signal(programs.signal_number(task.program))
        deadline_s = self._clock.now_s() + GRACE_S
        for task in going:
            assert task.process is not None
            while task.process.poll() is None and self._clock.now_s() < deadline_s:
                time.sleep(POLL_S)
            if task.process.poll() is None:
                task.signal(signal.SIGKILL)
            self._ended(task, task.process.wait())

    def _ended(self, task: Task, status: int) -> None:
        assert task.process is not None
        task.process.wait()
        # Processes that it started and left behind end with it.
        task.signal(signal.SIGKILL)
        task.status = status
        if task.end_s is None:
            task.end_s = round(self._clock.now_s(), 9)
        self._event(task.end_s, task, "program-end", f"{task.name} status={status}")

    def _judge(self, task: Task) -> None:
        """Raise `DaemonDied` if a program did not end as it should."""
        expected = task.program.expect
        if task.stopping or task.status == (expected or 0):
            return
        how = Change(0, task.status)
        wanted = "" if expected is None else f", expected was {expected}"
        raise DaemonDied(
            f"program {task.name}: {how} at {task.end_s:g} s{wanted}; it said last: {task.said}"
        )

    def _wait(self, task: Task, ready: Ready, until_s: float) -> None:
        """Wait until the program is ready. Raises `DaemonDied` if it is not by ``until_s``."""
        assert task.process is not None
        if ready.after_s is not None:
            self._clock.sleep_until(until_s)
        while True:
            status = task.process.poll()
            if status is not None:
                self._ended(task, status)
                if ready.port is not None or ready.log is not None or status != 0:
                    raise DaemonDied(
                        f"program {task.name}: {Change(0, status)} before it was ready; it said "
                        f"last: {task.said}"
                    )
            if self._is_ready(task, ready):
                task.ready_s = round(self._clock.now_s(), 9)
                self._event(task.ready_s, task, "program-ready", task.name)
                return
            if self._clock.now_s() >= until_s:
                raise DaemonDied(
                    f"program {task.name}: was not ready within {ready.limit_s:g} s: "
                    f"{_lacking(task, ready)}; it said last: {task.said}"
                )
            time.sleep(POLL_S)

    def _is_ready(self, task: Task, ready: Ready) -> bool:
        if ready.port is not None:
            return listens(task.program.station, ready.port)
        if ready.log is not None:
            return any(output.look() for output in task.outputs)
        return True

    def _event(self, t_s: float, task: Task, kind: str, detail: str) -> None:
        node = task.program.station
        self._records.add("events", t_s=t_s, node=node, source="scenario", kind=kind, detail=detail)

    def _on_child(self, number: int, frame: FrameType | None) -> None:
        """A child has ended. If it is a program, record the time now, not at the next check."""
        now_s = round((time.monotonic_ns() - self._clock.epoch_ns) / NANOSECONDS, 9)
        for task in self.tasks:
            if task.process is None or task.status is not None or task.end_s is not None:
                continue
            found = os.waitid(os.P_PID, task.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                task.end_s = now_s


def _routes_from_the_start(program: ResolvedProgram) -> bool:
    return bool(program.routing) and program.start_s is None


def _lacking(task: Task, ready: Ready) -> str:
    if ready.port is not None:
        return f"nobody listens at port {ready.port} of {task.program.station}"
    return f"nothing in its logs matches {ready.log!r}"

# SPDX-License-Identifier: Apache-2.0
"""One run inside a kernel: build the network, start daemons and traffic, measure, stop.

Runs as root in whichever kernel it is started in: ``python -m hoplab.lab FOLDER`` reads
FOLDER/scenario.json (a resolved scenario) and writes FOLDER/raw and FOLDER/logs. Progress goes
to stdout as one JSON object a virtual second; the verdict to FOLDER/raw/verdict.json.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import heapq
import json
import platform
import signal
import subprocess
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from hoplab.errors import DaemonDied, HoplabError, ResultsError
from hoplab.machine.host import Note
from hoplab.medium import config as medium_config
from hoplab.network.build import Network, build
from hoplab.probes import captures
from hoplab.probes.sampler import Sampler
from hoplab.processes import Daemon, last_line, program
from hoplab.records.writer import Records
from hoplab.routing import daemons, static
from hoplab.scenario.model import Scenario
from hoplab.tcp import setup as tcp_setup
from hoplab.tcp.socket_settings import Group
from hoplab.traffic import flows
from hoplab.traffic.flows import Transfer

REAL_TIME = "--real-time"
PR_SET_TIMERSLACK = 29
NANOSECONDS = 1_000_000_000
STOP_GRACE_S = 2.0
REAL_TIME_LEAD_S = (2.0, 0.5)
"""In real time starting takes time: at least this much, and this much a station."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Clock:
    """Scenario time on CLOCK_MONOTONIC; time 0 is a whole second, so that daemons agree on it."""

    def __init__(self, lead_s: float) -> None:
        start = time.monotonic_ns() + round(lead_s * NANOSECONDS)
        self.epoch_ns = -(-start // NANOSECONDS) * NANOSECONDS

    def realtime_epoch_ns(self) -> int:
        """Date of time 0."""
        return time.time_ns() - time.monotonic_ns() + self.epoch_ns

    def now_s(self) -> float:
        return (time.monotonic_ns() - self.epoch_ns) / NANOSECONDS

    def sleep_until(self, t_s: float) -> None:
        delay = t_s - self.now_s()
        if delay > 0:
            time.sleep(delay)


class Lab:
    """A run in progress."""

    def __init__(self, scenario: Scenario, out: Path, real_time: bool) -> None:
        self.scenario = scenario
        self.out = out
        self.real_time = real_time
        self._undo = contextlib.ExitStack()
        self.records = Records(out / "raw")
        self.transfers = [Transfer(i, flow) for i, flow in enumerate(scenario.flow)]
        self.daemons: list[Daemon] = []
        self.captures: list[Daemon] = []
        self.facts: dict[str, Any] = {"kernel": platform.release()}
        self.network: Network | None = None
        self.sampler: Sampler | None = None

    def run(self) -> None:
        """The whole run."""
        clock = self.start_network()
        assert self.network is not None
        self._undo.callback(self._stop_captures)
        self.captures = captures.start(self.scenario, self.network, self.transfers, self.out)
        for transfer in self.transfers:
            flows.start_server(transfer, self.network, self.out)
        self._undo.callback(self._stop_transfers)
        self.sampler = Sampler(self.scenario, self.network, self.transfers, self.records)
        late_s = clock.now_s()
        if self.real_time and late_s > 0:
            raise HoplabError(f"set-up: took {late_s:.1f} s too long; raise warm_up_s")
        clock.sleep_until(0.0)
        for t_s, action in self._agenda(clock.epoch_ns):
            clock.sleep_until(t_s)
            # A host acts a little late; what is measured then bears the time at which it was.
            action(round(clock.now_s(), 6) if self.real_time else t_s)
        self.facts["virtual_s"] = self.scenario.duration_s

    def start_network(self) -> Clock:
        """Stations, channel and routing, without traffic."""
        self._undo.callback(self.records.close)
        self.network = build(self.scenario)
        self._undo.callback(self.network.close)
        self.facts["tcp_settings"] = tcp_setup.apply(self.scenario, self.network)
        group = Group(tcp_setup.socket_settings(self.scenario, self.transfers))
        self._undo.callback(group.close)
        note = Note(self.network.namespaces.names(), group.folder)
        self._undo.callback(note.close)
        lead_s = self.scenario.warm_up_s or 0.0
        if self.real_time:
            lead_s += REAL_TIME_LEAD_S[0] + REAL_TIME_LEAD_S[1] * len(self.scenario.station)
        clock = Clock(lead_s)
        self.facts["realtime_epoch_ns"] = clock.realtime_epoch_ns()
        self._undo.callback(self._stop_daemons)
        self._start_medium(clock)
        self._start_routing(clock)
        return clock

    def _agenda(self, epoch_ns: int) -> Iterator[tuple[float, Any]]:
        """Every action of the run in order of time; at equal times starts, samples, stops."""
        assert self.sampler is not None
        interval = self.scenario.measure.interval_s
        flow_actions: list[tuple[float, int, int, Any]] = []
        for transfer in self.transfers:
            flow = transfer.flow
            assert flow.stop_s is not None
            flow_actions.append((flow.start_s, 0, transfer.index, self._starter(transfer)))
            flow_actions.append((flow.stop_s, 2, transfer.index, self._stopper(transfer, epoch_ns)))
        flow_actions.sort(key=lambda entry: entry[:3])
        samples = (
            (round(step * interval, 9), 1, 0, self._sample)
            for step in range(1, round(self.scenario.duration_s / interval) + 1)
        )
        for t_s, _, _, action in heapq.merge(flow_actions, samples, key=lambda entry: entry[:3]):
            yield t_s, action

    def _starter(self, transfer: Transfer) -> Any:
        def start(t_s: float) -> None:
            assert self.network is not None
            flows.start_client(transfer, self.network, self.out, self.scenario.seed)
            self.records.add(
                "events",
                t_s=t_s,
                node=transfer.flow.source,
                source="scenario",
                kind="flow-start",
                detail=transfer.name,
            )

        return start

    def _stopper(self, transfer: Transfer, epoch_ns: int) -> Any:
        def stop(t_s: float) -> None:
            assert self.sampler is not None
            end_ns = flows.counted_end_ns(transfer)
            complete_s = None if end_ns is None else (end_ns - epoch_ns) / NANOSECONDS
            self.sampler.finish(transfer, t_s, complete_s)
            transfer.stop()

        return stop

    def _sample(self, t_s: float) -> None:
        assert self.sampler is not None
        self.sampler.sample(t_s)
        self._check_daemons(t_s)
        if abs(t_s - round(t_s)) < self.scenario.measure.interval_s / 2:
            progress = {"t_s": round(t_s, 3), "goodput_kbps": self.sampler.total_goodput_kbps()}
            self.records.flush()
            print(json.dumps(progress), flush=True)

    def _check_daemons(self, t_s: float) -> None:
        for daemon in (*self.daemons, *self.captures):
            status = daemon.process.poll()
            if status is not None:
                last = last_line(daemon.log)
                raise DaemonDied(
                    f"{daemon.name}: ended at {t_s:g} s with status {status}: {last}; "
                    f"see logs/{daemon.log.name}"
                )

    def _start_medium(self, clock: Clock) -> None:
        assert self.network is not None
        if self.network.radios is None:
            return
        # mac80211 keeps frames for others from an IBSS interface, promiscuous or not: only monitor
        # interfaces show them. DSR opens one, and in real time anybody may.
        overhear = self.real_time or self.scenario.routing.protocol == "dsr"
        config = medium_config.write(
            self.scenario, self.network, clock.epoch_ns, self.out, overhear
        )
        log = self.out / "logs" / "medium.log"
        process = subprocess.Popen(
            [program("hoplab-medium"), "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log.open("ab"),
        )
        daemon = Daemon("medium", process, log)
        self.daemons.append(daemon)
        assert process.stdout is not None
        if process.stdout.readline().strip() != b"ready":
            process.wait()
            raise DaemonDied(f"medium: did not start: {last_line(log)}; see logs/medium.log")

    def _start_routing(self, clock: Clock) -> None:
        assert self.network is not None
        if self.scenario.routing.protocol == "static":
            static.install(self.scenario, self.network)
        else:
            self.daemons += daemons.start(self.scenario, self.network, self.out, clock.epoch_ns)

    def close(self) -> None:
        """Stop what runs, in reverse order of starting, and remove what was built."""
        self._undo.close()

    def _stop_transfers(self) -> None:
        for transfer in self.transfers:
            transfer.stop()
        if self.sampler is not None:
            self.facts["flows"] = self.sampler.summaries()
            self.sampler.close()

    def _stop_captures(self) -> None:
        captures.stop(self.captures)

    def _stop_daemons(self) -> None:
        for daemon in reversed(self.daemons):
            _stop(daemon)


def _stop(daemon: Daemon) -> None:
    if daemon.process.poll() is None:
        daemon.process.terminate()
        try:
            daemon.process.wait(STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            daemon.process.kill()
            daemon.process.wait()


class Stopped(BaseException):
    """A signal asked the run to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


def prepare(out: Path) -> Scenario:
    """The scenario of the folder ``out``, with its places for records and logs made."""
    for folder in ("raw", "logs"):
        (out / folder).mkdir(exist_ok=True)
    return Scenario.model_validate_json((out / "scenario.json").read_text(encoding="utf-8"))


def main(arguments: list[str]) -> int:
    """``FOLDER [--real-time]``; returns the exit status."""
    out = Path(arguments[0])
    scenario = prepare(out)
    # Else the kernel wakes every process up to 50 us late; what is started inherits it.
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGINT, _on_signal)
    lab = Lab(scenario, out, REAL_TIME in arguments)
    verdict: dict[str, Any] = {"status": 0, "error": None}
    try:
        try:
            lab.run()
        finally:
            lab.close()
        captures.check_complete(lab.captures)
    except HoplabError as error:
        verdict = {"status": error.exit_status, "error": str(error)}
    except Stopped as stopped:
        verdict = {"status": 128 + stopped.number, "error": "stopped by a signal"}
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            full = ResultsError(f"results: cannot be written: {error.strerror}; free some space")
            verdict = {"status": full.exit_status, "error": str(full)}
        else:
            cause = f"lab: {type(error).__name__}: {error}; see logs/lab.log"
            verdict = {"status": 1, "error": cause}
            (out / "logs" / "lab.log").write_text(traceback.format_exc(), encoding="utf-8")
    with contextlib.suppress(OSError):  # the exit status tells too
        (out / "raw" / "verdict.json").write_text(
            json.dumps({**verdict, **lab.facts}), encoding="utf-8"
        )
    return int(verdict["status"])

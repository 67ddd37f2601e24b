# SPDX-License-Identifier: Apache-2.0
"""A network that somebody plays with, from outside: its machine, the line to it, its results."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hoplab.guest.system import signals
from hoplab.host.machine import host, uml
from hoplab.host.results.tables import raw_rows
from hoplab.host.runs import collect, folder, launch
from hoplab.host.runs.builder import Builder, Find, none_here
from hoplab.host.stream.hub import Stream
from hoplab.model.errors import GuestFailed, HoplabError
from hoplab.model.scenario.model import Scenario

ANSWER_S = 8.0
"""In which a request is answered; a flow's server has some seconds to listen."""
LONGEST_LINE = 1 << 20
LONGEST_REQUEST = 2048
"""In octets: well below what the terminal inside takes at once (N_TTY_BUF_SIZE: 4096)."""
MACHINE = "shell"
"""What the manifest says of a run in which somebody took part: there is nothing to repeat."""
ROOM_S = 3600.0
"""A session of so long has memory for its records."""


class Line:
    """To the lab inside: requests and their answers, and what it tells of its flows."""

    def __init__(self) -> None:
        self.on_flows: Callable[[list[dict[str, Any]], list[str]], None] = lambda flows, going: None
        """Told of every flow, and of the names of those that go."""
        self._own, self.other = socket.socketpair()
        self._lock = threading.Lock()
        self._number = 0
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._thread = threading.Thread(target=self._read, name="line", daemon=True)
        self._thread.start()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Have it done. Raises `HoplabError` with the reason where it is not."""
        answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._lock:
            self._number += 1
            number = self._number
            self._answers[number] = answer
        data = json.dumps({**request, "id": number}, separators=(",", ":")).encode() + b"\n"
        try:
            if len(data) > LONGEST_REQUEST:
                raise HoplabError(
                    f"the request: takes {len(data)} octets, the longest is {LONGEST_REQUEST}"
                )
            # Longer than a socket takes at once, two requests could mix.
            with self._lock:
                self._own.sendall(data)
            found = answer.get(timeout=ANSWER_S)
        except (queue.Empty, OSError):
            raise HoplabError("the network does not answer; it may not be up yet") from None
        finally:
            del self._answers[number]
        if "error" in found:
            raise HoplabError(str(found["error"]))
        return {}

    def close(self) -> None:
        """Nothing more is answered; who waits is told so."""
        for answer in list(self._answers.values()):
            answer.put({"error": "the network has ended"})
        for end in (self._own, self.other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._thread.join(1.0)

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                came = self._own.recv(1 << 16)
            except OSError:
                return
            if not came:
                return
            *lines, rest = (rest + came).split(b"\n")
            if len(rest) > LONGEST_LINE:
                rest = b""
            for line in lines:
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                    self._heard(json.loads(line))

    def _heard(self, said: dict[str, Any]) -> None:
        if "flows" in said:
            self.on_flows(said["flows"], said["going"])
        elif said["id"] in self._answers:
            self._answers[said["id"]].put(said)


def session(
    scenario: Scenario,
    source: Path | None,
    out: Path | None,
    machine: str,
    stream: Stream,
    line: Line,
    on_results: Callable[[Path], None] = lambda folder: None,
    find: Find = none_here,
) -> dict[str, Any]:
    """Bring the network up in real time, with a prompt where there is a terminal, until somebody
    ends it; returns the manifest. What was done is the scenario of the run's folder then.

    Raises the `HoplabError` of what went wrong; results so far are kept.
    """
    builder = launch.others(scenario, find)
    launch.require(scenario, machine)
    where = folder.made(out, source)
    with folder.held(where):
        folder.fill(where, scenario, source)
        collect.begin(where, scenario, None, MACHINE)
        started = time.monotonic()
        failure: BaseException | None = None
        status = GuestFailed.exit_status
        with stream:
            stream.begin(where, scenario, machine, real_time=True)
            try:
                status = _machine(scenario, where, machine, builder, line)
            except BaseException as error:  # Ctrl-C and SIGTERM too
                failure = error
            with signals.postponed():
                _close(where, scenario)
                manifest = collect.gather(where, time.monotonic() - started, status, failure)
                on_results(where)
    if failure is not None:
        raise failure
    verdict = manifest["verdict"]
    if verdict["status"] != 0:
        kept = f"results so far are in {folder.shown(where)}"
        raise HoplabError(f"{manifest['run']}: {verdict['error']}; {kept}")
    return manifest


def _machine(scenario: Scenario, out: Path, machine: str, builder: Builder, line: Line) -> int:
    terminal = sys.stdin.isatty()
    arguments = ["--prompt"] if terminal else []
    if machine == "host":
        return host.shell(out, line.other.fileno(), arguments, builder.environment)
    return uml.run_guest(
        [
            *launch.guest_python(builder),
            "-m",
            "hoplab.guest.lab.prompt",
            "/out",
            "--line",
            uml.LINE,
            *arguments,
        ],
        writable=out,
        folders=builder.folders,
        seed=scenario.seed,
        memory_mb=launch.memory_mb(scenario, ROOM_S),
        virtual=False,
        stdin=sys.stdin.fileno() if terminal else subprocess.DEVNULL,
        stdout=None if terminal else subprocess.DEVNULL,
        terminal=terminal,
        line=line.other.fileno(),
    ).exit_status


def _close(out: Path, scenario: Scenario) -> None:
    """Of a session that was cut short, the scenario ends where its samples do."""
    verdict = out / "raw" / "verdict.json"
    with contextlib.suppress(OSError, ValueError):
        if json.loads(verdict.read_text("utf-8")).get("virtual_s") is not None:
            return
    rows = raw_rows(out, "nodes") or raw_rows(out, "tcp")
    end_s = max((float(row["t_s"]) for row in rows), default=scenario.duration_s)
    ended = scenario.model_copy(update={"duration_s": max(end_s, 1e-3), "flow": ()})
    text = ended.model_dump_json(exclude_none=True, indent=1)
    (out / "scenario.json").write_text(text, encoding="utf-8")

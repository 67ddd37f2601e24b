# SPDX-License-Identifier: Apache-2.0
"""A session on a network, from outside: its machine, the line to it, its results."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from hoplab.guest.system import signals
from hoplab.host.results.manifest import Where
from hoplab.host.results.tables import recorded
from hoplab.host.runs.kinds import Attendable, Kind, Watched
from hoplab.model import lines, writing
from hoplab.model.errors import HoplabError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.lines import Lines
from hoplab.model.reading import value

ANSWER_S = 8.0
"""Seconds within which a request is answered; a flow's server has some seconds to listen."""
LONGEST_LINE = 1 << 20
LONGEST_REQUEST = 2048
"""Limit in octets, well below what the terminal inside takes at once (N_TTY_BUF_SIZE: 4096)."""


class Line:
    """The line to the lab inside: requests, their answers, and its reports of flows."""

    def __init__(self) -> None:
        self.on_flows: Callable[[list[dict[str, Any]], list[str]], None] = lambda flows, going: None
        """Receives every flow, and the names of those that run."""
        self._own, self.other = socket.socketpair()
        self._lock = threading.Lock()
        self._number = 0
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._thread = threading.Thread(target=self._read, name="line", daemon=True)
        self._thread.start()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request. Raises `HoplabError` with the reason if it fails."""
        answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._lock:
            self._number += 1
            number = self._number
            self._answers[number] = answer
        data = lines.line({**request, "id": number})
        try:
            if len(data) > LONGEST_REQUEST:
                raise HoplabError(
                    f"the request: takes {len(data)} octets, the longest is {LONGEST_REQUEST}"
                )
            # If requests were longer than a socket takes at once, two could mix.
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
        """End the answers, and report this to waiting callers."""
        for answer in list(self._answers.values()):
            answer.put({"error": "the network has ended"})
        for end in (self._own, self.other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._thread.join(1.0)

    def _read(self) -> None:
        cutter = Lines(LONGEST_LINE)
        while True:
            try:
                came = self._own.recv(1 << 16)
            except OSError:
                return
            if not came:
                return
            with contextlib.suppress(ValueError):
                for line in cutter.cut(came):
                    with contextlib.suppress(ValueError, KeyError, TypeError):
                        self._heard(lines.value(line))

    def _heard(self, said: dict[str, Any]) -> None:
        if "flows" in said:
            self.on_flows(said["flows"], said["going"])
        elif said["id"] in self._answers:
            self._answers[said["id"]].put(said)


@dataclass(frozen=True)
class Session(Kind):
    """A network on ``machine`` in which a user takes part, over ``line``, until the user ends it.
    It has a prompt if there is a terminal. Afterwards the scenario in the run's folder is what was
    done."""

    machine: Attendable
    line: Line
    name = Where.SHELL
    real_time = True
    endless = True

    @property
    def platform(self) -> Where:
        return self.machine.name

    def require(self, scenario: Resolved) -> None:
        self.machine.require(scenario)

    def run(self, scenario: Resolved, out: Path, watched: Watched) -> int:
        try:
            return self.machine.prompt(scenario, out, self.line.other.fileno())
        finally:
            with signals.postponed():
                _close(out, scenario)


def _close(out: Path, scenario: Resolved) -> None:
    """Let the scenario of a session that was cut short end with its samples."""
    verdict = value(out / "raw" / "verdict.json")
    if isinstance(verdict, dict) and verdict.get("virtual_s") is not None:
        return
    last_s = (pc.max(recorded(out, table)["t_s"]).as_py() for table in ("nodes", "tcp"))
    end_s = next((found for found in last_s if found is not None), scenario.duration_s)
    nothing: dict[str, Any] = {"flow": (), "program": ()}
    ended = scenario.model_copy(update={"duration_s": max(end_s, 1e-3), **nothing})
    text = ended.model_dump_json(exclude_none=True, indent=1)
    writing.write_text(out / "scenario.json", text)

# SPDX-License-Identifier: Apache-2.0
"""Inside a guest: a transfer over a split chain whose proxies are killed again and again.

    split_transfer.py FOLDER BYTES KILL_EVERY_S AWAY_S LIMIT_S

FOLDER/scenario.json is a resolved scenario with one split flow. Its proxies' daemons (with DSR, the
routing daemon itself) are killed together every KILL_EVERY_S seconds and started again AWAY_S
later. Prints one line of JSON: what was sent and what came, and whether an acknowledgement was ever
ahead of what the destination's kernel had.
"""

from __future__ import annotations

import hashlib
import json
import random
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from hoplab.guest.lab.account import Account
from hoplab.guest.lab.built import built
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.job import prepare
from hoplab.guest.lab.started import Started, started
from hoplab.guest.network.inside import inside
from hoplab.guest.probes.sockets import Info, SocketProbe
from hoplab.guest.routing import daemons as routing
from hoplab.guest.routing import split
from hoplab.guest.system.processes import Daemon, wait_until
from hoplab.model.errors import DaemonDied
from hoplab.model.network.plan import Plan

TCP_CONGESTION = 13
CHUNK = 1 << 16
WATCH_S = 0.1


class Receiver:
    """Takes the stream in and hashes it."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.digest = hashlib.sha256()
        self.bytes = 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        connection, _ = self._listener.accept()
        while data := connection.recv(CHUNK):
            self.digest.update(data)
            self.bytes += len(data)


def sender(plan: Plan, data: bytes) -> socket.socket:
    """A connection of the flow that sends all of ``data`` and then its end."""
    (conversation,) = plan.conversations
    with inside(conversation.flow.source):
        connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, int(conversation.flow.mss or 0))
    connection.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"window")
    connection.bind((conversation.source_address, conversation.client_port))
    connection.connect((conversation.destination_address, conversation.server_port))

    def run() -> None:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=run, daemon=True).start()
    return connection


class Proxies:
    """The daemons at the flow's proxies."""

    def __init__(self, stage: Started) -> None:
        self._stage = stage
        self._plan = stage.built.plan
        self._dsr = self._plan.scenario.routing.protocol == "dsr"
        what = "dsr" if self._dsr else "split"
        by_name = {daemon.name: daemon for daemon in stage.daemons}
        (conversation,) = self._plan.conversations
        self._running = {s: by_name[f"{what} at {s}"] for s in conversation.proxies}
        self.kills = 0

    def kill(self) -> None:
        for daemon in self._running.values():
            daemon.process.kill()
            daemon.process.wait()
            self.kills += 1

    def start(self) -> None:
        out, epoch = self._stage.built.out, self._stage.clock.epoch_ns
        for station in self._running:
            if self._dsr:
                command = routing.dsr_command(self._plan, station, out, epoch)
            else:
                command = split.command(self._plan, station, out, epoch)
            log = out / "logs" / f"again-{self.kills}-{station}.log"
            process = self._stage.built.network.namespaces.spawn(station, command, log)
            self._running[station] = Daemon(station, process, log)
        for daemon in self._running.values():
            wait_until(daemon, b"ready")

    def stop(self) -> None:
        for daemon in self._running.values():
            daemon.process.kill()
            daemon.process.wait()


def transfer(stage: Started, size: int, every_s: float, away_s: float, limit_s: float) -> Any:
    plan, clock = stage.built.plan, stage.clock
    (conversation,) = plan.conversations
    data = random.Random(plan.scenario.seed).randbytes(size)
    with inside(conversation.flow.destination):
        listener = socket.create_server(
            (conversation.destination_address, conversation.server_port)
        )
    receiver = Receiver(listener)
    clock.sleep_until(0.0)
    connection = sender(plan, data)
    proxies = Proxies(stage)
    near = (conversation.source_address, conversation.client_port)
    far = (conversation.destination_address, conversation.server_port)
    at_source = SocketProbe(conversation.flow.source)
    at_destination = SocketProbe(conversation.flow.destination)
    forged = 0
    last: Info | None = None
    killed_at: float | None = None
    next_kill_s = every_s
    while receiver.thread.is_alive() and clock.now_s() < limit_s:
        clock.sleep_until(round(clock.now_s() / WATCH_S + 1) * WATCH_S)
        now_s = clock.now_s()
        if killed_at is not None and now_s >= killed_at + away_s:
            proxies.start()
            killed_at = None
        elif killed_at is None and now_s >= next_kill_s:
            proxies.kill()
            killed_at = now_s
            next_kill_s += every_s
        sent, came = at_source.connection(near, far), at_destination.connection(far, near)
        if sent is not None and came is not None:
            last = sent
            # The SYN's number counts as acknowledged; it is no byte.
            forged = max(forged, sent.bytes_acked - 1 - came.bytes_received)
    if receiver.thread.is_alive():
        _told(stage)
    connection.close()
    proxies.stop()
    return {
        "sent": hashlib.sha256(data).hexdigest(),
        "received": receiver.digest.hexdigest(),
        "bytes": receiver.bytes,
        "virtual_s": round(clock.now_s(), 1),
        "kills": proxies.kills,
        "ahead_bytes": forged,
        "retransmits": last and last.total_retrans,
        "timeouts": last and last.total_rto,
    }


def _told(stage: Started) -> None:
    """What the source's daemon said last, for who wants to know why it took so long."""
    (conversation,) = stage.built.plan.conversations
    for path in sorted((stage.built.out / "raw").glob(f"*-{conversation.flow.source}.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines()[-20:]:
            print(line, file=sys.stderr)


def main(folder: str, *numbers: str) -> None:
    out = Path(folder)
    size, every_s, away_s, limit_s = (float(number) for number in numbers)
    answer = None
    try:
        with CleanUp() as undo:
            stage = started(built(prepare(out), out, Account(), undo), False, undo)
            answer = transfer(stage, int(size), every_s, away_s, limit_s)
    except DaemonDied:
        # Those that were killed leave no tables behind.
        if answer is None:
            raise
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])

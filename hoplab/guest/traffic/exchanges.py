# SPDX-License-Identifier: Apache-2.0
"""Echoes, and requests with their responses: each is a row of table `exchanges`.

    exchanges.py ping SETTINGS          ICMP echo requests; the other end's kernel replies
    exchanges.py request SETTINGS       requests on one TCP connection, one after the other
    exchanges.py respond SETTINGS       what answers them

SETTINGS are a JSON object. The asking end writes rows until SIGTERM, and then the rows of what is
still unanswered. Both ends draw the same sizes from the same seed. The program is run by path, on
the standard library alone, because a run must not depend on installed packages.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import random
import select
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

ECHO_HEADER = struct.Struct("!BBHHH")
SOL_RAW, ICMP_FILTER, ICMPV6_FILTER = 255, 1, 1
"""Options of raw sockets (linux/icmp.h, linux/icmpv6.h): bits of the types to block."""
SO_TIMESTAMPNS = 35
"""Have the kernel report the date at which it got a packet (asm-generic/socket.h)."""
TIMESPEC = struct.Struct("=qq")
ASLEEP_S, SLACK = 0.002, 0.002
"""The kernel wakes a process that waits for a socket late, by up to a thousandth of the wait
(fs/select.c, select_estimate_accuracy). The last part is therefore a sleep, which is exact."""
NANOSECONDS = 1_000_000_000
CHUNK_BYTES = 1 << 20


class Sent(NamedTuple):
    """An echo or a request, and the time at which it left: by CLOCK_MONOTONIC, and by the date."""

    number: int
    bytes: int
    monotonic_ns: int
    date_ns: int


class Rows:
    """Rows of one flow, written to the disk one by one for readers that follow the run."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._flow = settings["flow"]
        self._epoch_ns = settings["epoch_ns"]
        self._stop_s = settings["stop_s"]
        self._path = settings["rows"]

    def answered(self, sent: Sent, rtt_ns: int, size: int) -> None:
        """The reply has come, ``rtt_ns`` after the request left."""
        self._add(sent, (sent.monotonic_ns + rtt_ns - self._epoch_ns) / NANOSECONDS, rtt_ns, size)

    def unanswered(self, sent: Sent) -> None:
        """Write that no reply is awaited any more."""
        now_s = (time.monotonic_ns() - self._epoch_ns) / NANOSECONDS
        # The run's end is the flow's end, however late this process gets the signal.
        self._add(sent, min(now_s, self._stop_s), None, 0)

    def _add(self, sent: Sent, t_s: float, rtt_ns: int | None, size: int) -> None:
        row = {
            "t_s": round(t_s, 9),
            "flow": self._flow,
            "number": sent.number,
            "sent_s": round((sent.monotonic_ns - self._epoch_ns) / NANOSECONDS, 9),
            "sent_bytes": sent.bytes,
            "received_bytes": size,
            "rtt_ms": None if rtt_ns is None else round(rtt_ns / 1e6, 6),
        }
        # A guest's file system hands over what was written when a file is closed.
        with open(self._path, "a", encoding="utf-8", opener=_regular) as file:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


class Pinger:
    """Sends echo requests by the clock, and takes their replies in any order."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._rows = Rows(settings)
        self._identifier = settings["identifier"]
        self._limit = settings["packets"]
        self._stop_ns = settings["epoch_ns"] + round(settings["stop_s"] * NANOSECONDS)
        self._next_ns = time.monotonic_ns()
        self._interval_ns = round(settings["interval_s"] * NANOSECONDS)
        self._timeout_ns = round(settings["timeout_s"] * NANOSECONDS)
        self._payload = bytes(settings["packet_bytes"])
        self._waiting: dict[int, Sent] = {}
        """By the packet's sequence number, in the order in which they left."""
        self._count = 0
        self._is_ipv6 = ":" in settings["address"]
        self._echo, self._reply = (128, 129) if self._is_ipv6 else (8, 0)
        self._socket = _icmp_socket(self._is_ipv6, self._reply)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        mark(self._socket, settings["traffic_class"])
        self._socket.bind((settings["own_address"], 0))
        self._socket.connect((settings["address"], 0))
        self._socket.setblocking(False)

    def run(self) -> None:
        """Run until all are answered or given up. Then stay, unless their number is limited."""
        try:
            while self._more or self._waiting:
                now_ns = time.monotonic_ns()
                self._give_up(now_ns - self._timeout_ns)
                if self._more and now_ns >= self._next_ns:
                    # By the clock: a late packet does not delay those after it.
                    self._next_ns += self._interval_ns
                    self._send()
                self._take()
            if self._limit is None:
                signal.pause()
        finally:
            self._receive()
            self._give_up(None)

    @property
    def _more(self) -> bool:
        if self._next_ns >= self._stop_ns:
            return False
        return self._limit is None or self._count < self._limit

    def _send(self) -> None:
        sequence = self._count & 0xFFFF
        self._count += 1
        head = ECHO_HEADER.pack(self._echo, 0, 0, self._identifier, sequence)
        # The kernel itself computes the checksum of ICMPv6 (RFC 3542 section 3.1).
        sum_of = 0 if self._is_ipv6 else _checksum(head + self._payload)
        head = ECHO_HEADER.pack(self._echo, 0, sum_of, self._identifier, sequence)
        packet = head + self._payload
        self._waiting[sequence] = Sent(
            self._count, len(self._payload), time.monotonic_ns(), time.time_ns()
        )
        # A packet that the network refuses is lost: a full queue, no route, an error that came
        # back.
        with contextlib.suppress(OSError):
            self._socket.send(packet)

    def _take(self) -> None:
        """Take replies until something is due."""
        due = [self._next_ns] if self._more else []
        if self._waiting:
            due.append(next(iter(self._waiting.values())).monotonic_ns + self._timeout_ns)
        if not due:
            return
        wait_s = max(0, min(due) - time.monotonic_ns()) / NANOSECONDS
        if wait_s < ASLEEP_S:
            time.sleep(wait_s)
        else:
            select.select([self._socket], [], [], wait_s * (1 - SLACK))
        self._receive()

    def _receive(self) -> None:
        while True:
            try:
                data, ancillary, _, _ = self._socket.recvmsg(1 << 16, 64)
            except BlockingIOError:
                return
            except OSError:  # an error that came back, of an echo that will be given up
                continue
            # A raw socket shows no header of IPv6.
            header = 0 if self._is_ipv6 else (data[0] & 15) * 4
            kind, _, _, identifier, sequence = ECHO_HEADER.unpack_from(data, header)
            if kind != self._reply or identifier != self._identifier:
                continue
            sent = self._waiting.pop(sequence, None)
            if sent is not None:
                came_ns = next(map(_date_ns, ancillary), time.time_ns())
                size = len(data) - header - ECHO_HEADER.size
                self._rows.answered(sent, came_ns - sent.date_ns, size)

    def _give_up(self, before_ns: int | None) -> None:
        """Give up the echoes that left by then, or all of them with None."""
        for sequence, sent in list(self._waiting.items()):
            if before_ns is not None and sent.monotonic_ns > before_ns:
                return
            del self._waiting[sequence]
            self._rows.unanswered(sent)


def _regular(path: str, flags: int) -> int:
    """Open a file. A pipe that a program put there would block its writer forever."""
    try:
        opened = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        is_other = error.errno in (errno.ENXIO, errno.ENODEV)  # a pipe that nobody reads
        why = "is no regular file" if is_other else error.strerror
        sys.exit(f"{path}: cannot be used: {why}")
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        sys.exit(f"{path}: cannot be used: is no regular file")
    return opened


def family_of(address: str) -> int:
    """Return the address family: IPv4 or IPv6."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def mark(end: socket.socket, traffic_class: int) -> None:
    """Give packets this traffic class (RFC 2474: DSCP above two bits); 0 leaves the kernel's."""
    if traffic_class and end.family == socket.AF_INET6:
        end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, traffic_class)
    elif traffic_class:
        end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, traffic_class)


def _icmp_socket(is_ipv6: bool, reply: int) -> socket.socket:
    """Return a socket that takes only messages of the type ``reply`` (RFC 792, RFC 4443)."""
    if not is_ipv6:
        made = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        made.setsockopt(SOL_RAW, ICMP_FILTER, struct.pack("=I", ~(1 << reply) & 0xFFFFFFFF))
        return made
    made = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    words = [0xFFFFFFFF] * 8
    words[reply // 32] &= ~(1 << reply % 32)
    made.setsockopt(socket.IPPROTO_ICMPV6, ICMPV6_FILTER, struct.pack("=8I", *words))
    return made


def _date_ns(ancillary: tuple[int, int, bytes]) -> int:
    """Return the time at which the kernel got the packet."""
    seconds, nanoseconds = TIMESPEC.unpack_from(ancillary[2])
    return int(seconds) * NANOSECONDS + int(nanoseconds)


def _checksum(data: bytes) -> int:
    """Return the checksum of RFC 1071."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def drawn(draw: dict[str, Any], seed: str) -> Iterator[float]:
    """Yield endless numbers of a distribution, the same for the same seed."""
    chance = random.Random(seed)
    kind: str = draw["kind"]
    high: float = math.inf if draw.get("high") is None else draw["high"]
    while True:
        if kind == "fixed":
            yield draw["mean"]
        elif kind == "uniform":
            yield chance.uniform(draw["low"], high)
        elif kind == "exponential":
            yield min(chance.expovariate(1.0) * draw["mean"], high)
        else:
            # This is the least value of Pareto's law with this mean.
            least = draw["mean"] * (draw["shape"] - 1) / draw["shape"]
            yield min(least * chance.paretovariate(draw["shape"]), high)


def sizes(settings: dict[str, Any], name: str) -> Iterator[int]:
    """Yield the octets of one request or response after the other: whole numbers, at least one."""
    return (max(1, round(size)) for size in drawn(settings[name], f"{settings['seed']}/{name}"))


def request(settings: dict[str, Any]) -> None:
    """Send each request and wait for its whole answer, until all are done. Then stay connected."""
    rows = Rows(settings)
    thinks = drawn(settings["think"], f"{settings['seed']}/think")
    left = settings["transactions"]
    pending: Sent | None = None
    with socket.socket(family_of(settings["address"])) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        mark(connection, settings["traffic_class"])
        connection.bind((settings["own_address"], settings["own_port"]))
        connection.connect((settings["address"], settings["port"]))
        try:
            pairs = zip(sizes(settings, "request"), sizes(settings, "response"), strict=False)
            for number, (asked, answer) in enumerate(pairs, 1):
                if left is not None and number > left:
                    break
                pending = Sent(number, asked, time.monotonic_ns(), 0)
                connection.sendall(bytes(asked))
                if not _take_in(connection, answer):
                    sys.exit("the responder has closed the connection")
                sent, pending = pending, None
                rows.answered(sent, time.monotonic_ns() - sent.monotonic_ns, answer)
                time.sleep(next(thinks))
        finally:
            if pending is not None:
                rows.unanswered(pending)
        signal.pause()


def respond(settings: dict[str, Any]) -> None:
    """Take one connection, and answer each request once all of it has come."""
    own = settings["address"], settings["port"]
    with socket.create_server(own, family=family_of(own[0])) as server:
        mark(server, settings["traffic_class"])
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for asked, answer in zip(
            sizes(settings, "request"), sizes(settings, "response"), strict=False
        ):
            if not _take_in(connection, asked):
                break
            connection.sendall(bytes(answer))
        signal.pause()


def _take_in(connection: socket.socket, size: int) -> bool:
    """Return whether this many octets came before the connection's end."""
    while size > 0:
        data = connection.recv(min(size, CHUNK_BYTES))
        if not data:
            return False
        size -= len(data)
    return True


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)


ROLES: dict[str, Callable[[dict[str, Any]], None]] = {
    "ping": lambda settings: Pinger(settings).run(),
    "request": request,
    "respond": respond,
}

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    ROLES[sys.argv[1]](json.loads(sys.argv[2]))

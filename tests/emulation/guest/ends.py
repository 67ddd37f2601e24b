# SPDX-License-Identifier: Apache-2.0
"""Inside a guest: what one call says of connections' ends beside what sock_diag says.

Prints one line of JSON.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any

from hoplab.guest.network.inside import inside
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.probes.ends import (
    DEVICE,
    END,
    HEAD,
    HOPLAB_SOCKETS,
    VALUES,
    ByCall,
    BySockDiag,
    Connection,
    Pair,
    Times,
    reader,
)
from hoplab.guest.probes.sockets import SocketProbe

TCP_CONGESTION = 13
ADDRESSES = {"a": ("10.9.1.1", "fd09::1"), "b": ("10.9.1.2", "fd09::2")}
TENTH_NS = 100_000_000
MAPPED = "::ffff:10.9.1.2"


def wire(namespaces: Namespaces) -> None:
    for name in ADDRESSES:
        namespaces.create(name)
        # Also after a lost SYN.
        namespaces.sysctl(name, {"net.ipv4.tcp_ecn": "1", "net.ipv4.tcp_ecn_fallback": "0"})
    peer = {"ifname": "w0", "net_ns_fd": "b"}
    namespaces.netlink("a").link("add", ifname="w0", kind="veth", peer=peer)
    for name, (four, six) in ADDRESSES.items():
        netlink, index = namespaces.netlink(name), namespaces.index(name, "w0")
        netlink.link("set", index=index, state="up")
        netlink.addr("add", index=index, address=four, prefixlen=24)
        netlink.addr("add", index=index, address=six, prefixlen=64, flags=2)  # IFA_F_NODAD
        # Losses, so that no value that is kept stays 0.
        netlink.tc("add", "netem", index, "1:", delay=5000, loss=5, limit=1000)


def retransmitted(sender: socket.socket) -> int:
    """``tcpi_total_retrans`` of ``linux/tcp.h``."""
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int.from_bytes(info[100:104], "little")


def carried(variant: str, address: str) -> tuple[Connection, socket.socket, socket.socket]:
    """A connection over which some octets went, and some of them again."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with inside("b"):
        # Of IPv6 it takes mapped addresses too.
        where = ("", 0) if family == socket.AF_INET6 else (address, 0)
        listener = socket.create_server(
            where, family=family, dualstack_ipv6=family == socket.AF_INET6
        )
    with inside("a"):
        sender = socket.socket(family)
    sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, variant.encode())
    sender.connect((address, listener.getsockname()[1]))
    receiver, _ = listener.accept()
    listener.close()
    # The losses are the kernel's own: they differ with where this was started.
    rounds = 0
    while rounds < 20 or not retransmitted(sender):
        rounds += 1
        sender.sendall(bytes(20_000))
        left = 20_000
        while left:
            left -= len(receiver.recv(left))
    connection = Connection("a", "b", sender.getsockname()[:2], receiver.getsockname()[:2])
    return connection, sender, receiver


def ended() -> Connection:
    """A connection of which one end waits (TIME_WAIT), and the other is gone."""
    connection, sender, receiver = carried("cubic", ADDRESSES["b"][0])
    sender.close()
    while receiver.recv(1 << 16):
        pass
    receiver.close()
    time.sleep(10)
    return connection


def told(pairs: Iterable[Pair]) -> list[list[dict[str, Any] | None]]:
    """Both ends of each connection, with what follows from their values."""
    return [
        [
            end and {**end._asdict(), "estimate_kbps": end.estimate_kbps, "marked": end.marked}
            for end in pair
        ]
        for pair in pairs
    ]


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "nothing"


def refusals() -> dict[str, str]:
    """What the kernel says to lists that nobody honest writes."""
    device = os.open(DEVICE, os.O_RDWR)
    record = bytes(END.size + VALUES.size)
    wrong = END.pack(device, 1, 1, bytes(16), bytes(16)) + bytes(VALUES.size)
    closed = END.pack(-1, 1, 1, bytes(16), bytes(16)) + bytes(VALUES.size)

    def ask(samples: int, ends: int, told: bytes) -> Callable[[], object]:
        asked = bytearray(HEAD.pack(0, 0, samples, 0, ends) + told)
        return lambda: fcntl.ioctl(device, HOPLAB_SOCKETS, asked)

    found = {
        "ends": refusal(ask(1, 0xFFFFFFFF, record)),
        "samples": refusal(ask(0xFFFFFFFF, 0, record)),
        "both": refusal(ask(1 << 16, 1 << 16, record)),
        "file": refusal(ask(1, 1, wrong)),
        "closed": refusal(ask(1, 1, closed)),
        "address": refusal(lambda: fcntl.ioctl(device, HOPLAB_SOCKETS, 8)),
        "none": refusal(ask(1, 0, b"")),
        "command": refusal(lambda: fcntl.ioctl(device, HOPLAB_SOCKETS + 1, 0)),
    }
    os.close(device)
    return found


def slept(
    reader: ByCall, going: list[Connection], begin_ns: int, interval_ns: int = TENTH_NS
) -> list[dict[str, Any]]:
    """What comes of ten samples, in the order of calls, and when each call returned."""
    times = Times(begin_ns, interval_ns, 10)
    return [
        {"samples": [told(pairs) for pairs in part], "ns": time.monotonic_ns() - begin_ns}
        for part in reader.sleep(going, times)
    ]


def disturbed(reader: ByCall, going: list[Connection]) -> dict[str, Any]:
    """The same while a child ends, and while signals come."""
    begin_ns = time.monotonic_ns() + TENTH_NS
    child = subprocess.Popen(["sleep", "0.55"])
    # One that nobody has waited for shows after each sample.
    ending = slept(reader, going, begin_ns)
    child.wait()
    came: list[int] = []
    signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
    begin_ns = time.monotonic_ns() + TENTH_NS
    signal.setitimer(signal.ITIMER_REAL, 0.23, 0.23)
    interrupted = slept(reader, going, begin_ns)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {"ending": ending, "interrupted": interrupted, "signals": len(came)}


def main() -> None:
    namespaces = Namespaces()
    wire(namespaces)
    four, six = ADDRESSES["b"]
    waiting = ended()
    wanted = (("bbr", four), ("cubic", six), ("bbr", six), ("cubic", MAPPED))
    carriers = [carried(*one) for one in wanted]
    for _, sender, _ in carriers:
        sender.sendall(bytes(20_000))  # which is on its way when it is read
    connections = [connection for connection, _, _ in carriers]
    connections += [waiting, Connection("a", "b", (ADDRESSES["a"][0], 9), (four, 9))]
    probes = {name: SocketProbe(name) for name in ADDRESSES}
    called = reader(probes)
    assert isinstance(called, ByCall)
    by_call, by_diag = list(called.read(connections)), list(BySockDiag(probes).read(connections))
    again = list(called.read(connections[1:3])) == by_call[1:3]
    begin_ns = time.monotonic_ns()
    asleep = slept(called, connections[:1], begin_ns, TENTH_NS // 20)
    print(
        json.dumps(
            {
                "by_call": told(by_call),
                "by_diag": told(by_diag),
                "again": again,
                "asleep": asleep,
                "late": slept(called, connections[:1], 0),
                "last": told(BySockDiag(probes).read(connections[:1])),
                "nobody": slept(called, [], time.monotonic_ns()),
                "disturbed": disturbed(called, connections[:1]),
                "refusals": refusals(),
            }
        )
    )
    called.close()
    namespaces.close()


main()

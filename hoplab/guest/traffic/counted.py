# SPDX-License-Identifier: Apache-2.0
"""A counted TCP transfer: N packets, and the arrival time of their last byte.

iperf3 counts the bytes that it hands to its kernel. It then ends the test, with bytes still under
way.

    counted.py receive ADDRESS PORT BYTES REPORT
    counted.py send ADDRESS PORT OWN_ADDRESS OWN_PORT PACKETS PACKET_BYTES MSS CONGESTION_CONTROL

Both stay connected until they are killed, so that the connection can be measured to the end. The
program is run by path, on the standard library alone, because a run must not depend on installed
packages.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import time
from pathlib import Path

ROOM_BYTES = 1 << 20


def family_of(address: str) -> int:
    """Return the address family: IPv4 or IPv6."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def mark(end: socket.socket, traffic_class: int) -> None:
    """Give packets this traffic class (RFC 2474: DSCP above two bits); 0 leaves the kernel's."""
    if traffic_class and end.family == socket.AF_INET6:
        end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, traffic_class)
    elif traffic_class:
        end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, traffic_class)


def receive(address: str, port: str, size: str, report: str, traffic_class: str = "0") -> None:
    """Receive one transfer, and write its end in ns of CLOCK_MONOTONIC to ``report``."""
    with socket.create_server((address, int(port)), family=family_of(address)) as server:
        mark(server, int(traffic_class))
        connection, _ = server.accept()
        left = int(size)
        # One buffer, always the same: a new one for each segment would be a dozen system calls and
        # page faults.
        room = bytearray(ROOM_BYTES)
        while left > 0:
            got = connection.recv_into(room)
            if not got:
                return
            left -= got
        answer = json.dumps({"end_ns": time.monotonic_ns()})
        # A pipe that a program put there would block a writer forever.
        with Path(report).open("x", encoding="utf-8") as file:
            file.write(answer)
        signal.pause()


def send(
    ends: list[str], packets: int, packet_bytes: int, mss: int, variant: str, traffic_class: int = 0
) -> None:
    """Write packet after packet, to ADDRESS PORT from OWN_ADDRESS OWN_PORT."""
    address, port, own_address, own_port = ends
    with socket.socket(family_of(address)) as connection:
        mark(connection, traffic_class)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, variant.encode())
        except OSError as error:
            sys.exit(f"congestion control {variant}: {error.strerror}")
        # A packet of the scenario is a packet on the wire. It does not wait for more data, and
        # nothing is added to it while it waits for the window.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.bind((own_address, int(own_port)))
        connection.connect((address, int(port)))
        packet = bytes(packet_bytes)
        whole = socket.MSG_EOR if len(packet) < mss else 0
        for _ in range(packets):
            connection.sendall(packet, whole)
        signal.pause()


if __name__ == "__main__":
    role, *words = sys.argv[1:]
    if role == "receive":
        receive(*words)
    else:
        ends, (packets, packet_bytes, mss, variant, *classes) = words[:4], words[4:]
        send(ends, int(packets), int(packet_bytes), int(mss), variant, *map(int, classes))

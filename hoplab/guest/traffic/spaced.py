# SPDX-License-Identifier: Apache-2.0
"""UDP packets at a constant rate with randomised spacing, which iperf3 does not have.

    spaced.py receive ADDRESS PORT
    spaced.py send ADDRESS PORT OWN_ADDRESS OWN_PORT PACKETS PACKET_BYTES RATE_BPS SEED

The gap between two packets is uniform between 0.5 and 1.5 times the even interval, as in ns-2's CBR
with ``random_``. A flow's packets thus keep no phase against those of other flows. With even
spacing, the phase decides for a whole run whose packets find a queue full (Floyd and Jacobson
1992).

Packets carry their number where iperf3 has its own, so that captures can distinguish them. With
PACKETS 0 the flow never ends. Both ends stay until they are killed. The program is run by path, on
the standard library alone, because a run must not depend on installed packages.
"""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import struct
import sys
import time

NUMBER = struct.Struct("!8xI")
"""iperf3's header of 12 octets: the time, which is not read here, and the packet's number."""
LOWEST, HIGHEST = 0.5, 1.5


def family_of(address: str) -> int:
    """Return the address family: IPv4 or IPv6."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def mark(end: socket.socket, traffic_class: int) -> None:
    """Give packets this traffic class (RFC 2474: DSCP above two bits); 0 leaves the kernel's."""
    if traffic_class and end.family == socket.AF_INET6:
        end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, traffic_class)
    elif traffic_class:
        end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, traffic_class)


def receive(address: str, port: str) -> None:
    """Receive packets and discard them: captures count them."""
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as end:
        end.bind((address, int(port)))
        while True:
            end.recv(65_535)


def send(
    ends: list[str],
    packets: int,
    packet_bytes: int,
    rate_bps: float,
    seed: int,
    traffic_class: int = 0,
) -> None:
    """Send by the clock: a late packet does not delay those after it.

    ``ends`` are ADDRESS PORT OWN_ADDRESS OWN_PORT.
    """
    address, port, own_address, own_port = ends
    draw = random.Random(seed).uniform
    interval_s = packet_bytes * 8 / rate_bps
    packet = bytearray(packet_bytes)
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as end:
        mark(end, traffic_class)
        end.bind((own_address, int(own_port)))
        end.connect((address, int(port)))
        at_s = time.monotonic()
        number = 0
        while number < packets or packets == 0:
            number += 1
            NUMBER.pack_into(packet, 0, number % 2**32)
            # A packet that the network refuses is lost: a full queue, no route, an error that came
            # back.
            with contextlib.suppress(OSError):
                end.send(packet)
            at_s += interval_s * draw(LOWEST, HIGHEST)
            time.sleep(max(0.0, at_s - time.monotonic()))
        signal.pause()


if __name__ == "__main__":
    role, *words = sys.argv[1:]
    if role == "receive":
        receive(*words)
    else:
        ends, (packets, packet_bytes, rate_bps, seed, *classes) = words[:4], words[4:]
        send(
            ends,
            int(packets),
            int(packet_bytes),
            float(rate_bps),
            int(seed),
            *map(int, classes),
        )

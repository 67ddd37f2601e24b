# SPDX-License-Identifier: Apache-2.0
"""Read the kernel's own view of a TCP connection through sock_diag (linux/inet_diag.h)."""

from __future__ import annotations

import errno
import socket
import struct
from typing import Any

from hoplab.guest.network.netlink import DUMP, Conversation, Refused, attribute, attributes

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
INET_DIAG_INFO = 2
INET_DIAG_VEGASINFO = 3
"""Requests the congestion control's own values, in a layout of its choice."""
INET_DIAG_BBRINFO = 16
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
EXTENSIONS = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1)
LISTENING = 10
ALL_STATES = 0xFFF
LARGEST_PROTOCOL = 255
"""The request has an octet for it; REQ_PROTOCOL says what is more."""
REQ_PROTOCOL = 3

REQUEST = struct.Struct("!BBBxIHH16s16sIII")
"""inet_diag_req_v2: family, protocol, extensions, states, ports, addresses, interface, cookie."""
NO_COOKIE = 0xFFFFFFFF
MESSAGE_BYTES = 72
"""struct inet_diag_msg, whose second byte is the socket's state."""
BANDWIDTH = struct.Struct("=II")
INFO = struct.Struct("=8B24I4Q4I")
"""struct tcp_info (linux/tcp.h) up to tcpi_min_rtt, which kernels since 4.6 have."""
FIELDS = {
    1: "ca_state",
    4: "backoff",
    5: "options",
    8: "rto",
    12: "unacked",
    14: "lost",
    23: "rtt",
    24: "rttvar",
    25: "snd_ssthresh",
    26: "snd_cwnd",
    31: "total_retrans",
    34: "bytes_acked",
    35: "bytes_received",
    39: "min_rtt",
}
DELIVERED_CE_AT = 196
"""Offset of tcpi_delivered_ce, since 4.18."""
TOTAL_RTO_AT = 240
"""Offset of tcpi_total_rto, since 6.7."""
TCPI_OPT_ECN = 8


class SocketProbe:
    """A sock_diag socket inside one station's namespace.

    Ten flows sampled ten times a second must not cost more than their packets. They do if the
    kernel walks its whole table of sockets for each, and a general netlink library parses every
    answer. The probe therefore asks for one socket, and reads only what the tables keep.
    """

    def __init__(self, station: str) -> None:
        self._diag = Conversation(station, NETLINK_SOCK_DIAG, "sock_diag")

    def take_number(self) -> None:
        """Have the kernel number this socket now, as the first question would."""
        self._diag.take_number()

    def connection(self, local: tuple[str, int], remote: tuple[str, int]) -> dict[str, Any] | None:
        """Return the values of the connection's tcp_info that `FIELDS` names, its ``total_rto`` and
        ``estimate_kbps``. None if there is no such connection. Ends are (address, port)."""
        family = socket.AF_INET6 if ":" in local[0] else socket.AF_INET
        request = REQUEST.pack(
            family,
            socket.IPPROTO_TCP,
            EXTENSIONS,
            0,
            local[1],
            remote[1],
            socket.inet_pton(family, local[0]),
            socket.inet_pton(family, remote[0]),
            0,
            NO_COOKIE,
            NO_COOKIE,
        )
        try:
            (answer,) = self._diag.ask(SOCK_DIAG_BY_FAMILY, request)
        except Refused as refused:
            if refused.errno == errno.ENOENT:
                return None
            raise
        if answer[1] == LISTENING:
            return None
        return info_of(answer[MESSAGE_BYTES:]) or None

    def all(self, protocol: int) -> list[bytes]:
        """Return the answer for each connected socket of IPv4, from its struct inet_diag_msg on.
        The kernel has one such question at a time."""
        request = REQUEST.pack(
            socket.AF_INET,
            min(protocol, LARGEST_PROTOCOL),
            EXTENSIONS,
            # Alone among them it has the host's order of octets.
            socket.htonl(ALL_STATES & ~(1 << LISTENING)),
            *(0, 0, bytes(16), bytes(16), 0),
            *(NO_COOKIE, NO_COOKIE),
        )
        request += attribute(REQ_PROTOCOL, struct.pack("=I", protocol))
        return [bytes(answer) for answer in self._diag.ask(SOCK_DIAG_BY_FAMILY, request, DUMP)]

    def close(self) -> None:
        self._diag.close()


def info_of(about: memoryview) -> dict[str, Any]:
    """Return the values in one socket's attributes; empty if it has none."""
    info: dict[str, Any] = {}
    estimate_kbps = None
    for kind, value in attributes(about):
        if kind == INET_DIAG_INFO:
            fields = INFO.unpack_from(value)
            info = {name: fields[i] for i, name in FIELDS.items()}
            told = len(value) >= TOTAL_RTO_AT + 2
            info["total_rto"] = struct.unpack_from("=H", value, TOTAL_RTO_AT)[0] if told else None
            info["marked"] = None
            if info["options"] & TCPI_OPT_ECN and len(value) >= DELIVERED_CE_AT + 4:
                info["marked"] = struct.unpack_from("=I", value, DELIVERED_CE_AT)[0]
        elif kind == INET_DIAG_BBRINFO:
            # The congestion control's own estimate of the path's rate; BBR and tcpw have one.
            low, high = BANDWIDTH.unpack_from(value)
            estimate_kbps = rate_kbps(high << 32 | low)
    if info:
        info["estimate_kbps"] = estimate_kbps
    return info


def rate_kbps(octets_per_s: int) -> float:
    return round(octets_per_s * 8e-3, 3)


def sender_row(info: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of table `tcp` that come from the sending socket."""
    return {
        "acked_bytes": info["bytes_acked"],
        "cwnd": info["snd_cwnd"],
        # The kernel's "infinite" start value means that no loss has set ssthresh yet.
        "ssthresh": None if info["snd_ssthresh"] >= 0x7FFFFFFF else info["snd_ssthresh"],
        "rtt_ms": info["rtt"] / 1000,
        "rttvar_ms": info["rttvar"] / 1000,
        "min_rtt_ms": info["min_rtt"] / 1000,
        "rto_ms": info["rto"] / 1000,
        "backoff": info["backoff"],
        "ca_state": CA_STATES[min(info["ca_state"], 4)],
        "retransmits": info["total_retrans"],
        "timeouts": info["total_rto"],
        "in_flight": info["unacked"],
        "lost": info["lost"],
        "estimate_kbps": info["estimate_kbps"],
        "marked": info["marked"],
    }

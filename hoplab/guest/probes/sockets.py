# SPDX-License-Identifier: Apache-2.0
"""Read the kernel's own view of a TCP connection through sock_diag (linux/inet_diag.h)."""

from __future__ import annotations

import errno
import socket
import struct
from typing import Any, NamedTuple

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
UINT = struct.Struct("=I")
USHORT = struct.Struct("=H")
TOTAL_RTO_AT = 240
"""Offset of tcpi_total_rto, since 6.7."""
TCPI_OPT_ECN = 8


class Info(NamedTuple):
    """What a TCP socket says of itself: values of struct tcp_info (linux/tcp.h), by their names
    there. Times are in us."""

    bytes_acked: int
    bytes_received: int
    estimate: int
    """The congestion control's own one of the path's rate, in octets a second."""
    rto: int
    unacked: int
    lost: int
    rtt: int
    rttvar: int
    snd_ssthresh: int
    snd_cwnd: int
    total_retrans: int
    min_rtt: int
    delivered_ce: int | None
    """None, as ``total_rto``, if the kernel is older than this."""
    total_rto: int | None
    ca_state: int
    backoff: int
    options: int
    has_estimate: int = 0
    is_there: int = 1

    @property
    def estimate_kbps(self) -> float | None:
        return round(self.estimate * 8e-3, 3) if self.has_estimate else None

    @property
    def marked(self) -> int | None:
        """Packets that arrived with a mark, if the connection uses ECN."""
        return self.delivered_ce if self.options & TCPI_OPT_ECN else None


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

    def connection(self, local: tuple[str, int], remote: tuple[str, int]) -> Info | None:
        """Return what the connection's socket says. None if there is no such connection. Ends are
        (address, port)."""
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
        return info_of(answer[MESSAGE_BYTES:])

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


def info_of(about: memoryview) -> Info | None:
    """Return the values in one socket's attributes; None if it has none."""
    told = dict(attributes(about))
    if INET_DIAG_INFO not in told:
        return None
    value = told[INET_DIAG_INFO]
    fields = INFO.unpack_from(value)
    estimate = 0
    if INET_DIAG_BBRINFO in told:  # BBR and tcpw have one
        low, high = BANDWIDTH.unpack_from(told[INET_DIAG_BBRINFO])
        estimate = high << 32 | low
    return Info(
        **{name: fields[i] for i, name in FIELDS.items()},
        estimate=estimate,
        delivered_ce=_at(DELIVERED_CE_AT, UINT, value),
        total_rto=_at(TOTAL_RTO_AT, USHORT, value),
        has_estimate=int(INET_DIAG_BBRINFO in told),
    )


def _at(offset: int, kind: struct.Struct, value: memoryview) -> int | None:
    return kind.unpack_from(value, offset)[0] if len(value) >= offset + kind.size else None


def sender_row(info: Info) -> dict[str, Any]:
    """Return the columns of table `tcp` that come from the sending socket."""
    return {
        "acked_bytes": info.bytes_acked,
        "cwnd": info.snd_cwnd,
        # The kernel's "infinite" start value means that no loss has set ssthresh yet.
        "ssthresh": None if info.snd_ssthresh >= 0x7FFFFFFF else info.snd_ssthresh,
        "rtt_ms": info.rtt / 1000,
        "rttvar_ms": info.rttvar / 1000,
        "min_rtt_ms": info.min_rtt / 1000,
        "rto_ms": info.rto / 1000,
        "backoff": info.backoff,
        "ca_state": CA_STATES[info.ca_state if info.ca_state < 4 else 4],
        "retransmits": info.total_retrans,
        "timeouts": info.total_rto,
        "in_flight": info.unacked,
        "lost": info.lost,
        "estimate_kbps": info.estimate_kbps,
        "marked": info.marked,
    }

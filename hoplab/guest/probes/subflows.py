# SPDX-License-Identifier: Apache-2.0
"""Read the subflows of an MPTCP connection, and the connection itself, through sock_diag.

A subflow is a TCP socket whose attributes have the connection's token (linux/mptcp.h,
MPTCP_SUBFLOW_ATTR_…). The connection's own socket tells struct mptcp_info.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hoplab.guest.network.netlink import attributes
from hoplab.guest.probes.sockets import (
    INET_DIAG_INFO,
    MESSAGE_BYTES,
    Info,
    SocketProbe,
    info_of,
    sender_row,
)
from hoplab.model.network.multipath import Path
from hoplab.model.network.plan import Conversation

IPPROTO_MPTCP = 262
ULP = 19
"""INET_DIAG_ULP_INFO."""
ULP_MPTCP = 3
TOKEN_LOC, FLAGS = 2, 8
BACKUP = 0x10 | 0x20
"""MPTCP_SUBFLOW_FLAG_BKUP_REM and _LOC."""
PORTS = struct.Struct("!HH16s16s")
PORTS_AT = 4
"""In struct inet_diag_msg."""
BYTES_RECEIVED_AT = 64
"""In struct mptcp_info, since Linux 6.5."""
OF_NOW = ("cwnd", "in_flight", "lost")
SUMMED = (*OF_NOW, "acked_bytes", "retransmits", "timeouts", "marked")
OWN = ("flow", "subflow", "via", "address", "remote_address", "backup")
"""Columns that table `tcp` has not, beside the flow."""


@dataclass
class Subflows:
    """The subflows of one flow, and what those that have ended had done."""

    conversation: Conversation
    near: list[Path]
    """From the source, and ``far`` ones from the destination; the first one first."""
    far: list[Path]
    token: int | None = None
    numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    """By a subflow's own end, in order of appearance; the first one has 0."""
    last: dict[int, dict[str, Any]] = field(default_factory=dict)
    received: int = 0

    def rows(self, probe: SocketProbe) -> Iterator[dict[str, Any]]:
        """Yield a row for each subflow that is there, without its time."""
        own = self.conversation.source_address, self.conversation.client_port
        found = list(_tcp(probe))
        if self.token is None:
            first = (token for end, _, token, _, _ in found if end == own)
            self.token = next(first, None)
        if self.token is None:
            return
        mine = sorted(
            (one for one in found if one[2] == self.token),
            key=lambda one: (one[0] != own, self.numbers.get(one[0], len(found)), one[0]),
        )
        for end, far, _, flags, info in mine:
            number = self.numbers.setdefault(end, len(self.numbers))
            row = sender_row(info)
            self.last[number] = row
            yield {
                "flow": self.conversation.name,
                "subflow": number,
                "via": self._via(end[0], far[0]),
                "address": end[0],
                "remote_address": far[0],
                "backup": int(flags & BACKUP != 0),
                **row,
            }

    def _via(self, address: str, remote_address: str) -> str:
        """Return the first hop of a subflow, at the end that has several paths."""
        own = {one.address: one.via for one in self.near[1:]}
        others = {one.address: one.via for one in self.far if len(self.far) > 1}
        first = self.near[0].via if self.near else address
        return own.get(address) or others.get(remote_address) or first

    def row(self, going: list[dict[str, Any]], probe: SocketProbe) -> dict[str, Any] | None:
        """Return the flow's row of table `tcp`: sums of all subflows that it had, and all else of
        the first one that is ``going``."""
        if not going:
            return None
        row = {name: value for name, value in going[0].items() if name not in OWN}
        for name in SUMMED:
            parts = going if name in OF_NOW else list(self.last.values())
            values = [part[name] for part in parts if part[name] is not None]
            row[name] = sum(values) if values else None
        self.received = max(self.received, _received(probe, self.conversation))
        row["delivered_bytes"] = self.received
        return row


def _tcp(
    probe: SocketProbe,
) -> Iterator[tuple[tuple[str, int], tuple[str, int], int, int, Info]]:
    """Yield each MPTCP subflow of a station: its ends, token, flags and values."""
    for message in probe.all(socket.IPPROTO_TCP):
        told = dict(attributes(memoryview(message)[MESSAGE_BYTES:]))
        if ULP not in told:
            continue
        ulp = dict(attributes(told[ULP]))
        if ULP_MPTCP not in ulp:
            continue
        subflow = dict(attributes(ulp[ULP_MPTCP]))
        info = info_of(memoryview(message)[MESSAGE_BYTES:])
        if TOKEN_LOC in subflow and info is not None:
            (token,) = struct.unpack_from("=I", subflow[TOKEN_LOC])
            (flags,) = struct.unpack_from("=I", subflow.get(FLAGS, bytes(4)))
            near, far = _ends(message)
            yield near, far, token, flags, info


def _ends(message: bytes) -> tuple[tuple[str, int], tuple[str, int]]:
    here, there, near, far = PORTS.unpack_from(message, PORTS_AT)
    return (socket.inet_ntoa(near[:4]), here), (socket.inet_ntoa(far[:4]), there)


def _received(probe: SocketProbe, conversation: Conversation) -> int:
    """Return the octets that the connection has received in order, 0 if it is not there."""
    ports = conversation.server_port, conversation.client_port
    for message in probe.all(IPPROTO_MPTCP):
        (_, here), (_, there) = _ends(message)
        told = dict(attributes(memoryview(message)[MESSAGE_BYTES:]))
        if (here, there) == ports and len(told.get(INET_DIAG_INFO, b"")) >= BYTES_RECEIVED_AT + 8:
            (octets,) = struct.unpack_from("=Q", told[INET_DIAG_INFO], BYTES_RECEIVED_AT)
            return int(octets)
    return 0

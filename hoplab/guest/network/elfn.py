# SPDX-License-Identifier: Apache-2.0
"""Talk to the kernel module `elfn` (kernel-modules/elfn/elfn_netlink.h) in one namespace."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pyroute2.netlink import NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, genlmsg
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import GenericNetlinkSocket

from hoplab.guest.network.inside import inside
from hoplab.model.errors import MissingTool

SET, NOTICE, GET, COUNTERS = 1, 2, 3, 4
RESUME = ("as-before", "window-1", "default-timer")
FIRST_PROBE = ("rto", "interval")
COUNTS = (
    "standby",
    "repeated",
    "malformed",
    "no-connection",
    "wrong-state",
    "not-in-flight",
    "switched-off",
    "overload",
)
FATES = {"dropped": 1, "salvaged": 2, "held": 3}
RECORD = struct.Struct("!BBBB4s4sHHI")
"""A lost-segment record (docs/dsr.md)."""
TUPLE = struct.Struct("!4s4sHH")
NETLINK_GENERIC = 16
SOL_NETLINK, NETLINK_ADD_MEMBERSHIP = 270, 1
EVENT_BUFFER = 1 << 20

Address = tuple[str, int]


class elfn_msg(genlmsg):  # type: ignore[misc]
    """The attributes of the family."""

    prefix = "ELFN_A_"
    nla_map = (
        ("ELFN_A_UNSPEC", "none"),
        ("ELFN_A_PAD", "none"),
        ("ELFN_A_ENABLED", "uint8"),
        ("ELFN_A_PROBE_MS", "uint32"),
        ("ELFN_A_GIVE_UP_MS", "uint32"),
        ("ELFN_A_RESUME", "uint8"),
        ("ELFN_A_FIRST_PROBE", "uint8"),
        ("ELFN_A_LOCAL_PORT", "uint16"),
        ("ELFN_A_RECORDS", "cdata"),
        ("ELFN_A_TUPLE", "cdata"),
        ("ELFN_A_STANDBY", "uint8"),
        ("ELFN_A_STANDBYS", "uint32"),
        ("ELFN_A_STANDBY_NS", "uint64"),
        ("ELFN_A_PROBES", "uint32"),
        ("ELFN_A_NOTICES", "uint32"),
        ("ELFN_A_EARLY_ACKS", "uint32"),
        ("ELFN_A_RESENT", "uint32"),
        ("ELFN_A_REASON", "asciiz"),
        ("ELFN_A_KIND", "asciiz"),
        ("ELFN_A_TIME_NS", "uint64"),
        ("ELFN_A_SEQ", "uint32"),
        ("ELFN_A_CWND", "uint32"),
        ("ELFN_A_SSTHRESH", "uint32"),
        ("ELFN_A_RTO_US", "uint32"),
        ("ELFN_A_COUNTER", "uint64"),
        ("ELFN_A_UNREACHABLE", "cdata"),
    )


@dataclass(frozen=True)
class Connection:
    """A connection that has been in stand-by. Its counts begin at its first stand-by."""

    local: Address
    remote: Address
    standby: bool
    standbys: int
    standby_s: float
    probes: int
    notices: int
    early_acks: int
    resent: int
    reason: str
    """Why the last stand-by ended; empty before its end."""
    cwnd: int
    """Values that stand-by keeps: congestion window and ssthresh in segments, and the
    retransmission timeout."""
    ssthresh: int
    rto_ms: float


@dataclass(frozen=True)
class Event:
    """A stand-by began (``standby``) or ended (``resume``), or a probe left (``probe``)."""

    time_ns: int
    kind: str
    sequence: int
    connection: Connection


def record(
    source: Address,
    destination: Address,
    sequence: int,
    fate: Literal["dropped", "salvaged", "held"] = "dropped",
) -> bytes:
    """The record of a segment that met a broken link."""
    return RECORD.pack(
        0x54,
        18,
        FATES[fate],
        socket.IPPROTO_TCP,
        socket.inet_aton(source[0]),
        socket.inet_aton(destination[0]),
        source[1],
        destination[1],
        sequence,
    )


def _connection(message: Any) -> Connection:
    get = message.get_attr
    local, remote, local_port, remote_port = TUPLE.unpack(get("ELFN_A_TUPLE"))
    return Connection(
        (socket.inet_ntoa(local), local_port),
        (socket.inet_ntoa(remote), remote_port),
        bool(get("ELFN_A_STANDBY")),
        get("ELFN_A_STANDBYS"),
        get("ELFN_A_STANDBY_NS") / 1e9,
        get("ELFN_A_PROBES"),
        get("ELFN_A_NOTICES"),
        get("ELFN_A_EARLY_ACKS"),
        get("ELFN_A_RESENT"),
        get("ELFN_A_REASON"),
        get("ELFN_A_CWND"),
        get("ELFN_A_SSTHRESH"),
        get("ELFN_A_RTO_US") / 1000,
    )


class Elfn:
    """The module as namespace ``station`` sees it. It hears events from its creation on."""

    def __init__(self, station: str) -> None:
        with inside(station):
            self._socket = GenericNetlinkSocket()
            self._events = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_GENERIC
            )
        try:
            self._socket.bind("elfn", elfn_msg)
        except (NetlinkError, KeyError, OSError):
            self.close()
            raise MissingTool(
                "elfn: this kernel has not loaded the module; install it with "
                "'sudo make -C kernel-modules install', or run with --machine uml"
            ) from None
        self._events.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, EVENT_BUFFER)
        self._events.bind((0, 0))
        group = self._socket.mcast_groups["events"]
        self._events.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
        self._events.setblocking(False)

    def _ask(self, command: int, attributes: list[tuple[str, Any]], flags: int) -> list[Any]:
        message = elfn_msg()
        message["cmd"] = command
        message["version"] = 1
        message["attrs"] = attributes
        return list(
            self._socket.nlm_request(
                message, msg_type=self._socket.prid, msg_flags=NLM_F_REQUEST | flags
            )
        )

    def set(
        self,
        enabled: bool,
        probe_ms: int,
        resume: str,
        give_up_s: float,
        first_probe: str,
        local_port: int | None = None,
    ) -> None:
        """Set the behaviour of connections from ``local_port``, or of all without settings of their
        own."""
        attributes: list[tuple[str, Any]] = [
            ("ELFN_A_ENABLED", int(enabled)),
            ("ELFN_A_PROBE_MS", probe_ms),
            ("ELFN_A_RESUME", RESUME.index(resume)),
            ("ELFN_A_GIVE_UP_MS", round(give_up_s * 1000)),
            ("ELFN_A_FIRST_PROBE", FIRST_PROBE.index(first_probe)),
        ]
        if local_port is not None:
            attributes.append(("ELFN_A_LOCAL_PORT", local_port))
        self._ask(SET, attributes, NLM_F_ACK)

    def notice(self, records: bytes) -> None:
        """Report that the segments of ``records`` met a broken link."""
        self._ask(NOTICE, [("ELFN_A_RECORDS", records)], NLM_F_ACK)

    def unreachable(self, *addresses: str) -> None:
        """Report that the routes to these addresses failed."""
        packed = b"".join(map(socket.inet_aton, addresses))
        self._ask(NOTICE, [("ELFN_A_UNREACHABLE", packed)], NLM_F_ACK)

    def notice_unchecked(self, records: bytes) -> None:
        """The same in one system call, without waiting for an answer."""
        message = elfn_msg()
        message["cmd"] = NOTICE
        message["version"] = 1
        message["attrs"] = [("ELFN_A_RECORDS", records)]
        message["header"]["type"] = self._socket.prid
        message["header"]["flags"] = NLM_F_REQUEST
        message.encode()
        self._events.send(bytes(message.data))

    def connections(self) -> list[Connection]:
        """Every connection that has been in stand-by, the latest last."""
        return [_connection(message) for message in self._ask(GET, [], NLM_F_DUMP)]

    def counters(self) -> dict[str, int]:
        """Return the fate of the segments that notices named."""
        (answer,) = self._ask(COUNTERS, [], 0)
        return dict(zip(COUNTS, answer.get_attrs("ELFN_A_COUNTER"), strict=True))

    def events(self) -> Iterator[Event]:
        """Yield the events since the last call."""
        while True:
            try:
                data = self._events.recv(1 << 16)
            except BlockingIOError:
                return
            message = elfn_msg(data)
            message.decode()
            get = message.get_attr
            yield Event(
                get("ELFN_A_TIME_NS"),
                get("ELFN_A_KIND"),
                get("ELFN_A_SEQ"),
                _connection(message),
            )

    def close(self) -> None:
        self._events.close()
        self._socket.close()

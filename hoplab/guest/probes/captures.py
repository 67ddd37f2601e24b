# SPDX-License-Identifier: Apache-2.0
"""Packet captures inside the stations: of interfaces, and of the packets of single flows."""

from __future__ import annotations

import errno
import socket
import struct
from pathlib import Path

from hoplab.guest.network.namespaces import interfaces
from hoplab.guest.probes.ring import Ring
from hoplab.model.errors import HoplabError, ScenarioError
from hoplab.model.network.plan import ANY, Conversation, Plan

HEADERS_BYTES = 128
"""Octets that identify a packet: IP, TCP with options or UDP, iperf3's count."""
HEADERS_SLOT, WHOLE_SLOT = 256, 4096
"""Slots of a ring, in bytes. A radio's largest packet is `RADIO_MTU`."""
PROTOCOLS = {"tcp": socket.IPPROTO_TCP, "udp": socket.IPPROTO_UDP}
ETH_P_IP, ETH_P_IPV6 = 0x0800, 0x86DD
FRAGMENT_HEADER = 44
"""Number of IPv6's fragment header (RFC 8200 section 4.5)."""
ADDRESSES_AT_6, PORTS_AT_6 = 8, 40
"""Offsets in IPv6's header and in the TCP or UDP header that follows it."""
FRAGMENT_OFFSET = 0x1FFF
AD_PROTOCOL = 0xFFFFF000
"""linux/filter.h: SKF_AD_OFF + SKF_AD_PROTOCOL."""
LOAD_WORD, LOAD_HALF, LOAD_BYTE = 0x20, 0x28, 0x30
LOAD_HALF_AFTER_HEADER, LOAD_HEADER_BYTES = 0x48, 0xB1
JUMP_EQUAL, JUMP_ANY_BIT, RETURN = 0x15, 0x45, 0x06


class Captures:
    """Every ring of a run, from its creation on."""

    def __init__(self) -> None:
        self._rings: list[Ring] = []

    @property
    def are_going(self) -> bool:
        return bool(self._rings)

    def start(self, plan: Plan, out: Path) -> None:
        """Begin to capture. Raises `ScenarioError` for an interface that does not exist."""
        for conversation in plan.followed:
            self.follow(conversation, out)
        for capture in plan.captures:
            path = out / "raw" / f"capture-{capture.station}-{capture.interface}.ring"
            interface = "" if capture.interface == ANY else capture.interface
            try:
                self._rings.append(Ring(capture.station, interface, path, WHOLE_SLOT))
            except OSError as error:
                if error.errno != errno.ENODEV:
                    raise
                names = ", ".join(interfaces(capture.station))
                raise ScenarioError(
                    f"measure.captures: {capture.station} has no interface {interface!r}; "
                    f"it has {names}"
                ) from None

    def follow(self, conversation: Conversation, out: Path) -> None:
        """Begin to capture a flow's packets at both ends."""
        flow = conversation.flow
        for end in (flow.source, flow.destination):
            path = out / "raw" / f"packets-{conversation.name}-{end}.ring"
            self._rings.append(Ring(end, "", path, HEADERS_SLOT, packets_of(conversation)))

    def drain(self) -> None:
        """Write the packets that came since the last call."""
        for ring in self._rings:
            ring.drain()

    def stop(self) -> None:
        """Write the rest. Raises `HoplabError` if a ring lost packets."""
        failures = []
        while self._rings:
            try:
                self._rings.pop().close()
            except HoplabError as error:
                failures.append(error)
        if failures:
            raise failures[0]


def packets_of(conversation: Conversation) -> list[bytes]:
    """Return classic BPF for packets from the flow's source to its destination with its ports. It
    also takes fragments between the two, because later fragments have no ports."""
    if conversation.flow.ip == 6:
        return _packets_of_ipv6(conversation)
    source, destination = conversation.source_address, conversation.destination_address
    accept, drop = 15, 16
    return [
        instruction(LOAD_HALF, value=AD_PROTOCOL),
        instruction(JUMP_EQUAL, 0, drop - 2, ETH_P_IP),
        instruction(LOAD_BYTE, value=9),
        instruction(JUMP_EQUAL, 0, drop - 4, PROTOCOLS[conversation.flow.transport]),
        instruction(LOAD_WORD, value=12),
        instruction(JUMP_EQUAL, 0, drop - 6, _number(source)),
        instruction(LOAD_WORD, value=16),
        instruction(JUMP_EQUAL, 0, drop - 8, _number(destination)),
        instruction(LOAD_HALF, value=6),
        instruction(JUMP_ANY_BIT, accept - 10, 0, FRAGMENT_OFFSET),
        instruction(LOAD_HEADER_BYTES, value=0),
        instruction(LOAD_HALF_AFTER_HEADER, value=0),
        instruction(JUMP_EQUAL, 0, drop - 13, conversation.client_port),
        instruction(LOAD_HALF_AFTER_HEADER, value=2),
        instruction(JUMP_EQUAL, 0, drop - 15, conversation.server_port),
        instruction(RETURN, value=HEADERS_BYTES),
        instruction(RETURN, value=0),
    ]


def _packets_of_ipv6(conversation: Conversation) -> list[bytes]:
    ends = (conversation.source_address, conversation.destination_address)
    octets = b"".join(socket.inet_pton(socket.AF_INET6, end) for end in ends)
    words = struct.unpack("!8I", octets)
    ports = conversation.client_port << 16 | conversation.server_port
    # Each condition, and where to go on: to the next one, accepted or dropped.
    conditions = [(LOAD_HALF, AD_PROTOCOL, ETH_P_IPV6)]
    conditions += [(LOAD_WORD, ADDRESSES_AT_6 + 4 * i, word) for i, word in enumerate(words)]
    program: list[bytes] = []
    accept = 2 * len(conditions) + 5
    drop = accept + 1
    for load, at, value in conditions:
        program.append(instruction(load, value=at))
        program.append(instruction(JUMP_EQUAL, 0, drop - len(program) - 1, value))
    program.append(instruction(LOAD_BYTE, value=6))
    program.append(instruction(JUMP_EQUAL, accept - len(program) - 1, 0, FRAGMENT_HEADER))
    protocol = PROTOCOLS[conversation.flow.transport]
    program.append(instruction(JUMP_EQUAL, 0, drop - len(program) - 1, protocol))
    program.append(instruction(LOAD_WORD, value=PORTS_AT_6))
    program.append(instruction(JUMP_EQUAL, 0, drop - len(program) - 1, ports))
    program.append(instruction(RETURN, value=HEADERS_BYTES))
    program.append(instruction(RETURN, value=0))
    return program


def instruction(code: int, if_true: int = 0, if_false: int = 0, value: int = 0) -> bytes:
    """Return a struct sock_filter; jumps count from the next instruction."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _number(address: str) -> int:
    return int.from_bytes(socket.inet_aton(address), "big")

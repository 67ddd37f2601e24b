# SPDX-License-Identifier: Apache-2.0
"""Round-trip times of UDP, from the packets at one end."""

from __future__ import annotations

from dataclasses import dataclass, field

LONG_HEADER, SPIN_BIT = 0x80, 0x20
"""Bits of the first octet of QUIC's packets (RFC 9000 17.2, 17.4)."""
VERSIONS = {bytes.fromhex("00000001"), bytes.fromhex("6b3343cf")}
"""QUIC's versions 1 and 2 (RFC 9369), in octets 1 to 4 of a packet with a long header."""


@dataclass
class RoundTrips:
    """Round-trip times of one connection.

    For QUIC, the first one runs from the first packet to the first answer, at the end that spoke
    first. Later ones run, at both ends, from a packet that turns the spin bit to the turned bit's
    return (RFC 9000 17.4). For other protocols a time runs from a datagram to the next one that
    comes, at the end that spoke first. If a peer takes time to answer, each value includes it.
    """

    ms: list[float] = field(default_factory=list)
    _spoke_first: bool | None = None
    _is_quic: bool = False
    _asked_s: float | None = None
    """When the datagram that waits for its answer was sent."""
    _spin: dict[bool, int] = field(default_factory=dict)
    """The last spin bit; the key says whether it was sent from here. The first bit is 0."""

    def add(self, t_s: float, went_out: bool, payload: bytes) -> None:
        """Add a datagram by its first octets."""
        if self._spoke_first is None:
            self._spoke_first = went_out
        self._is_quic = self._is_quic or _shows_quic(payload)
        if self._is_quic and payload and not payload[0] & LONG_HEADER:
            spin = payload[0] & SPIN_BIT
            if self._spin.get(went_out, 0) != spin:
                self._spin[went_out] = spin
                self._pass(t_s, went_out)
        elif self._spoke_first and not (self._is_quic and self.ms):
            self._pass(t_s, went_out)

    def _pass(self, t_s: float, went_out: bool) -> None:
        if not went_out:
            self._answered(t_s)
        elif self._asked_s is None:
            self._asked_s = t_s

    def _answered(self, t_s: float) -> None:
        if self._asked_s is not None:
            self.ms.append((t_s - self._asked_s) * 1e3)
            self._asked_s = None


def _shows_quic(payload: bytes) -> bool:
    return len(payload) > 4 and bool(payload[0] & LONG_HEADER) and payload[1:5] in VERSIONS

# SPDX-License-Identifier: Apache-2.0
"""Selective acknowledgements (RFC 2018) of single flows.

Linux has one switch for a network namespace, `net.ipv4.tcp_sack`. It serves where all TCP of a
station agrees. Elsewhere the station permits SACK, and a packet filter takes the permission out of
the SYNs of the other flows. The option's two octets become NOPs, as in every SYN with timestamps
but without SACK. Neither end then uses SACK (RFC 2018 section 2).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from socket import IPPROTO_TCP

from pyroute2.netlink.exceptions import NetlinkError

from hoplab.guest.network import filters
from hoplab.guest.network.namespaces import Namespaces
from hoplab.model.errors import MissingTool
from hoplab.model.network.plan import Conversation, Plan

SYSCTL = "net.ipv4.tcp_sack"
SACK_PERMITTED = 4
"""Kind of the option (RFC 2018 section 2)."""
CHAIN = "output"
Later = Callable[[Callable[[], None]], None]


class Sack:
    """Which stations have SACK switched off, and which flows a filter keeps without it."""

    def __init__(self, plan: Plan) -> None:
        self._known = [c for c in plan.conversations if c.flow.transport == "tcp"]
        busy = {program.station for program in plan.scenario.program}
        busy |= {
            station for c in self._known if c.flow.sack is not False for station in _stations(c)
        }
        sources = {c.flow.source for c in self._known if c.flow.sack is False}
        self._off = sources - busy
        self._owned = not plan.scenario.is_found
        """Whether the stations end with the run, and the filters with them."""

    def permitted(self, station: str) -> bool:
        """Return whether the station's kernel permits SACK."""
        return station not in self._off

    @property
    def filtered(self) -> list[Conversation]:
        """Return the flows without SACK that leave stations with it."""
        return [c for c in self._known if self._needs_filter(c)]

    def install(self, later: Later) -> None:
        """Keep the planned flows from SACK that ask for none, where their stations permit it."""
        for conversation in self.filtered:
            self._filter(conversation, later)

    def join(self, conversation: Conversation, namespaces: Namespaces, later: Later) -> None:
        """Do the same for a flow that was not planned. A station where it needs SACK permits SACK
        from now on."""
        if conversation.flow.transport != "tcp":
            return
        self._known.append(conversation)
        if conversation.flow.sack is False:
            if self._needs_filter(conversation):
                self._filter(conversation, later)
            return
        for station in self._off.intersection(_stations(conversation)):
            for other in self._known:
                if other.flow.source == station and other.flow.sack is False:
                    self._filter(other, later)
            self._off.remove(station)
            namespaces.sysctl(station, {SYSCTL: "1"})

    def _needs_filter(self, conversation: Conversation) -> bool:
        return conversation.flow.sack is False and self.permitted(conversation.flow.source)

    def _filter(self, conversation: Conversation, later: Later) -> None:
        """Take the permission out of the SYNs of a flow's data connection."""
        station, table = conversation.flow.source, f"hoplab-sack-{conversation.client_port}"
        family = filters.AF_INET6 if conversation.flow.ip == 6 else filters.AF_INET
        ports = struct.pack(">HH", conversation.client_port, conversation.server_port)
        own = [
            *filters.of_protocol(IPPROTO_TCP),
            *filters.payload(filters.TRANSPORT_HEADER, 0, len(ports)),
            *filters.compare(filters.EQUAL, ports),
        ]
        try:
            with filters.rules(station, table, family) as rules:
                rules.chain(CHAIN, "output", filters.FILTER_PRIORITY)
                rules.add(CHAIN, own, filters.without_tcp_option(SACK_PERMITTED))
        except NetlinkError as error:
            raise MissingTool(
                f"flow {conversation.name}: sack: false beside TCP with SACK needs nftables of "
                f"Linux 5.18, and this kernel refuses: {os.strerror(error.code)}; give all flows "
                f"of {station} the same sack, or run with --machine uml"
            ) from None
        if not self._owned:
            later(lambda: filters.remove(station, table, family))


def _stations(conversation: Conversation) -> tuple[str, str]:
    return conversation.flow.source, conversation.flow.destination

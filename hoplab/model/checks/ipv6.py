# SPDX-License-Identifier: Apache-2.0
"""Checks of a resolved scenario: parts that know only IPv4, and so contradict a flow with
``ip = 6``."""

from __future__ import annotations

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved, UdpFlow
from hoplab.model.keys.scenario import Flow
from hoplab.model.network.reach import narrowest_mtu

IP_UDP_HEADERS_BYTES = 48
OF_IPV4 = {
    "dsr": "DSR (RFC 4728)",
    "aodv": "AODV (RFC 3561)",
    "olsr": "OLSR",
    "dsdv": "DSDV",
    "batmand": "batmand",
}
"""Routing protocols without routes of IPv6."""


def check_ipv6(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first contradiction."""
    if not scenario.uses_ipv6:
        return
    which = next((f"flow.{i}.ip: 6" for i, f in enumerate(scenario.flow) if f.ip == 6), None)
    where = which or "network.ipv6: true"
    if (known := OF_IPV4.get(scenario.routing.protocol)) is not None:
        raise ScenarioError(
            f"{where}, but {known} routes IPv4 alone; use routing.protocol static, babeld or "
            "batman-adv"
        )
    if scenario.network.built_by != "hoplab":
        raise ScenarioError(
            f'{where}, but network.built_by is "{scenario.network.built_by}", whose stations have '
            "their own addresses; use ip = 4"
        )
    for i, loss in enumerate(scenario.loss):
        if which is not None and scenario.is_wired(loss):
            raise ScenarioError(
                f"{which}, but loss.{i} is of a wired link, which counts packets of IPv4 alone; "
                "remove it"
            )
    for i, flow in enumerate(scenario.flow):
        if flow.ip == 6:
            _flow(scenario, flow, i)


def _flow(scenario: Resolved, flow: Flow, i: int) -> None:
    """Raise `ScenarioError` for settings that a flow of IPv6 cannot have."""
    most = narrowest_mtu(scenario) - IP_UDP_HEADERS_BYTES
    if isinstance(flow, UdpFlow) and flow.packet_bytes > most:
        raise ScenarioError(
            f"flow.{i}.packet_bytes: {flow.packet_bytes}, but with ip = 6 a packet of UDP is not "
            f"followed in fragments; at most {most}"
        )
    if flow.protocol != "tcp":
        return
    if scenario.stands_by(flow):
        raise ScenarioError(
            f"flow.{i}.ip: 6, but ELFN's notices are of IPv4; set elfn = false, or use ip = 4"
        )
    if flow.split:
        raise ScenarioError(
            f"flow.{i}.ip: 6, but Split-TCP takes over IPv4 alone; set split = false, or use ip = 4"
        )
    if scenario.measure.packets and scenario.tcp.profile == "classic":
        raise ScenarioError(
            f"flow.{i}.ip: 6, but measure.packets tells IPv6's retransmissions from each other by "
            'their timestamps, which tcp.profile = "classic" has none of; use "linux", or ip = 4'
        )

# SPDX-License-Identifier: Apache-2.0
"""Apply the scenario's TCP settings: sysctls of a station, metrics of its routes, windows."""

from __future__ import annotations

from pathlib import Path

from hoplab.network.build import Network
from hoplab.scenario.model import Scenario
from hoplab.tcp import profile
from hoplab.tcp.socket_settings import SocketSettings
from hoplab.traffic.flows import Transfer


def apply(scenario: Scenario, network: Network) -> dict[str, dict[str, str]]:
    """Set every station; returns what was set, for the manifest."""
    off = {flow.source for flow in scenario.flow if flow.protocol == "tcp" and flow.sack is False}
    applied = {}
    for station in scenario.station:
        windows = [
            profile.window_bytes(flow)
            for flow in scenario.flow
            if station.name in (flow.source, flow.destination)
        ]
        values = profile.sysctls(
            scenario.tcp, sack=station.name not in off, window_bytes=max(windows, default=0)
        )
        values = {k: v for k, v in values.items() if _exists(k)}
        network.namespaces.sysctl(station.name, values)
        applied[station.name] = values
    return applied


def _exists(key: str) -> bool:
    return Path("/proc/sys", *key.split(".")).exists()


def socket_settings(scenario: Scenario, transfers: list[Transfer]) -> list[SocketSettings]:
    """Windows of every TCP flow."""
    return [
        SocketSettings(
            transfer.client_port,
            profile.initial_window(scenario.tcp),
            transfer.flow.window,
        )
        for transfer in transfers
        if transfer.flow.protocol == "tcp"
    ]


def route_metrics(scenario: Scenario, station: str) -> dict[str, dict[str, int]]:
    """Per destination station, the metrics of the routes that leave ``station``.

    The receiver's acknowledgement policy is a property of the route towards the sender
    (RTAX_QUICKACK).
    """
    if scenario.tcp.delayed_ack is not False:
        return {}
    return {
        flow.source: {"quickack": 1}
        for flow in scenario.flow
        if flow.protocol == "tcp" and flow.destination == station
    }

# SPDX-License-Identifier: Apache-2.0
"""Apply the scenario's TCP settings: sysctls of a station, metrics of its routes."""

from __future__ import annotations

from hoplab import tcp_profile
from hoplab.network.build import Network
from hoplab.scenario import Scenario


def apply(scenario: Scenario, network: Network) -> dict[str, dict[str, str]]:
    """Set every station; returns what was set, for the manifest."""
    off = {flow.source for flow in scenario.flow if flow.protocol == "tcp" and flow.sack is False}
    applied = {}
    for station in scenario.station:
        values = tcp_profile.sysctls(scenario.tcp, sack=station.name not in off)
        values = {k: v for k, v in values.items() if _exists(k)}
        network.namespaces.sysctl(station.name, values)
        applied[station.name] = values
    return applied


def _exists(key: str) -> bool:
    from pathlib import Path

    return Path("/proc/sys", *key.split(".")).exists()


def route_metrics(scenario: Scenario, station: str) -> dict[str, dict[str, int]]:
    """Per destination station, the metrics of the routes that leave ``station``.

    The sender's initial window and the receiver's window and acknowledgement policy are
    properties of the route towards the other end (RTAX_INITCWND, RTAX_WINDOW, RTAX_QUICKACK).
    """
    metrics: dict[str, dict[str, int]] = {}
    initial = tcp_profile.initial_window(scenario.tcp)
    for flow in scenario.flow:
        if flow.protocol != "tcp":
            continue
        if flow.source == station and initial is not None:
            metrics.setdefault(flow.destination, {})["initcwnd"] = initial
        if flow.destination == station:
            towards = metrics.setdefault(flow.source, {})
            window = tcp_profile.window_bytes(flow)
            if window is not None:
                towards["window"] = window
            if scenario.tcp.delayed_ack is False:
                towards["quickack"] = 1
    return metrics

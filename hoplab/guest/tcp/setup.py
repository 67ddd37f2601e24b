# SPDX-License-Identifier: Apache-2.0
"""Apply the scenario's TCP settings: sysctls of stations, windows of single flows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hoplab.guest.network.elfn import Elfn
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.tcp import profile
from hoplab.guest.tcp.sack import Sack
from hoplab.guest.tcp.socket_settings import SocketSettings
from hoplab.model.errors import MissingTool, ScenarioError
from hoplab.model.keys.resolved import TcpFlow
from hoplab.model.keys.variants import CONGESTION_CONTROLS, PRAGUE
from hoplab.model.network.plan import Conversation, Plan

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Applied:
    """The settings of each station, those that the kernel lacks, and a warning of one that it
    ignores."""

    values: dict[str, dict[str, str]]
    lacking: tuple[str, ...]
    doubt: str | None


def apply(plan: Plan, namespaces: Namespaces, sack: Sack) -> Applied:
    """Apply the settings of every station. Raises `MissingTool` if the kernel lacks a setting that
    the scenario names."""
    flows = plan.scenario.flow
    _check_available([f.congestion_control for f in flows if isinstance(f, TcpFlow)])
    made: dict[str, dict[str, str]] = {}
    lacking: set[str] = set()
    for station in plan.address:
        windows = [
            flow.window_bytes
            for flow in flows
            if station in (flow.source, flow.destination)
            if isinstance(flow, TcpFlow) and flow.window_bytes is not None
        ]
        values = profile.sysctls(
            plan.scenario.tcp_of(station),
            sack=sack.permitted(station),
            window_bytes=max(windows, default=0),
            splits=any(flow.split and flow.source == station for flow in flows),
            accurate_ecn=any(
                flow.congestion_control == PRAGUE and station in (flow.source, flow.destination)
                for flow in flows
            ),
        )
        missing = namespaces.sysctl(station, values)
        made[station] = {key: value for key, value in values.items() if key not in missing}
        lacking.update(missing)
        made[station] |= own_sysctls(namespaces, station, plan.scenario.tcp_of(station).sysctl)
    if profile.MIN_RTO in lacking:
        raise MissingTool(
            f"tcp.min_rto_ms: this kernel has no {profile.MIN_RTO}, which came with Linux 6.11; "
            "remove the key, or run with --machine uml"
        )
    sacked = [f.name for f in flows if isinstance(f, TcpFlow) and f.sack]
    doubt = profile.doubt(plan.scenario.tcp, sacked, os.uname().release)
    return Applied(made, tuple(sorted(lacking)), doubt)


def own_sysctls(
    namespaces: Namespaces, station: str, asked: Mapping[str, int | str]
) -> dict[str, str]:
    """Make the settings that the scenario names for a station. Returns them as the kernel has them.

    Raises `MissingTool` for one that the kernel has not for each station, `ScenarioError` for a
    value that it refuses.
    """
    found: dict[str, str] = {}
    for name, value in asked.items():
        try:
            if namespaces.sysctl(station, {name: str(value)}):
                release = os.uname().release
                raise MissingTool(
                    f"sysctl {name}: this kernel, {release}, has none that is a station's own; "
                    "correct the name, or take another kernel with --machine"
                )
            found[name] = namespaces.sysctl_value(station, name)
        except OSError as error:
            raise ScenarioError(
                f"sysctl {name}: the kernel refuses {value!r} at {station}: {error.strerror}"
            ) from None
    return found


def _check_available(names: Collection[str]) -> None:
    """Check names that are not of Hoplab: a kernel may load its own modules when asked, but not a
    user's. Raises `MissingTool`."""
    others = set(names) - set(CONGESTION_CONTROLS) | set(names) & {PRAGUE}
    if not others:
        return
    available = AVAILABLE.read_text(encoding="ascii").split()
    if PRAGUE in others and PRAGUE not in available:
        raise MissingTool(
            f"flow.congestion_control: {PRAGUE!r} needs accurate ECN feedback, which this kernel, "
            f"{os.uname().release}, has not; Linux 7.2 and newer have it: see hoplab machine list, "
            "and run with --machine NAME"
        )
    if missing := sorted(others.difference(available)):
        raise MissingTool(
            f"flow.congestion_control: {missing[0]!r} is not in this kernel, which has "
            f"{', '.join(sorted(available))}; add your module to kernel-modules/tcp and run make "
            "setup"
        )


def socket_settings(plan: Plan) -> list[SocketSettings]:
    """Windows of every TCP flow."""
    return settings_of(plan, plan.conversations)


def settings_of(plan: Plan, conversations: Iterable[Conversation]) -> list[SocketSettings]:
    """Return the windows of the TCP flows among them. With requests and responses both ends
    send."""
    return [
        SocketSettings(
            port,
            profile.initial_window(plan.scenario.tcp_of(station)),
            conversation.flow.window,
        )
        for conversation in conversations
        for station, port in _sending_ends(conversation)
    ]


def _sending_ends(conversation: Conversation) -> tuple[tuple[str, int], ...]:
    flow = conversation.flow
    client = flow.source, conversation.client_port
    if flow.protocol == "rr":
        return client, (flow.destination, conversation.server_port)
    return (client,) if flow.protocol == "tcp" else ()


def elfn(plan: Plan, later: Callable[[Callable[[], None]], None]) -> dict[str, Elfn]:
    """Set up stand-by for the flows that use it. Returns the module by station, which ``later``
    closes."""
    modules: dict[str, Elfn] = {}
    for conversation in plan.conversations:
        stand_by(conversation, modules, later)
    return modules


def stand_by(
    conversation: Conversation,
    modules: dict[str, Elfn],
    later: Callable[[Callable[[], None]], None],
) -> None:
    """Set up stand-by for a flow that uses it. If its station has no module yet, one joins
    ``modules``."""
    chosen = conversation.elfn
    if chosen is None:
        return
    station = conversation.flow.source
    if station not in modules:
        modules[station] = Elfn(station)
        later(modules[station].close)
    modules[station].set(
        True,
        chosen.probe_ms,
        chosen.resume,
        chosen.give_up_s,
        chosen.first_probe,
        conversation.client_port,
    )

# SPDX-License-Identifier: Apache-2.0
"""Paths of Multipath TCP at either end: routes by source address, and the endpoints of the
kernel's own path manager (`ip mptcp`)."""

from __future__ import annotations

import os
from itertools import pairwise

from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic.mptcp import MPTCP

from hoplab.guest.network.inside import inside
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.routes import Routes
from hoplab.guest.routing.static import next_hop
from hoplab.model.errors import MissingTool
from hoplab.model.keys.stations import Multipath
from hoplab.model.network.multipath import Path, connections, paths
from hoplab.model.network.plan import Plan
from hoplab.model.network.wlans import Wlan

ENABLED = "net.mptcp.enabled"
SCHEDULER = "net.mptcp.scheduler"
FIRST_TABLE = 100
"""Routing tables of paths, a table for each address of a source."""
RTNH_F_ONLINK = 4
SIGNAL, SUBFLOW, BACKUP = 1, 2, 4
"""MPTCP_PM_ADDR_FLAG_… (linux/mptcp_pm.h)."""
JOIN_PORT = 5200
"""Where the kernel itself takes subflows to a further address. A flow's destination listens at its
first address alone."""


def install(plan: Plan, namespaces: Namespaces) -> None:
    """Give each connection by MPTCP its paths. Its source opens subflows from its other addresses,
    and its destination tells its own. Raises `MissingTool` if the kernel has no MPTCP."""
    endpoints: dict[str, dict[str, tuple[Path, int]]] = {}
    alone: set[str] = set()
    """Stations that connections come to from one address alone."""
    for who, source, destination in connections(plan.scenario):
        for here, there, flag in (
            (source, destination, SUBFLOW),
            (destination, source, SIGNAL),
        ):
            if namespaces.sysctl(here, {ENABLED: "1"}):
                raise MissingTool(
                    f"{who}: this kernel, {os.uname().release}, has no MPTCP; run with "
                    "--machine uml"
                )
            known = endpoints.setdefault(here, {})
            for one in paths(plan, here, there):
                _route(plan, namespaces, one, one.address not in known)
                _, flags = known.get(one.address, (one, 0))
                known[one.address] = one, flags | flag
        if len(paths(plan, source, destination)) == 1:
            alone.add(destination)
    for name, known in endpoints.items():
        known.pop(plan.address[name], None)
        station = next(one for one in plan.scenario.station if one.name == name)
        settings = station.mptcp or Multipath()
        _schedule(name, namespaces, settings.scheduler)
        _endpoints(name, list(known.values()), settings, JOIN_PORT if name in alone else None)


def _route(plan: Plan, namespaces: Namespaces, one: Path, is_new: bool) -> None:
    """Route both ways of a path by the address of its first station, which gets a rule for it if it
    is new."""
    source, peer, destination = one.stations[0], one.stations[1], one.stations[-1]
    further = [plan.further[w.name] for w in plan.wlans.get(source, ()) if w.number]
    addresses = [plan.address[source], *(end.address for end in plan.ends[source]), *further]
    table = FIRST_TABLE + addresses.index(one.address)
    if is_new:
        namespaces.netlink(source).rule(
            "add", src=one.address, src_len=32, table=table, priority=table
        )
    there_by = here_by = None
    if isinstance(one.by, Wlan) and one.by.network is not None:
        there_by, here_by = one.by, plan.wlan_in(peer, one.by.network)
        if is_new:
            index = namespaces.index(source, one.by.interface)
            namespaces.netlink(source).addr("add", index=index, address=one.address, prefixlen=32)
        _meet(plan, namespaces, there_by, here_by)
        _meet(plan, namespaces, here_by, there_by)
    _set(plan, namespaces, (source, peer), plan.address[destination], table, there_by)
    for here, there in pairwise(reversed(one.stations)):
        _set(plan, namespaces, (here, there), one.address, by=here_by if there == source else None)


def _meet(plan: Plan, namespaces: Namespaces, one: Wlan, other: Wlan) -> None:
    """Tell a station who is at the other radio, as static routes do for first radios."""
    with Routes(one.station, replace=True) as routes:
        index = namespaces.index(one.station, one.interface)
        routes.neighbour(plan.address[other.station], plan.mac[other.name], index)


def _set(
    plan: Plan,
    namespaces: Namespaces,
    hop: tuple[str, str],
    address: str,
    table: int | None = None,
    by: Wlan | None = None,
) -> None:
    """Route packets to ``address`` from the first station to the second, ``by`` a radio of the
    first."""
    here, there = hop
    if by is None:
        interface, gateway = next_hop(plan, here, there, plan.address)
    else:
        interface, gateway = by.interface, plan.address[there]
    arguments = {
        "dst": f"{address}/32",
        "oif": namespaces.index(here, interface),
        "prefsrc": plan.address[here],
    }
    if gateway != address:
        arguments |= {"gateway": gateway, "flags": RTNH_F_ONLINK}
    if table is not None:
        arguments["table"] = table
        del arguments["prefsrc"]
    namespaces.netlink(here).route("replace", **arguments)


def _schedule(station: str, namespaces: Namespaces, scheduler: str | None) -> None:
    if scheduler is None:
        return
    try:
        lacking = namespaces.sysctl(station, {SCHEDULER: scheduler})
    except OSError:
        lacking = [SCHEDULER]
    if lacking:
        known = namespaces.sysctl_value(station, "net.mptcp.available_schedulers")
        raise MissingTool(
            f"station {station}: mptcp.scheduler: this kernel, {os.uname().release}, has no "
            f"{scheduler!r}; one of: {known}"
        )


def _endpoints(
    station: str, others: list[tuple[Path, int]], settings: Multipath, port: int | None
) -> None:
    """Give the path manager the station's further addresses. With a port, connections may be joined
    at them, which the kernel has only for addresses that begin no subflow themselves."""
    with inside(station):
        manager = MPTCP()
    try:
        manager.limits("set", subflows=settings.subflows, add_addr_accepted=settings.subflows)
        for one, flags in others:
            backup = BACKUP if one.via in settings.backup else 0
            joined = {"port": port} if port and flags == SIGNAL else {}
            manager.endpoint("add", addr4=one.address, flags=flags | backup, **joined)
    except NetlinkError as error:
        raise MissingTool(
            f"station {station}: the kernel's path manager refuses its endpoints: "
            f"{os.strerror(error.code)}"
        ) from None
    finally:
        manager.close()

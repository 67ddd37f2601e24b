# SPDX-License-Identifier: Apache-2.0
"""Build a resolved scenario's network inside the running kernel, whichever that is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from hoplab.guest.network import (
    buffers,
    cells,
    distribution,
    hwsim,
    ipv6,
    mesh,
    regulatory,
    wifi,
    wired,
    wired_loss,
)
from hoplab.guest.network.hwsim import Radios
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.nl80211 import Wireless
from hoplab.guest.system.counting import told
from hoplab.model.errors import MissingTool
from hoplab.model.keys.resolved import ResolvedBackbone, ResolvedCell
from hoplab.model.keys.scenario import Station
from hoplab.model.network.plan import WIRES, Plan
from hoplab.model.network.reach import meeting
from hoplab.model.network.wlans import Wlan

DESCRIPTORS = 65_536
LOOPBACK = "lo"
FEW = 100
"""Stations whose descriptors are within the usual limit, and whose set-up takes a moment."""
T = TypeVar("T")
WITHOUT_IPV6 = {f"net.ipv6.conf.{which}.disable_ipv6": "1" for which in ("all", "default")}


class Hold(Protocol):
    """Keeps radios in being until it is closed."""

    def close(self) -> None: ...


@dataclass
class Network:
    """The network that was built by the plan: its namespaces, and the hold on the radios in
    them."""

    namespaces: Namespaces
    radios: Hold | None
    mac: dict[str, str] = field(default_factory=dict)
    """Addresses of radios that differ from the plan's, by station."""

    def close(self) -> None:
        self.namespaces.close()
        if self.radios is not None:
            self.radios.close()


def counted(plan: Plan, what: str, things: Sequence[T]) -> Iterable[T]:
    """Return the things. If they are many, the lab reports how many have been taken."""
    if len(things) <= FEW or plan.end_s is None:  # a person has the output
        return things
    return told(what, things)


def own_stations(plan: Plan, network: Network) -> None:
    """Make namespaces and radios of Hoplab's own."""
    namespaces = network.namespaces
    if len(plan.scenario.station) > FEW:
        _allow_descriptors()
    if plan.radios:
        radio = plan.scenario.radio
        if radio.queue == "fq_codel":
            hwsim.hold_back(radio.frames_ahead)
        elif len(plan.scenario.station) > FEW:
            hwsim.tell_few_flows_apart()
        if (
            radio.rules == "edca"
            and radio.aggregation != "kernel"
            and any(cell.security == "wpa3" for cell in plan.scenario.cell)
        ):
            hwsim.need_no_agreements()
        network.radios = radios = Radios()
        iw = Wireless(radios.over)
    for station in counted(plan, "sets up stations", plan.scenario.station):
        namespaces.create(station.name)
        settings(plan, namespaces, station)
        for wlan in plan.wlans.get(station.name, ()):
            _radio(plan, namespaces, wlan, radios, iw)
            if station.queue is not None:
                index = namespaces.index(station.name, wlan.interface)
                netlink = namespaces.netlink(station.name)
                wired.above_radio(netlink, index, station.queue)
        address(plan, namespaces, station)


def _allow_descriptors() -> None:
    """Let this process have a netlink socket for each of many stations."""
    # Import here, so that a run of few stations does not import it.
    import resource

    with contextlib.suppress(ValueError):  # root without that right has what it has
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def _radio(plan: Plan, namespaces: Namespaces, wlan: Wlan, radios: Radios, iw: Wireless) -> None:
    """Make a station's radio in its namespace: in the IBSS, or at rest for a cell or a mesh."""
    radio = plan.radio_of(wlan)
    width_mhz = wifi.kernel_width_mhz(radio)
    phy = radios.create(wlan.wiphy, plan.mac[wlan.name], radio.band, width_mhz)
    if radio.aql_us is not None:
        wifi.limit_air_time(wlan.wiphy, radio.aql_us)
    if not radio.airtime_fairness:
        wifi.take_turns(wlan.wiphy)
    wifi.set_codel(wlan.wiphy, radio)
    wifi.move(iw, phy, wlan.station)
    if isinstance(wlan.network, ResolvedCell):
        cells.settle(namespaces, wlan, phy, radio)
        if wlan.is_bridged:
            distribution.bridge(plan, namespaces, wlan)
    elif _is_mesh(plan, wlan):
        mesh.settle(namespaces, wlan, phy, radio)
    else:
        wifi.settle(namespaces, wlan, phy, radio, _bssid(plan, wlan.network))


def _is_mesh(plan: Plan, wlan: Wlan) -> bool:
    if isinstance(wlan.network, ResolvedBackbone):
        return wlan.network.mode == "mesh"
    return plan.scenario.routing.protocol == "hwmp"


def _bssid(plan: Plan, network: ResolvedCell | ResolvedBackbone | None) -> str:
    """Return the BSSID of an ad hoc network. Backbones on one channel are several networks."""
    if not isinstance(network, ResolvedBackbone):
        return wifi.BSSID
    *first, _ = wifi.BSSID.split(":")
    return ":".join([*first, f"{1 + plan.scenario.backbone.index(network):02x}"])


def _introduce(plan: Plan) -> None:
    """Let the stations of every ad hoc network hear each other."""
    networks: list[tuple[ResolvedCell | ResolvedBackbone | None, list[Wlan]]] = [
        (backbone, [plan.wlan_in(name, backbone) for name in backbone.stations])
        for backbone in plan.scenario.backbone
    ]
    if not plan.scenario.cell and not plan.scenario.backbone:
        networks.append((None, [wlan for name in plan.radios for wlan in plan.wlans[name]]))
    for network, members in networks:
        if not members or _is_mesh(plan, members[0]):
            continue
        radio, bssid = plan.radio_of(members[0]), _bssid(plan, network)
        if len(members) <= wifi.MOST_KNOWN:
            wifi.introduce(members, radio, bssid)
        else:
            of_station = {wlan.station: wlan for wlan in members}
            near = meeting(plan.scenario, list(of_station))
            wifi.introduce_meeting(near, of_station, plan.mac, radio, bssid)


def build(
    plan: Plan,
    created: Callable[[str], None] = lambda name: None,
    stations: Callable[[Plan, Network], None] = own_stations,
) -> Network:
    """Build namespaces, wired links, addresses, and radios in one IBSS or at rest for cells and a
    mesh.

    There are no routes yet.

    ``created`` receives the name of each namespace as soon as it exists. ``stations`` makes the
    stations with their radios.
    """
    network = Network(Namespaces(created), None)
    try:
        if regulatory.needed(plan.radio_of(wlan) for own in plan.wlans.values() for wlan in own):
            regulatory.allow()
        stations(plan, network)
        _introduce(plan)
        if plan.cables or plan.scenario.roams:
            network.namespaces.create(WIRES)
            # The interfaces inside a wire belong to no host. They would report multicast groups and
            # look for routers and for duplicates of themselves, on the wire and past its queue.
            network.namespaces.sysctl(WIRES, WITHOUT_IPV6)
        if plan.scenario.roams:
            distribution.join(plan, network.namespaces)
        for cable in counted(plan, "sets up links", plan.cables):
            wired.connect(network.namespaces, cable, plan.scenario.seed, plan.scenario.uses_ipv6)
        wired_loss.install(plan)
    except BaseException:
        network.close()
        raise
    return network


def settings(plan: Plan, namespaces: Namespaces, station: Station) -> None:
    """Sysctls that every station needs."""
    speaks = plan.scenario.routing.protocol in ("babeld", "own") or plan.scenario.uses_ipv6
    more = {}
    if plan.scenario.uses_ipv6:
        more = ipv6.SYSCTLS
        ipv6.hush(station.name)
    lacking = namespaces.sysctl(
        station.name,
        {
            "net.ipv4.ip_forward": "1",
            "net.ipv4.conf.all.rp_filter": "0",
            "net.ipv4.conf.default.rp_filter": "0",
            # A relay in a chain forwards a packet out of the interface that it came in on. Naming a
            # "better" next hop to the sender would bypass the topology.
            "net.ipv4.conf.all.send_redirects": "0",
            "net.ipv4.conf.default.send_redirects": "0",
            "net.ipv4.conf.all.accept_redirects": "0",
            "net.ipv4.conf.default.accept_redirects": "0",
            # Multicast listener reports and router solicitations would add traffic that no study
            # has. Without flows of IPv6 only routing daemons speak it.
            "net.ipv6.conf.all.disable_ipv6": "0" if speaks else "1",
            "net.ipv6.conf.default.disable_ipv6": "0" if speaks else "1",
            "net.ipv6.conf.default.router_solicitations": "0",
            "net.ipv6.conf.default.accept_dad": "0",
            **buffers.sysctls(),
            **more,
        },
    )
    # A kernel without IPv6 sends none.
    needed = [key for key in lacking if speaks or not key.startswith("net.ipv6.")]
    if needed:
        raise MissingTool(f"kernel: has no {', '.join(needed)}; run with --machine uml")


def address(plan: Plan, namespaces: Namespaces, station: Station) -> None:
    """Add the address of the station, on its radio if it has one."""
    interface, prefix = LOOPBACK, 32
    if station.radio:
        interface, prefix = plan.addressed(station.name), plan.prefix
    index = namespaces.index(station.name, interface)
    broadcast = None
    if prefix == plan.subnet or (station.radio and plan.scenario.routing.protocol == "own"):
        # A daemon may broadcast, though the other stations are in no network of this one.
        broadcast = plan.broadcast
    namespaces.links(station.name).add_address(index, plan.address[station.name], prefix, broadcast)
    if plan.scenario.uses_ipv6:
        ipv6.address(plan, namespaces, station.name, index)

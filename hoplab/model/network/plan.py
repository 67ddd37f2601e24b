# SPDX-License-Identifier: Apache-2.0
"""Values of a run that are fixed before it is built: addresses, MACs, ports, route metrics.

Pure, from a resolved scenario. Numbers and names on which two parts must agree come from here. The
parts build, start, measure and evaluate a run.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

from hoplab.model.keys.queues import Queue
from hoplab.model.keys.resolved import (
    AnyFlow,
    Resolved,
    ResolvedBackbone,
    ResolvedCell,
    ResolvedProgram,
    ResolvedRadio,
)
from hoplab.model.keys.scenario import Link
from hoplab.model.keys.split import Split, SplitConnection
from hoplab.model.keys.stations import Port, Station
from hoplab.model.keys.traffic import Elfn, Tcp
from hoplab.model.network.reach import neighbours, next_hops, path
from hoplab.model.network.wlans import Wlan, channel_of, wlans
from hoplab.model.streams import stream_seed

WIRELESS = "wlan0"
"""The first radio's interface at every station that Hoplab builds."""
BRIDGE, UPLINK = "br0", "ds0"
"""Interfaces of an access point whose clients roam. The bridge has the station's address. The port
leads to the wires between the network's access points."""
WIRES = "hoplab-wires"
"""The namespace of the wired links' insides, a name that no station can have."""
HOSTS_OF_24 = 254
"""Hosts that a network with a prefix of 24 bits has room for."""
SUBNET_6, HOST_6 = 64, 128
LINKS_IN_BYTE = 64
"""Networks of four addresses in one value of an address's third byte."""
FURTHER = 2
"""Second byte of the addresses of radios beside a station's first. Stations have 0, wires 1."""
FIRST_SERVER_PORT = 5201
FIRST_CLIENT_PORT = 20_001
"""First port of the flows' data connections; flow i uses the i-th after it. Fixed ports distinguish
the data connection from iperf3's control connection, which picks its own."""
AIR = "air"
"""In ``measure.captures``: the channel itself, not a station's interface."""
ANY = "any"


@dataclass(frozen=True)
class End:
    """One end of a wired link: the station's interface, the wire's, and the addresses of both ends
    for IPv4 and IPv6."""

    station: str
    interface: str
    wire: str
    address: str
    peer_station: str
    peer_address: str
    address_6: str
    peer_address_6: str


@dataclass(frozen=True)
class Cable:
    """A wired link with its two ends and the bridge between them."""

    link: Link
    bridge: str
    ends: tuple[End, End]


@dataclass(frozen=True)
class Conversation:
    """A flow with the addresses and ports of its data connection."""

    flow: AnyFlow
    name: str
    stop_s: float
    source_address: str
    destination_address: str
    client_port: int
    server_port: int
    seed: int
    """Seed of the random stream ``flow/NAME``."""

    elfn: Elfn | None
    """Settings of its stand-by on link failure notices; None without stand-by."""
    split: SplitConnection | None
    """Settings of its split connection, for the daemons; None if it is not split."""
    proxies: tuple[str, ...]
    """Its proxies from the source on, if they are known before the run."""

    @property
    def is_counted(self) -> bool:
        """Whether it is a TCP transfer of a given number of packets."""
        return self.flow.is_counted

    @property
    def has_server(self) -> bool:
        """Whether a program answers at its destination; the kernel answers echoes."""
        return self.flow.protocol != "ping"

    @property
    def is_iperf3(self) -> bool:
        """Whether iperf3 sends and receives it, with its control connection."""
        return self.flow.is_iperf3


@dataclass(frozen=True)
class Capture:
    """Packets to keep: of one interface of a station, or of ``any``."""

    station: str
    interface: str


@dataclass(frozen=True)
class Plan:
    """A resolved scenario, with all values on which its parts must agree."""

    scenario: Resolved
    address: dict[str, str]
    """Address of each station, for flows: on the radio if there is one, else on loopback."""
    address_6: dict[str, str]
    """The same for IPv6, with the prefix for documentation (RFC 3849); empty if the scenario has no
    IPv6."""
    mac: dict[str, str]
    """MAC of each station, and of each further radio by the radio's name."""
    interface: dict[str, str]
    """Interface of each station's first radio."""
    cables: tuple[Cable, ...]
    conversations: tuple[Conversation, ...]
    metrics: dict[str, dict[str, dict[str, int]]]
    """By station and destination station, the metrics of the route between them."""
    end_s: float | None
    """When the daemons' records end; None if a person ends them, at a prompt."""

    @cached_property
    def radios(self) -> tuple[str, ...]:
        """Names of the stations that have a radio."""
        return tuple(station.name for station in self.scenario.station if station.radio)

    @cached_property
    def wlans(self) -> dict[str, tuple[Wlan, ...]]:
        """The radios of every station that has one, in order."""
        every = wlans(self.scenario)
        return {name: tuple(w for w in every if w.station == name) for name in self.radios}

    @cached_property
    def further(self) -> dict[str, str]:
        """Address of each radio beside its station's first, by the radio's name, for paths of
        MPTCP. No other packet has it."""
        names = [wlan.name for own in self.wlans.values() for wlan in own if wlan.number]
        return {name: _address(i, FURTHER) for i, name in enumerate(names, 1)}

    def wlan_in(self, station: str, network: ResolvedCell | ResolvedBackbone) -> Wlan:
        """The station's radio in this network."""
        return next(wlan for wlan in self.wlans[station] if wlan.network == network)

    def radio_of(self, wlan: Wlan) -> ResolvedRadio:
        """Return `[radio]` with this radio's own keys: its channel and its width, and a client's
        MCS."""
        radio, update = self.scenario.radio, {}
        channel = channel_of(self.scenario, wlan)
        if channel is not None:
            update["channel"] = channel
        if isinstance(wlan.network, ResolvedCell) and wlan.network.width_mhz is not None:
            update["width_mhz"] = wlan.network.width_mhz
        if isinstance(wlan.network, ResolvedCell) and wlan.station in wlan.network.clients:
            station = next(one for one in self.scenario.station if one.name == wlan.station)
            if station.mcs is not None:
                update["mcs"] = station.mcs
        return radio.model_copy(update=update) if update else radio

    def way(self, station: str, neighbour: str) -> tuple[str, str] | None:
        """Return the interface by which a station sends to a neighbour without a wire between, and
        the neighbour's MAC there. None if no network has both."""
        if not self.scenario.cell and not self.scenario.backbone:
            return self.addressed(station), self.mac[neighbour]
        return self._ways.get((station, neighbour))

    @cached_property
    def _ways(self) -> dict[tuple[str, str], tuple[str, str]]:
        """By pairs of stations. If several networks have both, the first counts."""
        ways: dict[tuple[str, str], tuple[str, str]] = {}
        joined: list[list[Wlan]] = [
            [self.wlan_in(name, cell) for cell in cells for name in cell.members]
            for cells in self.scenario.networks
        ]
        for backbone in self.scenario.backbone:
            joined.append([self.wlan_in(name, backbone) for name in backbone.stations])
        for members in joined:
            for one, other in itertools.permutations(members, 2):
                port = BRIDGE if one.is_bridged else one.interface
                ways.setdefault((one.station, other.station), (port, self.mac[other.name]))
        return ways

    @property
    def early(self) -> tuple[ResolvedProgram, ...]:
        """Programs that start before time 0, which waits for them, in their order. There are none
        if a person starts the programs."""
        if self.end_s is None:
            return ()
        return tuple(program for program in self.scenario.program if program.ready is not None)

    @property
    def early_s(self) -> float:
        """The time that they have to start, one after the other, after the warm-up."""
        return sum(program.ready.wait_s for program in self.early if program.ready is not None)

    @property
    def host_names(self) -> dict[str, str]:
        """Addresses by host names: a station's name is its IPv4 address, and with ``.ip6`` its IPv6
        address."""
        return self.address | {f"{name}.ip6": a for name, a in self.address_6.items()}

    @cached_property
    def standing_by(self) -> tuple[str, ...]:
        """Stations that send flows with ELFN."""
        return tuple(sorted({c.flow.source for c in self.conversations if c.elfn is not None}))

    @cached_property
    def split_connections(self) -> tuple[SplitConnection, ...]:
        """Settings of all split connections."""
        return tuple(c.split for c in self.conversations if c.split is not None)

    @cached_property
    def splits(self) -> bool:
        """Whether some flow is split."""
        return bool(self.split_connections)

    @property
    def subnet(self) -> int:
        """Prefix length of the network of all stations' addresses."""
        return 24 if len(self.scenario.station) <= HOSTS_OF_24 else 16

    @property
    def broadcast(self) -> str:
        """Its broadcast address."""
        return "10.0.0.255" if self.subnet == 24 else "10.0.255.255"

    @property
    def prefix(self) -> int:
        """Length of the radios' network: protocols that broadcast at IP need one."""
        one = ("batmand", "batman-adv", "hwmp")
        return self.subnet if self.scenario.routing.protocol in one else 32

    @property
    def prefix_6(self) -> int:
        """The same for IPv6. Stations beyond batman-adv or HWMP are neighbours."""
        return SUBNET_6 if self.scenario.routing.protocol in ("batman-adv", "hwmp") else HOST_6

    def network_prefix(self, station: str) -> int:
        """Return the prefix length of the network that the station's routing daemon must reach."""
        port = self.ports.get(station)
        return self.subnet if port is None else port.prefix

    @cached_property
    def ports(self) -> dict[str, Port]:
        """Radios that others have made, by station."""
        return {s.name: s.port for s in self.scenario.station if s.port is not None}

    def addressed(self, station: str) -> str:
        """Return the interface that has the station's address, at a station with a radio."""
        bridged = any(wlan.is_bridged for wlan in self.wlans.get(station, ()))
        return BRIDGE if bridged else WIRELESS

    @property
    def captures(self) -> list[Capture]:
        """Captures inside stations."""
        parts = (target.partition(":") for target in self.scenario.measure.captures)
        return [Capture(station, port or ANY) for station, _, port in parts if station != AIR]

    @property
    def followed(self) -> list[Conversation]:
        """Flows each of whose packets is timed. They are every UDP flow, or all flows if the
        scenario asks for it, except echoes, which table `exchanges` has."""
        wanted = ("tcp", "udp") if self.scenario.measure.packets else ("udp",)
        return [
            c
            for c in self.conversations
            if c.flow.transport in wanted and c.flow.protocol != "call"
        ]

    @cached_property
    def queues(self) -> dict[tuple[str, str], Queue]:
        """The queue of each interface that has one, by station and interface."""
        wired = {
            (end.station, end.interface): way.queue
            for cable in self.cables
            for end, way in zip(cable.ends, cable.link.ways, strict=True)
        }
        radios = {
            (station.name, wlan.interface): station.queue
            for station in self.scenario.station
            if station.queue is not None
            for wlan in self.wlans.get(station.name, ())
        }
        return wired | radios

    @cached_property
    def ends(self) -> dict[str, tuple[End, ...]]:
        """The wired interfaces of every station, in order."""
        every = [end for cable in self.cables for end in cable.ends]
        return {name: tuple(e for e in every if e.station == name) for name in self.address}


def plan(scenario: Resolved) -> Plan:
    """Return the plan of a resolved scenario. The same scenario gives the same plan."""
    stations = list(enumerate(scenario.station, 1))
    address = addresses_of(scenario.station)
    address_6 = {s.name: f"2001:db8::{i:x}" for i, s in stations if scenario.uses_ipv6}
    addresses = {4: address, 6: address_6}
    return Plan(
        scenario,
        address,
        address_6,
        {s.name: s.port.mac if s.port else _mac(i) for i, s in stations} | _further(scenario),
        {s.name: s.port.interface if s.port else WIRELESS for _, s in stations},
        _cables(scenario),
        tuple(
            _conversation(flow, i, addresses[flow.ip], scenario)
            for i, flow in enumerate(scenario.flow)
        ),
        {station.name: _metrics(scenario, station.name) for station in scenario.station},
        scenario.duration_s,
    )


def addresses_of(stations: tuple[Station, ...]) -> dict[str, str]:
    """Return the IPv4 address of each station of a resolved scenario."""
    numbered = enumerate(stations, 1)
    return {s.name: s.port.address if s.port else _address(i) for i, s in numbered}


def _address(number: int, second: int = 0) -> str:
    third, fourth = divmod(number - 1, HOSTS_OF_24)
    return f"10.{second}.{third}.{fourth + 1}"


def _mac(number: int, radio: int = 0) -> str:
    return f"02:00:00:{radio:02x}:{number >> 8:02x}:{number & 0xFF:02x}"


def _further(scenario: Resolved) -> dict[str, str]:
    """Return the MACs of the radios beside each station's first."""
    numbers = {station.name: i for i, station in enumerate(scenario.station, 1)}
    return {
        wlan.name: _mac(numbers[wlan.station], wlan.number)
        for wlan in wlans(scenario)
        if wlan.number
    }


def _cables(scenario: Resolved) -> tuple[Cable, ...]:
    ports: dict[str, int] = {}
    cables = []
    for number, link in enumerate(scenario.link):
        base, offset = number // LINKS_IN_BYTE, number % LINKS_IN_BYTE * 4
        ends = []
        for side, station in enumerate(link.ends):
            port = ports.get(station, 0)
            ports[station] = port + 1
            ends.append(
                End(
                    station,
                    f"eth{port}",
                    f"l{number}{'ab'[side]}",
                    f"10.1.{base}.{offset + 1 + side}",
                    link.ends[1 - side],
                    f"10.1.{base}.{offset + 2 - side}",
                    f"2001:db8:1:{number:x}::{1 + side}",
                    f"2001:db8:1:{number:x}::{2 - side}",
                )
            )
        cables.append(Cable(link, f"link{number}", (ends[0], ends[1])))
    return tuple(cables)


def _elfn(flow: AnyFlow, tcp: Tcp) -> Elfn | None:
    """Return a flow's settings of stand-by. ``elfn = true`` means the settings of `[tcp]`, if it
    has some."""
    if flow.protocol != "tcp" or flow.elfn is False:
        return None
    if isinstance(flow.elfn, Elfn):
        return flow.elfn
    if isinstance(tcp.elfn, Elfn):
        return tcp.elfn
    return Elfn() if flow.elfn or tcp.elfn else None


def _conversation(
    flow: AnyFlow, index: int, address: dict[str, str], scenario: Resolved
) -> Conversation:
    ports = FIRST_CLIENT_PORT + index, FIRST_SERVER_PORT + index
    proxies = _proxies(flow, scenario)
    return Conversation(
        flow,
        flow.name,
        flow.stop_s,
        address[flow.source],
        address[flow.destination],
        *ports,
        stream_seed(scenario.seed, f"flow/{flow.name}"),
        _elfn(flow, scenario.tcp_of(flow.source)),
        _split(flow, address, ports, proxies),
        proxies,
    )


def _proxies(flow: AnyFlow, scenario: Resolved) -> tuple[str, ...]:
    """Return the flow's proxies, from its source on. None if a routing daemon's routes decide which
    stations are that many hops away.

    Between stations of B.A.T.M.A.N. advanced there is no hop that IP could see. Proxies there are
    those of the shortest path at time 0, and routes lead through them.
    """
    split = flow.split
    if not isinstance(split, Split):
        return ()
    fixed = scenario.routing.protocol in ("static", "batman-adv")
    if not fixed and split.every_hops is not None:
        return ()
    graph = neighbours(scenario)
    way = path(next_hops(graph, flow.destination), flow.source, flow.destination)[1:-1]
    if split.every_hops is not None:
        return tuple(way[split.every_hops - 1 :: split.every_hops])
    named = [name for name in split.proxies if name not in (flow.source, flow.destination)]
    return tuple(sorted(named, key=lambda name: way.index(name) if name in way else len(way)))


def _split(
    flow: AnyFlow, address: dict[str, str], ports: tuple[int, int], proxies: tuple[str, ...]
) -> SplitConnection | None:
    split = flow.split
    if not isinstance(split, Split):
        return None
    return SplitConnection(
        name=flow.name,
        source=address[flow.source],
        source_port=ports[0],
        destination=address[flow.destination],
        destination_port=ports[1],
        proxies=tuple(address[name] for name in proxies),
        every_hops=None if proxies else split.every_hops,
        buffer_packets=split.buffer_packets,
        window=split.window,
        ack_every=split.ack_every,
    )


def _metrics(scenario: Resolved, station: str) -> dict[str, dict[str, int]]:
    """The receiver's acknowledgement policy is a property of the route towards the sender
    (RTAX_QUICKACK)."""
    if scenario.tcp_of(station).delayed_ack is not False:
        return {}
    senders = [
        flow.source
        for flow in scenario.flow
        if flow.destination == station and flow.transport == "tcp"
    ]
    senders += [
        flow.destination
        for flow in scenario.flow
        if flow.protocol == "rr" and flow.source == station
    ]
    return {sender: {"quickack": 1} for sender in senders}

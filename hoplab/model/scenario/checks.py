# SPDX-License-Identifier: Apache-2.0
"""Refuse parts of a resolved scenario that contradict each other, or have no effect.

A scenario that is accepted here runs, and every key of it acts.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from hoplab.model.errors import ScenarioError
from hoplab.model.scenario import programs
from hoplab.model.scenario.cell_checks import check_cells
from hoplab.model.scenario.channel_checks import Place, check_channels
from hoplab.model.scenario.channels import channels_of, listed, widest_mhz
from hoplab.model.scenario.edca_checks import check_categories, check_categories_of_radios
from hoplab.model.scenario.ipv6_checks import check_ipv6
from hoplab.model.scenario.medium_file import MediumFile
from hoplab.model.scenario.model import Flow, Radio, Scenario
from hoplab.model.scenario.plan import AIR, ANY, BRIDGE, UPLINK, Plan, plan
from hoplab.model.scenario.proxies import detours
from hoplab.model.scenario.radio import (
    HT_STANDARDS,
    LAST_5_GHZ_CHANNEL,
    RATES_OF_STANDARD,
    Nic,
    in_vht_tables,
)
from hoplab.model.scenario.reach import (
    narrowest_mtu,
    neighbours,
    next_hops,
    path,
    reach_m,
    sensed_m,
)
from hoplab.model.scenario.snr_checks import check_snr
from hoplab.model.scenario.split import STAMP_BYTES, Split
from hoplab.model.scenario.stations import MAX_STATIONS

VHT_MCS_NOT_ON_20_MHZ = 9
"""Of one stream (IEEE 802.11-2020 21.5)."""
MAX_WAYPOINTS = 1_000_000
IP_TCP_HEADERS_BYTES = {4: 40, 6: 60}
MAX_SAMPLES = 10_000_000
MOST_ENTRIES = 100
"""Entries of a list that are checked one by one once a mistake is found."""
MAX_PACKETS_PER_S = 250_000
"""Packets of all UDP flows: a guest sends this many in some twenty seconds, and shows its
progress."""


def check(scenario: Scenario) -> None:
    """Raise `ScenarioError` with a line for each key or table that contradicts others."""
    _stations(scenario)  # the names on which all others depend
    _network(scenario)
    told: dict[str, str] = {}
    for name, one in _checks():
        try:
            one(scenario)
        except ScenarioError as error:
            for line in (*(() if name is None else _of_entries(scenario, name, one)), str(error)):
                told.setdefault(line.partition(": ")[0], line)
        except (LookupError, ValueError):
            if not told:  # it comes of a contradiction that has been found
                raise
    if told:
        raise ScenarioError("\n".join(told.values()))
    _paths(scenario)


Check = Callable[[Scenario], None]


def _checks() -> Iterator[tuple[str | None, Check]]:
    """Yield the checks of parts, and the list that a check goes through entry by entry."""
    yield "link", _links
    yield None, _radios_of_stations
    yield None, check_cells
    yield None, check_categories
    yield None, _channels
    yield None, _agreements
    yield None, _routing
    yield None, check_ipv6
    yield "loss", _losses
    yield "event", _events
    yield "flow", _flows
    yield None, _packets
    yield "program", lambda scenario: programs.check(scenario, [s.name for s in scenario.station])
    yield None, _detours
    yield None, _measure


def _of_entries(scenario: Scenario, name: str, check: Check) -> Iterator[str]:
    """Yield the mistakes of a list's entries, each checked without the others."""
    for i, entry in enumerate(getattr(scenario, name)[:MOST_ENTRIES]):
        try:
            check(scenario.model_copy(update={name: (entry,)}))
        except ScenarioError as error:
            yield str(error).replace(f"{name}.0", f"{name}.{i}", 1)


def _radios_of_stations(scenario: Scenario) -> None:
    if any(station.radio for station in scenario.station):
        _channel(scenario.radio)
        check_radio(scenario.radio)
        _queue(scenario)
        _buffers(scenario)
    radios = [station.name for station in scenario.station if station.radio]
    check_snr(scenario.snr, radios, scenario.radio, scenario.event)


def _channels(scenario: Scenario) -> None:
    places = [
        Place(f"cell.{i}", cell.channel, cell.width_mhz) for i, cell in enumerate(scenario.cell)
    ]
    places += [Place(f"backbone.{i}", one.channel) for i, one in enumerate(scenario.backbone)]
    check_channels(scenario.radio, places)


def _detours(scenario: Scenario) -> None:
    if scenario.routing.protocol == "batman-adv":
        detours(plan(scenario))


def _known(name: str | None, key: str, names: Iterable[str], what: str = "station") -> None:
    names = list(names)
    if name is None or name in names:
        return
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "") if names else "none"
    raise ScenarioError(f"{key}: no {what} {name!r}{hint}; there are: {shown}")


def _stations(scenario: Scenario) -> None:
    names = [station.name for station in scenario.station]
    if len(names) > MAX_STATIONS:
        raise ScenarioError(f"station: {len(names)} stations; at most {MAX_STATIONS}")
    _named_once(names)
    if AIR in names:
        raise ScenarioError(f"station: {AIR!r} is not free as a name; choose another")
    points = sum(len(station.waypoints) for station in scenario.station)
    if points > MAX_WAYPOINTS:
        raise ScenarioError(f"station: {points} waypoints in all; at most {MAX_WAYPOINTS}")


def _named_once(names: list[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ScenarioError(f"station: the name {name!r} is given twice")


def _network(scenario: Scenario) -> None:
    """Check a network that a script has built, and the keys that only such a network has."""
    if scenario.is_found:
        for station in scenario.station:
            if station.radio and station.port is None:
                raise ScenarioError(
                    f'station {station.name}: port: not given, but network.built_by is "script"'
                )
        for key in ("link", "loss", "event"):
            if getattr(scenario, key):
                raise ScenarioError(
                    f"{key}: is of networks that Hoplab builds, and a script has built this one; "
                    "have the script do it"
                )
        if scenario.routing.protocol not in ("own", "dsr"):
            raise ScenarioError(
                f"routing.protocol: {scenario.routing.protocol!r}, but network.built_by is "
                '"script"; one of: "own", "dsr"'
            )
        return
    for station in scenario.station:
        if station.port is not None:
            raise ScenarioError(
                f'station {station.name}: port: is told where network.built_by is "script"; '
                "remove it"
            )


def _queue(scenario: Scenario) -> None:
    """Check Linux's own queues. They act only if hwsim leaves frames in them, which only the
    guest's does."""
    radio = scenario.radio
    if radio.queue == "fifo" and radio.aggregation != "kernel":
        return
    if scenario.network.medium == "daemon" or scenario.network.built_by != "hoplab":
        key, value = (
            ("medium", scenario.network.medium)
            if scenario.network.medium == "daemon"
            else ("built_by", scenario.network.built_by)
        )
        what, instead = (
            ('aggregation: "kernel"', "aggregation = true")
            if radio.aggregation == "kernel"
            else ('queue: "fq_codel"', 'queue = "fifo"')
        )
        raise ScenarioError(
            f"radio.{what} needs the medium in the guest's kernel and Hoplab's own radios, but "
            f'network.{key} is "{value}"; set radio.{instead}'
        )
    for where, nic in _cards(scenario):
        if nic.queue_packets:
            raise ScenarioError(
                f'{where}.queue_packets: {nic.queue_packets}, but radio.queue is "fq_codel", and '
                "packets wait in Linux's queues; remove it"
            )


def _cards(described: Scenario | MediumFile) -> Iterator[tuple[str, Nic]]:
    """Yield each network card with the name of its table."""
    if described.radio.nic is not None:
        yield "radio.nic", described.radio.nic
    for station in described.station:
        if station.nic is not None:
            yield f"station {station.name}: nic", station.nic


def _buffers(described: Scenario | MediumFile) -> None:
    """Check the cards' buffers. With access categories a frame goes from its category's queue on
    the air."""
    if described.radio.rules != "edca":
        return
    for where, nic in _cards(described):
        for key in ("tx_ring", "tx_load_us", "tx_load_mbps"):
            if value := getattr(nic, key):
                raise ScenarioError(
                    f'{where}.{key}: {value:g}, but radio.rules is "edca", where a card copies no '
                    "frames ahead; remove it"
                )


def _agreements(scenario: Scenario) -> None:
    """Check block ack agreements. WPA3 encrypts requests for them, so a medium outside the kernel
    cannot take them."""
    if scenario.radio.aggregation == "kernel":
        _kernels_agreements(scenario)
    if scenario.radio.rules != "edca" or scenario.network.medium != "daemon":
        return
    for i, cell in enumerate(scenario.cell):
        if cell.security == "wpa3":
            raise ScenarioError(
                f'cell.{i}.security: "wpa3" with radio.rules = "edca" needs the medium in the '
                'guest\'s kernel, but network.medium is "daemon"; set "kernel", or '
                'security = "wpa2" below 6 GHz'
            )


def _kernels_agreements(scenario: Scenario) -> None:
    """Check what mac80211's own agreements need. It numbers frames that leave its queues, and the
    receiver waits for each number."""
    if scenario.radio.queue == "fifo":
        raise ScenarioError(
            'radio.aggregation: "kernel", but radio.queue is "fifo", which would lose frames that '
            'mac80211 has numbered; set radio.queue = "fq_codel"'
        )
    if scenario.radio.mac == "csma-ca-noack":
        raise ScenarioError(
            'radio.aggregation: "kernel", but radio.mac is "csma-ca-noack", without block acks; '
            "set radio.aggregation = false"
        )
    vht = scenario.radio.standard == "802.11ac"
    if vht and scenario.radio.is_adaptive and scenario.radio.mcs == VHT_MCS_NOT_ON_20_MHZ:
        raise ScenarioError(
            'radio.mcs: 9 with radio.rate_mbps = "auto" and radio.aggregation = "kernel": minstrel '
            "tries it on 20 MHz, which has none, and the receiver would wait for what is refused; "
            "set radio.mcs = 8"
        )
    for i, loss in enumerate(scenario.loss):
        if loss.takes == "packets":
            raise ScenarioError(
                f'loss.{i}.takes: "packets", but radio.aggregation is "kernel", whose receiver '
                'would wait for them as for frames; use "data", or set radio.aggregation = true'
            )


def _links(scenario: Scenario) -> None:
    names = [station.name for station in scenario.station]
    joined: dict[frozenset[str], int] = {}
    for i, link in enumerate(scenario.link):
        for end in link.ends:
            _known(end, f"link.{i}.ends", names)
        other = joined.setdefault(frozenset(link.ends), i)
        if other != i:
            raise ScenarioError(
                f"link.{i}.ends: {' and '.join(link.ends)} are joined by link.{other} already; "
                "remove one"
            )


def check_medium(medium: MediumFile) -> None:
    """Raise `ScenarioError` for the first contradiction in a medium daemon's file."""
    names = [station.name for station in medium.station]
    _named_once(names)
    # A radio of one's own may send on more channels of 2.4 and 5 GHz than those of a run.
    if medium.radio.band_ghz is not None or (medium.radio.channel or 1) > LAST_5_GHZ_CHANNEL:
        _channel(medium.radio)
    check_radio(medium.radio)
    _buffers(medium)
    check_categories_of_radios(medium)
    if medium.radio.aggregation == "kernel":
        raise ScenarioError(
            'radio.aggregation: "kernel" needs the medium in the guest\'s kernel, but this one is '
            "outside; set radio.aggregation = true"
        )
    check_channels(
        medium.radio,
        [Place(f"station.{i}", station.channel) for i, station in enumerate(medium.station)],
    )
    check_snr(medium.snr, names, medium.radio, medium.event)
    for key, tables in (("loss", medium.loss), ("event", medium.event)):
        for i, table in enumerate(tables):
            for end in ("station", "src", "dst"):
                _known(getattr(table, end, None), f"{key}.{i}.{end}", names)


def _channel(radio: Radio) -> None:
    channels = channels_of(str(radio.standard), radio.band_ghz)
    if radio.channel not in channels:
        where = "" if radio.band_ghz is None else f" at {radio.band_ghz:g} GHz"
        raise ScenarioError(
            f"radio.channel: {radio.channel} is no channel on which {radio.standard} may send "
            f"here{where}; one of {listed(channels)}"
        )


def check_radio(radio: Radio) -> None:
    """Raise `ScenarioError` for the first contradiction in `[radio]`."""
    standard = radio.standard
    assert standard is not None
    if standard in HT_STANDARDS:
        _adaptive(radio)
    elif radio.rate_mbps == "ideal":
        raise ScenarioError(
            f'radio.rate_mbps: ideal, but radio.standard is {standard!r}; use "auto"'
        )
    for key, rates in (
        ("rate_mbps", RATES_OF_STANDARD[standard]),
        ("basic_rate_mbps", RATES_OF_STANDARD[standard]),
        ("plcp_rate_mbps", (1, 2) if standard in ("802.11", "802.11b") else (6,)),
    ):
        rate = getattr(radio, key)
        if rate not in (None, "auto", "ideal") and rate not in rates:
            raise ScenarioError(
                f"radio.{key}: {rate:g} Mbit/s is no such rate of {standard}; one of "
                + ", ".join(map(str, rates))
            )
    if standard in HT_STANDARDS:
        _scheme(radio)
    for key in ("cw_min", "cw_max"):
        window = getattr(radio, key)
        if window & (window + 1):
            raise ScenarioError(f"radio.{key}: {window} is not 2^n - 1, as 15, 31 and 1023 are")
    assert radio.cw_min is not None and radio.cw_max is not None
    if radio.cw_max < radio.cw_min:
        raise ScenarioError(f"radio.cw_max: {radio.cw_max} is below cw_min {radio.cw_min}")
    reach, sensed = reach_m(radio), sensed_m(radio)
    if sensed < reach:
        raise ScenarioError(
            f"radio: carrier sense ends at {sensed:.4g} m, before reception at {reach:.4g} m; "
            "raise carrier_sense_m (cs_threshold_dbm lower) or lower range_m"
        )


def _adaptive(radio: Radio) -> None:
    """Check rates from 802.11n on: a rate is an MCS, or minstrel's choice if minstrel knows
    them."""
    if radio.rate_mbps is None:
        return
    where = f"radio.rate_mbps: {radio.rate_mbps}, but radio.standard is {radio.standard!r}"
    usual = "ideal" if radio.fixed_by_medium else "auto"
    if radio.rate_mbps not in ("auto", "ideal"):
        raise ScenarioError(f'{where}; set mcs for a fixed rate, or rate_mbps = "{usual}"')
    if radio.fixed_by_medium and radio.is_adaptive:
        raise ScenarioError(
            f"{where} on {radio.width_mhz} MHz, whose rates the kernel's minstrel does not know; "
            'use "ideal", or set mcs'
        )
    if radio.rate_mbps == "ideal":
        if not radio.fixed_by_medium:
            raise ScenarioError(f'{where}, whose rates the kernel\'s minstrel knows; use "auto"')
        if radio.reception != "error-rate":
            raise ScenarioError(
                f"{where}: by reception {radio.reception!r} every rate arrives as far; "
                'set reception = "error-rate"'
            )


def _scheme(radio: Radio) -> None:
    """Check MCS and width (IEEE 802.11-2020 19.5, 21.5)."""
    if radio.mcs is None or radio.width_mhz is None or radio.guard_ns is None:
        raise ScenarioError(
            f"radio: {radio.standard} needs mcs, width_mhz and guard_ns, as its profile has them"
        )
    widest = widest_mhz(radio.band, radio.channel or 1)
    standard, streams = radio.standard, radio.streams or 1
    short = radio.guard_ns == 400 if standard == "802.11ax" else radio.guard_ns > 800
    for wrong, known in (
        (standard == "802.11n" and radio.width_mhz > 40, "width_mhz: 802.11n has 20 and 40 MHz"),
        (standard == "802.11ax" and radio.mcs > 11, "mcs: 802.11ax has 0 to 11"),
        (standard == "802.11ac" and radio.mcs > 9, "mcs: 802.11ac has 0 to 9"),
        (short and standard == "802.11ax", "guard_ns: 802.11ax has 800, 1600 and 3200"),
        (short and standard != "802.11ax", f"guard_ns: {standard} has 400 and 800"),
        (
            radio.width_mhz > widest,
            f"width_mhz: channel {radio.channel} has neighbours for {widest} MHz at most",
        ),
    ):
        if wrong:
            key = known.split(":", maxsplit=1)[0]
            raise ScenarioError(f"radio.{known}; not {getattr(radio, key)}")
    if standard == "802.11ac" and not in_vht_tables(radio.mcs, streams, radio.width_mhz):
        raise ScenarioError(
            f"radio.mcs: the standard's tables leave out {radio.mcs} of {streams} "
            f"stream{'s' * (streams > 1)} on {radio.width_mhz} MHz; use {radio.mcs - 1}"
        )


def _routing(scenario: Scenario) -> None:
    protocol = scenario.routing.protocol
    foreign = ("batmand", "babeld") if scenario.is_found else ("batmand", "babeld", "own")
    if scenario.tcp.delayed_ack is False and protocol in foreign:
        raise ScenarioError(
            f"tcp.delayed_ack: false is a property of routes, and {protocol} "
            "makes its own; use routing.protocol static, dsr or batman-adv"
        )
    if protocol == "hwmp":
        _mesh(scenario)
    if protocol in ("static", "own"):
        return
    if any(not station.radio for station in scenario.station):
        raise ScenarioError(
            f"routing.protocol: {protocol!r} needs a radio at every station; "
            'networks with wired hosts use "static"'
        )
    if scenario.link:
        raise ScenarioError(
            f'routing.protocol: {protocol!r} uses no wired links; remove [[link]] or use "static"'
        )


def _mesh(scenario: Scenario) -> None:
    """Check what a mesh cannot have around it."""
    if scenario.network.built_by != "hoplab":
        raise ScenarioError(
            f'routing.protocol: "hwmp" needs network.built_by = "hoplab"; not '
            f'"{scenario.network.built_by}"'
        )
    for i, flow in enumerate(scenario.flow):
        if isinstance(flow.split, Split):
            raise ScenarioError(
                f'flow.{i}.split: the relays of routing.protocol "hwmp" forward below IP, where no '
                "proxy sees the connection; remove it, or use another protocol"
            )


def _losses(scenario: Scenario) -> None:
    names = [station.name for station in scenario.station]
    radios = [station.name for station in scenario.station if station.radio]
    for i, loss in enumerate(scenario.loss):
        _known(loss.src, f"loss.{i}.src", names)
        _known(loss.dst, f"loss.{i}.dst", names)
        if scenario.is_wired(loss):
            if loss.kind not in ("uniform", "list"):
                raise ScenarioError(
                    f'loss.{i}.kind: a wired link has "uniform" and "list", not {loss.kind!r}'
                )
            if loss.takes != "data":
                raise ScenarioError(
                    f"loss.{i}.takes: counts on the air only; what a wired link loses is a packet"
                )
            continue
        if len(radios) < 2:
            raise ScenarioError(
                f"loss.{i}: acts on nothing: there are no two radios, and on a wired link it "
                "needs src and dst, which a link joins"
            )
        for key in ("src", "dst"):
            name = getattr(loss, key)
            if name is not None and name not in radios:
                raise ScenarioError(
                    f"loss.{i}.{key}: acts on nothing: {name} has no radio, and no link joins "
                    f"{loss.src or 'any station'} and {loss.dst or 'any station'}"
                )


def _events(scenario: Scenario) -> None:
    names = [station.name for station in scenario.station]
    radios = [station.name for station in scenario.station if station.radio]
    for i, event in enumerate(scenario.event):
        for key in ("station", "src", "dst"):
            name = getattr(event, key)
            _known(name, f"event.{i}.{key}", names)
            if name is not None and name not in radios:
                raise ScenarioError(
                    f"event.{i}.{key}: {name} has no radio, and events are of radios"
                )
        if event.at_s >= scenario.duration_s:
            raise ScenarioError(
                f"event.{i}.at_s: {event.at_s:g} is not before duration_s {scenario.duration_s:g}"
            )


def _packets(scenario: Scenario) -> None:
    """Raise `ScenarioError` for more packets than a guest sends in a reasonable time."""
    rates = [
        flow.rate_kbps * 125 / (flow.packet_bytes or 512)
        for flow in scenario.flow
        if flow.rate_kbps is not None
    ]
    rates += [1 / flow.interval_s for flow in scenario.flow if flow.interval_s is not None]
    if sum(rates) > MAX_PACKETS_PER_S:
        raise ScenarioError(
            f"flow: {len(rates)} flows send {sum(rates):.0f} packets a second in all; at most "
            f"{MAX_PACKETS_PER_S}: lower rate_kbps, or raise packet_bytes or interval_s"
        )


def _flows(scenario: Scenario) -> None:
    station_names = [station.name for station in scenario.station]
    flow_names: set[str] = set()
    graph = neighbours(scenario)
    for i, flow in enumerate(scenario.flow):
        _known(flow.source, f"flow.{i}.source", station_names)
        _known(flow.destination, f"flow.{i}.destination", station_names)
        if flow.name in flow_names:
            raise ScenarioError(f"flow.{i}.name: {flow.name!r} is given twice")
        flow_names.add(str(flow.name))
        if flow.start_s >= scenario.duration_s:
            raise ScenarioError(
                f"flow.{i}.start_s: {flow.start_s} is not before duration_s {scenario.duration_s}"
            )
        if flow.is_endless and scenario.routing.protocol == "dsr":
            raise ScenarioError(
                f"flow.{i}.rate_kbps: not given, and no full buffer holds a sender back over DSR, "
                "which drops what is too much; give a rate, or packets"
            )
        _segment_size(scenario, flow, i)
        if isinstance(flow.split, Split):
            _split(scenario, flow, i, flow.split, graph)


def _paths(scenario: Scenario) -> None:
    """Check for routes, once radios and names are known to be right."""
    if not _stays(scenario):
        return
    graph = neighbours(scenario)
    for i, flow in enumerate(scenario.flow):
        if flow.source not in next_hops(graph, flow.destination):
            raise ScenarioError(
                f"flow.{i}: there is no path from {flow.source} to {flow.destination}; "
                "move stations closer (topology.spacing_m), raise radio.range_m or add a link"
            )


def _split(
    scenario: Scenario, flow: Flow, i: int, split: Split, graph: dict[str, list[str]]
) -> None:
    """Check that proxies are stations which a segment of the flow can meet. The flow's remedies
    must not contradict each other."""
    for j, name in enumerate(split.proxies):
        _known(name, f"flow.{i}.split.proxies.{j}", graph)
    stations = path(next_hops(graph, flow.destination), flow.source, flow.destination)
    on_way = stations[1:-1]
    if split.every_hops is not None and stations and _stays(scenario):
        if split.every_hops > len(on_way):
            raise ScenarioError(
                f"flow.{i}.split.every_hops: {split.every_hops}, but from {flow.source} to "
                f"{flow.destination} are {len(stations) - 1} hops, so there is no proxy; lower it"
            )
    elif split.proxies:
        possible = set(on_way) if scenario.routing.protocol == "static" else set(graph)
        if not possible.intersection(split.proxies) - {flow.source, flow.destination}:
            between = ", ".join(on_way) or "none"
            raise ScenarioError(
                f"flow.{i}.split.proxies: none of them is between {flow.source} and "
                f"{flow.destination}; there are: {between}"
            )
    if flow.elfn or (flow.elfn is None and scenario.tcp.elfn):
        raise ScenarioError(
            f"flow.{i}.elfn: the flow is split, and its proxies answer for a route that fails; "
            "set elfn = false or split = false"
        )


def _segment_size(scenario: Scenario, flow: Flow, i: int) -> None:
    if flow.mss is None:
        return
    headers = IP_TCP_HEADERS_BYTES[flow.ip]
    most = narrowest_mtu(scenario) - headers - (STAMP_BYTES if flow.split else 0)
    if flow.mss > most:
        stamped = " with the stamp of a split flow" if flow.split else ""
        raise ScenarioError(
            f"flow.{i}.mss: {flow.mss} does not fit the interfaces on the way{stamped}; "
            f"at most {most}"
        )


def _stays(scenario: Scenario) -> bool:
    """Return whether reachability is known and constant: static routes are those of time 0."""
    if scenario.is_found:
        return False
    if scenario.routing.protocol == "static":
        return True
    radio = scenario.radio
    moves = any(len(station.waypoints) > 1 for station in scenario.station) or any(
        event.kind == "move" for event in scenario.event
    )
    if scenario.snr:
        moves = any(len(link.points) > 1 for link in scenario.snr)
    return not moves and radio.shadowing_db == 0 and radio.fading == "none"


def _measure(scenario: Scenario) -> None:
    measure, duration = scenario.measure, scenario.duration_s
    if measure.interval_s > duration:
        raise ScenarioError(
            f"measure.interval_s: {measure.interval_s:g} is longer than duration_s {duration:g}; "
            "there would be no sample"
        )
    if duration / measure.interval_s > MAX_SAMPLES:
        raise ScenarioError(
            f"measure.interval_s: {measure.interval_s:g} makes {duration / measure.interval_s:.0f} "
            f"samples; at most {MAX_SAMPLES}"
        )
    interfaces = _interfaces(scenario)
    for i, target in enumerate(measure.captures):
        key = f"measure.captures.{i}"
        if measure.captures.index(target) != i:
            raise ScenarioError(f"{key}: {target!r} is given twice")
        station, colon, interface = target.partition(":")
        if station == AIR and not colon:
            if not any(one.radio for one in scenario.station):
                raise ScenarioError(f"{key}: 'air' has nothing to capture: there are no radios")
            continue
        _known(station, key, interfaces)
        if colon:
            _known(interface, key, (ANY, *interfaces[station]), f"interface of {station} named")


def _interfaces(scenario: Scenario) -> dict[str, list[str]]:
    """Return the interfaces that each station will have."""
    virtual = {"dsr": ["dsr0"], "batman-adv": ["bat0"]}.get(scenario.routing.protocol, [])
    planned = plan(scenario)
    return {
        station: [
            "lo",
            *(_radios(planned, station, virtual) if station in planned.radios else []),
            *([BRIDGE, UPLINK] if planned.addressed(station) == BRIDGE else []),
            *(end.interface for end in ends),
        ]
        for station, ends in planned.ends.items()
    }


def _radios(planned: Plan, station: str, virtual: list[str]) -> list[str]:
    """Return the interfaces of a station's radios, and the virtual ones on the first."""
    further = [wlan.interface for wlan in planned.wlans[station][1:]]
    return [planned.interface[station], *further, *virtual]

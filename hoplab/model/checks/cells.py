# SPDX-License-Identifier: Apache-2.0
"""Refuse cells and backbones that contradict themselves, or the rest of a resolved scenario."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from hoplab.model.checks.multilink import check_links
from hoplab.model.checks.puncturing import check_puncturing
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.backbones import Backbone
from hoplab.model.keys.cells import PS_POLL, TWT, U_APSD, Cell
from hoplab.model.keys.radio import BAND_6_GHZ, HE_STANDARDS, HT_STANDARDS, in_vht_tables
from hoplab.model.keys.resolved import Resolved, ResolvedCell, ResolvedRadio
from hoplab.model.network.powers import received_dbm
from hoplab.model.network.reach import hearing, reach_m, reaching


def check_cells(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first contradiction."""
    _rates(scenario)
    _weights(scenario)
    _widths(scenario)
    if not scenario.cell and not scenario.backbone:
        _ad_hoc(scenario)
        return
    _surroundings(scenario)
    _members(scenario)
    if any(backbone.mode == "ad-hoc" for backbone in scenario.backbone):
        _ad_hoc(scenario)
    _networks(scenario)
    _power_save(scenario)
    check_links(scenario)
    check_puncturing(scenario)
    for i, cell in enumerate(scenario.cell):
        _secured(scenario, cell, i)
        _within_reach(scenario, cell, i)


def _ad_hoc(scenario: Resolved) -> None:
    """Check the radio of an ad hoc network. A mesh is exempt, because it supports everything that
    cells do."""
    radio = scenario.radio
    radios = any(station.radio for station in scenario.station)
    if scenario.routing.protocol == "hwmp" or not radios:
        return
    if radio.standard in HE_STANDARDS:
        raise ScenarioError(
            f'radio.standard: "{radio.standard}" is in cells and meshes only, as mac80211 has '
            'no HE in ad hoc networks; add a [[cell]] or routing.protocol = "hwmp", or use '
            'profile "80211ac"'
        )
    if radio.is_adaptive and radio.standard == "802.11ac" and radio.width_mhz != 80:
        raise ScenarioError(
            f'radio.rate_mbps: "auto", but width_mhz is {radio.width_mhz}, and mac80211 has VHT '
            'in ad hoc networks of 80 MHz only; add a [[cell]], or use profile "80211n"'
        )


def _rates(scenario: Resolved) -> None:
    """Check rates of single stations. Only a client of a cell can have one, because its access
    point asks each client for its rate."""
    clients = {name for cell in scenario.cell for name in cell.clients}
    for station in scenario.station:
        if station.mcs is None:
            continue
        where = f"station {station.name}: mcs"
        if scenario.radio.standard != "802.11n":
            raise ScenarioError(
                f'{where}: {station.mcs}, but radio.standard is "{scenario.radio.standard}"; use '
                '"802.11n", or remove it'
            )
        if scenario.radio.is_adaptive:
            raise ScenarioError(
                f'{where}: {station.mcs}, but radio.rate_mbps is "auto", so minstrel chooses; '
                "remove one"
            )
        if station.name not in clients:
            raise ScenarioError(
                f"{where}: {station.mcs}, but it is no client of a [[cell]], and other stations "
                "send at radio.mcs; remove it"
            )


def _widths(scenario: Resolved) -> None:
    """Check widths of single cells and stations. Only a client learns from its access point how
    wide
    a frame may be."""
    radio = scenario.radio
    for i, cell in enumerate(scenario.cell):
        if cell.width_mhz is not None:
            _has_width(radio, f"cell.{i}.width_mhz", cell.width_mhz)
    cells = {name: cell for cell in scenario.cell for name in cell.clients}
    for station in scenario.station:
        if station.width_mhz is None:
            continue
        where = f"station {station.name}: width_mhz"
        _has_width(radio, where, station.width_mhz)
        own = cells.get(station.name)
        if own is None:
            raise ScenarioError(
                f"{where}: {station.width_mhz}, but it is no client of a [[cell]]; remove it"
            )
        widest = own.width_mhz or radio.width_mhz
        if station.width_mhz > widest:
            raise ScenarioError(
                f"{where}: {station.width_mhz} is more than its cell's, {widest}; use less"
            )
        if radio.is_adaptive:
            raise ScenarioError(
                f'{where}: {station.width_mhz}, but radio.rate_mbps is "auto", and minstrel would '
                "choose rates of the whole channel; set radio.mcs, or width_mhz of its cell"
            )


def _has_width(radio: ResolvedRadio, where: str, width_mhz: int) -> None:
    if radio.rules != "edca":
        raise ScenarioError(
            f'{where}: {width_mhz}, but radio.rules is "{radio.rules}", without secondary '
            'channels; set radio.rules = "edca", or remove it'
        )
    vht, mcs, streams = radio.standard == "802.11ac", radio.mcs, radio.streams
    if vht and not in_vht_tables(mcs, streams, width_mhz):
        raise ScenarioError(
            f"{where}: {width_mhz}, on which VHT has no MCS {mcs} of {streams} "
            f"stream{'s' * (streams > 1)}; set radio.mcs = {mcs - 1}"
        )


def _weights(scenario: Resolved) -> None:
    """Check weights of air time. An access point weighs air time only if its kernel shares it among
    its clients."""
    clients = {name for cell in scenario.cell for name in cell.clients}
    for station in scenario.station:
        if station.airtime_weight is None:
            continue
        where = f"station {station.name}: airtime_weight: {station.airtime_weight}"
        if scenario.radio.queue != "fq_codel":
            raise ScenarioError(
                f'{where}, but radio.queue is "{scenario.radio.queue}", which shares no air time '
                'out; use "fq_codel", or remove it'
            )
        if not scenario.radio.airtime_fairness:
            raise ScenarioError(
                f"{where}, but radio.airtime_fairness is false, so stations take turns; remove one"
            )
        if station.name not in clients:
            raise ScenarioError(
                f"{where}, but it is no client of a [[cell]], whose access point weighs it; "
                "remove it"
            )


def _surroundings(scenario: Resolved) -> None:
    """Check what an access point, or a radio of a backbone, cannot have around it."""
    table = "cell" if scenario.cell else "backbone"
    if scenario.network.built_by != "hoplab":
        raise ScenarioError(
            f'{table}: is made where network.built_by is "hoplab", not '
            f'"{scenario.network.built_by}"; remove one'
        )
    if scenario.routing.protocol != "static":
        raise ScenarioError(
            f'routing.protocol: "{scenario.routing.protocol}" is for stations that are all alike; '
            f'use "static" with [[{table}]]'
        )
    if scenario.radio.mac != "80211":
        raise ScenarioError(
            f'radio.mac: "{scenario.radio.mac}" acknowledges nothing, so no client associates and '
            f'no mesh finds its peers; use "80211" with [[{table}]]'
        )


def _members(scenario: Resolved) -> None:
    """Check that every radio is in one network, and that two radios of a station are on two
    channels."""
    radios = [station.name for station in scenario.station if station.radio]
    names = [station.name for station in scenario.station]
    inside: dict[str, list[tuple[str, Cell | Backbone]]] = {name: [] for name in radios}
    for where, key, name, network in _memberships(scenario):
        if name not in radios:
            lack = "it has no radio" if name in names else "there is no such station"
            raise ScenarioError(f"{where}.{key}: {name}: {lack}; name a station with a radio")
        for other, earlier in inside[name]:
            _apart(scenario, f"{where}.{key}: {name}", network, other, earlier)
        inside[name].append((where, network))
    _named_once("cell", [cell.name for cell in scenario.cell])
    _named_once("backbone", [backbone.name for backbone in scenario.backbone])
    for name in radios:
        if not inside[name]:
            raise ScenarioError(
                f"station {name}: is in no cell or backbone, and beside them there is no other "
                "network; add it to one, or set radio = false"
            )


def _named_once(table: str, names: list[str | None]) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ScenarioError(f"{table}.{i}.name: {name!r} is given twice")


def _memberships(scenario: Resolved) -> Iterator[tuple[str, str, str, Cell | Backbone]]:
    """Yield each station of each network: the network's table, the key in it, the name, the
    network."""
    for i, cell in enumerate(scenario.cell):
        keys = ["access_point", *(f"clients.{j}" for j in range(len(cell.clients)))]
        for key, name in zip(keys, cell.members, strict=True):
            yield f"cell.{i}", key, name, cell
    for i, backbone in enumerate(scenario.backbone):
        for j, name in enumerate(backbone.stations):
            yield f"backbone.{i}", f"stations.{j}", name, backbone


def _apart(
    scenario: Resolved, who: str, one: Cell | Backbone, where: str, other: Cell | Backbone
) -> None:
    """Check two networks of one station. Two of its radios disturb each other on one channel. A
    roaming client, or an access point that it roams to, must be in the roaming cells only."""
    cells = [network for network in (one, other) if isinstance(network, Cell)]
    if len(cells) > 1 and any(cell.roaming is not None for cell in cells):
        raise ScenarioError(
            f"{who} is in {where} already, and of cells with roaming a station is in one; "
            "remove one"
        )
    mine, theirs = (
        scenario.radio.channel if network.channel is None else network.channel
        for network in (one, other)
    )
    if mine == theirs:
        raise ScenarioError(
            f"{who} is in {where} already, on channel {mine} too, and two radios of a station "
            "need two channels; set channel"
        )


NOISE_DBM, GREAT_SNR_DB = -92, 25
"""wpa_supplicant leaves no access point whose signal is this far above the noise
(wpa_supplicant/events.c). mac80211_hwsim always reports this noise."""
SAME = (
    "roaming",
    "security",
    "passphrase",
    "bgscan_dbm",
    "bgscan_short_s",
    "bgscan_long_s",
)
"""Keys on which the cells of one network agree."""


def _networks(scenario: Resolved) -> None:
    """Check cells that roam. They are one network if their SSID is the same."""
    if scenario.roams and scenario.network.medium == "daemon":
        raise ScenarioError(
            "cell: roaming needs the medium in the guest's kernel, but network.medium is "
            '"daemon"; remove one'
        )
    of_ssid: dict[str, list[int]] = {}
    for i, cell in enumerate(scenario.cell):
        of_ssid.setdefault(cell.ssid, []).append(i)
    for ssid, numbers in of_ssid.items():
        first, *others = numbers
        if all(scenario.cell[i].roaming is None for i in numbers):
            continue
        if not others:
            raise ScenarioError(
                f"cell.{first}.roaming: no other cell has the ssid {ssid!r}, so there is nowhere "
                "to go; give it to another cell, or remove roaming"
            )
        for i in others:
            for name in SAME:
                one, other = getattr(scenario.cell[first], name), getattr(scenario.cell[i], name)
                if one != other:
                    raise ScenarioError(
                        f"cell.{i}.{name}: differs from cell.{first}.{name}, and both are the "
                        f"network {ssid!r}; make them equal"
                    )
        if not any(scenario.cell[i].clients for i in numbers):
            raise ScenarioError(
                f"cell.{first}.clients: no cell of the network {ssid!r} has a client; name one"
            )
        _fades(scenario, first)


def _fades(scenario: Resolved, i: int) -> None:
    """Check that an access point's signal gets weak before it is out of reach."""
    reach = reach_m(scenario.radio)
    weakest_dbm, most_dbm = received_dbm(scenario.radio, reach), NOISE_DBM + GREAT_SNR_DB
    if weakest_dbm > most_dbm:
        raise ScenarioError(
            f"cell.{i}.roaming: at {reach:.4g} m, the end of the radios' reach, a signal still has "
            f"{weakest_dbm:.0f} dBm, and wpa_supplicant leaves no access point above {most_dbm} "
            'dBm; use radio.propagation = "log-distance", or a lower radio.tx_power_dbm'
        )


ALIKE_DOZING = ("power_save", "listen_interval", "twt_interval_ms", "twt_duration_ms")
"""Keys on which the cells agree whose clients doze."""
STANDARDS_OF_POWER_SAVE = {U_APSD: HT_STANDARDS, TWT: HE_STANDARDS}
"""U-APSD is WMM's, which cells have from 802.11n on; target wake times are of 802.11ax."""


def _power_save(scenario: Resolved) -> None:
    """Check that clients that doze do so alike, and that radio and medium let them."""
    first = scenario.saving
    if first is None:
        return
    for i, cell in enumerate(scenario.cell):
        for name in ALIKE_DOZING if cell.power_save else ():
            own, other = getattr(cell, name), getattr(first, name)
            if own != other:
                raise ScenarioError(
                    f"cell.{i}.{name}: {json.dumps(own)}, but another cell with power_save has "
                    f"{json.dumps(other)}; use the same"
                )
    number = scenario.cell.index(first)
    needed = STANDARDS_OF_POWER_SAVE.get(str(first.power_save))
    if needed is not None and scenario.radio.standard not in needed:
        raise ScenarioError(
            f'cell.{number}.power_save: "{first.power_save}" needs a standard from {needed[0]} on, '
            f"but radio.standard is {scenario.radio.standard}; use a newer profile, or "
            f'"{PS_POLL}"'
        )
    if first.power_save is not True and scenario.network.medium == "daemon":
        raise ScenarioError(
            f'cell.{number}.power_save: "{first.power_save}" needs the medium in the guest\'s '
            'kernel, but network.medium is "daemon"; remove one'
        )


def _secured(scenario: Resolved, cell: ResolvedCell, i: int) -> None:
    """Check that a cell at 6 GHz has WPA3, without which hostapd starts none there (802.11ax-2021
    12.12.2)."""
    bands = {scenario.radio.band, *(link.band_ghz for link in cell.links)}
    if BAND_6_GHZ in bands and cell.security != "wpa3":
        raise ScenarioError(
            f'cell.{i}.security: "{cell.security}", but at 6 GHz a cell must have WPA3; set "wpa3"'
        )


def _within_reach(scenario: Resolved, cell: Cell, i: int) -> None:
    if scenario.snr:
        heard = hearing(scenario)[cell.access_point]
        for j, client in enumerate(cell.clients):
            if client not in heard:
                raise ScenarioError(
                    f"cell.{i}.clients.{j}: {client} and {cell.access_point} do not hear each "
                    "other at time 0 by [[snr]], so it cannot associate; name both ways"
                )
        return
    places = {station.name: (*station.place(), station.z_m) for station in scenario.station}
    reach, reaches = reach_m(scenario.radio), reaching(scenario)
    for j, client in enumerate(cell.clients):
        distance = math.dist(places[client], places[cell.access_point])
        if distance > reach:
            raise ScenarioError(
                f"cell.{i}.clients.{j}: {client} is {distance:.4g} m from {cell.access_point}, "
                f"which reaches {reach:.4g} m, so it cannot associate; move it closer"
            )
        if not reaches(places[client], places[cell.access_point]):
            raise ScenarioError(
                f"cell.{i}.clients.{j}: walls or floors keep {client} from {cell.access_point}, "
                f"{distance:.4g} m away, so it cannot associate; move it closer"
            )

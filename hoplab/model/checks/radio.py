# SPDX-License-Identifier: Apache-2.0
"""Refuse radios and their queues that contradict themselves or the rest of a scenario."""

from __future__ import annotations

from collections.abc import Iterator

from hoplab.model.checks.building import check_surroundings
from hoplab.model.checks.categories import check_categories_of_radios
from hoplab.model.checks.channels import Place, check_channels
from hoplab.model.checks.names import known, named_once
from hoplab.model.checks.puncturing import check_punctured_stations
from hoplab.model.checks.snr import check_snr
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import (
    BAND_2_GHZ,
    HE_STANDARDS,
    HT_STANDARDS,
    LAST_5_GHZ_CHANNEL,
    NO_RTS,
    RATES_OF_STANDARD,
    Nic,
    in_vht_tables,
)
from hoplab.model.keys.resolved import Resolved, ResolvedMedium, ResolvedRadio
from hoplab.model.network.channels import channels_of, listed, widest_mhz
from hoplab.model.network.reach import reach_m, sensed_m

VHT_MCS_NOT_ON_20_MHZ = 9
"""Of one stream (IEEE 802.11-2020 21.5)."""


def check_radio_of_run(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first contradiction of `[radio]`, its cards and its queue."""
    _channel(scenario.radio)
    check_radio(scenario.radio)
    _queue(scenario)
    _buffers(scenario)


def _queue(scenario: Resolved) -> None:
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


def _cards(described: Resolved | ResolvedMedium) -> Iterator[tuple[str, Nic]]:
    """Yield each network card with the name of its table."""
    yield "radio.nic", described.radio.nic
    for station in described.station:
        if station.nic is not None:
            yield f"station {station.name}: nic", station.nic


def _buffers(described: Resolved | ResolvedMedium) -> None:
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


def check_agreements(scenario: Resolved) -> None:
    """Raise `ScenarioError` for block ack agreements that cannot be. WPA3 encrypts requests
    for them, so a medium outside the kernel cannot take them."""
    for key in ("ofdma", "mu_mimo"):
        if getattr(scenario.radio, key) != "none":
            _served_together(scenario, key)
    if scenario.radio.mu_mimo != "none":
        _streams_of_several(scenario.radio)
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


def _served_together(scenario: Resolved, key: str) -> None:
    """Check what access points need to serve stations together. Their PPDUs have no RTS, since
    MU-RTS is not modelled."""
    radio = scenario.radio
    what = f'radio.{key}: "{getattr(radio, key)}"'
    mesh = scenario.routing.protocol == "hwmp" or bool(scenario.backbone)
    if mesh or not scenario.cell:
        here = "a mesh" if mesh else "no [[cell]]"
        raise ScenarioError(f"{what} is of access points alone, but here is {here}; remove it")
    if not radio.aggregation:
        raise ScenarioError(f"{what} needs A-MPDUs; set radio.aggregation = true")
    if radio.rts_threshold < NO_RTS:
        raise ScenarioError(
            f"radio.rts_threshold: {radio.rts_threshold}, but with radio.{key} no RTS goes before "
            f"frames of several stations; set {NO_RTS}"
        )
    if radio.ofdma_bsrp_ms and not radio.ofdma_uplink:
        raise ScenarioError(
            f"radio.ofdma_bsrp_ms: {radio.ofdma_bsrp_ms:g}, but without radio.ofdma_uplink nobody "
            "is asked for what a poll finds; set ofdma_uplink = true"
        )


def _streams_of_several(radio: ResolvedRadio) -> None:
    """Check streams of several stations at once (MU-MIMO). Of 802.11ac there are none that a
    trigger asks for."""
    for wrong, what in (
        (
            radio.ofdma != "none",
            f'ofdma: "{radio.ofdma}" does not go with radio.mu_mimo; remove one',
        ),
        (
            radio.rate_mbps in ("auto", "ideal"),
            f'rate_mbps: "{radio.rate_mbps}" is for a station alone, and with radio.mu_mimo '
            "several divide the power; set radio.mcs, without radio.rate_mbps",
        ),
        (
            2 * radio.streams > radio.mu_mimo_antennas,
            f"mu_mimo_antennas: {radio.mu_mimo_antennas}, but two stations have "
            f"{2 * radio.streams} streams; set at least so many, or fewer radio.streams",
        ),
        (
            radio.standard == "802.11ac" and radio.mu_mimo_ack == "mu-bar",
            'mu_mimo_ack: "mu-bar" needs triggers, which 802.11ac has not; set "sequential"',
        ),
        (
            radio.standard == "802.11ac" and radio.mu_mimo_uplink,
            "mu_mimo_uplink: true needs triggers, which 802.11ac has not; set false",
        ),
    ):
        if wrong:
            raise ScenarioError(f"radio.{what}")


def _kernels_agreements(scenario: Resolved) -> None:
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


def check_medium(medium: ResolvedMedium) -> None:
    """Raise `ScenarioError` for the first contradiction in a medium daemon's file."""
    names = [station.name for station in medium.station]
    named_once(names)
    # Your own radio may send on more channels of 2.4 and 5 GHz than those of a run.
    if medium.radio.band_ghz is not None or medium.radio.channel > LAST_5_GHZ_CHANNEL:
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
    check_punctured_stations(medium)
    check_snr(medium.snr, names, medium.radio, medium.event)
    check_surroundings(medium, names)
    for key, tables in (("loss", medium.loss), ("event", medium.event)):
        for i, table in enumerate(tables):
            for end in ("station", "src", "dst"):
                known(getattr(table, end, None), f"{key}.{i}.{end}", names)


def _channel(radio: ResolvedRadio) -> None:
    channels = channels_of(radio.standard, radio.band_ghz)
    if radio.channel not in channels:
        where = "" if radio.band_ghz is None else f" at {radio.band_ghz:g} GHz"
        raise ScenarioError(
            f"radio.channel: {radio.channel} is no channel on which {radio.standard} may send "
            f"here{where}; one of {listed(channels)}"
        )


def check_radio(radio: ResolvedRadio) -> None:
    """Raise `ScenarioError` for the first contradiction in `[radio]`."""
    standard = radio.standard
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
    if radio.cw_max < radio.cw_min:
        raise ScenarioError(f"radio.cw_max: {radio.cw_max} is below cw_min {radio.cw_min}")
    if radio.shadowing_correlation_m is not None and not radio.shadowing_db:
        raise ScenarioError(
            f"radio.shadowing_correlation_m: {radio.shadowing_correlation_m:g}, but "
            "radio.shadowing_db is 0; set how much links deviate, or remove it"
        )
    reach, sensed = reach_m(radio), sensed_m(radio)
    if sensed < reach:
        raise ScenarioError(
            f"radio: carrier sense ends at {sensed:.4g} m, before reception at {reach:.4g} m; "
            "raise carrier_sense_m (cs_threshold_dbm lower) or lower range_m"
        )


def _adaptive(radio: ResolvedRadio) -> None:
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


def _scheme(radio: ResolvedRadio) -> None:
    """Check MCS and width (IEEE 802.11-2020 19.5, 21.5)."""
    if not {"mcs", "width_mhz", "guard_ns"} <= radio.model_fields_set:
        raise ScenarioError(
            f"radio: {radio.standard} needs mcs, width_mhz and guard_ns, as its profile has them"
        )
    if radio.secondary is not None and (radio.band != BAND_2_GHZ or radio.width_mhz != 40):
        raise ScenarioError(
            f'radio.secondary: "{radio.secondary}" counts only on 40 MHz at 2.4 GHz; remove it'
        )
    widest = widest_mhz(radio.band, radio.channel, radio.secondary)
    standard, streams = radio.standard, radio.streams
    he = standard in HE_STANDARDS
    short = radio.guard_ns == 400 if he else radio.guard_ns > 800
    for wrong, expected in (
        (standard == "802.11n" and radio.width_mhz > 40, "width_mhz: 802.11n has 20 and 40 MHz"),
        (
            standard != "802.11be" and radio.width_mhz > 160,
            f"width_mhz: {standard} has 160 MHz at most",
        ),
        (standard == "802.11be" and radio.mcs > 13, "mcs: 802.11be has 0 to 13"),
        (standard == "802.11ax" and radio.mcs > 11, "mcs: 802.11ax has 0 to 11"),
        (standard == "802.11ac" and radio.mcs > 9, "mcs: 802.11ac has 0 to 9"),
        (short and he, f"guard_ns: {standard} has 800, 1600 and 3200"),
        (short and not he, f"guard_ns: {standard} has 400 and 800"),
        (
            radio.width_mhz > widest,
            f"width_mhz: channel {radio.channel} has neighbours for {widest} MHz at most",
        ),
    ):
        if wrong:
            key = expected.split(":", maxsplit=1)[0]
            raise ScenarioError(f"radio.{expected}; not {getattr(radio, key)}")
    if standard == "802.11ac" and not in_vht_tables(radio.mcs, streams, radio.width_mhz):
        raise ScenarioError(
            f"radio.mcs: the standard's tables leave out {radio.mcs} of {streams} "
            f"stream{'s' * (streams > 1)} on {radio.width_mhz} MHz; use {radio.mcs - 1}"
        )

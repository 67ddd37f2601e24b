# SPDX-License-Identifier: Apache-2.0
"""The document of the medium daemon (`daemons/channel/src/config.rs`): final values.

The values come from checked input: the keys of `MediumFile`, with its radio completed by its
profile (`hoplab.model.resolve.resolve`).
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Mapping
from typing import Any

from hoplab.model.keys.cells import TWT, Cell
from hoplab.model.keys.declare import given
from hoplab.model.keys.documents import nanoseconds
from hoplab.model.keys.faults import Event, Loss
from hoplab.model.keys.medium_file import RadioStation
from hoplab.model.keys.radio import (
    BAND_2_GHZ,
    CARDS_W,
    NO_RTS,
    POWERS,
    WINDOW,
    WINDOWS,
    Categories,
    Energy,
    Nic,
)
from hoplab.model.keys.resolved import ResolvedLink, ResolvedMedium, ResolvedRadio
from hoplab.model.keys.stations import Placed
from hoplab.model.network.channels import channel_mhz, grid_mhz, overlaps, signal_mhz, span_mhz
from hoplab.model.network.interference import courses, shares
from hoplab.model.network.leakage import Band, leakage_db
from hoplab.model.network.multilink import Emlsr, completed
from hoplab.model.network.obstacles import heights, segments
from hoplab.model.network.powers import energy_dbm, noise_dbm, reception_dbm, sensing_dbm

NEVER_NS = 2**64 - 1
AWAKE_AHEAD_US, PATIENCE_US = 1000.0, 20_000.0
"""A radio that saves power is awake so long before a beacon's time, and waits so long for it."""
FRAMES_BESIDE = 1024
"""Frames of the kernel's own, management and broadcasts, which no limit of Linux's queues
restrains."""
CATEGORIES = 4
RULES = {"802.11": "standard", "ns-2": "ns2", "edca": "standard"}
NEVER_OCTETS = 2**32 - 1

Waypoint = tuple[int, float, float]
"""A time in ns of the daemon's clock, and a place in m."""


def document(
    medium: ResolvedMedium,
    start_ns: int,
    roams: bool = False,
    saving: Cell | None = None,
    single: Mapping[str, Emlsr] | None = None,
) -> dict[str, Any]:
    """Return the daemon's document. ``start_ns`` is time 0 if ``medium`` names none. With ``roams``
    radios are on the channels to which their hosts tune them. With ``saving`` those whose hosts
    announce it doze as that cell's clients do. Radios of ``single`` are the only ones for all links
    of their devices."""
    radio, records = medium.radio, medium.records
    epoch_ns = start_ns if medium.epoch_ns is None else medium.epoch_ns
    end_ns = None if medium.duration_s is None else epoch_ns + nanoseconds(medium.duration_s)
    blocks = _blocks(medium)
    return {
        "epoch_ns": epoch_ns,
        "end_ns": end_ns,
        "params": {
            **_params(radio),
            "leakage": _leakage(medium),
            **({"blocks": blocks} if blocks else {}),
            **_surroundings(medium, epoch_ns),
            "seed": medium.seed,
        },
        "stations": [
            _station(each, radio, medium.event, epoch_ns)
            | _part(each, radio, blocks)
            | _further(each, radio)
            | _held_back(each)
            | _single((single or {}).get(each.name))
            for each in medium.station
        ],
        "losses": _losses(medium, epoch_ns),
        "measured": _measured(medium, epoch_ns),
        "channel_mhz": channel_mhz(radio.band, radio.channel),
        "noise_dbm": noise_dbm(radio),
        "level_error_db": radio.level_error_db,
        "overhear": medium.overhear,
        "rts_threshold": radio.rts_threshold,
        "data_rate": _data_rate(radio),
        "roams": roams,
        **_power_save(saving),
        "control": medium.control,
        "records": {
            "dir": records.dir,
            "interval_ns": nanoseconds(records.interval_s),
            "frames": records.frames,
            "air_capture": records.air_capture,
        },
    }


def _power_save(cell: Cell | None) -> dict[str, Any]:
    if cell is None:
        return {}
    periods = {
        "interval_ns": _nanoseconds(1000 * cell.twt_interval_ms),
        "duration_ns": _nanoseconds(1000 * cell.twt_duration_ms),
    }
    fetch = {TWT: periods} if cell.power_save == TWT else cell.power_save
    return {
        "power_save": {
            "listen_interval": cell.listen_interval,
            "ahead_ns": _nanoseconds(AWAKE_AHEAD_US),
            "patience_ns": _nanoseconds(PATIENCE_US),
            **({} if cell.power_save is True else {"fetch": fetch}),
        }
    }


def _params(radio: ResolvedRadio) -> dict[str, Any]:
    # With reception by threshold, noise counts only if it is given, as in ns-2.
    counts = radio.noise_dbm is not None or radio.reception == "error-rate"
    return {
        "rules": RULES[radio.rules],
        "phy": _phy(radio),
        "propagation": {
            "model": _propagation(radio),
            "tx_power_dbm": radio.tx_power_dbm,
            "frequency_mhz": radio.frequency_mhz,
            "antenna_height_m": radio.antenna_height_m,
            "antenna_gain_dbi": radio.antenna_gain_dbi,
        },
        "shadowing_db": radio.shadowing_db,
        **_correlation(radio),
        "fading": _fading(radio),
        "reception": radio.reception,
        "rx_threshold_dbm": reception_dbm(radio),
        "cs_threshold_dbm": sensing_dbm(radio),
        "capture_db": radio.capture_db,
        "capture_later": radio.capture_later,
        "noise_dbm": noise_dbm(radio) if counts else None,
        "delay": radio.rules == "edca" and radio.propagation_delay,
        "retry_short": radio.retry_short,
        "retry_long": radio.retry_long,
        "kernel_retries": radio.retry_rules == "kernel",
        "queue_packets": _queue_packets(radio),
        "routing_priority": radio.routing_priority,
        "nic": _nic(radio.nic),
        "energy": _energy(radio.energy),
        "edca": _edca(radio),
        **_ofdma(radio),
        "no_ack": radio.mac == "csma-ca-noack",
    }


def _surroundings(medium: ResolvedMedium, epoch_ns: int) -> dict[str, Any]:
    """Return walls, floors and other transmitters, where there are any."""
    mhz, end_s = medium.radio.frequency_mhz, medium.duration_s
    tables = {
        "walls": [
            {
                "from_m": wall.start,
                "to_m": wall.end,
                "bottom_m": wall.bottom_m,
                "top_m": wall.top_m,
                "loss_db": wall.loss_db,
            }
            for wall in segments(medium.wall, mhz)
        ],
        "floors": [
            {"height_m": height_m, "loss_db": loss_db}
            for height_m, loss_db in heights(medium.floor, mhz)
        ],
        "interferers": [
            {
                "name": one.name,
                "waypoints": _points(one, _way(one, epoch_ns)),
                "begins_ns": epoch_ns + nanoseconds(one.start_s),
                "ends_ns": NEVER_NS
                if (stop_s := one.stop_s or end_s) is None
                else epoch_ns + nanoseconds(stop_s),
                "course": courses(one),
                "shares": shares(one, medium.radio, _widths(medium), _bitmaps(medium)),
            }
            for one in medium.interferer
        ],
    }
    return {name: table for name, table in tables.items() if table}


def _tuned(station: RadioStation, radio: ResolvedRadio) -> tuple[int, int]:
    """Return a radio's channel and its width in MHz."""
    return station.channel or radio.channel, station.width_mhz or radio.width_mhz


def _links(station: RadioStation, radio: ResolvedRadio) -> list[ResolvedLink]:
    """Return a radio's further links with their widths and bands."""
    return [completed(link, radio.width_mhz, radio.band) for link in station.links]


def _held_back(station: RadioStation) -> dict[str, Any]:
    offset_ns = nanoseconds(station.beacon_offset_ms / 1000)
    return {"beacon_offset_ns": offset_ns} if offset_ns else {}


def _further(station: RadioStation, radio: ResolvedRadio) -> dict[str, Any]:
    links = [
        {
            "channel_mhz": (mhz := channel_mhz(link.band_ghz, link.channel)),
            "width_mhz": link.width_mhz,
            **({} if link.band_ghz == radio.band else {"frequency_mhz": float(mhz)}),
        }
        for link in _links(station, radio)
    ]
    return {"links": links} if links else {}


def _single(emlsr: Emlsr | None) -> dict[str, Any]:
    if emlsr is None:
        return {}
    padding_ns, transition_ns = 1000 * emlsr.padding_us, 1000 * emlsr.transition_us
    return {"emlsr": {"padding_ns": padding_ns, "transition_ns": transition_ns}}


def _widths(medium: ResolvedMedium) -> dict[int, int]:
    """Return each channel in use with the width of its widest radio, in MHz."""
    radio, widths = medium.radio, dict[int, int]()
    for station in medium.station:
        channel, width = _tuned(station, radio)
        widths[channel] = max(width, widths.get(channel, 0))
        for link in _links(station, radio):
            # Another band's channels share nothing with these.
            if link.band_ghz == radio.band:
                widths[link.channel] = max(link.width_mhz, widths.get(link.channel, 0))
    return dict(sorted(widths.items()))


def _punctured(medium: ResolvedMedium) -> dict[tuple[float, int], tuple[int, int]]:
    """Return the width in MHz and the bitmap of each punctured channel, by its band and number."""
    radio, found = medium.radio, dict[tuple[float, int], tuple[int, int]]()
    for station in medium.station:
        uses = [(radio.band, *_tuned(station, radio), station.punct_bitmap)]
        for link in _links(station, radio):
            uses.append((link.band_ghz, link.channel, link.width_mhz, link.punct_bitmap))
        for band_ghz, channel, width_mhz, bitmap in uses:
            if bitmap:
                widest_mhz, _ = found.get((band_ghz, channel), (0, 0))
                found[band_ghz, channel] = max(width_mhz, widest_mhz), bitmap
    return dict(sorted(found.items()))


def _bitmaps(medium: ResolvedMedium) -> dict[int, int]:
    """Return the bitmaps of punctured channels in the radio's band."""
    return {
        channel: bitmap
        for (band_ghz, channel), (_, bitmap) in _punctured(medium).items()
        if band_ghz == medium.radio.band
    }


def _blocks(medium: ResolvedMedium) -> list[dict[str, int]]:
    """Return the channels in use where radios hear only parts of each other's. Empty where all use
    all of theirs, and channels share no frequencies."""
    radio, widths = medium.radio, _widths(medium)
    if radio.band == BAND_2_GHZ:
        return []  # there what another channel gets is a leak
    spans = [span_mhz(radio, channel, width) for channel, width in widths.items()]
    whole = all(station.width_mhz in (None, radio.width_mhz) for station in medium.station)
    punctured = _punctured(medium)
    apart = not any(overlaps(*pair) for pair in itertools.combinations(spans, 2))
    if whole and apart and not punctured:
        return []
    used = {(radio.band, channel): (width, 0) for channel, width in widths.items()} | punctured
    return [
        {
            "primary_mhz": channel_mhz(band, channel),
            "low_mhz": grid_mhz(band, channel),
            "width_mhz": width,
            **({"punctured": bitmap} if bitmap else {}),
        }
        for (band, channel), (width, bitmap) in used.items()
    ]


def _leakage(medium: ResolvedMedium) -> dict[str, Any] | None:
    """Return what channels in use leak to each other, and the energy that makes one busy. None if
    nothing leaks, and there is no other energy. At 5 and 6 GHz what channels share is no leak."""
    radio = medium.radio
    widths = _widths(medium) if radio.leakage == "mask" else {}
    spans = {channel: signal_mhz(radio, channel, width) for channel, width in widths.items()}
    bands = {channel: Band.of(*span) for channel, span in spans.items()}
    pairs = [
        {
            "from_mhz": channel_mhz(radio.band, one),
            "to_mhz": channel_mhz(radio.band, other),
            "db": db,
        }
        for one, other in itertools.permutations(bands, 2)
        if (radio.band == BAND_2_GHZ or not overlaps(spans[one], spans[other]))
        and (db := leakage_db(radio.standard, bands[one], bands[other])) is not None
    ]
    if not pairs and not medium.interferer and radio.ed_threshold_dbm is None:
        return None
    return {"ed_threshold_dbm": energy_dbm(radio), "pairs": pairs}


def _edca(radio: ResolvedRadio) -> dict[str, Any] | None:
    """Return access categories, voice first, or None under other rules."""
    if radio.rules != "edca":
        return None
    threshold = radio.rts_threshold
    return {
        "categories": _categories(radio.edca),
        "aggregation": _aggregation(radio) if radio.aggregation else None,
        "rts_threshold": NEVER_OCTETS if threshold >= NO_RTS else threshold,
    }


def _ofdma(radio: ResolvedRadio) -> dict[str, Any]:
    """Return how frames of several receivers go together: in resource units, or by streams."""
    found: dict[str, Any]
    if radio.mu_mimo != "none":
        found = {
            "scheduler": radio.mu_mimo,
            "acknowledgement": mu_mimo_ack(radio),
            "mimo": {
                "antennas": radio.mu_mimo_antennas,
                "sounding_ns": _nanoseconds(1000 * radio.sounding_interval_ms),
            },
        }
    elif radio.ofdma != "none":
        found = {"scheduler": radio.ofdma, "acknowledgement": radio.ofdma_ack}
    else:
        return {}
    if radio.ofdma_uplink or radio.mu_mimo_uplink:
        found["uplink"] = True
    if radio.ofdma_bsrp_ms:
        found["bsrp_ns"] = _nanoseconds(1000 * radio.ofdma_bsrp_ms)
    return {"ofdma": found}


def mu_mimo_ack(radio: ResolvedRadio) -> str:
    """Return how stations with streams of their own acknowledge. 802.11ac has no triggers."""
    by_standard = "sequential" if radio.standard == "802.11ac" else "mu-bar"
    return radio.mu_mimo_ack or by_standard


def _categories(categories: Categories) -> list[dict[str, int]]:
    return [
        {
            "aifsn": category.aifsn,
            "cw_min": category.cw_min,
            "cw_max": category.cw_max,
            "txop_ns": _nanoseconds(category.txop_us),
        }
        for category in categories.complete()
    ]


def _aggregation(radio: ResolvedRadio) -> dict[str, Any]:
    return {
        "window": WINDOWS.get(radio.standard, WINDOW),
        "octets": radio.edca.ampdu_octets or NEVER_OCTETS,
        "start_spacing_ns": _nanoseconds(radio.edca.start_spacing_us),
        **({"by_hosts": True} if radio.aggregation == "kernel" else {}),
    }


def _data_rate(radio: ResolvedRadio) -> dict[str, Any] | None:
    """Return the rate of data frames if the kernel's rate control does not know it."""
    if not radio.fixed_by_medium:
        return None
    kind = {"802.11ax": "he", "802.11be": "eht"}.get(radio.standard, "vht")
    parts = {
        "mcs": radio.mcs,
        "streams": radio.streams,
        "width_mhz": radio.width_mhz,
        "guard_ns": radio.guard_ns,
    }
    if radio.rate_mbps == "ideal":
        parts["ideal"] = True
    return {kind: parts}


def _queue_packets(radio: ResolvedRadio) -> int:
    """Return the number of frames that can wait in the medium. With Linux's own queues, all frames
    that these release have room."""
    if radio.queue == "fq_codel":
        return CATEGORIES * radio.frames_ahead + FRAMES_BESIDE
    return radio.queue_packets


def _correlation(radio: ResolvedRadio) -> dict[str, float]:
    correlation_m = radio.shadowing_correlation_m
    return {} if correlation_m is None else {"shadowing_correlation_m": correlation_m}


def _phy(radio: ResolvedRadio) -> dict[str, Any]:
    return {
        "standard": _standard(radio),
        "short_preamble": radio.preamble == "short",
        "plcp_rate_mbps": radio.plcp_rate_mbps,
        "basic_rate_mbps": radio.basic_rate_mbps,
        "slot_ns": _nanoseconds(radio.slot_us),
        "sifs_ns": _nanoseconds(radio.sifs_us),
        "cw_min": radio.cw_min,
        "cw_max": radio.cw_max,
    }


def _nanoseconds(microseconds: float) -> int:
    return math.floor(microseconds * 1000 + 0.5)


def _standard(radio: ResolvedRadio) -> str | dict[str, Any]:
    """Return the PHY. OFDM's frames end with the signal extension at 2.4 GHz (IEEE 802.11-2020
    18.3.2.4)."""
    if radio.standard in ("802.11", "802.11b"):
        return "dsss"
    extends = radio.band == BAND_2_GHZ
    kind, extension = {
        "802.11g": ("ofdm", True),
        "802.11a": ("ofdm", False),
        "802.11n": ("ht", extends),
        "802.11ac": ("vht", extends),
        "802.11ax": ("he", extends),
        "802.11be": ("eht", extends),
    }[radio.standard]
    return {kind: {"signal_extension": extension}}


def _propagation(radio: ResolvedRadio) -> str | dict[str, Any]:
    if radio.propagation == "log-distance":
        return {"log-distance": {"exponent": radio.exponent, "reference_m": radio.reference_m}}
    return radio.propagation


def _fading(radio: ResolvedRadio) -> str | dict[str, Any]:
    if radio.fading == "none":
        return "none"
    # Rayleigh's amplitude is Nakagami's of shape 1.
    return {"nakagami": {"m": radio.nakagami_m if radio.fading == "nakagami" else 1.0}}


def _nic(nic: Nic) -> dict[str, Any]:
    return {
        "tx": {"frame_us": nic.tx_packet_us, "mbps": nic.tx_service_mbps},
        "queue_packets": nic.queue_packets,
        "tx_ring": nic.tx_ring,
        "load": {"frame_us": nic.tx_load_us, "mbps": nic.tx_load_mbps},
        "rx": {"frame_us": nic.rx_packet_us, "mbps": nic.rx_service_mbps},
        "rx_buffer_packets": nic.rx_buffer_packets,
    }


def _energy(energy: Energy) -> dict[str, Any]:
    card = (0.0,) * len(POWERS) if energy.preset is None else CARDS_W[energy.preset]
    own = (getattr(energy, name) for name in POWERS)
    powers = zip(POWERS, own, card, strict=True)
    return {
        **{name: default if watts is None else watts for name, watts, default in powers},
        "battery_j": energy.battery_j,
    }


def _station(
    station: RadioStation, radio: ResolvedRadio, events: tuple[Event, ...], epoch_ns: int
) -> dict[str, Any]:
    own = sorted((e for e in events if e.station == station.name), key=lambda event: event.at_s)
    waypoints, channel = _way(station, epoch_ns), station.channel
    power = []
    for event in own:
        at_ns = epoch_ns + nanoseconds(event.at_s)
        if event.kind == "move":
            waypoints = _jump(waypoints, at_ns, *event.place)
        else:
            power.append({"at_ns": at_ns, "up": event.kind == "up"})
    return {
        "name": station.name,
        "mac": [int(octet, 16) for octet in station.mac.split(":")],
        "waypoints": _points(station, waypoints),
        "nic": None if station.nic is None else _nic(station.nic),
        "power": power,
        "channel_mhz": None if channel is None else channel_mhz(radio.band, channel),
        "categories": None if station.edca is None else _categories(station.edca),
    }


def _part(
    station: RadioStation, radio: ResolvedRadio, blocks: list[dict[str, int]]
) -> dict[str, int]:
    """Return where a radio is, and how much of its channel it uses, if radios differ in that."""
    if not blocks:
        return {}
    channel, width = _tuned(station, radio)
    return {"channel_mhz": channel_mhz(radio.band, channel), "width_mhz": width}


def _points(placed: Placed, waypoints: list[Waypoint]) -> list[list[Any]]:
    """Return points with the height of what goes along them, if that is not on the ground."""
    z_m = [placed.z_m] if placed.z_m else []
    return [[at_ns, [x_m, y_m, *z_m]] for at_ns, x_m, y_m in waypoints]


def _way(station: Placed, epoch_ns: int) -> list[Waypoint]:
    if not station.waypoints:
        return [(0, station.x_m, station.y_m)]
    return [(epoch_ns + nanoseconds(t_s), x, y) for t_s, x, y in station.waypoints]


def _jump(waypoints: list[Waypoint], at_ns: int, x_m: float, y_m: float) -> list[Waypoint]:
    """Put the station at a place from ``at_ns`` on, where it stays."""
    before = [point for point in waypoints if point[0] < at_ns]
    return [*before, (at_ns, *_place(waypoints, at_ns)), (at_ns, x_m, y_m)]


def _place(waypoints: list[Waypoint], at_ns: int) -> tuple[float, float]:
    """Return the place of a station by its waypoints."""
    after = bisect.bisect_right(waypoints, at_ns, key=lambda point: point[0])
    begin_ns, x_m, y_m = waypoints[max(after - 1, 0)]
    if after in (0, len(waypoints)):
        return x_m, y_m
    end_ns, to_x_m, to_y_m = waypoints[after]
    part = float(at_ns - begin_ns) / float(end_ns - begin_ns)
    return x_m + (to_x_m - x_m) * part, y_m + (to_y_m - y_m) * part


def _losses(medium: ResolvedMedium, epoch_ns: int) -> list[dict[str, Any]]:
    """Return the tables of losses, then the events. Each event holds until the next one of its
    link."""
    index = {station.name: i for i, station in enumerate(medium.station)}
    rules: list[dict[str, Any]] = [
        {
            "src": None if loss.src is None else index[loss.src],
            "dst": None if loss.dst is None else index[loss.dst],
            "model": _loss_model(loss, epoch_ns),
            "takes": loss.takes,
            # Before time 0 stations only learn of each other.
            "active_ns": {"start": epoch_ns, "end": NEVER_NS},
        }
        for loss in medium.loss
    ]
    events = [
        (epoch_ns + nanoseconds(event.at_s), (given(event.src), given(event.dst)), event.rate)
        for event in medium.event
        if event.kind == "loss"
    ]
    until_ns: dict[tuple[str, str], int] = {}
    last_first = []
    for at_ns, link, rate in sorted(events, key=lambda event: event[0])[::-1]:
        last_first.append(
            {
                "src": index[link[0]],
                "dst": index[link[1]],
                "model": {"uniform": {"rate": rate}},
                "takes": "data",
                "active_ns": {"start": at_ns, "end": until_ns.get(link, NEVER_NS)},
            }
        )
        until_ns[link] = at_ns
    return rules + last_first[::-1]


def _measured(medium: ResolvedMedium, epoch_ns: int) -> list[dict[str, Any]] | None:
    """Return the powers of measured links, as their ratios above the noise."""
    if not medium.snr:
        return None
    index = {station.name: i for i, station in enumerate(medium.station)}
    noise = noise_dbm(medium.radio)
    return [
        {
            "from": index[link.src],
            "to": index[link.dst],
            "points": [[epoch_ns + nanoseconds(t_s), noise + db] for t_s, db in link.points],
        }
        for link in medium.snr
    ]


def _loss_model(loss: Loss, epoch_ns: int) -> dict[str, Any]:
    if loss.kind == "uniform":
        return {"uniform": {"rate": loss.rate}}
    if loss.kind == "list":
        return {"list": {"frames": loss.frames}}
    if loss.kind == "burst":
        times = {
            "on_ns": nanoseconds(given(loss.on_s)),
            "period_ns": nanoseconds(given(loss.period_s)),
            "start_ns": epoch_ns + nanoseconds(loss.start_s),
        }
        return {"burst": {"rate": loss.rate, **times}}
    probabilities = {
        "to_bad": loss.p_good_to_bad,
        "to_good": loss.p_bad_to_good,
        "good": loss.loss_good,
        "bad": loss.loss_bad,
    }
    return {"gilbert-elliott": probabilities}

# SPDX-License-Identifier: Apache-2.0
"""The file of `hoplab medium`: the scenario's keys about the channel, and the daemon's own keys."""

from __future__ import annotations

from hoplab.model.keys.building import MAX_FLOORS, MAX_WALLS, Floor, Wall
from hoplab.model.keys.cells import LONGEST_BEACON_OFFSET_MS
from hoplab.model.keys.declare import MAX_DURATION_S, Integer, Mac, Number, Switch, Text, key
from hoplab.model.keys.faults import Event, Loss
from hoplab.model.keys.interferers import MAX_INTERFERERS, Interferer
from hoplab.model.keys.measure import Recorded, Seeded
from hoplab.model.keys.multilink import MAX_FURTHER_LINKS, FurtherLink
from hoplab.model.keys.radio import LAST_6_GHZ_CHANNEL, Categories, Nic, PunctBitmap, Radio, Width
from hoplab.model.keys.snr import MAX_MEASURED_LINKS, Snr
from hoplab.model.keys.stations import Placed


class RadioStation(Placed):
    """A radio of mac80211_hwsim."""

    mac: Mac = key(..., "its permanent address, six bytes as 02:00:00:00:00:01")
    nic: Nic | None = key(None, "its own network card, whole; that of [radio] else")
    channel: Integer | None = key(
        None,
        "its own; that of [radio] else",
        ge=1,
        le=LAST_6_GHZ_CHANNEL,
    )
    width_mhz: Width | None = key(
        None, "of its channel, no more than [radio] has, the default", unit="MHz"
    )
    punct_bitmap: PunctBitmap | None = key(
        None,
        "20 MHz subchannels of its channel that 802.11be leaves out, the lowest in the lowest bit; "
        "the same for all on the channel",
    )
    links: tuple[FurtherLink, ...] = key(
        (), "its further links, with 802.11be", max_length=MAX_FURTHER_LINKS
    )
    beacon_offset_ms: Number = key(
        0.0, "its beacons are held back so long", unit="ms", ge=0, le=LONGEST_BEACON_OFFSET_MS
    )
    edca: Categories | None = key(None, "its own access categories, whole; those of [radio] else")


class Records(Recorded):
    """Where the records go."""

    dir: Text = key(..., "folder of the tables and of medium.json, the daemon's account of itself")
    air_capture: Text | None = key(None, "file: what was on the air, pcapng with radiotap")


class MediumFile(Seeded):
    """What the medium daemon is started with."""

    epoch_ns: Integer | None = key(
        None, "CLOCK_MONOTONIC of time 0; without it, the time of the start", unit="ns", ge=0
    )
    duration_s: Number | None = key(
        None,
        "when the records end, after time 0; without it, when the daemon does",
        unit="s",
        gt=0,
        le=MAX_DURATION_S,
    )
    overhear: Switch = key(
        True,
        "hand frames also to bystanders, whose monitor interfaces show them; false saves most of "
        "the work where nobody listens",
    )
    control: Text | None = key(
        None,
        "path of a socket that takes changes, in real time (`docs/medium.md`); without it, none",
    )
    radio: Radio = key(Radio(), "the channel")
    station: tuple[RadioStation, ...] = key(..., "the radios")
    wall: tuple[Wall, ...] = key((), "walls", max_length=MAX_WALLS)
    floor: tuple[Floor, ...] = key((), "floors", max_length=MAX_FLOORS)
    interferer: tuple[Interferer, ...] = key(
        (), "transmitters that are no radios", max_length=MAX_INTERFERERS
    )
    loss: tuple[Loss, ...] = key((), "frames lost on top of the channel", max_length=1000)
    snr: tuple[Snr, ...] = key((), "links as they were measured", max_length=MAX_MEASURED_LINKS)
    event: tuple[Event, ...] = key((), "what happens at a time", max_length=10_000)
    records: Records = key(..., "what is written")

# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[cell]]`: an access point and its clients."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from hoplab.model.keys.declare import (
    Conditions,
    Integer,
    Label,
    Name,
    Number,
    Table,
    Text,
    key,
    one_of,
)
from hoplab.model.keys.links import Link, require_room
from hoplab.model.keys.multilink import (
    EMLSR,
    MAX_FURTHER_LINKS,
    PADDING_US,
    TRANSITION_US,
    FurtherLink,
    Padding,
    Transition,
)
from hoplab.model.keys.radio import LAST_6_GHZ_CHANNEL, Categories, PunctBitmap, Width

LONGEST_SSID_BYTES = 32
"""IEEE 802.11-2020 9.4.2.2."""
MAX_CELLS = 100
WIRE_RATE_MBPS, WIRE_DELAY_MS = 1000.0, 0.1
"""A gigabit Ethernet's. Without rate and delay TCP would send forever in one instant."""
WITH_ROAMING = (
    "bgscan_dbm",
    "bgscan_short_s",
    "bgscan_long_s",
    "wire_rate_mbps",
    "wire_delay_ms",
)
PS_POLL, U_APSD, TWT = "ps-poll", "u-apsd", "twt"
WITH_POWER_SAVE = ("listen_interval", "dtim_period")
WITH_EMLSR = ("emlsr_padding_us", "emlsr_transition_us")
WITH_TWT = ("twt_interval_ms", "twt_duration_ms")
LONGEST_BEACON_OFFSET_MS = 102.0
"""Less than the 102.4 ms from one beacon to the next."""
LONGEST_TWT_DURATION_MS = 261.12
"""255 units of 1024 us (802.11ax-2021 9.4.2.199)."""
MOST_DTIM_PERIOD = 5
"""mac80211 asks after an access point of which it has missed seven beacons."""
PASSPHRASE = "correct horse battery staple"


def _ssid(text: str) -> str:
    if not 1 <= len(text.encode()) <= LONGEST_SSID_BYTES or not text.isprintable():
        raise ValueError(
            f"{text[:40]!r} is no network's name: 1 to {LONGEST_SSID_BYTES} octets, all printable"
        )
    return text


Ssid = Annotated[Text, AfterValidator(_ssid)]
Passphrase = Annotated[str, Field(strict=True, pattern=r"^[ -~]{8,63}$")]
"""IEEE 802.11-2020 J.4.1."""


PowerSave = Annotated[bool | str, *one_of((False, True, PS_POLL, U_APSD, TWT), "power save")]


class Cell(Table):
    """An access point and the stations that are associated with it at time 0."""

    only: ClassVar[Conditions] = {"passphrase": ("security", ("wpa2", "wpa3"))}

    name: Label | None = key(None, "in records and reports; default `cell0`, `cell1`, …")
    access_point: Name = key(..., "its station")
    clients: tuple[Name, ...] = key(..., "its stations; one of several roaming cells may have none")
    channel: Integer | None = key(
        None, "in the band of `radio.channel`, the default", ge=1, le=LAST_6_GHZ_CHANNEL
    )
    width_mhz: Width | None = key(
        None, "of its channel, no more than `radio.width_mhz`, the default", unit="MHz"
    )
    punct_bitmap: PunctBitmap | None = key(
        None,
        "20 MHz subchannels that 802.11be leaves out, the lowest in the lowest bit, as hostapd's "
        "key ([puncturing](medium.md#punctured-subchannels))",
    )
    links: tuple[FurtherLink, ...] = key(
        (),
        "further channels of 802.11be's multi-link operation ([links](medium.md#several-links))",
        max_length=MAX_FURTHER_LINKS,
    )
    link_mode: Literal["str", "emlsr"] | None = key(
        None,
        "clients have a radio for each link (`str`, the default), or one for all "
        "([`emlsr`](medium.md#one-radio-for-all-links))",
    )
    emlsr_padding_us: Padding | None = key(
        None,
        'with `link_mode = "emlsr"`: padding of the frame that calls a client to a link; '
        f"default {PADDING_US}",
        unit="us",
    )
    emlsr_transition_us: Transition | None = key(
        None,
        'with `link_mode = "emlsr"`: from the end of an exchange until a client listens again; '
        f"default {TRANSITION_US}",
        unit="us",
    )
    ssid: Ssid | None = key(None, "network name on the air; default the cell's")
    security: Literal["open", "wpa2", "wpa3"] = key(
        "open", "none, WPA2-Personal, or WPA3-Personal (SAE)"
    )
    passphrase: Passphrase = key(PASSPHRASE, "8 to 63 printable ASCII characters")
    beacon_offset_ms: Number = key(
        0.0,
        "its beacons go so long after those of other cells, whose clocks are one",
        unit="ms",
        ge=0,
        le=LONGEST_BEACON_OFFSET_MS,
    )
    edca: Categories | None = key(
        None,
        "access categories that it announces to its clients; default those of `[radio.edca]`",
    )
    edca_ap: Categories | None = key(
        None, "the access point's own access categories; default those that it announces"
    )
    roaming: Literal["bgscan", "802.11r"] | None = key(
        None,
        "clients move between cells of this `ssid`, by scans and reassociation "
        "(`bgscan`), with fast BSS transition too (`802.11r`); default: they stay",
    )
    bgscan_dbm: Integer | None = key(
        None,
        "a client scans often while the access point's beacons are weaker; default: the "
        "signal at half the reach",
        unit="dBm",
        ge=-120,
        le=0,
    )
    bgscan_short_s: Integer | None = key(
        None, "between scans below `bgscan_dbm`; default 2", unit="s", ge=1, le=3600
    )
    bgscan_long_s: Integer | None = key(
        None, "between scans above `bgscan_dbm`; default 60", unit="s", ge=1, le=3600
    )
    wire_rate_mbps: Number | None = key(
        None,
        "of the access point's wire to the others of its `ssid`, in each direction; default 1000",
        unit="Mbit/s",
        ge=0.001,
        le=10_000,
    )
    wire_delay_ms: Number | None = key(
        None,
        "from one of these access points to this one; default 0.1",
        unit="ms",
        ge=0,
        le=100_000,
    )

    power_save: PowerSave = key(
        False,
        "`true`: clients doze without traffic, by Linux's dynamic power save, and wake for "
        "beacons; others: they always doze, and fetch packets by PS-Polls (`ps-poll`), by WMM's "
        "automatic delivery (`u-apsd`), or at times of their own (`twt`)",
    )
    listen_interval: Integer = key(
        1,
        "with `power_save`: a dozing client wakes for every so many beacons, and for those that "
        "group frames follow",
        ge=1,
        le=100,
    )
    dtim_period: Integer = key(
        2,
        "with `power_save`: beacons from one that group frames may follow to the next",
        ge=1,
        le=MOST_DTIM_PERIOD,
    )

    twt_interval_ms: Number = key(
        100.0,
        'with `power_save = "twt"`: from a client\'s service period to its next one',
        unit="ms",
        ge=1,
        le=3_600_000,
    )
    twt_duration_ms: Number = key(
        8.0,
        'with `power_save = "twt"`: a client waits so long in a period that its access point does '
        "not end",
        unit="ms",
        ge=0.256,
        le=LONGEST_TWT_DURATION_MS,
    )

    @model_validator(mode="after")
    def _check(self) -> Cell:
        for name in (*WITH_POWER_SAVE, *WITH_TWT):
            usual = type(self).model_fields[name].default
            if not self.power_save and getattr(self, name) != usual:
                raise ValueError(f"{name} counts only with power_save; remove it")
            if name in WITH_TWT and self.power_save != TWT and getattr(self, name) != usual:
                raise ValueError(f'{name} counts only with power_save = "{TWT}"; remove it')
        if self.power_save and self.beacon_offset_ms:
            raise ValueError(
                "beacon_offset_ms: with power_save group frames follow the kernel's beacon, so "
                "they would come ahead of one that is held back; remove one of the keys"
            )
        self._has_room_for_periods()
        if self.link_mode == EMLSR and not self.links:
            raise ValueError(
                f'link_mode: "{EMLSR}" is for several links; name further ones with links, or '
                "remove it"
            )
        for name in WITH_EMLSR:
            if self.link_mode != EMLSR and getattr(self, name) is not None:
                raise ValueError(f'{name} counts only with link_mode = "{EMLSR}"; remove it')
        if self.roaming is None and not self.clients:
            raise ValueError("clients: is empty; name the stations that it serves")
        for name in WITH_ROAMING:
            if self.roaming is None and getattr(self, name) is not None:
                raise ValueError(
                    f'{name} counts only with roaming = "bgscan" or "802.11r"; remove it'
                )
        require_room(self.wire_rate_mbps or WIRE_RATE_MBPS, self.wire_delay_ms or 0.0)
        if self.roaming == "802.11r" and self.security == "open":
            raise ValueError(
                'roaming: "802.11r" hands keys on, and security is "open"; use "bgscan", or '
                '"wpa2" or "wpa3"'
            )
        if self.access_point in self.clients:
            raise ValueError(f"clients: {self.access_point} is the access point itself; remove it")
        if len(set(self.clients)) < len(self.clients):
            raise ValueError("clients: one is given twice")
        return self

    def _has_room_for_periods(self) -> None:
        """Check that periods of clients can follow each other."""
        needs_ms = len(self.clients) * self.twt_duration_ms
        if self.power_save == TWT and needs_ms > self.twt_interval_ms:
            raise ValueError(
                f"twt_interval_ms: {self.twt_interval_ms:g} has no room for {len(self.clients)} "
                f"periods of {self.twt_duration_ms:g} ms; use at least {needs_ms:g}, or a shorter "
                "twt_duration_ms"
            )

    @property
    def wire(self) -> Link:
        """The wire from its access point to the network's switch. Its values were checked with the
        cell's. A guest asks for it while its clock counts. The first check of a kind of table makes
        its checker, whose work would be part of the run."""
        return Link.model_construct(
            ends=(self.access_point, "switch"),
            rate_mbps=WIRE_RATE_MBPS if self.wire_rate_mbps is None else self.wire_rate_mbps,
            delay_ms=WIRE_DELAY_MS if self.wire_delay_ms is None else self.wire_delay_ms,
        )

    @property
    def members(self) -> tuple[str, ...]:
        """The access point and its clients."""
        return (self.access_point, *self.clients)

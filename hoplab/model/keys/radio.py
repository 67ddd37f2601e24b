# SPDX-License-Identifier: Apache-2.0
"""The keys of `[radio]`: the 802.11 channel and the stations' radios."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from hoplab.model.keys.declare import (
    LEAST_DBM,
    MAX_COORDINATE_M,
    MOST_DBM,
    Conditions,
    Integer,
    Number,
    Switch,
    Table,
    Text,
    key,
    one_of,
)

DSSS_MBPS = (1, 2, 5.5, 11)
"""DSSS and CCK (IEEE 802.11-2020 clauses 15, 16)."""
OFDM_MBPS = (6, 9, 12, 18, 24, 36, 48, 54)
"""OFDM (clause 17)."""
RATES_MBPS = (*DSSS_MBPS, *OFDM_MBPS)
RADIO_MTU = 2272
"""IP octets that fit one frame. mac80211_hwsim takes frames of at most 2304 octets (the policy of
HWSIM_ATTR_FRAME). These include a MAC header of 24 and an LLC and SNAP header of 8."""
RATES_OF_STANDARD = {
    "802.11": DSSS_MBPS,
    "802.11b": DSSS_MBPS,
    "802.11g": RATES_MBPS,
    "802.11a": OFDM_MBPS,
    "802.11n": OFDM_MBPS,
    "802.11ac": OFDM_MBPS,
    "802.11ax": OFDM_MBPS,
    "802.11be": OFDM_MBPS,
}
"""Rates before HT. From 802.11n on, these are the rates of frames that are not data."""
DSSS_STANDARDS = ("802.11", "802.11b")
HT_STANDARDS = ("802.11n", "802.11ac", "802.11ax", "802.11be")
HE_STANDARDS = ("802.11ax", "802.11be")
"""To the kernel both are HE. The medium sends what the latter has beyond it."""
NO_RTS = 2347
"""The threshold of octets that no frame exceeds (dot11RTSThreshold, IEEE 802.11-2020 annex C)."""
BAND_2_GHZ, BAND_5_GHZ, BAND_6_GHZ = 2.4, 5, 6
LAST_2_GHZ_CHANNEL, LAST_5_GHZ_CHANNEL, LAST_6_GHZ_CHANNEL = 14, 165, 233
CHANNELS_OF_BAND: dict[float, tuple[int, ...]] = {
    BAND_2_GHZ: tuple(range(1, LAST_2_GHZ_CHANNEL + 1)),
    BAND_5_GHZ: (36, 40, 44, 48, 149, 153, 157, 161, LAST_5_GHZ_CHANNEL),
    BAND_6_GHZ: tuple(range(1, LAST_6_GHZ_CHANNEL + 1, 4)),
}
"""Channels on which a simulated radio may begin to send. At 2.4 GHz they are those of the kernel's
world domain, and above 11 Japan's (`hoplab.guest.network.regulatory`). In other bands they are of
mac80211_hwsim's own domains (`hoplab.guest.network.hwsim`)."""
BANDS_OF_STANDARD: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("802.11", "802.11b", "802.11g"), (BAND_2_GHZ,)),
    **dict.fromkeys(("802.11a", "802.11ac"), (BAND_5_GHZ,)),
    "802.11n": (BAND_2_GHZ, BAND_5_GHZ),
    **dict.fromkeys(HE_STANDARDS, (BAND_2_GHZ, BAND_5_GHZ, BAND_6_GHZ)),
}

MCS = (
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
    (12, 3, 4),
    (12, 5, 6),
)
"""Bits on a subcarrier and code (bits in, bits out) of each MCS: HT has 8, VHT 10, HE 12, EHT all.
Tables: IEEE 802.11-2020 19-27 and 21-29, 802.11ax-2021 27-111, 802.11be-2024 36-71."""
TONES = {20: 52, 40: 108, 80: 234, 160: 468}
"""Subcarriers with data of HT and VHT, by width in MHz (tables 19-6 and 21-5)."""
HE_TONES = {20: 234, 40: 468, 80: 980, 160: 1960, 320: 3920}
"""Subcarriers of HE and EHT, four times as close (802.11ax-2021 table 27-15)."""
VHT_BITS_OF_ENCODER = 2160
"""Data bits a symbol above which VHT has a further encoder (IEEE 802.11-2020 21.5)."""


def in_vht_tables(mcs: int, streams: int, width_mhz: int) -> bool:
    """Return whether 21.5 has the rate: each encoder gets whole bits, and whole puncturing
    patterns."""
    on_tone, data, code = MCS[mcs]
    coded = TONES[width_mhz] * on_tone * streams
    encoders = -(-(coded * data // code) // VHT_BITS_OF_ENCODER)
    return coded % (code * encoders) == 0


def band_of(channel: int, band_ghz: float | None) -> float:
    """Return the band in GHz. The numbers of 6 GHz repeat those of the others, so a scenario names
    that band."""
    if band_ghz is not None:
        return band_ghz
    return BAND_2_GHZ if channel <= LAST_2_GHZ_CHANNEL else BAND_5_GHZ


POWERS = ("tx_w", "rx_w", "idle_w", "sleep_w")
CARDS_W = {
    "ns2": (0.2818, 0.2818, 0.0, 0.0),
    "lucent-bronze": (1.327, 0.967, 0.844, 0.066),
    "lucent-silver": (1.346, 0.901, 0.739, 0.047),
}
"""Power that cards draw in each of `POWERS`. ns-2's radio radiates this much, and nothing else
counts. Lucent's WaveLAN cards draw 280, 204, 178, 14 mA of 4.74 V at 2 Mbit/s. At 11 Mbit/s they
draw 284, 190, 156, 10 mA (Feeney, Nilsson 2001, table 1)."""

Rate = Annotated[float, *one_of(RATES_MBPS, "rate of 802.11a/b/g in Mbit/s")]
RateOrAuto = Annotated[
    float | str, *one_of((*RATES_MBPS, "auto", "ideal"), "rate of 802.11a/b/g in Mbit/s")
]
HeaderRate = Annotated[float, *one_of((1, 2, 6), "rate of a PLCP header in Mbit/s")]
Width = Annotated[int, *one_of((20, 40, 80, 160, 320), "width in MHz")]
PunctBitmap = Annotated[int, Field(strict=True, ge=0, le=0xFFFF)]
"""A bit for each 20 MHz of a channel of up to 320 MHz."""
Aggregation = Annotated[bool | str, *one_of((True, False, "kernel"), "way to aggregate")]
Band = Annotated[float, *one_of((BAND_2_GHZ, BAND_5_GHZ, BAND_6_GHZ), "band in GHz")]
Guard = Annotated[int, *one_of((800, 400, 1600, 3200), "guard interval in ns")]

Indoor = Literal["itu-residential", "itu-office", "3gpp-inh-los", "3gpp-inh-nlos"]

Standard = Literal[
    "802.11", "802.11b", "802.11g", "802.11a", "802.11n", "802.11ac", "802.11ax", "802.11be"
]


class Energy(Table):
    """Power draw of a radio; keys go over the preset's, or over the profile's without one."""

    preset: Literal["ns2", "lucent-bronze", "lucent-silver"] | None = key(
        None, "ns-2's radio, or Lucent WaveLAN cards (Feeney, Nilsson 2001)"
    )
    tx_w: Number | None = key(None, "while sending", unit="W", ge=0, le=1e6)
    rx_w: Number | None = key(None, "while receiving", unit="W", ge=0, le=1e6)
    idle_w: Number | None = key(None, "while listening", unit="W", ge=0, le=1e6)
    sleep_w: Number | None = key(None, "while off", unit="W", ge=0, le=1e6)
    battery_j: Number | None = key(
        None, "capacity; an empty battery ends the station", unit="J", gt=0, le=1e12
    )


class Nic(Table):
    """The network card and the host's work with it; 0 is not modelled.

    On its way out the host makes a frame ready. The frame waits in the interface queue, is copied
    into a buffer of the card, and is sent. A received one waits in the card for the host. The
    host does each of these three with one frame after the other.
    """

    tx_packet_us: Number = key(0.0, "host's time for a sent frame", unit="µs", ge=0, le=1e6)
    tx_service_mbps: Number = key(
        0.0,
        "host's rate of preparing frames, on top",
        unit="Mbit/s",
        ge=0,
        le=1e6,
    )
    queue_packets: Integer = key(
        0, "frames waiting for the card, instead of `radio.queue_packets`", ge=0, le=10_000
    )
    tx_ring: Integer = key(0, "frames in the card, the one in service included", ge=0, le=10_000)
    tx_load_us: Number = key(
        0.0,
        "time to copy a frame into a free card buffer",
        unit="µs",
        ge=0,
        le=1e6,
    )
    tx_load_mbps: Number = key(0.0, "rate of the copy, on top", unit="Mbit/s", ge=0, le=1e6)
    rx_packet_us: Number = key(0.0, "host's time for a received frame", unit="µs", ge=0, le=1e6)
    rx_service_mbps: Number = key(
        0.0,
        "host's rate of taking frames, on top",
        unit="Mbit/s",
        ge=0,
        le=1e6,
    )
    rx_buffer_packets: Integer = key(
        0, "received frames waiting for the host; others are lost", ge=0, le=10_000
    )

    @model_validator(mode="after")
    def _check(self) -> Nic:
        if self.rx_buffer_packets > 0 and self.rx_service_mbps == 0 and self.rx_packet_us == 0:
            raise ValueError(
                "rx_buffer_packets needs rx_service_mbps or rx_packet_us: a host that takes frames "
                "at once needs no buffer"
            )
        return self


WINDOW = 64
"""Outstanding frames of a block ack agreement (IEEE 802.11-2020 10.25.6.3)."""
WINDOWS = {"802.11ax": 256, "802.11be": 1024}
"""Those of HE and EHT (802.11ax-2021 and 802.11be-2024 9.4.1.13)."""


class Category(Table):
    """How an access category contends (IEEE 802.11-2020 10.23.2). Keys that are not given are the
    standard's (dot11EDCATable). Limits of TXOP are those of 802.11-2016, as in Linux."""

    aifsn: Integer | None = key(None, "slots of wait after SIFS", ge=1, le=15)
    cw_min: Integer | None = key(
        None, "first contention window, 2^n - 1", unit="slots", ge=0, le=32_767
    )
    cw_max: Integer | None = key(
        None, "largest contention window, 2^n - 1", unit="slots", ge=0, le=32_767
    )
    txop_us: Number | None = key(
        None,
        "how long it keeps a won channel; 0: one exchange",
        unit="µs",
        ge=0,
        le=8160,
    )


class CategoryValues(NamedTuple):
    """A complete `Category`."""

    aifsn: int
    cw_min: int
    cw_max: int
    txop_us: float


CATEGORIES = {
    "voice": CategoryValues(2, 3, 7, 1504.0),
    "video": CategoryValues(2, 7, 15, 3008.0),
    "best_effort": CategoryValues(3, 15, 1023, 0.0),
    "background": CategoryValues(7, 15, 1023, 0.0),
}
"""The standard's values, in order of falling priority."""


class Categories(Table):
    """How each access category contends."""

    voice: Category | None = key(None, "user priorities 6 and 7, and management")
    video: Category | None = key(None, "user priorities 4 and 5")
    best_effort: Category | None = key(None, "user priorities 0 and 3")
    background: Category | None = key(None, "user priorities 1 and 2")

    def complete(self) -> list[CategoryValues]:
        """Of each category in the order of `CATEGORIES`."""
        found = []
        for name, standard in CATEGORIES.items():
            own: Category | None = getattr(self, name)
            given = {} if own is None else own.model_dump(exclude_none=True)
            found.append(standard._replace(**given))
        return found


class Edca(Categories):
    """Access by categories, and how A-MPDUs are put together."""

    ampdu_octets: Integer | None = key(
        None,
        "longest A-MPDU: 65,535 (`802.11n`), 1,048,575 (`802.11ac`), 6,500,631 "
        "(`802.11ax`), 15,523,198 (`802.11be`) at most",
        unit="octets",
        ge=64,
        le=15_523_198,
    )
    start_spacing_us: Number = key(
        8.0, "least time between two frames' starts in it", unit="µs", ge=0, le=16
    )


SCHEDULERS = ("round-robin", "proportional-fair", "airtime")
"""Of stations that an access point serves together."""
MU_MIMO_STANDARDS = ("802.11ac", *HE_STANDARDS)


ProfileName = Literal[
    "wavelan",
    "hv99",
    "ns2-stock",
    "ns2-wavelan",
    "80211b",
    "80211g",
    "80211a",
    "80211n",
    "80211ac",
    "80211ax",
    "80211be",
]


class Radio(Table):
    """The 802.11 channel and the stations' radios; keys without a default come from the profile."""

    only: ClassVar[Conditions] = {
        "exponent": ("propagation", ("log-distance",)),
        "reference_m": ("propagation", ("log-distance",)),
        "nakagami_m": ("fading", ("nakagami",)),
        "mcs": ("standard", HT_STANDARDS),
        "width_mhz": ("standard", HT_STANDARDS),
        "guard_ns": ("standard", HT_STANDARDS),
        "streams": ("standard", ("802.11ac", *HE_STANDARDS)),
        "band_ghz": ("standard", HE_STANDARDS),
        "aggregation": ("rules", ("edca",)),
        "edca": ("rules", ("edca",)),
        "ofdma": ("standard", HE_STANDARDS),
        "ofdma_ack": ("ofdma", SCHEDULERS),
        "ofdma_uplink": ("ofdma", SCHEDULERS),
        "ofdma_bsrp_ms": ("ofdma", SCHEDULERS),
        "mu_mimo": ("standard", MU_MIMO_STANDARDS),
        "mu_mimo_antennas": ("mu_mimo", SCHEDULERS),
        "mu_mimo_ack": ("mu_mimo", SCHEDULERS),
        "mu_mimo_uplink": ("mu_mimo", SCHEDULERS),
        "sounding_interval_ms": ("mu_mimo", SCHEDULERS),
        "propagation_delay": ("rules", ("edca",)),
        "queue_frames": ("queue", ("fq_codel",)),
        "aql_us": ("queue", ("fq_codel",)),
        "airtime_fairness": ("queue", ("fq_codel",)),
        "target_ms": ("queue", ("fq_codel",)),
        "interval_ms": ("queue", ("fq_codel",)),
        "ce_threshold_ms": ("queue", ("fq_codel",)),
    }

    profile: ProfileName = key("wavelan", "sets the other keys")
    rules: Literal["802.11", "ns-2", "edca"] | None = key(
        None,
        "`edca`: 802.11 with access categories and A-MPDUs; `ns-2`: backoff before every "
        "frame, reception and responses of ns-2.35",
    )
    aggregation: Aggregation | None = key(
        None,
        "A-MPDUs of frames to one receiver; `kernel`: by block ack agreements that mac80211 "
        "makes, as with a card (with `queue` `fq_codel`)",
    )
    edca: Edca | None = key(None, "access categories and A-MPDUs")
    ofdma: Literal["none", "round-robin", "proportional-fair", "airtime"] = key(
        "none",
        "which stations access points serve together, each in a resource unit of one PPDU, where "
        "more wait than it has units (`docs/medium.md`)",
    )
    ofdma_ack: Literal["mu-bar", "sequential"] = key(
        "mu-bar",
        "how those acknowledge: all at once when a trigger asks them, or one after the other",
    )
    ofdma_uplink: Switch = key(
        False, "access points also ask several stations at once for their frames, by a trigger"
    )
    ofdma_bsrp_ms: Number = key(
        0,
        "they also poll stations' queues (BSRP): after their own frames, and when so long has "
        "passed since; 0: never",
        unit="ms",
        ge=0,
        le=1000,
    )
    mu_mimo: Literal["none", "round-robin", "proportional-fair", "airtime"] = key(
        "none",
        "which stations access points serve together, each by streams of its own on the whole "
        "channel, where more wait than they have antennas for (`docs/medium.md`)",
    )
    mu_mimo_antennas: Integer = key(
        4, "antennas of access points, and so streams of all those stations together", ge=2, le=8
    )
    mu_mimo_ack: Literal["mu-bar", "sequential"] | None = key(
        None,
        "how those acknowledge; default: one after the other with `802.11ac`, else when a trigger "
        "asks them",
    )
    mu_mimo_uplink: Switch = key(
        False, "access points also ask several stations at once for their frames, by a trigger"
    )
    sounding_interval_ms: Number = key(
        100.0,
        "how often access points sound the channel to each of those stations; Qualcomm's driver "
        "takes 10 to 10,000",
        unit="ms",
        ge=10,
        le=10_000,
    )
    standard: Standard | None = key(
        None, "PHY, preambles and rates; `802.11ax` and `802.11be` in cells and meshes only"
    )
    band_ghz: Band | None = key(
        None,
        "band of all channels; default: 2.4 with a `channel` up to 14, else 5",
        unit="GHz",
    )
    channel: Integer | None = key(
        None,
        "named in captures; a cell may have its own",
        ge=1,
        le=LAST_6_GHZ_CHANNEL,
    )
    rate_mbps: RateOrAuto | None = key(
        None,
        "data rate; `auto`: by the kernel's minstrel, with `802.11n` and `802.11ac` up to "
        "`mcs`, `streams` and `width_mhz`, with any guard interval; `ideal` (`802.11ax`, "
        "`802.11be`, 160 MHz): the medium takes the MCS up to `mcs` that carries most at the "
        "link's ratio",
        unit="Mbit/s",
    )
    mcs: Integer | None = key(
        None,
        "data rate: `802.11n` 0 to 7 (one stream) or 8 to 15 (two), `802.11ac` 0 to 9, "
        "`802.11ax` 0 to 11, `802.11be` 0 to 13",
        ge=0,
        le=15,
    )
    width_mhz: Width | None = key(None, "of data frames", unit="MHz")
    secondary: Literal["above", "below"] | None = key(
        None,
        "where the other half of 40 MHz is at 2.4 GHz; default: above up to channel 7, else below",
    )
    guard_ns: Guard | None = key(
        None,
        "guard interval of data frames: 400 or 800 with `802.11n` and `802.11ac`, 800 or "
        "more with `802.11ax` and `802.11be`",
        unit="ns",
    )
    streams: Integer | None = key(None, "spatial streams of data frames", ge=1, le=4)
    basic_rate_mbps: Rate | None = key(None, "of ACK, CTS, RTS and broadcasts", unit="Mbit/s")
    plcp_rate_mbps: HeaderRate | None = key(
        None, "of a long preamble and its PLCP header", unit="Mbit/s"
    )
    preamble: Literal["long", "short"] | None = key(
        None, "of DSSS; `short`: preamble and header take 96 µs from 2 Mbit/s on"
    )
    mac: Literal["80211", "csma-ca-noack"] | None = key(
        None, "`csma-ca-noack`: no acknowledgement, no retry"
    )
    rts_threshold: Integer | None = key(
        None, f"RTS protects longer frames: 0 all, {NO_RTS} none", unit="octets", ge=0, le=NO_RTS
    )
    retry_short: Integer | None = key(None, "tries without RTS", ge=1, le=255)
    retry_long: Integer | None = key(None, "tries with RTS", ge=1, le=255)
    retry_rules: Literal["standard", "kernel"] | None = key(
        None, "`standard`: those two limits; `kernel`: its rate table"
    )
    queue_packets: Integer | None = key(None, "length of the interface queue", ge=1, le=10_000)
    queue: Literal["fifo", "fq_codel"] = key(
        "fifo",
        "`fifo`: the interface queue; `fq_codel`: Linux's queues of each station "
        "(FQ-CoDel, AQL, airtime fairness), as with a card",
    )
    queue_frames: Integer | None = key(
        None,
        "frames of an access category taken ahead by the radio; default 128, `802.11ax` 512, "
        "`802.11be` 2048",
        ge=1,
        le=4096,
    )
    aql_us: Integer | None = key(
        None,
        "air time of a station's frames taken ahead, AQL's low and high limit in one; n waiting "
        "stations together have (n + 1) / 2 times as much; default the kernel's 5 ms, or 12 ms "
        "while all stations have below 24 ms",
        unit="µs",
        ge=1,
        le=1_000_000,
    )
    airtime_fairness: Switch = key(True, "equal air time of stations; `false`: equal turns")
    target_ms: Number | None = key(
        None,
        "wait that CoDel aims at in these queues; default the kernel's 20",
        unit="ms",
        ge=0.001,
        le=1000,
    )
    interval_ms: Number | None = key(
        None, "time above it before the first drop; default 100", unit="ms", ge=0.01, le=1000
    )
    ce_threshold_ms: Number | None = key(
        None,
        "marks each packet of ECN connections that waited longer; default none",
        unit="ms",
        ge=0.001,
        le=1000,
    )
    routing_priority: Switch = key(False, "routing messages overtake others in the interface queue")
    cw_min: Integer | None = key(
        None, "first contention window, 2^n - 1", unit="slots", ge=0, le=32_767
    )
    cw_max: Integer | None = key(
        None, "largest contention window, 2^n - 1", unit="slots", ge=0, le=32_767
    )
    slot_us: Number | None = key(None, "slot time", unit="µs", ge=0.001, le=10_000)
    sifs_us: Number | None = key(None, "short interframe space", unit="µs", ge=0.001, le=10_000)
    propagation: Literal["two-ray", "friis", "log-distance"] | None = key(
        None, "mean power over distance"
    )
    indoor: Indoor | None = key(
        None,
        "sets `propagation`, `exponent` and `reference_m` as a building's: ITU-R P.1238-7 table 2, "
        "or 3GPP TR 38.901 InH (`docs/medium.md`)",
    )
    propagation_delay: Switch | None = key(
        None, "a signal takes 3.34 ns a metre, at most a slot; default with `edca`"
    )
    exponent: Number = key(3.0, "path loss exponent", gt=0, le=20)
    reference_m: Number = key(1.0, "free space up to here", unit="m", ge=0.001, le=MAX_COORDINATE_M)
    shadowing_db: Number = key(0.0, "standard deviation of a link's loss", unit="dB", ge=0, le=30)
    shadowing_correlation_m: Number | None = key(
        None,
        "way of a station after which that loss is correlated by 1/e; default: each pair of "
        "stations has its own, wherever they are",
        unit="m",
        ge=0.1,
        le=MAX_COORDINATE_M,
    )
    fading: Literal["none", "rayleigh", "nakagami"] = key("none", "per frame and receiver")
    nakagami_m: Number = key(1.0, "shape; 1 is Rayleigh", ge=0.5, le=1000)
    snr_trace: Text | None = key(
        None,
        "CSV or Parquet file beside the scenario, with columns `t_s`, `src`, `dst`, "
        "`snr_db`, for `[[snr]]`",
    )
    tx_power_dbm: Number | None = key(None, "transmit power", unit="dBm", ge=LEAST_DBM, le=MOST_DBM)
    frequency_mhz: Number | None = key(
        None,
        "of the propagation model, not always the channel's",
        unit="MHz",
        ge=0.001,
        le=1e6,
    )
    antenna_height_m: Number | None = key(
        None, "of every antenna, for two-ray", unit="m", ge=0.001, le=100_000
    )
    antenna_gain_dbi: Number | None = key(
        None, "of every antenna, both ways", unit="dBi", ge=LEAST_DBM, le=MOST_DBM
    )
    range_m: Number | None = key(
        None,
        "mean reach of reception, instead of `rx_threshold_dbm`",
        unit="m",
        gt=0,
        le=MAX_COORDINATE_M,
    )
    carrier_sense_m: Number | None = key(
        None,
        "mean reach of carrier sense, instead of `cs_threshold_dbm`",
        unit="m",
        gt=0,
        le=MAX_COORDINATE_M,
    )
    rx_threshold_dbm: Number | None = key(
        None, "least power to receive", unit="dBm", ge=LEAST_DBM, le=MOST_DBM
    )
    cs_threshold_dbm: Number | None = key(
        None, "least power to sense", unit="dBm", ge=LEAST_DBM, le=MOST_DBM
    )
    capture_db: Number | None = key(
        None, "ratio to interference that a reception needs", unit="dB", ge=0, le=1000
    )
    capture_later: Switch = key(
        False, "a receiver changes to a later frame, stronger by `capture_db`"
    )
    leakage: Literal["mask", "none"] | None = key(
        None,
        "what other channels hear: by the transmit spectrum mask, or nothing, the default before "
        "802.11n; with `mask` channels of 2.4 GHz may overlap",
    )
    ed_threshold_dbm: Number | None = key(
        None,
        "least energy, whatever it is, that makes the channel busy; default 20 dB above carrier "
        "sense, DSSS by `tx_power_dbm`",
        unit="dBm",
        ge=LEAST_DBM,
        le=MOST_DBM,
    )
    noise_dbm: Number | None = key(
        None,
        "if given, it counts in that ratio; default thermal noise + 7 dB",
        unit="dBm",
        ge=LEAST_DBM,
        le=MOST_DBM,
    )
    reception: Literal["threshold", "error-rate"] = key(
        "threshold", "by power alone, or by bit errors at rate and ratio"
    )
    level_error_db: Number = key(
        0.0,
        "standard deviation of a card's levels (table `signals`)",
        unit="dB",
        ge=0,
        le=30,
    )
    nic: Nic | None = key(None, "network card and host; a station may have its own")
    energy: Energy | None = key(None, "power of radios")

    @property
    def is_adaptive(self) -> bool:
        """Whether the kernel's minstrel chooses the rate of data frames."""
        return self.rate_mbps == "auto"

    @property
    def is_dsss(self) -> bool:
        """Whether all frames are of DSSS or CCK."""
        return self.standard in DSSS_STANDARDS

    @property
    def fixed_by_medium(self) -> bool:
        """Whether data frames have a rate that the kernel's rate control does not know: of HE, EHT,
        and of VHT on 160 MHz. Without aggregation too."""
        return self.standard in HE_STANDARDS or self.width_mhz == 160

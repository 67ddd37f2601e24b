# SPDX-License-Identifier: Apache-2.0
"""Put radios into namespaces and join them to one IBSS, through nl80211."""

from __future__ import annotations

import math
import os
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hoplab.guest.network import capabilities
from hoplab.guest.network.inside import NAMES, index_of, inside
from hoplab.guest.network.introductions import Introducer
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.netlink import attribute, octets, u32
from hoplab.guest.network.nl80211 import Attr, Command, Given, Kind, Wireless, wireless
from hoplab.guest.system.files import put
from hoplab.model.errors import HoplabError, MissingTool
from hoplab.model.keys.radio import (
    BAND_2_GHZ,
    BAND_5_GHZ,
    BAND_6_GHZ,
    DSSS_MBPS,
    HE_STANDARDS,
    HE_TONES,
    HT_STANDARDS,
    MCS,
    NO_RTS,
    OFDM_MBPS,
    RADIO_MTU,
    RATES_OF_STANDARD,
    TONES,
)
from hoplab.model.keys.resolved import ResolvedRadio
from hoplab.model.network.channels import centre_mhz, channel_mhz
from hoplab.model.network.wlans import Wlan

BSSID = "02:ff:ff:ff:ff:01"
SSID = "hoplab"
BEACON_INTERVAL_TU = 10_000
"""At the usual 100 TU the beacons of 30 stations take a quarter of a 1 Mbit/s channel."""
SNAP = bytes.fromhex("aaaa03000000")
ETHERTYPE_EXPERIMENTAL = b"\x88\xb5"
"""IEEE 802 local experimental; no host's protocol listens to it."""
IBSS_CAPABILITY = 0x0002
ELEMENT_SSID, ELEMENT_RATES, ELEMENT_MORE_RATES = 0, 1, 50
"""IEEE 802.11-2020 9.4.1.4, 9.4.2."""
QOS = bytes.fromhex("dd070050f202000100")
"""The vendor element that marks a station with QoS for mac80211; stations with HT have QoS."""
CHANNEL_WIDTHS = {20: 1, 40: 2, 80: 3, 160: 5}
"""NL80211_CHAN_WIDTH_20, _40, _80 and _160."""
WIDEST_OF_MINSTREL_MHZ = 80
SYMBOL_US, HE_SYMBOL_US = 3.2, 12.8
"""A symbol without its guard interval (IEEE 802.11-2020 table 19-6, 802.11ax-2021 table 27-12)."""
DEBUGFS = Path("/sys/kernel/debug/ieee80211")
MINSTREL_CCK, MINSTREL_OFDM = 16, 17
"""The groups of DSSS and OFDM in minstrel_ht, whose rates are in the standard's order."""
MINSTREL_VHT = 18
"""The first group of VHT rates in minstrel_ht, after 16 of HT, one of CCK and one of OFDM. A group
is a number of streams (1 to 4), a guard interval and a width. Groups are ordered by these from fast
to slow."""
HT_SCHEMES, HT_STREAMS = 8, 2
"""HT's MCS of a stream, and the streams that hwsim's radios have with HT."""
MOST_RETRIES = 31
NESTED = 0x8000
"""NLA_F_NESTED."""
TXRATE_LEGACY, TXRATE_HT, TXRATE_VHT = 1, 2, 3
"""NL80211_TXRATE_LEGACY, _HT and _VHT."""
VHT_STREAMS = 8
"""Number of streams in a set of VHT's MCS (nl80211_txrate_vht)."""
MOST_KNOWN = 129
"""Stations of an ad hoc network of which each may know all others: mac80211 of any kernel keeps 128
(IEEE80211_IBSS_MAX_STA_ENTRIES)."""
INTRODUCTION_S = 0.05
INTRODUCTION_LIMIT_S = 20.0


def frequency_mhz(radio: ResolvedRadio) -> int:
    """Return the centre of a radio's primary channel."""
    return channel_mhz(radio.band, radio.channel)


def kernel_centre_mhz(radio: ResolvedRadio) -> int:
    """Return the centre of the kernel's channel."""
    width_mhz = kernel_width_mhz(radio)
    return centre_mhz(radio.band, radio.channel, width_mhz, radio.secondary)


def kernel_width_mhz(radio: ResolvedRadio) -> int:
    """Return the width of the kernel's channel. hwsim has 160 MHz at 5 GHz only with radar
    detection. At 2.4 GHz only the medium makes HE's channel wider."""
    at_2_ghz = 20 if radio.standard in HE_STANDARDS else 40
    widest = {BAND_2_GHZ: at_2_ghz, BAND_5_GHZ: 80, BAND_6_GHZ: 160}[radio.band]
    return min(radio.width_mhz, widest)


def settle(
    namespaces: Namespaces, wlan: Wlan, phy_index: int, radio: ResolvedRadio, bssid: str = BSSID
) -> None:
    """Make the radio with this wiphy the interface ``wlan`` of its station, and join the IBSS
    ``bssid``. There is no scan. The radio's former state does not matter."""
    with wireless(wlan.station) as iw:
        # Rates are set before joining. An IBSS that is up refuses to drop its basic rate, which
        # only broadcasts use here.
        index = rest(iw, namespaces, wlan, phy_index, radio, Kind.ADHOC, RADIO_MTU)
        _join(iw, index, radio, bssid)


def rest(
    iw: Wireless,
    namespaces: Namespaces,
    wlan: Wlan,
    phy_index: int,
    radio: ResolvedRadio,
    kind: Kind,
    mtu: int,
) -> int:
    """Make the radio with this wiphy the interface ``wlan``, of this kind, in no network yet.
    Returns its index."""
    links, index = namespaces.links(wlan.station), iw.interface_of(phy_index)
    links.set(index, up=False)
    links.set(index, name=wlan.interface)
    iw.set_kind(index, kind)
    links.set(index, up=True, mtu=mtu)
    limits(iw, phy_index, radio)
    choose_rates(iw, index, phy_index, radio)
    return index


def introduce(wlans: Sequence[Wlan], radio: ResolvedRadio, bssid: str = BSSID) -> None:
    """Let all stations of an IBSS hear each other once, before a medium decides who does.

    mac80211 drops a unicast frame to an IBSS station that it has not heard. It learns of a station
    only some time after its first frame, so the first answer to every neighbour would be lost.
    Until a beacon comes it assumes only the mandatory rates. Of OFDM's these are 6, 12 and 24
    Mbit/s at 5 GHz and none at 2.4 GHz. Until a medium registers, the kernel delivers every frame
    to every radio.
    """
    deadline = time.monotonic() + INTRODUCTION_LIMIT_S
    # A station that has heard all the others was heard by them too: all hear the same frames.
    while _known(wlans[0]) + 1 < len(wlans):
        if time.monotonic() > deadline:
            raise HoplabError(
                f"radio of {wlans[0].name}: knows {_known(wlans[0])} of "
                f"{len(wlans) - 1} others after {INTRODUCTION_LIMIT_S:g} s; see dmesg"
            )
        for wlan in wlans:
            _greet(wlan)
        time.sleep(INTRODUCTION_S)
    if _tells_rates(radio):
        for wlan in wlans:
            _tell_rates(wlan, radio, bssid)
        time.sleep(INTRODUCTION_S)


def introduce_meeting(
    meeting: Mapping[str, Sequence[str]],
    wlans: Mapping[str, Wlan],
    mac: Mapping[str, str],
    radio: ResolvedRadio,
    bssid: str = BSSID,
) -> None:
    """Do what `introduce` does, only between those of ``wlans`` that may meet."""
    addresses = {name: octets(mac[wlan.name]) for name, wlan in wlans.items()}
    kinds = [{name: _greeting(own, bssid) for name, own in addresses.items()}]
    if _tells_rates(radio):
        kinds.append({name: _beacon(own, radio, bssid) for name, own in addresses.items()})
    for frames in kinds:
        with Introducer() as introducer:
            for name, others in meeting.items():
                for other in others:
                    introducer.hand(frames[name], addresses[other])
        time.sleep(INTRODUCTION_S)
    busiest = max(meeting, key=lambda name: len(meeting[name]))
    known, expected = _known(wlans[busiest]), len(meeting[busiest])
    if known < expected:
        raise HoplabError(f"radio of {busiest}: knows {known} of {expected} others; see dmesg")


def _tells_rates(radio: ResolvedRadio) -> bool:
    return radio.standard in ("802.11a", "802.11g", *HT_STANDARDS)


def _greet(wlan: Wlan) -> None:
    with inside(wlan.station), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((wlan.interface, 0))
        source = sock.getsockname()[4]
        sock.send(b"\xff" * 6 + source + ETHERTYPE_EXPERIMENTAL + bytes(46))


def _tell_rates(wlan: Wlan, radio: ResolvedRadio, bssid: str) -> None:
    """Send one beacon, because the interface's own are seconds apart."""
    with inside(wlan.station), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        index = socket.if_nametoindex(wlan.interface)
        sock.bind((wlan.interface, 0))
        mac = sock.getsockname()[4]
    with wireless(wlan.station) as iw:
        iw.request(
            Command.FRAME,
            {
                Attr.IFINDEX: u32(index),
                Attr.WIPHY_FREQ: u32(frequency_mhz(radio)),
                Attr.FRAME: _beacon(mac, radio, bssid),
                Attr.DONT_WAIT_FOR_ACK: b"",
            },
        )


def _greeting(mac: bytes, bssid: str) -> bytes:
    """Return the data frame of `_greet`."""
    header = struct.pack("<HH", 0x0008, 0) + b"\xff" * 6 + mac + octets(bssid) + bytes(2)
    return header + SNAP + ETHERTYPE_EXPERIMENTAL + bytes(46)


def _beacon(mac: bytes, radio: ResolvedRadio, bssid: str) -> bytes:
    """Return a beacon with a station's rates (IEEE 802.11-2020 9.3.3.2)."""
    header = struct.pack("<HH", 0x0080, 0) + b"\xff" * 6 + mac + octets(bssid) + bytes(2)
    body = struct.pack("<QHH", 0, BEACON_INTERVAL_TU, IBSS_CAPABILITY)
    rates = bytes(round(mbps * 2) for mbps in RATES_OF_STANDARD[str(radio.standard)])
    for number, content in (
        (ELEMENT_SSID, SSID.encode()),
        (ELEMENT_RATES, rates[:8]),
        (ELEMENT_MORE_RATES, rates[8:]),
    ):
        body += bytes([number, len(content)]) + content if content else b""
    if radio.standard in HT_STANDARDS:
        body += QOS
    # Rate control asks for them, and an agreement between ad hoc stations (ieee80211_aggr_check()).
    if radio.standard in HT_STANDARDS and (radio.is_adaptive or radio.aggregation == "kernel"):
        mhz, centre = kernel_width_mhz(radio), kernel_centre_mhz(radio)
        body += capabilities.elements(radio, mhz, centre, frequency_mhz(radio))
    return header + body


def _known(wlan: Wlan) -> int:
    """Return the number of other stations that the radio's driver knows."""
    with wireless(wlan.station) as iw:
        given = {Attr.IFINDEX: u32(index_of(wlan.station, wlan.interface))}
        return sum(1 for _ in iw.dump(Command.GET_STATION, given))


def move(iw: Wireless, phy_index: int, namespace: str) -> None:
    """Take a radio from the namespace of ``iw`` to ``namespace``."""
    descriptor = os.open(NAMES / namespace, os.O_RDONLY)
    try:
        iw.request(
            Command.SET_WIPHY_NETNS,
            {Attr.WIPHY: u32(phy_index), Attr.NETNS_FD: u32(descriptor)},
        )
    finally:
        os.close(descriptor)


def limits(iw: Wireless, phy_index: int, radio: ResolvedRadio) -> None:
    """Set the wiphy's retry limits and its RTS threshold (the kernel's "off" is all ones).

    The kernel takes no limit above 31. With ``retry_rules = "standard"`` only the medium's limits
    count.
    """
    value = 0xFFFFFFFF if radio.rts_threshold == NO_RTS else radio.rts_threshold
    iw.request(
        Command.SET_WIPHY,
        {
            Attr.WIPHY: u32(phy_index),
            Attr.WIPHY_RTS_THRESHOLD: u32(value),
            Attr.WIPHY_RETRY_SHORT: bytes([min(radio.retry_short, MOST_RETRIES)]),
            Attr.WIPHY_RETRY_LONG: bytes([min(radio.retry_long, MOST_RETRIES)]),
        },
    )


def limit_air_time(phy: str, aql_us: int) -> None:
    """Set AQL's low and high limit of each access category of a radio to one value. Then a
    station's limit does not depend on what is pending of others. (The high one holds while the
    radio's total is below `aql_threshold`.) Both also make the limit of a category's stations
    together: half the low one for each but the first, and the high one."""
    for category in range(4):
        limit = DEBUGFS / phy / "aql_txq_limit"
        limit.write_text(f"{category} {aql_us} {aql_us}", encoding="ascii")


def set_codel(phy: str, radio: ResolvedRadio) -> None:
    """Give a radio's queues CoDel's parameters of the scenario (`codel-parameters.patch`).

    Raises `MissingTool` if the kernel does not let them be set.
    """
    for name in ("target", "interval", "ce_threshold"):
        value_ms = getattr(radio, f"{name}_ms")
        if value_ms is None:
            continue
        try:
            put(str(DEBUGFS / phy / "aqm"), f"codel_{name}_us {round(value_ms * 1000)}")
        except OSError as error:
            raise MissingTool(
                f"radio.{name}_ms: this kernel's mac80211 does not take it ({error.strerror}); "
                "remove it, or run with a machine that has the patch codel-parameters"
            ) from None


def allow_schemes(wlan: Wlan, channel: int, schemes: Sequence[int]) -> None:
    """Let ``wlan`` send at these HT MCS. If a station cannot take the fixed MCS, mac80211 sends at
    the next lower one that it can take, else the next higher."""
    with wireless(wlan.station) as iw:
        _allow(
            iw,
            index_of(wlan.station, wlan.interface),
            channel,
            attribute(TXRATE_HT, bytes(sorted(schemes))),
        )


def adapt(wlan: Wlan, radio: ResolvedRadio) -> None:
    """Let ``wlan`` send at every MCS up to that of ``radio``."""
    with wireless(wlan.station) as iw:
        _adapt(iw, index_of(wlan.station, wlan.interface), radio)


def choose_rates(iw: Wireless, index: int, phy_index: int, radio: ResolvedRadio) -> None:
    """Make a wiphy send at the one rate of ``radio``, or let minstrel choose. Its interface has
    this ``index``."""
    if radio.standard not in HT_STANDARDS:
        _fix_rate(iw, index, radio)
    elif radio.is_adaptive:
        _adapt(iw, index, radio)
    else:
        fix_scheme(iw.wiphys()[phy_index], radio)


def _adapt(iw: Wireless, index: int, radio: ResolvedRadio) -> None:
    mcs = radio.mcs
    if radio.standard == "802.11n":
        rates = attribute(TXRATE_HT, bytes(range(mcs + 1)))
    else:
        of_streams = [(2 << mcs) - 1] * radio.streams
        of_streams += [0] * (VHT_STREAMS - len(of_streams))
        rates = attribute(TXRATE_HT, bytes(_ht_schemes(mcs, radio.streams)))
        rates += attribute(TXRATE_VHT, struct.pack("=8H", *of_streams))
    _allow(iw, index, radio.channel, rates)


def _ht_schemes(mcs: int, streams: int) -> list[int]:
    """Return HT's indices of so many streams, each with the MCS up to ``mcs``. In a cell of less
    than 80 MHz mac80211 takes stations of 802.11ac for those of 802.11n."""
    of_one = range(min(mcs + 1, HT_SCHEMES))
    return [
        HT_SCHEMES * stream + one for stream in range(min(streams, HT_STREAMS)) for one in of_one
    ]


def _allow(iw: Wireless, index: int, channel: int, rates: bytes) -> None:
    nested = attribute(_band(channel) | NESTED, rates)
    given = {Attr.IFINDEX: u32(index), Attr.TX_RATES: nested}
    iw.request(Command.SET_TX_BITRATE_MASK, given)


def _band(channel: int) -> int:
    """NL80211_BAND_2GHZ or _5GHZ."""
    return 0 if channel <= 14 else 1


def take_turns(phy: str) -> None:
    """Let a radio's stations take turns without regard to their air time, and charge none to them.
    In mac80211's airtime_flags 1 is air time of sending, 2 of receiving."""
    (DEBUGFS / phy / "airtime_flags").write_text("0", encoding="ascii")


def _join(iw: Wireless, index: int, radio: ResolvedRadio, bssid: str) -> None:
    iw.request(
        Command.JOIN_IBSS,
        {
            Attr.IFINDEX: u32(index),
            Attr.SSID: SSID.encode(),
            Attr.WIPHY_FREQ: u32(frequency_mhz(radio)),
            **width(radio),
            Attr.FREQ_FIXED: b"",
            Attr.MAC: octets(bssid),
            Attr.BEACON_INTERVAL: u32(BEACON_INTERVAL_TU),
            **basic_rate(radio),
        },
    )


def basic_rate(radio: ResolvedRadio) -> Given:
    """Return the attributes that state a network's rate of broadcasts."""
    return {
        Attr.BSS_BASIC_RATES: bytes([round(radio.basic_rate_mbps * 2)]),
        Attr.MCAST_RATE: u32(round(radio.basic_rate_mbps * 10)),
    }


def _fix_rate(iw: Wireless, index: int, radio: ResolvedRadio) -> None:
    """Allow only ``rate_mbps``. With "auto" the kernel chooses among the standard's rates."""
    rates = (
        RATES_OF_STANDARD[str(radio.standard)]
        if radio.rate_mbps in (None, "auto")
        else [float(str(radio.rate_mbps))]
    )
    rate = bytes(round(mbps * 2) for mbps in rates)
    _allow(iw, index, radio.channel, attribute(TXRATE_LEGACY, rate))


def width(radio: ResolvedRadio) -> Given:
    """Return the attributes that state the width of a network's channel."""
    if radio.standard not in HT_STANDARDS:
        return {}
    return {
        Attr.CHANNEL_WIDTH: u32(CHANNEL_WIDTHS[kernel_width_mhz(radio)]),
        Attr.CENTER_FREQ1: u32(kernel_centre_mhz(radio)),
    }


def only_phy(namespace: str) -> tuple[int, str]:
    """Return index and name of the wiphy of a namespace that has one."""
    with wireless(namespace) as iw:
        return next(iter(iw.wiphys().items()))


def fix_legacy_rate(name: str, mbps: float) -> None:
    """Make the wiphy ``name`` send data only at this rate of DSSS or OFDM. An interface's mask of
    rates must hold a basic rate, which a data rate need not be."""
    if mbps in DSSS_MBPS:
        fix_index(name, MINSTREL_CCK << 4 | DSSS_MBPS.index(mbps))
    else:
        fix_index(name, MINSTREL_OFDM << 4 | OFDM_MBPS.index(mbps))


def fix_scheme(name: str, radio: ResolvedRadio) -> None:
    """Send only at this MCS, width and guard interval.

    nl80211's mask of rates does not name width and guard interval. Under a mask alone minstrel
    would still try others.
    """
    scheme = _like(radio) if radio.fixed_by_medium else _own(radio)
    width, short = CHANNEL_WIDTHS[scheme.width_mhz] - 1, scheme.short
    first = MINSTREL_VHT if scheme.is_vht else 0
    group = first + 8 * width + 4 * short + scheme.streams - 1
    fix_index(name, group << 4 | scheme.mcs)


class Scheme(NamedTuple):
    """A rate of minstrel_ht."""

    is_vht: bool
    mcs: int
    streams: int
    width_mhz: int
    short: bool

    @property
    def mbps(self) -> float:
        on_tone, data, coded = MCS[self.mcs]
        bits = TONES[self.width_mhz] * on_tone * self.streams * data / coded
        return bits / (3.6 if self.short else 4.0)


def _own(radio: ResolvedRadio) -> Scheme:
    mcs, width, short = radio.mcs, radio.width_mhz, radio.guard_ns == 400
    if radio.standard == "802.11n":
        streams, mcs = divmod(mcs, 8)
        return Scheme(False, mcs, streams + 1, width, short)
    return Scheme(True, mcs, radio.streams, width, short)


def _like(radio: ResolvedRadio) -> Scheme:
    """Return the rate of minstrel_ht that is closest to a rate which minstrel_ht does not know.
    mac80211 estimates air time by it (AQL). The medium sends at the real rate."""
    on_tone, data, coded = MCS[radio.mcs]
    streams, guard_us = radio.streams, radio.guard_ns / 1000
    if radio.standard in HE_STANDARDS:
        tones, symbol_us = HE_TONES[radio.width_mhz], HE_SYMBOL_US + guard_us
    else:
        tones, symbol_us = TONES[radio.width_mhz], SYMBOL_US + guard_us
    mbps = tones * on_tone * streams * data / coded / symbol_us
    is_vht = radio.band != BAND_2_GHZ
    width_mhz = min(kernel_width_mhz(radio), WIDEST_OF_MINSTREL_MHZ)
    # VHT's MCS 9 is not in the tables of 20 MHz.
    known = (
        Scheme(is_vht, mcs, streams, width_mhz, short)
        for mcs in range(9 if is_vht else 8)
        for streams in range(1, 3)
        for short in (False, True)
    )
    return min(known, key=lambda scheme: abs(math.log(scheme.mbps / mbps)))


def fix_index(name: str, index: int) -> None:
    """Make the wiphy ``name`` send at only one of minstrel_ht's rates."""
    path = DEBUGFS / name / "rc" / "fixed_rate_idx"
    try:
        path.write_text(str(index))
    except FileNotFoundError:
        raise MissingTool(
            f"{path}: not there, so that no rate can be fixed; mount debugfs at /sys/kernel/debug "
            "of a kernel with MAC80211_DEBUGFS, or run with --machine uml"
        ) from None

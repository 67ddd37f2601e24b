# SPDX-License-Identifier: Apache-2.0
"""Channels at 6 GHz, whose numbers repeat those of other bands."""

import re

import pytest

from hoplab.guest.network import cells, wifi
from hoplab.guest.network.netlink import u32
from hoplab.guest.network.nl80211 import Attr
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import Radio
from hoplab.model.network import plan
from hoplab.model.network.channels import centre_mhz, channel_mhz, channels_of, widest_mhz
from hoplab.model.resolve.resolve import radio_with_profile
from tests.scenarios import document, resolved

CELL = """
duration_s = 5
[radio]
profile = "80211ax"
band_ghz = 6
{radio}
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 20
[[cell]]
access_point = "ap"
clients = ["n0"]
{cell}
"""
WPA3 = 'security = "wpa3"'
MESH = """
[topology]
kind = "chain"
stations = 3
[radio]
profile = "80211ax"
band_ghz = 6
[routing]
protocol = "hwmp"
"""


@pytest.mark.parametrize(
    ("width_mhz", "centres"),
    [
        (20, range(1, 234, 4)),
        (40, range(3, 228, 8)),
        (80, range(7, 216, 16)),
        (160, range(15, 208, 32)),
    ],
)
def test_channels_at_6_ghz_are_those_of_the_operating_classes(
    width_mhz: int, centres: range
) -> None:
    """Classes 131 to 134 of table E-4, which counts centres as channels are counted."""
    wide = [each for each in channels_of("802.11ax", 6) if widest_mhz(6, each) >= width_mhz]
    found = {(centre_mhz(6, each, width_mhz) - 5950) // 5 for each in wide}
    assert found == set(centres)
    assert len(wide) == len(centres) * width_mhz // 20


def test_a_number_means_another_frequency_in_each_band() -> None:
    assert [channel_mhz(band, 149) for band in (5, 6)] == [5745, 6695]
    assert [channel_mhz(band, 1) for band in (2.4, 6)] == [2412, 5955]


@pytest.mark.parametrize(
    ("band_ghz", "channel", "frequency_mhz", "sifs_us", "width_mhz"),
    [(2.4, 6, 2437, 10, 20), (5, 36, 5180, 16, 80), (6, 5, 5975, 16, 80)],
)
def test_a_band_has_a_channel_and_times_of_its_own(
    band_ghz: float, channel: int, frequency_mhz: float, sifs_us: float, width_mhz: int
) -> None:
    radio = radio_with_profile(Radio(profile="80211ax", band_ghz=band_ghz))
    found = (radio.channel, radio.frequency_mhz, radio.sifs_us, radio.slot_us, radio.width_mhz)
    assert found == (channel, frequency_mhz, sifs_us, 9, width_mhz)


def test_signals_at_6_ghz_have_the_frequency_of_their_channel() -> None:
    radio = radio_with_profile(Radio(profile="80211ax", band_ghz=6, channel=225))
    assert radio.frequency_mhz == 7075
    assert radio_with_profile(radio) == radio


def test_the_medium_gets_frequencies_and_leakage_of_6_ghz() -> None:
    found = document(5, 9, profile="80211ax", band_ghz=6, width_mhz=20)
    assert found["channel_mhz"] == 5975
    assert [station["channel_mhz"] for station in found["stations"]] == [5975, 5995]
    assert found["params"]["phy"]["standard"] == {"he": {"signal_extension": False}}
    (there, back) = found["params"]["leakage"]["pairs"]
    assert [(pair["from_mhz"], pair["to_mhz"]) for pair in (there, back)] == [
        (5975, 5995),
        (5995, 5975),
    ]
    at_5_ghz = document(36, 40, profile="80211ax", width_mhz=20)["params"]["leakage"]["pairs"]
    assert there["db"] == pytest.approx(at_5_ghz[0]["db"])


@pytest.mark.parametrize(
    ("width_mhz", "operating_class", "width", "centre"),
    [(20, 131, 0, 5), (40, 132, 0, 3), (80, 133, 1, 7), (160, 134, 2, 15)],
)
def test_hostapd_is_told_of_the_band_by_its_operating_class(
    width_mhz: int, operating_class: int, width: int, centre: int
) -> None:
    scenario = resolved(CELL.format(radio=f"width_mhz = {width_mhz}", cell=WPA3))
    lines = cells._hostapd(plan.plan(scenario), scenario.cell[0])
    assert {
        "hw_mode=a",
        "channel=5",
        f"op_class={operating_class}",
        "ieee80211ax=1",
        f"he_oper_chwidth={width}",
        f"he_oper_centr_freq_seg0_idx={centre}",
        "sae_pwe=1",
    } <= set(lines)
    assert not any(line.startswith(("ieee80211n", "ieee80211ac", "ht_", "vht_")) for line in lines)
    assert wifi.kernel_width_mhz(scenario.radio) == width_mhz


def test_a_mesh_at_2_4_ghz_is_centred_on_its_channel() -> None:
    radio = resolved(MESH.replace("band_ghz = 6", "channel = 6")).radio
    assert wifi.width(radio)[Attr.CENTER_FREQ1] == u32(2437)


def test_a_mesh_at_6_ghz_is_as_wide_as_its_channel() -> None:
    radio = resolved(MESH.replace("band_ghz = 6", "band_ghz = 6\nwidth_mhz = 160")).radio
    attributes = wifi.width(radio)
    assert attributes[Attr.CENTER_FREQ1] == u32(6025)
    assert attributes[Attr.CHANNEL_WIDTH] == u32(5)


@pytest.mark.parametrize(
    ("radio", "cell", "told"),
    [
        ("", "", 'cell.0.security: "open", but at 6 GHz a cell must have WPA3; set "wpa3"'),
        ("", 'security = "wpa2"', 'cell.0.security: "wpa2", but at 6 GHz'),
        ("channel = 36", WPA3, "radio.channel: 36 is no channel on which 802.11ax may send here "),
        ("channel = 36", WPA3, "at 6 GHz; one of 1, 5, 9, … 233"),
        ("channel = 233\nwidth_mhz = 40", WPA3, "channel 233 has neighbours for 20 MHz at most"),
        ("channel = 225", WPA3, "channel 225 has neighbours for 40 MHz at most; not 80"),
        ("", WPA3 + "\nchannel = 36", "cell.0.channel: 36 is no channel of radio.channel's band"),
        ("", WPA3 + "\nchannel = 225", "cell.0.channel: 225 has neighbours for 40 MHz at most"),
        (
            "",
            WPA3 + '\n[network]\nmedium = "daemon"',
            'network.medium is "daemon"; set "kernel", or security = "wpa2" below 6 GHz',
        ),
    ],
)
def test_what_6_ghz_lacks_is_refused(radio: str, cell: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(told)):
        resolved(CELL.format(radio=radio, cell=cell))


def test_other_standards_have_no_6_ghz() -> None:
    with pytest.raises(ScenarioError, match="band_ghz counts only where standard is"):
        resolved(CELL.format(radio="", cell=WPA3).replace("80211ax", "80211ac"))


@pytest.mark.parametrize(("band_ghz", "channel"), [(2.4, 36), (5, 6), (6, 6)])
def test_a_channel_of_another_band_is_refused(band_ghz: float, channel: int) -> None:
    told = f"radio.channel: {channel} is no channel on which 802.11ax may send here"
    with pytest.raises(ScenarioError, match=re.escape(f"{told} at {band_ghz:g} GHz")):
        document(None, profile="80211ax", band_ghz=band_ghz, channel=channel)


def test_a_channel_above_5_ghz_needs_its_band() -> None:
    with pytest.raises(ScenarioError, match=re.escape("radio.channel: 233 is no channel")):
        document(None, profile="80211ax", channel=233)

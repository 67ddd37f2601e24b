# SPDX-License-Identifier: Apache-2.0
"""802.11n at 2.4 GHz, its channels of 40 MHz, and the channels above 11."""

from __future__ import annotations

import re
import struct

import pytest

from hoplab.guest.network import cells, regulatory, wifi
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import Radio
from hoplab.model.network import plan
from hoplab.model.network.channels import channels_of, widest_mhz
from hoplab.model.network.leakage import Band, leakage_db
from hoplab.model.resolve.resolve import radio_with_profile
from tests.scenarios import TWO_CELLS, document, resolved

CELL = TWO_CELLS.format(radio='profile = "80211n"\n{radio}', first="", second="")


def test_802_11n_has_the_times_of_its_band() -> None:
    radio = radio_with_profile(Radio(profile="80211n", channel=6))
    assert (radio.sifs_us, radio.slot_us, radio.frequency_mhz) == (10, 9, 2437)
    standard = {"ht": {"signal_extension": True}}
    assert document(None, profile="80211n", channel=6)["params"]["phy"]["standard"] == standard
    radio = radio_with_profile(Radio(profile="80211n"))
    assert (radio.channel, radio.sifs_us, radio.frequency_mhz) == (36, 16, 5180)


@pytest.mark.parametrize(
    ("radio", "centre_mhz", "told"),
    [
        ("channel = 1\nwidth_mhz = 40", 2422, "[HT40+]"),
        ("channel = 7\nwidth_mhz = 40", 2452, "[HT40+]"),
        ("channel = 8\nwidth_mhz = 40", 2437, "[HT40-]"),
        ('channel = 5\nwidth_mhz = 40\nsecondary = "below"', 2422, "[HT40-]"),
        ('channel = 9\nwidth_mhz = 40\nsecondary = "above"', 2462, "[HT40+]"),
        ("channel = 6", 2437, "[SHORT-GI-20]"),
    ],
)
def test_the_kernel_is_as_wide_as_the_medium(radio: str, centre_mhz: int, told: str) -> None:
    scenario = resolved(CELL.format(radio=radio))
    lines = cells._hostapd(plan.plan(scenario), scenario.cell[0])
    assert "hw_mode=g" in lines and not any("vht" in line for line in lines)
    assert any(told in line for line in lines if line.startswith("ht_capab"))
    assert wifi.kernel_width_mhz(scenario.radio) == scenario.radio.width_mhz
    assert wifi.kernel_centre_mhz(scenario.radio) == centre_mhz


def test_channels_of_40_mhz_are_those_of_the_operating_classes() -> None:
    """Classes 83 and 84 of table E-4."""
    for secondary, expected in (("above", range(1, 10)), ("below", range(5, 14))):
        wide = [one for one in range(1, 15) if widest_mhz(2.4, one, secondary) == 40]
        assert wide == list(expected)
    assert [one for one in range(1, 15) if widest_mhz(2.4, one) == 20] == [14]


@pytest.mark.parametrize(
    ("radio", "told"),
    [
        ('channel = 10\nwidth_mhz = 40\nsecondary = "above"', "neighbours for 20 MHz at most"),
        ("channel = 6\nwidth_mhz = 80", "802.11n has 20 and 40 MHz"),
        ("channel = 14", "14 is no channel on which 802.11n may send here; one of 1, 2"),
        ('channel = 6\nsecondary = "above"', 'radio.secondary: "above" counts only on 40 MHz'),
        ('width_mhz = 40\nsecondary = "above"', 'radio.secondary: "above" counts only on 40 MHz'),
    ],
)
def test_what_2_4_ghz_lacks_is_refused(radio: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(told)):
        resolved(CELL.format(radio=radio))


def test_wide_channels_overlap_by_the_mask() -> None:
    cells_at = TWO_CELLS.format(
        radio='profile = "80211n"\nchannel = 1\nwidth_mhz = 40',
        first="channel = 1",
        second="channel = 6",
    )
    scenario = resolved(cells_at)
    assert [cell.channel for cell in scenario.cell] == [1, 6]
    found = document(1, 6, profile="80211n", channel=1, width_mhz=40)["params"]
    assert "blocks" not in found
    (there, back) = found["leakage"]["pairs"]
    # Their centres are 25 MHz apart.
    expected = leakage_db("802.11n", Band(2422, 40), Band(2447, 40))
    assert (there["from_mhz"], there["to_mhz"]) == (2412, 2437)
    assert there["db"] == back["db"] == expected and expected is not None and expected > -6


def test_802_11b_alone_has_channel_14() -> None:
    for standard, last in (("802.11b", 14), ("802.11g", 13), ("802.11n", 13), ("802.11ax", 13)):
        assert channels_of(standard, 2.4) == tuple(range(1, last + 1))
    assert document(None, profile="80211b", channel=14)["channel_mhz"] == 2484


@pytest.mark.parametrize(
    ("radio", "needed"),
    [
        ({"profile": "80211b", "channel": 11}, False),
        ({"profile": "80211g", "channel": 12}, True),
        ({"profile": "80211b", "channel": 14}, True),
        ({"profile": "80211n", "channel": 11, "width_mhz": 40}, False),
        ({"profile": "80211n", "channel": 9, "width_mhz": 40, "secondary": "above"}, True),
        ({"profile": "80211a"}, False),
    ],
)
def test_only_channels_above_11_need_a_countrys_rules(
    radio: dict[str, object], needed: bool
) -> None:
    assert regulatory.needed([radio_with_profile(Radio.model_validate(radio))]) is needed


def test_the_kernel_finds_each_countrys_rules_in_the_database() -> None:
    """As net/wireless/reg.c looks them up: pointers count words."""
    data = regulatory.database()
    assert struct.unpack_from(">4sI", data) == (b"RGDB", 20)
    countries = [struct.unpack_from(">2sH", data, 8 + 4 * i) for i in range(3)]
    assert [name for name, _ in countries] == [b"00", b"JP", b"\0\0"] and countries[2][1] == 0
    for _, pointer in countries[:2]:
        length, rules, _ = struct.unpack_from(">BBB", data, 4 * pointer)
        pointers = struct.unpack_from(f">{rules}H", data, 4 * pointer + length + length % 2)
        found = [struct.unpack_from(">BBHIII", data, 4 * at) for at in pointers]
        assert found == [
            (16, 0, 2000, 2_402_000, 2_482_000, 40_000),
            (16, 1, 2000, 2_474_000, 2_494_000, 20_000),
        ]

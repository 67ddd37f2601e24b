# SPDX-License-Identifier: Apache-2.0
"""What channels leak to each other by the masks, and what the medium's document says of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hoplab.model.network.leakage import Band, leakage_db, mask
from tests.scenarios import document

ADJACENT_DB = -26.11
"""Of 20 MHz at 5 GHz, as the module works it out."""


def db(ratio: float) -> float:
    return 10 * math.log10(ratio)


def leaks(standard: str, width_mhz: int, centre_mhz: float, apart_mhz: float) -> float:
    sender, receiver = (Band(at, width_mhz) for at in (centre_mhz, centre_mhz + apart_mhz))
    found = leakage_db(standard, sender, receiver)
    assert found is not None and found == leakage_db(standard, receiver, sender)
    return found


def test_masks_are_those_of_the_standard() -> None:
    """Offsets and dBr of 19.3.18.1, 21.3.17.1 and 27.3.19.1."""
    assert mask("802.11n", Band(5180, 20))[1:5] == [(9, 0), (11, -20), (20, -28), (30, -40)]
    assert mask("802.11n", Band(5190, 40))[1:5] == [(19, 0), (21, -20), (40, -28), (60, -40)]
    assert mask("802.11ac", Band(5210, 80))[1:5] == [(39, 0), (41, -20), (80, -28), (120, -40)]
    assert mask("802.11ax", Band(5180, 20))[1:5] == [(9.75, 0), (10.5, -20), (20, -28), (30, -40)]
    assert mask("802.11ax", Band(2437, 20))[4] == (30, -45)


def test_a_channel_leaks_a_four_hundredth_to_the_next() -> None:
    """The sum by hand: a mean density over each part of the mask, times its MHz. A part from -a to
    -b dBr has the mean (10^-a/10 - 10^-b/10) / ln(10^(b-a)/10)."""
    skirt = 2 * (1 - 0.01) / (2 * math.log(10))  # 9 to 11 MHz: 0.4300
    first = 9 * (0.01 - 10**-2.8) / (0.8 * math.log(10))  # 11 to 20 MHz: 0.0411
    second = 9 * (10**-2.8 - 10**-3.88) / (1.08 * math.log(10))  # 20 to 29 MHz: 0.0053
    rest = 10 * (10**-2.8 - 10**-4) / (1.2 * math.log(10))  # 20 to 30 MHz: 0.0054
    whole = 2 * (9 + skirt + first + rest)  # 18.95
    assert db((first + second) / whole) == pytest.approx(ADJACENT_DB, abs=0.01)
    assert leaks("802.11n", 20, 5180, 20) == pytest.approx(db((first + second) / whole), abs=1e-9)


def test_two_channels_away_the_last_point_counts() -> None:
    """18 MHz at -40 dBr, over the 18.95 MHz at 0 dBr that the whole signal comes to. At 2.4 GHz HE
    has -45 dBr on 19.5 MHz, over 19.92."""
    assert leaks("802.11ac", 20, 5180, 40) == pytest.approx(db(18e-4 / 18.95), abs=0.01)
    assert leaks("802.11ax", 20, 2412, 40) == pytest.approx(db(19.5 / 19.92) - 45, abs=0.01)
    assert leakage_db("802.11ac", Band(5180, 20), Band(5220.1, 20)) is None


@pytest.mark.parametrize("width_mhz", [20, 40, 80, 160])
@pytest.mark.parametrize("standard", ["802.11ac", "802.11ax"])
def test_all_widths_leak_alike_and_less_with_distance(standard: str, width_mhz: int) -> None:
    shares = [leaks(standard, width_mhz, 5180, part * width_mhz / 4) for part in range(4, 9)]
    assert shares[0] == pytest.approx(-26, abs=0.4)
    assert shares == sorted(shares, reverse=True)


def told(*channels: int | None, **radio: Any) -> Any:
    return document(*channels, **radio)["params"]["leakage"]


def test_the_medium_is_told_of_each_pair_of_near_channels() -> None:
    found = told(36, 40, 44, 48, 40, profile="80211n")
    pairs = {(pair["from_mhz"], pair["to_mhz"]): pair["db"] for pair in found["pairs"]}
    near = {(a, b) for a in range(5180, 5241, 20) for b in range(5180, 5241, 20)}
    assert set(pairs) == {(a, b) for a, b in near if 0 < abs(a - b) <= 40}
    assert pairs[5180, 5200] == pytest.approx(ADJACENT_DB, abs=0.01)


def test_energy_makes_a_channel_busy_20_db_above_a_preamble() -> None:
    found = document(36, 40, profile="80211n", cs_threshold_dbm=-82)["params"]
    assert (found["cs_threshold_dbm"], found["leakage"]["ed_threshold_dbm"]) == (-82, -62)


@pytest.mark.parametrize(
    ("channels", "radio"),
    [
        ((None, None), {"profile": "80211n"}),
        ((36, 36), {"profile": "80211n"}),
        ((36, 149), {"profile": "80211ac"}),
        ((1, 11), {"profile": "80211ax", "channel": 1}),
        ((36, 40), {"profile": "80211n", "leakage": "none"}),
        ((1, 6), {"profile": "80211g"}),
    ],
)
def test_nothing_leaks(channels: tuple[int | None, ...], radio: dict[str, Any]) -> None:
    assert told(*channels, **radio) is None

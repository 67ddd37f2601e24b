# SPDX-License-Identifier: Apache-2.0
"""802.11be: which rates and channels a scenario may have, and what the medium knows."""

from __future__ import annotations

from typing import Any

import pytest

from hoplab.guest.network import wifi
from hoplab.model.errors import ScenarioError
from hoplab.model.network.leakage import Band, mask
from tests.scenarios import document, resolved

CELL = """
[radio]
profile = "80211be"
{}
[[station]]
name = "a"
[[station]]
name = "b"
x_m = 10
[[cell]]
access_point = "a"
clients = ["b"]
{}
"""


def test_the_medium_sends_what_the_kernel_does_not_know() -> None:
    radio: dict[str, Any] = {"mcs": 13, "width_mhz": 320, "band_ghz": 6, "streams": 2}
    found = document(None, None, profile="80211be", **radio)
    assert found["data_rate"] == {
        "eht": {"mcs": 13, "streams": 2, "width_mhz": 320, "guard_ns": 800},
    }
    assert found["params"]["phy"]["standard"] == {"eht": {"signal_extension": False}}
    assert found["params"]["edca"]["aggregation"]["window"] == 1024
    scenario = resolved(CELL.format("band_ghz = 6\nwidth_mhz = 320", 'security = "wpa3"'))
    assert wifi.kernel_width_mhz(scenario.radio) == 160
    assert scenario.radio.frames_ahead == 2048


@pytest.mark.parametrize(
    ("radio", "words"),
    [
        ("mcs = 14", "mcs: 802.11be has 0 to 13"),
        ("width_mhz = 320", "width_mhz: channel 36 has neighbours for 80 MHz at most|160"),
        ("band_ghz = 6\nchannel = 193\nwidth_mhz = 320", "for 160 MHz at most"),
        ("guard_ns = 400", "guard_ns: 802.11be has 800, 1600 and 3200"),
        ('rate_mbps = "auto"', 'use "ideal", or set mcs'),
    ],
)
def test_what_the_standard_lacks_is_refused(radio: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        resolved(CELL.format(radio, 'security = "wpa3"'))


def test_older_standards_have_no_320_mhz() -> None:
    text = CELL.format("band_ghz = 6\nwidth_mhz = 320", 'security = "wpa3"')
    with pytest.raises(ScenarioError, match=r"802\.11ax has 160 MHz at most"):
        resolved(text.replace("80211be", "80211ax"))


def test_its_mask_is_four_times_as_wide_as_that_of_80_mhz() -> None:
    """802.11be-2024 36.3.20.1.1."""
    assert mask("802.11be", Band(6265, 320))[1:5] == [
        *((159.5, 0), (160.5, -20), (320, -28), (480, -40)),
    ]

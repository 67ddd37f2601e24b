# SPDX-License-Identifier: Apache-2.0
"""The profiles of ns-2's radio have the values that ns-2.35 itself tells."""

from __future__ import annotations

import math
import shutil
import tomllib
from typing import Any

import pytest

from hoplab.many.study import ns2
from hoplab.model.resources import PACKAGE
from tests.validate import recorded

ANSWERS = recorded.FOLDER / "defaults.txt"
SET_BY_SCRIPTS: dict[str, dict[str, object]] = {
    "ns2-stock": {},
    "ns2-wavelan": {"rate_mbps": 2, "energy": {"tx_w": 0.2818, "rx_w": 0.2818, "idle_w": 0}},
    # `tests/ns2/hv99.tcl` sets these.
    "hv99": {
        "rate_mbps": 2,
        "basic_rate_mbps": 2,
        "plcp_rate_mbps": 2,
        "retry_short": 10,
        "carrier_sense_m": 650,
        "energy": {"tx_w": 0.2818, "rx_w": 0.2818, "idle_w": 0},
    },
}
"""What differs from ns-2.35 as it comes."""


def answers(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines() if "/" in line and line[0] != "#")
    return {name: float(value) for name, value in lines}


@pytest.fixture(scope="module")
def told() -> dict[str, float]:
    """ns-2's defaults: as recorded, and where ns-2 is installed as it says them now."""
    found = answers(ANSWERS.read_text(encoding="utf-8"))
    if shutil.which("ns"):
        assert answers(ns2.run(recorded.SCRIPTS / "defaults.tcl")) == found
    return found


def reach_m(told: dict[str, float], power_w: float) -> float:
    """Where two-ray ground leaves so much of the transmit power, beyond the crossover at 86 m."""
    gains = told["Antenna/OmniAntenna/Gt_"] * told["Antenna/OmniAntenna/Gr_"]
    height_m = told["Antenna/OmniAntenna/Z_"]
    received = told["Phy/WirelessPhy/Pt_"] * gains * height_m**4 / power_w
    return float((received / told["Phy/WirelessPhy/L_"]) ** 0.25)


def as_it_comes(told: dict[str, float]) -> dict[str, Any]:
    """ns-2's defaults as a profile's keys."""
    mac, phy = "Mac/802_11", "Phy/WirelessPhy"
    return {
        "rate_mbps": told[f"{mac}/dataRate_"] / 1e6,
        "basic_rate_mbps": told[f"{mac}/basicRate_"] / 1e6,
        "plcp_rate_mbps": told[f"{mac}/PLCPDataRate_"] / 1e6,
        "preamble": {144: "long", 72: "short"}[int(told[f"{mac}/PreambleLength_"])],
        "rts_threshold": told[f"{mac}/RTSThreshold_"],
        "retry_short": told[f"{mac}/ShortRetryLimit_"],
        "retry_long": told[f"{mac}/LongRetryLimit_"],
        "cw_min": told[f"{mac}/CWMin_"],
        "cw_max": told[f"{mac}/CWMax_"],
        "slot_us": told[f"{mac}/SlotTime_"] * 1e6,
        "sifs_us": told[f"{mac}/SIFS_"] * 1e6,
        "queue_packets": told["Queue/limit_"],
        "tx_power_dbm": 10 * math.log10(told[f"{phy}/Pt_"] * 1e3),
        "frequency_mhz": told[f"{phy}/freq_"] / 1e6,
        "antenna_height_m": told["Antenna/OmniAntenna/Z_"],
        "antenna_gain_dbi": 10 * math.log10(told["Antenna/OmniAntenna/Gt_"]),
        "range_m": reach_m(told, told[f"{phy}/RXThresh_"]),
        "carrier_sense_m": reach_m(told, told[f"{phy}/CSThresh_"]),
        "capture_db": 10 * math.log10(told[f"{phy}/CPThresh_"]),
        "energy": {
            "tx_w": told["EnergyModel/tx_w"],
            "rx_w": told["EnergyModel/rx_w"],
            "idle_w": 0,
        },
    }


@pytest.mark.parametrize("profile", SET_BY_SCRIPTS)
def test_a_profile_is_what_ns_2_tells_but_for_what_scripts_set(
    told: dict[str, float], profile: str
) -> None:
    file = PACKAGE / "model" / "resolve" / "profiles" / f"{profile}.toml"
    keys = tomllib.loads(file.read_text(encoding="utf-8"))["radio"]
    # What ns-2 has no variable for: names, and how its MAC behaves.
    for other in ("profile", "rules", "standard", "channel", "mac", "retry_rules", "propagation"):
        del keys[other]
    expected = as_it_comes(told) | SET_BY_SCRIPTS[profile]
    assert keys.keys() == expected.keys()
    for key, value in expected.items():
        # ns-2's thresholds have four digits.
        close = value if isinstance(value, str) else pytest.approx(value, rel=1e-4, abs=1e-9)
        assert keys[key] == close, key

# SPDX-License-Identifier: Apache-2.0
"""802.11n on wide channels of 2.4 GHz, and channels above 11, through the kernel."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

CELL = """
duration_s = 1
[radio]
profile = "80211n"
channel = 13
width_mhz = 40
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 20
[[cell]]
access_point = "ap"
clients = ["n0"]
[[flow]]
source = "ap"
destination = "n0"
[measure]
frames = true
captures = ["air"]
"""
AD_HOC = """
duration_s = 2
[topology]
kind = "pair"
spacing_m = 30.0
[radio]
profile = "{profile}"
channel = {channel}
{keys}
[[flow]]
source = "n0"
destination = "n1"
[measure]
frames = true
"""


def test_a_cell_is_wide_above_channel_11(tmp_path: Path, run_scenario: Run) -> None:
    """MCS 7 on 40 MHz has 135 Mbit/s. Radiotap names the primary channel."""
    run_scenario(CELL)
    found = results.load(tmp_path / "run1")
    rows = [row for row in found.rows("frames") if row["kind"] == "data" and row["bytes"] > 60]
    assert {row["rate_mbps"] for row in rows} == {135} and len(rows) > 1000
    channel = struct.pack("<HH", 2472, 0x00C0)
    assert (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes().count(channel) > 1000


@pytest.mark.parametrize(
    ("profile", "channel", "keys", "least_kbps"),
    [
        ("80211b", 14, "", 3000),
        ("80211n", 12, "", 30_000),
        ("80211n", 3, "width_mhz = 40", 60_000),
        ("80211n", 9, 'width_mhz = 40\nrate_mbps = "auto"\nreception = "error-rate"', 60_000),
    ],
)
def test_ad_hoc_stations_send_where_the_standard_lets_them(
    tmp_path: Path, run_scenario: Run, profile: str, channel: int, keys: str, least_kbps: float
) -> None:
    run_scenario(AD_HOC.format(profile=profile, channel=channel, keys=keys))
    (flow,) = results.load(tmp_path / "run1").rows("flows")
    assert flow["goodput_kbps"] > least_kbps


SHORTER_S, BEACON_S = 1e-4, 1e-3
"""Shorter than a beacon, and longer than one with the wait before it."""
TWO_CELLS = """
duration_s = 3
[radio]
profile = "80211n"
channel = 6
width_mhz = 40
[[station]]
name = "a"
[[station]]
name = "b"
x_m = 10
[[station]]
name = "c"
x_m = 40
[[station]]
name = "d"
x_m = 50
[[cell]]
access_point = "a"
clients = ["b"]
[[cell]]
access_point = "c"
clients = ["d"]
beacon_offset_ms = {offset_ms}
[measure]
frames = true
"""


def test_beacons_that_come_apart_do_not_collide(tmp_path: Path, run_scenario: Run) -> None:
    """All access points have one clock, so one beacon spoils another or waits for it. An offset
    moves one cell's beacons."""
    for run, offset_ms in (("run1", 0), ("run2", 50)):
        run_scenario(TWO_CELLS.format(offset_ms=offset_ms))
        rows = results.load(tmp_path / run).rows("frames")
        beacons = [row for row in rows if row["kind"] == "beacon"]
        of_two = [[row for row in beacons if row["src"] == name] for name in "ac"]
        pairs = list(zip(*of_two, strict=False))
        apart_s = [later["t_s"] - first["t_s"] for first, later in pairs]
        assert len(apart_s) > 25
        if offset_ms == 0:
            assert all(abs(one_s) < BEACON_S for one_s in apart_s)
            for pair, one_s in zip(pairs, apart_s, strict=True):
                assert abs(one_s) > SHORTER_S or "collided" in {row["fate"] for row in pair}
        else:
            assert [one_s % 0.1024 for one_s in apart_s] == pytest.approx(
                [0.05] * len(apart_s), abs=10e-6
            )
            assert not any(row["fate"] == "collided" for row in beacons)

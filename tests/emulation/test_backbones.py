# SPDX-License-Identifier: Apache-2.0
"""Stations with several radios: access points over a backbone, relays with a radio a hop."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

HOME = """
duration_s = 3
[radio]
profile = "80211n"
channel = 36
[[station]]
name = "phone"
[[station]]
name = "west"
x_m = 20
[[station]]
name = "relay"
x_m = 100
[[station]]
name = "east"
x_m = 180
[[station]]
name = "tv"
x_m = 200
[[cell]]
access_point = "west"
clients = ["phone"]
[[cell]]
access_point = "east"
clients = ["tv"]
security = "wpa2"
channel = 44
[[backbone]]
stations = ["west", "relay", "east"]
mode = "{mode}"
channel = 149
[[flow]]
source = "phone"
destination = "tv"
ip = {ip}
[measure]
frames = true
"""
RELAY = """
duration_s = 3
[radio]
profile = "80211n"
channel = 36
[topology]
kind = "chain"
stations = 3
spacing_m = 80
[[flow]]
source = "n0"
destination = "n2"
"""
A_RADIO_A_HOP = """
[[backbone]]
stations = ["n0", "n1"]
mode = "ad-hoc"
[[backbone]]
stations = ["n1", "n2"]
mode = "ad-hoc"
channel = 149
"""
DOWN = """
[[event]]
at_s = 2
kind = "down"
station = "n1"
"""


@pytest.mark.parametrize(("mode", "ip"), [("mesh", 4), ("ad-hoc", 4), ("mesh", 6)])
def test_cells_reach_each_other_over_a_backbone(run_scenario: Run, mode: str, ip: int) -> None:
    text = HOME.format(mode=mode, ip=ip)
    first = run_scenario(text)
    assert first["flows"][0]["goodput_kbps"] > 15_000
    frames = results.load(Path(first["folder"])).frames.to_pylist()
    # A radio sends on its own channel alone.
    carried = {(frame["src"], frame["dst"]) for frame in frames if frame["kind"] == "data"}
    way = ["phone", "west"], ["west:wlan1", "relay"], ["relay", "east:wlan1"], ["east", "tv"]
    assert carried - {(None, None)} == {pair for a, b in way for pair in ((a, b), (b, a))}
    assert run_scenario(text)["digest"] == first["digest"]


def test_a_radio_for_each_hop_doubles_what_a_relay_forwards(run_scenario: Run) -> None:
    (one,) = run_scenario(RELAY)["flows"]
    (two,) = run_scenario(RELAY + A_RADIO_A_HOP)["flows"]
    assert 1.8 < two["goodput_kbps"] / one["goodput_kbps"] < 2.2


def test_both_radios_of_a_station_go_down(run_scenario: Run) -> None:
    answer = run_scenario(RELAY + A_RADIO_A_HOP + DOWN)
    tables = results.load(Path(answer["folder"]))
    last = {}
    for row in tables.rows("nodes"):
        if row["t_s"] <= 2.1:
            last[row["node"]] = row["tx_frames"]
    totals = {row["node"]: row["tx_frames"] for row in tables.rows("radios")}
    assert last["n1"] == totals["n1"] > 0
    assert last["n1:wlan1"] == totals["n1:wlan1"] > 0
    assert last["n0"] < totals["n0"]

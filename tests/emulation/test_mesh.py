# SPDX-License-Identifier: Apache-2.0
"""Radios as an 802.11s mesh, where the kernel's HWMP finds paths."""

from collections import Counter
from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

CHAIN = """
duration_s = 6
[topology]
kind = "chain"
stations = 4
spacing_m = {spacing_m}
[radio]
profile = "{profile}"
[routing]
protocol = "hwmp"
[measure]
frames = true
[[flow]]
source = "n0"
destination = "n3"
"""
DIAMOND = """
duration_s = 30
[radio]
profile = "wavelan"
carrier_sense_m = 600
[routing]
protocol = "hwmp"
[measure]
frames = true
[[station]]
name = "left"
[[station]]
name = "above"
x_m = 200
y_m = 100
[[station]]
name = "below"
x_m = 200
y_m = -100
[[station]]
name = "right"
x_m = 400
[[flow]]
source = "left"
destination = "right"
protocol = "udp"
rate_kbps = 100
[[event]]
at_s = 10
kind = "down"
station = "above"
[[event]]
at_s = 20
kind = "up"
station = "above"
[[event]]
at_s = 20.5
kind = "down"
station = "below"
"""


TICK_US = 4000
"""Of the guest's kernel."""
TWO_WHO_ASK = """
duration_s = 4
[radio]
profile = "80211n"
[routing]
protocol = "hwmp"
[measure]
frames = true
[[station]]
name = "a"
[[station]]
name = "b"
x_m = 10
[[station]]
name = "relay"
x_m = 60
[[station]]
name = "far"
x_m = 120
[[event]]
at_s = 0.5
kind = "down"
station = "relay"
[[flow]]
source = "a"
destination = "far"
protocol = "udp"
rate_kbps = 500
[[flow]]
source = "b"
destination = "far"
protocol = "udp"
rate_kbps = 500
"""


def carried(folder: str, protocol: str) -> Counter[tuple[str, str]]:
    """How many of the protocol's packets each link's frames carried."""
    frames = results.load(Path(folder)).frames.to_pylist()
    return Counter(
        (frame["src"], frame["dst"])
        for frame in frames
        if frame["kind"] == "data" and frame["protocol"] == protocol
    )


def test_a_chain_is_crossed_hop_by_hop_the_same_each_time(run_scenario: Run) -> None:
    text = CHAIN.format(spacing_m=200, profile="wavelan")
    first = run_scenario(text)
    (flow,) = first["flows"]
    assert flow["goodput_kbps"] > 300
    segments = carried(first["folder"], "tcp")
    way = [("n0", "n1"), ("n1", "n2"), ("n2", "n3")]
    assert set(segments) == {*way, *((b, a) for a, b in way)}
    assert all(segments[hop] >= flow["delivered_bytes"] // 1460 for hop in way)
    assert run_scenario(text)["digest"] == first["digest"]


@pytest.mark.parametrize(("profile", "least_mbps"), [("80211n", 8), ("80211ax", 30)])
def test_frames_of_a_mesh_go_together(run_scenario: Run, profile: str, least_mbps: int) -> None:
    answer = run_scenario(CHAIN.format(spacing_m=90, profile=profile))
    assert answer["flows"][0]["goodput_kbps"] > 1000 * least_mbps
    frames = results.load(Path(answer["folder"])).frames.to_pylist()
    together = [frame for frame in frames if frame["kind"] == "data" and (frame["mpdus"] or 1) > 8]
    assert len({frame["src"] for frame in together}) >= 3


def test_a_mesh_at_6_ghz_is_crossed_hop_by_hop(run_scenario: Run) -> None:
    """At twice the rate of 80 MHz."""
    text = CHAIN.format(spacing_m=90, profile="80211ax")
    for before, after in (
        ("duration_s = 6", "duration_s = 1"),
        ("stations = 4", "stations = 3"),
        ('"n3"', '"n2"'),
        ("[routing]", "band_ghz = 6\nwidth_mhz = 160\n[routing]"),
    ):
        text = text.replace(before, after)
    answer = run_scenario(text)
    segments = carried(answer["folder"], "tcp")
    assert set(segments) == {("n0", "n1"), ("n1", "n2"), ("n2", "n1"), ("n1", "n0")}
    frames = results.load(Path(answer["folder"])).frames.to_pylist()
    rates = {round(frame["rate_mbps"], 1) for frame in frames if frame["protocol"] == "tcp"}
    assert rates == {720.6}


def test_another_way_is_found_when_a_relay_goes(run_scenario: Run) -> None:
    answer = run_scenario(DIAMOND)
    (flow,) = answer["flows"]
    assert flow["received"] > 0.85 * flow["sent"]
    frames = results.load(Path(answer["folder"])).frames.to_pylist()

    def relays(begin_s: float, end_s: float) -> set[str]:
        return {
            frame["src"]
            for frame in frames
            if frame["dst"] == "right"
            and frame["protocol"] == "udp"
            and frame["fate"] == "delivered"
            and begin_s <= frame["t_s"] < end_s
        }

    assert relays(15, 20) == {"below"}
    assert relays(26, 30) == {"above"}


def test_a_mesh_asks_for_a_path_again_between_ticks(run_scenario: Run) -> None:
    """Else neighbours whose requests collided would repeat them at one instant, in vain."""
    answer = run_scenario(TWO_WHO_ASK)
    frames = results.load(Path(answer["folder"])).frames.to_pylist()
    asked_us = [
        round(1e6 * frame["t_s"])
        for frame in frames
        if frame["kind"] == "broadcast" and frame["t_s"] > 0.5
    ]
    assert len(asked_us) > 10
    assert not [at for at in asked_us if at % TICK_US == 0]

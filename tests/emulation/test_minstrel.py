# SPDX-License-Identifier: Apache-2.0
"""The kernel's minstrel_ht chooses among MCS, by what the medium says became of A-MPDUs."""

from collections import Counter
from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

ADAPTED_S = 2
NEAR_AND_FAR = """
duration_s = 4
[measure]
frames = true
[radio]
profile = "{profile}"
rate_mbps = "auto"
{keys}
propagation = "log-distance"
reception = "error-rate"
range_m = 100
carrier_sense_m = 200
[[station]]
name = "sender"
[[station]]
name = "near"
x_m = 5
[[station]]
name = "far"
y_m = 40
[[flow]]
name = "near"
source = "sender"
destination = "near"
protocol = "udp"
rate_kbps = 8000
packet_bytes = 1400
spacing = "random"
[[flow]]
name = "far"
source = "sender"
destination = "far"
protocol = "udp"
rate_kbps = 8000
packet_bytes = 1400
spacing = "random"
"""
CELL = """
[[cell]]
access_point = "sender"
clients = ["near", "far"]
"""


@pytest.mark.parametrize(
    ("profile", "keys", "cell", "highest_mbps"),
    [
        ("80211n", "mcs = 7", "", 72.2),
        ("80211n", "mcs = 15\nwidth_mhz = 40", CELL, 300),
        ("80211ac", "mcs = 9\nwidth_mhz = 80\nstreams = 1", CELL, 433.3),
        # In a cell that narrow the kernel sends HT's MCS.
        ("80211ac", "mcs = 8\nwidth_mhz = 20\nstreams = 1", CELL, 72.2),
        ("80211ac", "mcs = 9\nwidth_mhz = 80\nstreams = 2", "", 866.7),
    ],
)
def test_near_stations_get_a_high_rate_and_far_ones_what_arrives(
    run_scenario: Run, profile: str, keys: str, cell: str, highest_mbps: float
) -> None:
    """Both receive all that they are sent; the near one at the highest rate that is allowed."""
    text = NEAR_AND_FAR.format(profile=profile, keys=keys) + cell
    answer = run_scenario(text)
    assert all(flow["goodput_kbps"] > 7500 for flow in answer["flows"])
    frames = results.load(Path(answer["folder"])).frames.to_pylist()
    rates: dict[str, Counter[float]] = {"near": Counter(), "far": Counter()}
    for frame in frames:
        is_data = frame["src"] == "sender" and frame["dst"] in rates and frame["kind"] == "data"
        if is_data and frame["t_s"] > ADAPTED_S and frame["protocol"] == "udp":
            rates[frame["dst"]][frame["rate_mbps"]] += 1
    usual = {name: found.most_common(1)[0][0] for name, found in rates.items()}
    assert usual["near"] == pytest.approx(highest_mbps, rel=1e-3)
    assert usual["far"] < usual["near"] / 2
    assert len(rates["far"]) > 1  # it goes on trying others


IDEAL = """
duration_s = 1
[measure]
packets = true
frames = true
[radio]
profile = "80211ax"
{keys}
propagation = "log-distance"
reception = "error-rate"
range_m = 100
carrier_sense_m = 200
[[station]]
name = "point"
[[station]]
name = "client"
x_m = {x_m}
[[cell]]
access_point = "point"
clients = ["client"]
[[flow]]
name = "flow"
source = "point"
destination = "client"
protocol = "udp"
rate_kbps = 400000
packet_bytes = 1400
spacing = "random"
"""


HE_MBPS = (36.0, 72.1, 108.1, 144.1, 216.2, 288.2, 324.3, 360.3, 432.4, 480.4, 540.4, 600.5)
"""Of MCS 0 to 11 on 80 MHz (IEEE 802.11ax-2021 27.5)."""


@pytest.mark.parametrize("x_m", [18, 40])
def test_the_ideal_rate_of_ax_is_that_which_carries_most(run_scenario: Run, x_m: int) -> None:
    """More than the next rates above and below it."""
    found = run_scenario(IDEAL.format(keys='mcs = 11\nrate_mbps = "ideal"', x_m=x_m))
    frames = results.load(Path(found["folder"])).frames.to_pylist()
    rates = Counter(frame["rate_mbps"] for frame in frames if frame["protocol"] == "udp")
    (chosen,) = rates  # nobody moves
    mcs = [round(mbps) for mbps in HE_MBPS].index(round(chosen))
    assert 0 < mcs < 11
    kbps = found["flows"][0]["goodput_kbps"]
    for other in (mcs - 1, mcs + 1):
        (flow,) = run_scenario(IDEAL.format(keys=f"mcs = {other}", x_m=x_m))["flows"]
        assert flow["goodput_kbps"] < 0.98 * kbps

# SPDX-License-Identifier: Apache-2.0
"""A station walks past two access points of one network."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run
from tests.validate.saturation import BEST_EFFORT, maximum_mbps
from tests.validate.throughput import SCHEMES, ht_us

WALK = """
duration_s = 30
[radio]
profile = "{profile}"
propagation = "log-distance"
exponent = 3.0
channel = {first}
[[station]]
name = "left"
[[station]]
name = "right"
x_m = 120
[[station]]
name = "srv"
radio = false
[[station]]
name = "n0"
waypoints = [[0, 10, 5], [30, 110, 5]]
[[station]]
name = "m0"
y_m = 20
[[cell]]
access_point = "left"
clients = ["n0", "m0"]
ssid = "campus"
security = "{security}"
roaming = "{roaming}"
[[cell]]
access_point = "right"
clients = []
ssid = "campus"
channel = {second}
security = "{security}"
roaming = "{roaming}"
[[link]]
ends = ["left", "srv"]
rate_mbps = 100
[[flow]]
name = "down"
source = "srv"
destination = "n0"
protocol = "udp"
rate_kbps = 1000
[[flow]]
name = "up"
source = "n0"
destination = "srv"
protocol = "udp"
rate_kbps = 500
[[flow]]
name = "across"
source = "m0"
destination = "n0"
protocol = "udp"
rate_kbps = 500
[[flow]]
name = "echo"
source = "n0"
destination = "srv"
protocol = "ping"
interval_s = 0.02
[measure]
packets = true
captures = ["air"]
"""
HALF_S = 15.0
"""When it is as near to one as to the other."""


def holes_s(found: results.Results) -> dict[str, float]:
    """The longest time in which nothing came of each flow, up to its end."""
    came: dict[str, list[float]] = {}
    for row in found.rows("packets"):
        if row["received_s"] is not None:
            came.setdefault(row["flow"], []).append(row["received_s"])
    came["echo"] = [row["t_s"] for row in found.rows("exchanges") if row["rtt_ms"] is not None]
    return {
        flow: max(after - before for before, after in pairwise([*sorted(times), 30.0]))
        for flow, times in came.items()
    }


def walk(run_scenario: Run, folder: Path, n: int = 1, **values: object) -> results.Results:
    run_scenario(WALK.format(**{"profile": "80211g"} | values))
    return results.load(folder / f"run{n}")


@pytest.mark.parametrize(
    ("profile", "first", "second", "roaming", "security", "away_s"),
    [
        ("80211g", 1, 11, "bgscan", "wpa2", 1.0),
        ("80211g", 1, 1, "802.11r", "wpa2", 0.1),
        ("80211g", 6, 6, "802.11r", "wpa3", 0.1),
        ("80211n", 36, 149, "802.11r", "wpa3", 1.0),
        ("80211g", 11, 1, "bgscan", "open", 1.0),
    ],
)
def test_a_station_that_walks_by_stays_connected(
    tmp_path: Path,
    run_scenario: Run,
    profile: str,
    first: int,
    second: int,
    roaming: str,
    security: str,
    away_s: float,
) -> None:
    """It goes over once, on the second half of its way. Neither what it sends nor what it gets
    stops for longer, from the wires or from a client of the access point that it left."""
    values = {"first": first, "second": second, "roaming": roaming, "security": security}
    found = walk(run_scenario, tmp_path, profile=profile, **values)
    (handover,) = found.rows("handovers")
    assert (handover["node"], handover["old"], handover["new"]) == ("n0", "left", "right")
    assert HALF_S < handover["last_s"] < handover["first_s"] < 30
    gap_ms = 1e3 * (handover["first_s"] - handover["last_s"])
    assert handover["gap_ms"] == pytest.approx(gap_ms, abs=1e-5)
    assert handover["gap_ms"] < 1e3 * away_s
    holes = holes_s(found)
    assert holes.keys() == {"down", "up", "across", "echo"}
    assert all(0 < hole < away_s for hole in holes.values()), holes
    cells = [(row["node"], row["detail"].split()[1]) for row in associations(found)]
    assert ("n0", "access_point=right") in cells
    assert [at for node, at in cells if node == "m0"] == ["access_point=left"]


WIRES = """
duration_s = 3
[radio]
profile = "80211g"
propagation = "log-distance"
exponent = 3.0
[[station]]
name = "left"
[[station]]
name = "right"
x_m = 60
[[station]]
name = "n0"
x_m = 5
[[cell]]
access_point = "left"
clients = ["n0"]
ssid = "campus"
roaming = "bgscan"
wire_rate_mbps = 20
[[cell]]
access_point = "right"
clients = []
ssid = "campus"
roaming = "bgscan"
wire_rate_mbps = 8
wire_delay_ms = 5
[[flow]]
name = "fast"
source = "left"
destination = "right"
[[flow]]
name = "echo"
source = "left"
destination = "right"
protocol = "ping"
interval_s = 0.02
stop_s = 0.5
"""


def test_access_points_wires_have_a_rate_and_a_delay(tmp_path: Path, run_scenario: Run) -> None:
    """A flow between them is as fast as the slower wire, whose frames of 1514 octets have 1448 of
    payload. An echo takes both delays: 5.0 and 0.1 ms. So the run ends."""
    run_scenario(WIRES)
    found = results.load(tmp_path / "run1")
    flow = next(row for row in found.rows("flows") if row["flow"] == "fast")
    most_kbps = 8000 * 1448 / 1514
    assert 0.9 * most_kbps < flow["goodput_kbps"] <= most_kbps
    first_ms = next(row["rtt_ms"] for row in found.rows("exchanges"))
    octets = 14 + 20 + 8 + 56
    serial_ms = [8e-3 * octets / rate for rate in (20, 8, 8, 20)]
    assert first_ms == pytest.approx(5.1 + sum(serial_ms), abs=0.3)


def associations(found: results.Results) -> list[dict[str, Any]]:
    return [row for row in found.rows("events") if row["kind"] == "associated"]


def test_a_capture_of_the_air_shows_the_station_on_both_channels(
    tmp_path: Path, run_scenario: Run
) -> None:
    """What it sends is named by the channel that it is on, where it scans as where it stays."""
    walk(run_scenario, tmp_path, first=1, second=11, roaming="bgscan", security="open")
    air = (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes()
    ofdm_at_2_ghz = (0x0080 | 0x0040).to_bytes(2, "little")
    for mhz in (2412, 2462):
        assert air.count(mhz.to_bytes(2, "little") + ofdm_at_2_ghz) > 1000


def test_a_walk_has_the_same_digest_twice(tmp_path: Path, run_scenario: Run) -> None:
    values = {"first": 1, "second": 11, "roaming": "802.11r", "security": "wpa3"}
    first, second = (walk(run_scenario, tmp_path, n, **values) for n in (1, 2))
    assert first.manifest.digest == second.manifest.digest


def test_a_network_without_roaming_loses_the_station(tmp_path: Path, run_scenario: Run) -> None:
    """So the walk is one that needs a handover."""
    values = {"first": 1, "second": 11, "roaming": "bgscan", "security": "wpa2"}
    text = WALK.format(profile="80211g", **values).replace('roaming = "bgscan"\n', "")
    text = text.replace("clients = []", 'clients = ["p0"]').replace(
        "[[cell]]", '[[station]]\nname = "p0"\nx_m = 250\n[[cell]]', 1
    )
    text = text.replace("x_m = 120", "x_m = 240").replace("[30, 110, 5]", "[30, 230, 5]")
    run_scenario(text)
    found = results.load(tmp_path / "run1")
    assert found.rows("handovers") == []
    lost = [row["node"] for row in found.rows("events") if row["kind"] == "disassociated"]
    assert lost == ["n0"]


MOVE = """
duration_s = 6
[radio]
profile = "80211n"
propagation = "log-distance"
exponent = 3.0
mcs = 7
aggregation = false
[[station]]
name = "left"
[[station]]
name = "right"
x_m = 120
[[station]]
name = "n0"
x_m = 10
[[cell]]
access_point = "left"
clients = ["n0"]
ssid = "campus"
roaming = "bgscan"
bgscan_short_s = 1
edca.best_effort.cw_min = 127
[[cell]]
access_point = "right"
clients = []
ssid = "campus"
roaming = "bgscan"
bgscan_short_s = 1
edca.best_effort.cw_min = 31
[[event]]
kind = "move"
station = "n0"
at_s = 1
x_m = 110
y_m = 0
[[flow]]
source = "n0"
destination = "left"
protocol = "udp"
rate_kbps = 50_000
packet_bytes = 1000
spacing = "random"
[measure]
packets = true
"""
SETTLED_S = 0.2
"""Until the queues of a cell that the client has joined are full."""


def test_a_client_contends_as_the_access_point_says_that_it_is_at(
    tmp_path: Path, run_scenario: Run
) -> None:
    """With each cell's window one sender's theoretical maximum, but for some beacons and scans."""
    run_scenario(MOVE)
    found = results.load(tmp_path / "run1")
    (handover,) = found.rows("handovers")
    assert (handover["old"], handover["new"]) == ("left", "right")
    came = [row["received_s"] for row in found.rows("packets") if row["received_s"] is not None]
    for cw_min, begin_s, end_s in (
        (127, SETTLED_S, 1.0),
        (31, handover["first_s"] + SETTLED_S, 6.0),
    ):
        timing = replace(BEST_EFFORT, cw_min=cw_min)
        most_mbps = maximum_mbps(timing, 1000, ht_us(SCHEMES["HT-20-MCS-7"], 1000), rts=False)
        count = sum(begin_s < at_s < end_s for at_s in came)
        assert 8e-3 * count / (end_s - begin_s) == pytest.approx(most_mbps, rel=0.03)

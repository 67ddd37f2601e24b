# SPDX-License-Identifier: Apache-2.0
"""Networks other than the chain: wired queues, wired and wireless together, movement."""

import json
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import dpkt
import pytest

from hoplab.host import results
from hoplab.model.movement import RandomWaypoint, random_waypoint, save
from hoplab.model.resources import PROJECT
from tests.emulation.conftest import Hoplab, Run
from tests.scenarios import ONE_HOP

HYBRID = """
duration_s = 10
[topology]
kind = "hybrid"
[[flow]]
source = "srv"
destination = "n0"
packets = 1000
packet_bytes = 1400
window = 20
"""
BOTTLENECK = """
duration_s = 15
[topology]
kind = "dumbbell"
[topology.queue]
kind = "{kind}"
packets = 50
[tcp]
profile = "classic"
[[flow]]
source = "n1"
destination = "n4"
[[flow]]
source = "n5"
destination = "n6"
"""
WIRE = """
duration_s = 0.5
[[station]]
name = "a"
radio = false
[[station]]
name = "b"
radio = false
[[link]]
ends = ["a", "b"]
rate_mbps = 1000
delay_ms = 0.1
[[link]]
ends = ["b", "c"]
rate_mbps = 100
delay_ms = 0.1
[[station]]
name = "c"
radio = false
[[flow]]
source = "a"
destination = "b"
[[flow]]
source = "c"
destination = "b"
"""
PING_OVER_A_WIRE = """
duration_s = 2
[[station]]
name = "a"
radio = false
[[station]]
name = "b"
radio = false
[[link]]
ends = ["a", "b"]
[[flow]]
protocol = "ping"
source = "a"
destination = "b"
[measure]
captures = ["b:eth0"]
"""
MOVING = """
duration_s = 20
[topology]
kind = "trace"
movement = "walk.ns2"
stations = 5
[routing]
protocol = "dsr"
[[flow]]
source = "n0"
destination = "n4"
"""


def test_a_counted_transfer_from_a_wired_server(tmp_path: Path, run_scenario: Run) -> None:
    """A hop of 2 Mbit/s takes 7010 + 585 us for 1460 bytes and half an acknowledgement
    (test_runs.py).

    A counted transfer's segments are its packets: 1400 bytes and 12 of timestamps, 192 us less.
    Each is pushed and so acknowledged, with 12 bytes of timestamps, 48 us. Every byte arrives. The
    round trips of slow start cost some of a transfer of 7 s.
    """
    flow = run_scenario(HYBRID)["flows"][0]
    assert flow["delivered_bytes"] == 1_400_000
    expected_kbps = 1400 * 8 / (7010 - 192 + 2 * 585 + 48) * 1000
    assert 0.95 * expected_kbps < flow["goodput_kbps"] < 1.02 * expected_kbps
    row = results.load(tmp_path / "run1").rows("flows")[0]
    assert row["stop_s"] == pytest.approx(1_400_000 * 8e-3 / flow["goodput_kbps"])


def backlog(run: Path) -> tuple[float, int]:
    """Mean packets in the bottleneck's queue once it is settled, and all its drops."""
    rows = [row for row in results.load(run).rows("queues") if row["node"] == "n2"]
    by_interface: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_interface.setdefault(row["interface"], []).append(row)
    busiest = max(by_interface.values(), key=lambda of: of[-1]["sent_packets"])
    settled = [row["backlog_packets"] for row in busiest if row["t_s"] >= 5]
    return fmean(settled), busiest[-1]["drops"]


def test_red_keeps_the_queue_short(tmp_path: Path, run_scenario: Run) -> None:
    """RED holds the average below its upper threshold of 15 packets by early drops. In DropTail the
    windows of 45 segments that 64 KiB allow, less 51 packets on the way, stand."""
    run_scenario(BOTTLENECK.format(kind="red"))
    run_scenario(BOTTLENECK.format(kind="droptail"))
    red, red_drops = backlog(tmp_path / "run1")
    droptail, droptail_drops = backlog(tmp_path / "run2")
    assert red < 15 < droptail
    assert red_drops > 0
    assert droptail_drops == 0


def test_red_marks_with_ecn_instead_of_dropping(tmp_path: Path, run_scenario: Run) -> None:
    """RFC 3168: the sender halves its window for a mark as for a drop. A packet that finds the
    queue full, in slow start, is still dropped."""
    red = BOTTLENECK.format(kind="red")
    dropping = run_scenario(red)["flows"]
    text = red.replace("packets = 50", "packets = 50\necn = true")
    marking = run_scenario(text.replace("[tcp]", "[tcp]\necn = true"))["flows"]
    (_, drops), (short, few) = backlog(tmp_path / "run1"), backlog(tmp_path / "run2")
    assert short < 15 and few < drops / 3
    run = results.load(tmp_path / "run2")
    marks = {row["node"]: row["marks"] for row in run.rows("queues") if row["marks"]}
    assert marks.keys() == {"n2"} and marks["n2"] > 10 * few
    assert all(row["marked"] > 0 for row in run.rows("tcp") if row["t_s"] == 15)
    repeated = [sum(flow["retransmits"] for flow in flows) for flows in (dropping, marking)]
    assert repeated[1] < repeated[0] / 3


def test_more_than_a_hundred_radios(run_scenario: Run) -> None:
    """The driver's answer for the 106th reads as an error; the first hop's capacity is
    test_runs.py's."""
    chain = 'duration_s = 0.3\n[topology]\nkind = "chain"\nstations = 107\n'
    flow = run_scenario(chain + '[[flow]]\nsource = "n105"\ndestination = "n106"\n')["flows"][0]
    assert flow["delivered_bytes"] > 10_000


def test_a_thousand_routes_of_one_station(hoplab: Hoplab) -> None:
    """The kernel answers each; more answers at once than a socket's buffer takes would be lost."""
    script = PROJECT / "tests" / "emulation" / "guest" / "many_routes.py"
    done = hoplab("exec", "--", sys.executable, str(script))
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr


def test_largest_segments_reach_the_other_host(run_scenario: Run) -> None:
    """2232 octets with their headers fill a frame of 2304, the most that hwsim passes on. With its
    acknowledgement and the contention before both, a segment takes 10.3 ms at 2 Mbit/s."""
    flow = run_scenario(f"duration_s = 2\n{ONE_HOP}mss = 2232\n")["flows"][0]
    assert 1300 < flow["goodput_kbps"] < 2220 * 8 / 10.3


def test_fast_wires_carry_their_rate(run_scenario: Run) -> None:
    """1448 of a frame's 1514 bytes are payload: 956 and 95.6 Mbit/s. Slow start takes some of half
    a second, the queue's first drops some more."""
    fast, slow = run_scenario(WIRE)["flows"]
    assert 0.7 * 956_000 < fast["goodput_kbps"] < 956_500
    assert 0.8 * 95_600 < slow["goodput_kbps"] < 95_700


def test_wires_carry_only_packets_of_stations(tmp_path: Path, run_scenario: Run) -> None:
    """The namespace of wires has an IPv6 of its own. Its reports and solicitations would take their
    time on a wire without having waited in its queue."""
    run_scenario(PING_OVER_A_WIRE)
    with (tmp_path / "run1" / "captures" / "b-eth0.pcapng").open("rb") as file:
        kinds = Counter(dpkt.ethernet.Ethernet(data).type for _, data in dpkt.pcapng.Reader(file))
    assert kinds == {dpkt.ethernet.ETH_TYPE_IP: 4}


def test_stations_are_where_the_movement_file_says(tmp_path: Path, run_scenario: Run) -> None:
    """At 10 m/s and 1 mm of a file's rounding, and TCP crosses the moving network."""
    stations = [f"n{i}" for i in range(5)]
    traces = random_waypoint(stations, RandomWaypoint(350, 350, 9, 11), duration_s=20, seed=3)
    save(traces, tmp_path / "walk.ns2")
    flows = run_scenario(MOVING)["flows"]
    for row in results.load(tmp_path / "run1").rows("nodes"):
        x_m, y_m = traces[row["node"]].at(row["t_s"])
        assert (row["x_m"], row["y_m"]) == pytest.approx((x_m, y_m), abs=0.05)
    assert flows[0]["goodput_kbps"] > 100


def test_verify(tmp_path: Path, run_scenario: Run, hoplab: Hoplab) -> None:
    run_scenario(HYBRID, "--set", "duration_s=2")
    same = hoplab("verify", str(tmp_path / "run1"))
    assert same.returncode == 0, same.stderr
    manifest = tmp_path / "run1" / "manifest.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "digest": "0" * 64}))
    other = hoplab("verify", str(tmp_path / "run1"))
    assert other.returncode == 7
    assert len(other.stderr.splitlines()) == 1

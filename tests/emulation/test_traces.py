# SPDX-License-Identifier: Apache-2.0
"""What scripts for ns-2 find in a run's trace is what the run's own tables have."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hoplab.host import results
from hoplab.host.analysis import ns2trace
from tests.emulation.conftest import Hoplab, Run, run

# The second relay is away for two seconds, and more comes than the chain carries.
SCENARIO = """
duration_s = 12
[topology]
kind = "chain"
stations = 4
spacing_m = 200
[radio]
profile = "wavelan"
[routing]
protocol = "dsr"
[measure]
packets = true
frames = true
[[flow]]
source = "n0"
destination = "n3"
congestion_control = "newreno"
[[flow]]
source = "n3"
destination = "n1"
protocol = "udp"
rate_kbps = 300
packet_bytes = 512
start_s = 2
[[event]]
at_s = 6
kind = "down"
station = "n2"
[[event]]
at_s = 8
kind = "up"
station = "n2"
"""


def test_what_ns2s_scripts_count_is_in_the_tables(tmp_path: Path, run_scenario: Run) -> None:
    run_scenario(SCENARIO)
    run = results.load(tmp_path / "run1")
    # As a script takes a line apart, by its place in it.
    lines = [line.split() for _, line in ns2trace.lines(run, mac=True)]
    agent = [line for line in lines if line[3] == "AGT"]
    tcp, udp = run.rows("flows")

    sent = {line[5]: float(line[1]) for line in agent if line[0] == "s"}
    datagrams = [line for line in agent if line[0] == "r" and line[6] == "cbr"]
    assert sum(line[0] == "s" and line[6] == "cbr" for line in agent) == udp["sent"] > 100
    assert len(datagrams) == udp["received"] < udp["sent"]
    delay_ms = sum(float(line[1]) - sent[line[5]] for line in datagrams) / len(datagrams) * 1e3
    assert abs(delay_ms - udp["latency_ms_mean"]) < 1e-5
    goodput_kbps = sum(int(line[7]) for line in datagrams) * 8e-3 / 10
    assert abs(goodput_kbps - udp["goodput_kbps"]) < 1e-3

    # TCP's receiver has taken in what came without a gap.
    arrived = {
        int(line[17].strip("[")): int(line[7])
        for line in agent
        if line[0] == "r" and line[6] == "tcp"
    }
    in_order = 0
    while in_order in arrived:
        in_order += arrived[in_order]
    assert in_order == tcp["delivered_bytes"] > 100_000

    # Every drop that daemon and radios reported has its line, with the station.
    drops = Counter((line[2], line[3]) for line in lines if line[0] == "D")
    told = Counter(
        (f"_{row['node'][1:]}_", row["source"])
        for row in run.rows("events")
        if row["kind"] == "drop"
    )
    for row in run.rows("routing"):
        if row["counter"] == "dropped":
            node = f"_{row['node'][1:]}_"
            assert drops[node, "RTR"] == told[node, "dsr"] == row["value"]
    for row in run.rows("radios"):
        given_up = [x for x in lines if x[2] == f"_{row['node'][1:]}_" and x[4] == "RET"]
        assert len(given_up) == row["retry_limit"]
    assert sum(line[4] == "RET" for line in lines) > 0

    # Every try of a data frame and every answer to it.
    frames = run.rows("frames")
    of_packets = [row for row in frames if row["protocol"] is not None and row["dst"] != "*"]
    assert sum(x[0] == "s" and x[3] == "MAC" and x[6] != "BCN" for x in lines) == len(
        [row for row in frames if row["kind"] != "beacon"]
    )
    collided = sum(row["fate"] in ("collided", "capture-lost") for row in of_packets)
    assert (
        sum(x[4] == "COL" and x[6] in ("tcp", "ack", "cbr", "DSR") for x in lines) == collided > 0
    )

    # A packet that arrived was sent on by each relay of its way, under one number.
    ways: dict[str, list[str]] = {}
    for line in lines:
        if line[3] == "RTR" and line[0] in "sf":
            ways.setdefault(line[5], []).append(line[2])
    first = next(line for line in agent if line[0] == "r" and line[6] == "tcp")
    assert ways[first[5]] == ["_0_", "_1_", "_2_"]
    assert [first[18].strip("]"), first[19]] == ["0", "3"]


SATURATED = """
duration_s = 6
[topology]
kind = "chain"
stations = 3
spacing_m = 20
[radio]
profile = "80211a"
[[flow]]
source = "n0"
destination = "n2"
[measure]
packets = true
"""
OPPORTUNITY_BITS = 8 * 1504
SEGMENT_OF_PACKET = 1448 / 1500
"""Payload of a full packet of IP, with TCP's time stamps."""


def test_a_path_for_mahimahi_gives_what_the_flow_had(hoplab: Hoplab, tmp_path: Path) -> None:
    """Within 5 %, as often as the trace is repeated: its opportunities over its length."""
    file, out = tmp_path / "s.toml", tmp_path / "run"
    file.write_text(SATURATED)
    (flow,) = run(hoplab, file, "run")["flows"]
    done = hoplab("export", str(out), "--as", "mahimahi")
    assert done.returncode == 0, done.stderr
    times_ms = [int(line) for line in (out / "path.trace").read_text().splitlines()]
    kbps = len(times_ms) * OPPORTUNITY_BITS / times_ms[-1]
    assert SEGMENT_OF_PACKET * kbps == pytest.approx(flow["goodput_kbps"], rel=0.05)

# SPDX-License-Identifier: Apache-2.0
"""Linux's own Wi-Fi queues at an access point: FQ-CoDel, AQL and airtime fairness."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import tomli_w

from hoplab.host import results
from hoplab.host.machine import select, uml
from hoplab.host.machine.guests import Boot, SealedGuest
from hoplab.host.machine.uml import Streams
from hoplab.many.study.airtime import (
    FRAME_COLUMNS,
    Served,
    mbps_by_turns,
    served,
    shares_by_turns,
)
from tests.emulation.conftest import Run
from tests.validate import airtime
from tests.validate.saturation import sender

LINK_MS = 1
SEGMENT_BITS = 1460 * 8
AQL_US = 3000
FRAME_ESTIMATE_US = 20 + 4 * -(-(22 + 8 * 1536) // 216)
"""What AQL counts for a data frame at 54 Mbit/s: its time on the air (IEEE 802.11-2020 17.4.3)."""
KERNELS_WEIGHT = 256
"""IEEE80211_DEFAULT_AIRTIME_WEIGHT."""
SATURATING_MBPS = 150
"""More than a client can get that has the channel for itself."""
NO_AQL_US = 300_000
"""More than the 128 frames that a radio takes ahead last at 7.2 Mbit/s."""
TURNS_POINTS = 0.02
"""Of a share: both clients' turns are some hundreds, so one more or less is below a point."""
DOWNLOAD = """
duration_s = 10
[radio]
profile = "80211a"
rate_mbps = 54
{queue}
[[station]]
name = "srv"
radio = false
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 10
[[link]]
ends = ["srv", "ap"]
rate_mbps = 100
delay_ms = 1
[[cell]]
access_point = "ap"
clients = ["n0"]
[[flow]]
name = "bulk"
source = "srv"
destination = "n0"
[[flow]]
name = "sparse"
protocol = "udp"
source = "srv"
destination = "n0"
rate_kbps = 8
packet_bytes = 100
spacing = "random"
start_s = 1
[measure]
interval_s = 0.1
"""


def test_a_sparse_flow_waits_in_a_fifo_for_all_that_is_in_it(run_scenario: Run) -> None:
    """The mean queue's packets, each at the time that the download's goodput says."""
    done = run_scenario(DOWNLOAD.format(queue='queue = "fifo"\nqueue_packets = 1000'))
    bulk, sparse = done["flows"]
    nodes = results.load(Path(done["folder"])).rows("nodes")
    queue = fmean(row["queue_len"] for row in nodes if row["node"] == "ap" and row["t_s"] > 1)
    assert sparse["latency_ms_mean"] == pytest.approx(
        LINK_MS + queue * SEGMENT_BITS / bulk["goodput_kbps"], rel=0.1
    )


def test_a_sparse_flow_waits_in_linuxs_queues_for_what_the_radio_took(run_scenario: Run) -> None:
    """AQL lets the radio take the frames that fill its limit by the kernel's estimate. FQ-CoDel
    sends a sparse flow's packet before the download's that wait."""
    done = run_scenario(DOWNLOAD.format(queue=f'queue = "fq_codel"\naql_us = {AQL_US}'))
    bulk, sparse = done["flows"]
    taken = AQL_US // FRAME_ESTIMATE_US + 1
    most_ms = LINK_MS + (taken + 1) * SEGMENT_BITS / bulk["goodput_kbps"]
    assert sparse["latency_ms_mean"] < most_ms


def test_ecn_marks_what_codel_would_drop(run_scenario: Run) -> None:
    """The table has backlog and sojourn of the access point's queue for its client. A download's
    round trips are the wait of its packets there and in the radio."""
    found = {}
    for ecn in ("false", "true"):
        queue = f'queue = "fq_codel"\naql_us = {AQL_US}\n[tcp]\necn = {ecn}'
        done = run_scenario(DOWNLOAD.format(queue=queue))
        run = results.load(Path(done["folder"]))
        rows = [row for row in run.rows("wifi_queues") if row["node"] == "ap"]
        assert {(row["peer"], row["category"]) for row in rows} == {("n0", "best-effort")}
        found[ecn] = rows[-1], run.rows("tcp")[-1]
        assert rows[-1]["overflows"] == 0
        late = [row for row in rows if row["t_s"] > 2]
        rtt_ms = fmean(row["rtt_ms"] for row in run.rows("tcp") if row["t_s"] > 2)
        wait_ms = fmean(row["sojourn_ms"] for row in late)
        taken_ms = (
            (AQL_US // FRAME_ESTIMATE_US + 1) * SEGMENT_BITS / done["flows"][0]["goodput_kbps"]
        )
        assert rtt_ms == pytest.approx(wait_ms + taken_ms + 2 * LINK_MS, rel=0.1)
        assert fmean(row["backlog_packets"] for row in late) > 10
    (dropping, without), (marking, with_ecn) = found["false"], found["true"]
    assert dropping["drops"] > 0 and dropping["marks"] == 0 and without["marked"] is None
    assert marking["drops"] == 0 and marking["marks"] > 0 and with_ecn["marked"] > 0
    assert without["retransmits"] == dropping["drops"] and with_ecn["retransmits"] == 0


OVERLOAD = """
duration_s = 1
[radio]
profile = "80211a"
rate_mbps = 54
queue = "fq_codel"
queue_frames = 1
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 10
[[cell]]
access_point = "ap"
clients = ["n0"]
[[flow]]
source = "ap"
destination = "n0"
protocol = "udp"
rate_kbps = 60_000
packet_bytes = 1400
start_s = 0.2
generator = "iperf3"
[measure]
interval_s = 0.05
packets = true
"""
"""iperf3 tries again at each tick of its rate, so the socket's buffer stays full. A sender that
waits for room is woken when it is half empty (`sock_writeable`): the queue is a sawtooth."""


def test_a_sojourn_is_the_wait_of_the_packets_that_left(run_scenario: Run) -> None:
    """The radio takes one packet at a time. So a packet that arrives has waited since it was sent,
    but for its own turn: one over the rate at which packets arrive. The socket's buffer soon limits
    the queue, and then Little's law holds too."""
    run = results.load(Path(run_scenario(OVERLOAD)["folder"]))
    packets = [row for row in run.rows("packets") if row["received_s"] is not None]
    rows = [row for row in run.rows("wifi_queues") if row["node"] == "ap"]
    growing, *full = [row for row in rows if row["t_s"] > 0.2]
    for before, row in pairwise(full):
        left = [p for p in packets if before["t_s"] < p["received_s"] <= row["t_s"]]
        turn_ms = 1e3 * (row["t_s"] - before["t_s"]) / len(left)
        latency_ms = fmean(1e3 * (p["received_s"] - p["sent_s"]) for p in left)
        assert row["sojourn_ms"] == pytest.approx(latency_ms - turn_ms, rel=0.02)
        backlog_ms = row["backlog_packets"] * turn_ms
        assert row["sojourn_ms"] == pytest.approx(backlog_ms, rel=0.02)
    assert len(full) == 15
    # From an empty queue to a full one the mean wait is some half of the last.
    assert growing["sojourn_ms"] < 0.7 * full[0]["sojourn_ms"]


@pytest.mark.parametrize("name", airtime.CASES)
def test_air_time_is_shared_as_the_queues_say(run_scenario: Run, name: str) -> None:
    """Two fast stations and a slow one take turns, or have the same air time. Each share is within
    5 points, and the throughput of turns within 10 %, with this run's aggregates."""
    case = airtime.CASES[name]
    text = tomli_w.dumps(airtime.scenario(case) | {"duration_s": 3})
    draw = airtime.read(results.load(Path(run_scenario(text)["folder"])))
    shares = case.shares(draw.aggregates)
    assert draw.share == pytest.approx(shares, abs=airtime.SHARE_POINTS)
    if name != "airtime-fairness":
        turns = mbps_by_turns(draw.aggregates)
        assert draw.mbps == pytest.approx(turns, rel=airtime.THROUGHPUT)


WEIGHTS: dict[str, tuple[dict[str, int | None], int | None]] = {
    "even": ({"fast1": None, "fast2": None}, None),
    "same-rate": ({"fast1": 512, "fast2": None}, None),
    "fast-heavy": ({"fast1": 512, "slow": 256}, None),
    "slow-heavy": ({"fast1": None, "slow": 512}, NO_AQL_US),
}
"""Each client's weight, and AQL's limit."""


def two_clients(run_scenario: Run, weights: dict[str, int | None], aql_us: int | None) -> Served:
    """What two saturated clients with these weights get of the air time."""
    given = airtime.scenario(airtime.CASES["airtime-fairness"]) | {"duration_s": 3}
    given["station"] = [
        station for station in given["station"] if station["name"] in {"server", "ap", *weights}
    ]
    for station in given["station"]:
        if weights.get(station["name"]) is not None:
            station["airtime_weight"] = weights[station["name"]]
    if aql_us is not None:
        given["radio"]["aql_us"] = aql_us
    given["cell"][0]["clients"] = list(weights)
    given["flow"] = [
        sender("server", client, airtime.PAYLOAD, SATURATING_MBPS) for client in weights
    ]
    run = results.load(Path(run_scenario(tomli_w.dumps(given))["folder"]))
    frames = run.frames.select(list(FRAME_COLUMNS)).to_pylist()
    mbps = {client: airtime.MBPS_OF_MCS[airtime.CLIENTS[client]] for client in weights}
    return served(frames, "ap", "udp", mbps, airtime.STARTED_S)


@pytest.mark.parametrize("name", WEIGHTS)
def test_air_time_is_in_proportion_to_weights(run_scenario: Run, name: str) -> None:
    """Two saturated clients have the same rate, or rates of 20 to 1. The one with twice the weight
    has two thirds of the air time, within 5 points. One without a weight has the kernel's 256."""
    weights, aql_us = WEIGHTS[name]
    share = two_clients(run_scenario, weights, aql_us).share
    total = sum(weight or KERNELS_WEIGHT for weight in weights.values())
    expected = {client: (weight or KERNELS_WEIGHT) / total for client, weight in weights.items()}
    assert share == pytest.approx(expected, abs=airtime.SHARE_POINTS)


def test_stations_take_turns_whatever_they_weigh_where_aql_holds_the_heavy_one_back(
    run_scenario: Run,
) -> None:
    """mac80211 passes over a station at its AQL limit, and lets the other one send in its stead.
    Then both have frames in the radio at every turn."""
    found = two_clients(run_scenario, {"fast1": 256, "slow": 512}, None)
    turns = shares_by_turns(found.aggregates)
    assert turns["slow"] < 2 / 3 - airtime.SHARE_POINTS  # so the two laws differ
    assert found.share == pytest.approx(turns, abs=TURNS_POINTS)


def test_a_medium_outside_of_the_kernel_is_refused(
    hoplab: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(DOWNLOAD.format(queue='queue = "fq_codel"'))
    done = hoplab("run", str(file), "--medium", "daemon")
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert 'radio.queue: "fq_codel" needs the medium in the guest\'s kernel' in done.stderr


def test_codels_parameters_of_a_radio_can_be_set() -> None:
    """As the limits of its queues, in debugfs. Times are in us, to CoDel's unit of 1.024 us, and a
    threshold of 0 is none."""
    lines = {
        "codel_target_us 5000": True,
        "codel_interval_us 50000": True,
        "codel_ce_threshold_us 1000": True,
        "fq_limit 4096": True,
        "codel_interval_us 0": False,
        "codel_target_us 5000 7": False,
        "codel_target_us": False,
        "codel_target_us -1": False,
        "codel_target_us off": False,
        "codel_target_us 2200000000": False,  # beyond CoDel's clock
        "codel_limit_us 5": False,
    }
    script = "cd /sys/kernel/debug/ieee80211/phy0\ngrep codel aqm\n"
    script += "".join(f"echo '{line}' >aqm && echo True || echo False\n" for line in lines)
    script += "grep codel aqm\necho codel_ce_threshold_us off >aqm\ngrep ce_threshold aqm\n"
    said: list[str] = []
    uml.run_guest(
        SealedGuest(select.chosen()),
        ["sh", "-c", script],
        Boot(radios=1),
        Streams(on_line=said.append),
    )

    def shown(target_us: int, interval_us: int, threshold_us: int) -> list[str]:
        values = {"target": target_us, "interval": interval_us, "ce_threshold": threshold_us}
        return [f"RW codel_{name}_us {value}" for name, value in values.items()]

    assert said == [
        *shown(20_000, 100_000, 0),
        *map(str, lines.values()),
        *shown(5000, 50_000, 1000),
        "RW codel_ce_threshold_us 0",
    ]


def test_a_threshold_marks_what_waited_longer(run_scenario: Run) -> None:
    """With a target that no wait reaches, CoDel itself marks nothing. A packet beyond the threshold
    bears a mark, which CUBIC heeds: so the waits end near the threshold."""
    found = {}
    for threshold in ("", "ce_threshold_ms = 5.0"):
        keys = f'queue = "fq_codel"\ntarget_ms = 1000.0\n{threshold}\n[tcp]\necn = true'
        run = results.load(Path(run_scenario(DOWNLOAD.format(queue=keys))["folder"]))
        rows = [row for row in run.rows("wifi_queues") if row["node"] == "ap" and row["t_s"] > 3]
        wait_ms = fmean(row["sojourn_ms"] for row in rows if row["sojourn_ms"] is not None)
        found[bool(threshold)] = rows[-1]["marks"], run.rows("tcp")[-1]["marked"], wait_ms
    assert found[False][:2] == (0, 0)
    marks, marked, wait_ms = found[True]
    assert marks > 0
    assert marked > 0
    assert wait_ms < 20 < found[False][2]


def test_codels_target_is_the_wait_that_it_leaves(run_scenario: Run) -> None:
    """One CUBIC flow, whose wait CoDel holds near its target (RFC 8289 4.1)."""
    waits_ms = {}
    for target_ms in (5.0, 60.0):
        keys = f'queue = "fq_codel"\ntarget_ms = {target_ms}\ninterval_ms = 200.0'
        done = run_scenario(DOWNLOAD.format(queue=keys))
        rows = results.load(Path(done["folder"])).rows("wifi_queues")
        waits_ms[target_ms] = fmean(
            row["sojourn_ms"]
            for row in rows
            if row["node"] == "ap" and row["t_s"] > 3 and row["sojourn_ms"] is not None
        )
    assert waits_ms[5.0] < 30 < waits_ms[60.0] < 120

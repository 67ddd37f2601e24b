# SPDX-License-Identifier: Apache-2.0
"""Linux's own Wi-Fi queues at an access point: FQ-CoDel, AQL and airtime fairness."""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import tomli_w

from hoplab.host import results
from hoplab.many.study.airtime import mbps_by_turns
from tests.validate import airtime

Run = Callable[..., dict[str, Any]]
LINK_MS = 1
SEGMENT_BITS = 1460 * 8
AQL_US = 3000
FRAME_ESTIMATE_US = 20 + 4 * -(-(22 + 8 * 1536) // 216)
"""What AQL counts for a data frame at 54 Mbit/s: its time on the air (IEEE 802.11-2020 17.4.3)."""
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
    """AQL lets the radio take the frames that fill its limit by the kernel's estimate, and FQ-CoDel
    sends a sparse flow's packet before the download's that wait."""
    done = run_scenario(DOWNLOAD.format(queue=f'queue = "fq_codel"\naql_us = {AQL_US}'))
    bulk, sparse = done["flows"]
    taken = AQL_US // FRAME_ESTIMATE_US + 1
    most_ms = LINK_MS + (taken + 1) * SEGMENT_BITS / bulk["goodput_kbps"]
    assert sparse["latency_ms_mean"] < most_ms


@pytest.mark.parametrize("name", airtime.CASES)
def test_air_time_is_shared_as_the_queues_say(run_scenario: Run, name: str) -> None:
    """Two fast stations and a slow one take turns, or have the same air time: each share within 5
    points, the throughput of turns within 10 %, with this run's aggregates."""
    case = airtime.CASES[name]
    text = tomli_w.dumps(airtime.scenario(case) | {"duration_s": 3})
    draw = airtime.read(results.load(Path(run_scenario(text)["folder"])))
    shares = case.shares(draw.aggregates)
    assert draw.share == pytest.approx(shares, abs=airtime.SHARE_POINTS)
    if name != "airtime-fairness":
        turns = mbps_by_turns(draw.aggregates)
        assert draw.mbps == pytest.approx(turns, rel=airtime.THROUGHPUT)


def test_a_medium_outside_of_the_kernel_is_refused(
    hoplab: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(DOWNLOAD.format(queue='queue = "fq_codel"'))
    done = hoplab("run", str(file), "--medium", "daemon")
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert 'radio.queue: "fq_codel" needs the medium in the guest\'s kernel' in done.stderr

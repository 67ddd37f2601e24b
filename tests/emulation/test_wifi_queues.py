# SPDX-License-Identifier: Apache-2.0
"""Linux's own Wi-Fi queues at an access point: FQ-CoDel, AQL and airtime fairness."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hoplab.host import results

Run = Callable[..., dict[str, Any]]
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
"""
FAST_AND_SLOW = """
duration_s = 10
[radio]
profile = "80211a"
rate_mbps = "auto"
reception = "error-rate"
propagation = "log-distance"
range_m = 2000
carrier_sense_m = 4000
queue = "{queue}"
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 5
[[station]]
name = "n1"
x_m = -5
[[station]]
name = "slow"
x_m = 70
[[cell]]
access_point = "ap"
clients = ["n0", "n1", "slow"]
[measure]
frames = true
""" + "".join(
    f"""[[flow]]
protocol = "udp"
source = "ap"
destination = "{client}"
rate_kbps = 30000
packet_bytes = 1472
"""
    for client in ("n0", "n1", "slow")
)


def test_a_sparse_flow_does_not_wait_behind_a_download(run_scenario: Run) -> None:
    """In a FIFO of 1000 packets it waits for most of them; with FQ-CoDel for what AQL lets the
    radio takes ahead, which the kernel estimates without contention, at half of what it is."""
    latency_ms = {}
    for queue in ('queue = "fifo"\nqueue_packets = 1000', 'queue = "fq_codel"\naql_us = 3000'):
        bulk, sparse = run_scenario(DOWNLOAD.format(queue=queue))["flows"]
        assert bulk["goodput_kbps"] > 20_000
        latency_ms[queue] = sparse["latency_ms_mean"]
    fifo, fq_codel = latency_ms.values()
    assert fq_codel < 10
    assert fifo > 10 * fq_codel


def test_air_time_is_shared_not_packets(run_scenario: Run) -> None:
    """Each of three stations has a third, within 5 points; in a FIFO the slow one has most."""
    shares = {}
    for queue in ("fifo", "fq_codel"):
        folder = Path(run_scenario(FAST_AND_SLOW.format(queue=queue))["folder"])
        on_air: Counter[str] = Counter()
        for row in results.load(folder).frames.to_pylist():
            if row["kind"] == "data" and row["src"] == "ap":
                on_air[row["dst"]] += row["until_s"] - row["t_s"]
        shares[queue] = {name: spent / on_air.total() for name, spent in on_air.items()}
    assert shares["fifo"]["slow"] > 0.6
    assert shares["fq_codel"] == pytest.approx(dict.fromkeys(("n0", "n1", "slow"), 1 / 3), abs=0.05)


def test_a_medium_outside_of_the_kernel_is_refused(
    hoplab: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(DOWNLOAD.format(queue='queue = "fq_codel"'))
    done = hoplab("run", str(file), "--medium", "daemon")
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert 'radio.queue: "fq_codel" needs the medium in the guest\'s kernel' in done.stderr

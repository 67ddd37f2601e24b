# SPDX-License-Identifier: Apache-2.0
"""Clients that always doze fetch packets, and send them, by each way there is."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

PHONES = """
duration_s = 10
[radio]
profile = "{profile}"
[[station]]
name = "ap"
[[station]]
name = "a"
x_m = 10
[[station]]
name = "b"
x_m = 12
[[cell]]
access_point = "ap"
clients = ["a", "b"]
security = "wpa2"
power_save = "{way}"
[[flow]]
name = "pings"
source = "ap"
destination = "a"
protocol = "ping"
interval_s = 0.7
start_s = 0.55
[[flow]]
name = "up"
source = "b"
destination = "ap"
protocol = "tcp"
packets = 100
packet_bytes = 1000
start_s = 2
[[flow]]
name = "down"
source = "ap"
destination = "b"
protocol = "tcp"
packets = 100
packet_bytes = 1000
start_s = 2
[measure]
frames = true
"""
WAIT_MS = 110
"""A beacon's interval, or the 100 ms between two periods, and the exchange."""


@pytest.mark.parametrize(
    ("way", "profile"), [("ps-poll", "80211g"), ("u-apsd", "80211n"), ("twt", "80211ax")]
)
def test_packets_reach_clients_that_doze(
    way: str, profile: str, run_scenario: Run, tmp_path: Path
) -> None:
    run_scenario(PHONES.format(way=way, profile=profile))
    found = results.load(tmp_path / "run1")
    rows = {row["flow"]: row for row in found.rows("flows")}
    assert rows["pings"]["lost"] == 0
    assert 5 < rows["pings"]["rtt_ms_mean"] < WAIT_MS
    assert rows["up"]["delivered_bytes"] == rows["down"]["delivered_bytes"] == 100 * 1000
    # The access point tries no frame for one that dozes.
    assert not [
        row
        for row in found.rows("frames")
        if row["src"] == "ap" and row["fate"] == "off" and row["dst"] != "*"
    ]

# SPDX-License-Identifier: Apache-2.0
"""Hosts of unequal power, cards of one buffer, radios that acknowledge nothing."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

UNEQUAL = """
duration_s = 16
[radio]
mac = "csma-ca-noack"
queue_packets = 1000
[tcp]
profile = "classic"
[[station]]
name = "fast"
[[station]]
name = "slow"
x_m = 10
[station.nic]
tx_packet_us = 5000
queue_packets = 8
tx_ring = 1
tx_load_us = 2000
rx_packet_us = 6000
rx_buffer_packets = 10
[[flow]]
name = "down"
protocol = "udp"
source = "fast"
destination = "slow"
packets = 1000
packet_bytes = 1000
buffer_bytes = 32768
[[flow]]
name = "up"
protocol = "udp"
source = "slow"
destination = "fast"
start_s = 7
packets = 500
packet_bytes = 1000
buffer_bytes = 32768
[[flow]]
name = "small"
source = "fast"
destination = "slow"
start_s = 13
packets = 200
packet_bytes = 60
mss = 88
[measure]
packets = true
"""


def test_slow_hosts_lose_what_they_cannot_take_or_send(tmp_path: Path, run_scenario: Run) -> None:
    """1000 octets of UDP are 1064 on the air, 4448 us with preamble; with DIFS and 15.5 slots that
    is one every 4808 us. The slow host takes one in 6000 us and has room for 10. It makes one ready
    in 5000 us, and its card takes one in 2000 + 4448 us: 8 wait in the queue, one in the card."""
    down, up, small = run_scenario(UNEQUAL)["flows"]
    assert down["lost"] == pytest.approx(1000 * (1 - 4808 / 6000) - 10, abs=6)
    assert up["lost"] == pytest.approx(500 * (1 - 5000 / 6448) - 9, abs=3)
    loaded = results.load(tmp_path / "run1")
    radios = {row["node"]: row for row in loaded.rows("radios")}
    # Frames of iperf3's control connections are among them, and what the small flow sent again.
    others = radios["slow"]["rx_overrun"] - down["lost"]
    assert 0 <= others <= small["retransmits"] + 5
    assert radios["slow"]["queue_full"] == pytest.approx(up["lost"], abs=5)
    assert radios["fast"]["queue_full"] == radios["fast"]["rx_overrun"] == 0
    assert sum(row["airtime_ack_s"] for row in radios.values()) == 0
    # A packet of a counted transfer is a packet on the wire, though it waits for the window.
    sizes = {row["bytes"] for row in loaded.rows("packets") if row["flow"] == "small"}
    assert (small["delivered_bytes"], sizes) == (200 * 60, {60})

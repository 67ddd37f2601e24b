# SPDX-License-Identifier: Apache-2.0
"""AODV in a guest: who forwards, the kernel's routes, and a message that lies."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hoplab.front.testing.network import Network
from hoplab.host import results
from hoplab.model.keys import documents
from tests.emulation.conftest import Run

CHAIN = """
duration_s = 10
[topology]
kind = "chain"
stations = 4
[routing]
protocol = "aodv"
[tcp]
profile = "classic"
[[flow]]
source = "n0"
destination = "n3"
window = 8
"""
LINE = {
    "topology": {"kind": "chain", "stations": 4, "spacing_m": 200},
    "radio": {"profile": "wavelan"},
    "routing": {"protocol": "aodv", "settings": {"active_route_timeout_s": 5.0}},
}


def counted(run: results.Results, counter: str) -> dict[str, int]:
    rows = run.rows("routing")
    return {row["node"]: row["value"] for row in rows if row["counter"] == counter}


def test_it_discovers_and_the_kernel_forwards(tmp_path: Path, run_scenario: Run) -> None:
    run_scenario(CHAIN)
    run = results.load(tmp_path / "run1")
    events = [event for event in run.rows("events") if event["source"] == "aodv"]
    kinds = [event["kind"] for event in events if event["node"] == "n0"]
    # Rings of 1 and 3 hops (RFC 3561 §6.4), and no failure.
    assert kinds == ["discovery", "discovery", "reply"]
    (flow,) = run.rows("flows")
    assert flow["goodput_kbps"] > 0.2 * 1538
    # The daemon saw one packet of hundreds, and woke seldom.
    assert counted(run, "caught") == {"n0": 1, "n1": 0, "n2": 0, "n3": 0}
    assert max(counted(run, "calls_wait").values()) < 100 < flow["delivered_bytes"] / 1460


@pytest.fixture
def line(network: Callable[..., Network]) -> Network:
    """Four stations in a line."""
    return network(LINE)


@pytest.mark.hoplab
def test_routes_come_and_go_in_the_kernels_table(line: Network) -> None:
    def route() -> str:
        found = line.run("n0", "ip", "-o", "route", "show", line.address["n3"])
        return str(found.stdout)

    assert "wlan0" not in route()
    line.answers("n0", "n3", within_s=5)
    assert f"via {line.address['n1']} dev wlan0" in route()
    assert "ttl=62" in line.run("n0", "ping", "-c", "1", "n3").stdout
    began = time.monotonic()
    while route():
        # ACTIVE_ROUTE_TIMEOUT after the last packet, MY_ROUTE_TIMEOUT after the reply.
        assert time.monotonic() - began < 11
        time.sleep(0.1)


@pytest.mark.hoplab
def test_a_false_reply_delays_and_does_not_cut(line: Network) -> None:
    """n1 tells n0 of a route to n3 by a station that does not exist, with a high number."""
    line.answers("n0", "n3", within_s=5)
    address = [bytes(map(int, line.address[name].split("."))) for name in ("n0", "n3")]
    reply = struct.pack("!BBBB4sI4sI", 2, 0, 0, 0, address[1], 0x40000000, address[0], 60_000)
    send = (
        "import socket; s = socket.socket(type=socket.SOCK_DGRAM); "
        f"s.sendto(bytes.fromhex('{reply.hex()}'), ('{line.address['n0']}', 654))"
    )
    line.run("n2", "python3", "-c", send)
    assert line.answers("n0", "n3", within_s=10) < 10


def test_the_document_is_that_of_the_settings(tmp_path: Path, run_scenario: Run) -> None:
    run_scenario(CHAIN, "--set", "routing.settings.net_diameter=5", "--set", "duration_s=2")
    text = (tmp_path / "run1" / "raw" / "aodv-n0.json").read_text(encoding="utf-8")
    assert f'"net_traversal_time_ns":{documents.nanoseconds(0.4)}' in text

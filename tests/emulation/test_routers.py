# SPDX-License-Identifier: Apache-2.0
"""OLSR and DSDV in a guest: routes that are there before they are needed; and with AODV, routes
that break, and a neighbour that lies."""

from __future__ import annotations

import math
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hoplab.front.testing.network import Network
from hoplab.host import results
from tests.emulation.conftest import Run

CHAIN = """
duration_s = 10
[topology]
kind = "chain"
stations = 5
[routing]
protocol = "{protocol}"
[tcp]
profile = "classic"
[[flow]]
source = "n0"
destination = "n4"
window = 8
"""


@pytest.mark.parametrize("protocol", ["olsr", "dsdv"])
def test_routes_are_there_at_time_0(tmp_path: Path, run_scenario: Run, protocol: str) -> None:
    run_scenario(CHAIN.format(protocol=protocol))
    run = results.load(tmp_path / "run1")
    (flow,) = run.rows("flows")
    # Four hops share a channel on which only one of them sends at a time (test_runs.py).
    assert flow["goodput_kbps"] > 0.15 * 1538
    counters = {(row["node"], row["counter"]): row["value"] for row in run.rows("routing")}
    # What finds no route lost it to the flow, whose frames collide with a neighbour's HELLOs.
    failures = {row["node"]: row["t_s"] for row in run.rows("events")[::-1] if is_failure(row)}
    assert all(counters[f"n{i}", "caught"] == 0 for i in range(5) if f"n{i}" not in failures)
    # A neighbour is held for 6 s, of which 2 s may be over when the flow begins.
    assert min(failures.values(), default=10) > 4
    # The daemons woke for their own messages, and for none of hundreds of packets.
    waits = max(counters[f"n{i}", "calls_wait"] for i in range(5))
    assert waits < 250 < flow["delivered_bytes"] / 1460
    for row in run.rows("events"):
        assert row["kind"] != "drop" or row["t_s"] >= failures[row["node"]]


def is_failure(row: dict[str, Any]) -> bool:
    return bool(row["kind"] == "link-failure")


@pytest.mark.parametrize("metric", ["hops", "etx"])
def test_olsr_finds_relays(tmp_path: Path, run_scenario: Run, metric: str) -> None:
    text = CHAIN.format(protocol="olsr")
    run_scenario(text, "--set", f"routing.settings.metric={metric}", "--set", "duration_s=5")
    run = results.load(tmp_path / "run1")
    last = {row["node"]: row["detail"] for row in run.rows("events") if row["kind"] == "relays"}
    # Those between a station and others two hops away; the chain's ends are nobody's.
    assert last["n0"] == "addresses=10.0.0.2" and last["n4"] == "addresses=10.0.0.4"
    assert last["n2"] == "addresses=10.0.0.2,10.0.0.4"
    assert run.rows("flows")[0]["delivered_bytes"] > 0


RING = """
duration_s = 60
{stations}
[routing]
protocol = "{protocol}"
[measure]
frames = true
[[flow]]
protocol = "udp"
source = "n0"
destination = "n2"
packet_bytes = 100
rate_kbps = 16
[[event]]
at_s = 10
kind = "down"
station = "n1"
[[event]]
at_s = 32
kind = "up"
station = "n1"
"""
SIX = [
    (200 + 200 * math.cos(math.tau * i / 6), 200 + 200 * math.sin(math.tau * i / 6))
    for i in range(6)
]
"""Each reaches the two beside it: 200 m, and 346 m to the next."""


@pytest.mark.parametrize(
    ("protocol", "silent_s", "hops_at_the_end"),
    # AODV: a failed frame and a search of at most two rings. OLSR: NEIGHB_HOLD_TIME and a HELLO of
    # the others. DSDV: an update of the destination, as only that has a newer number.
    [("aodv", 2.0, 4), ("olsr", 8.5, 2), ("dsdv", 16.0, 2)],
)
def test_a_ring_is_gone_round_the_other_way(
    tmp_path: Path, run_scenario: Run, protocol: str, silent_s: float, hops_at_the_end: int
) -> None:
    stations = "".join(
        f'[[station]]\nname = "n{i}"\nx_m = {x:.3f}\ny_m = {y:.3f}\n'
        for i, (x, y) in enumerate(SIX)
    )
    run_scenario(RING.format(stations=stations, protocol=protocol))
    run = results.load(tmp_path / "run1")
    carried = [
        row for row in run.rows("frames") if row["kind"] == "data" and row["protocol"] == "udp"
    ]
    arrived = [
        (row["until_s"], 65 - row["ttl"])
        for row in carried
        if row["dst"] == "n2" and row["fate"] == "delivered"
    ]
    # In DSDV a new number may come the long way first, and is believed at once.
    assert min(hops for t_s, hops in arrived if t_s < 10) == 2
    again = min(t_s for t_s, _ in arrived if t_s > 10.1)
    assert again - 10 < silent_s
    # Nobody tries the old way any more, and what is sent arrives.
    assert {hops for t_s, hops in arrived if again <= t_s < 32} == {4}
    late = [row for row in carried if again + 0.1 < row["t_s"] < 32]
    assert not [row for row in late if row["dst"] == "n1"]
    assert len([t_s for t_s, _ in arrived if again < t_s < 32]) > 0.95 * 20 * (32 - again)
    # The relay is back: who looks for routes all the time finds the short one.
    assert min(hops for t_s, hops in arrived if t_s > 50) == hops_at_the_end


MADE_UP = "10.0.0.99"


def lie(protocol: str, address: dict[str, str]) -> bytes:
    """What n1 says to n0: there is a station that is not, and n3 or n2 has a new number."""
    n0, n2, n3, nobody = map(
        socket.inet_aton, (*(address[name] for name in ("n0", "n2", "n3")), MADE_UP)
    )
    if protocol == "aodv":
        # A reply for a route of 3 s (RFC 3561 §5.2).
        return struct.pack("!BBBB4sI4sI", 2, 0, 0, 0, nobody, 0x40000000, n0, 3000)
    if protocol == "dsdv":
        rows = (struct.pack("!4sII", who, 1, 0x40000000) for who in (nobody, n3))
        return b"".join(rows)
    # A TC in the name of n2, valid for 4 s, which takes n3 from it (RFC 3626 §3.3, §9.1).
    body = struct.pack("!HH4s", 0x7000, 0, nobody)
    message = struct.pack("!BBH4sBBH", 2, 0x06, 12 + len(body), n2, 255, 0, 60_000) + body
    return struct.pack("!HH", 4 + len(message), 1) + message


@pytest.mark.hoplab
@pytest.mark.parametrize(
    ("protocol", "port", "settings", "ends_s"),
    [
        ("aodv", 654, {}, 3.0),
        ("olsr", 698, {}, 4.0),
        ("dsdv", 269, {"update_interval_s": 2.0}, 6.0),
    ],
)
def test_a_lie_makes_a_route_that_ends(
    network: Callable[..., Network],
    protocol: str,
    port: int,
    settings: dict[str, Any],
    ends_s: float,
) -> None:
    """n0 believes n1, as anybody may lie. No route to a made-up station lasts, and true ones are
    back when the lie is over."""
    net = network(
        {
            "topology": {"kind": "chain", "stations": 4, "spacing_m": 200},
            "routing": {"protocol": protocol, "settings": settings},
        }
    )

    def route() -> str:
        return str(net.run("n0", "ip", "-o", "route", "show", MADE_UP).stdout)

    net.answers("n0", "n3", within_s=40)
    octets = lie(protocol, net.address)
    net.run(
        "n1",
        "python3",
        "-c",
        "import socket; s = socket.socket(type=socket.SOCK_DGRAM); "
        f"s.bind(('', 0)); s.sendto(bytes.fromhex('{octets.hex()}'), "
        f"('{net.address['n0']}', {port}))",
    )
    began = time.monotonic()
    while f"via {net.address['n1']}" not in route():
        assert time.monotonic() - began < 1
        time.sleep(0.05)
    while f"via {net.address['n1']}" in route():
        # A tick of its own clock more than the lie's validity.
        assert time.monotonic() - began < ends_s + 2.5
        time.sleep(0.05)
    net.answers("n0", "n3", within_s=10)
    assert "ttl=62" in net.run("n0", "ping", "-c", "1", "n3").stdout

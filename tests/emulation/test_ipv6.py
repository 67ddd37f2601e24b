# SPDX-License-Identifier: Apache-2.0
"""IPv6 beside IPv4: flows, routing protocols, programs, and that stations say nothing unasked."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpkt
import pytest

from hoplab.host import results
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

CHAIN = """
topology = { kind = "chain", stations = 3 }
"""
PING = """
[[flow]]
name = "ping{ip}"
protocol = "ping"
ip = {ip}
source = "n0"
destination = "n2"
"""
TRANSFERS = """
[[flow]]
name = "tcp"
ip = 6
source = "n0"
destination = "n2"
start_s = 3
stop_s = 5
[[flow]]
name = "udp"
protocol = "udp"
ip = 6
rate_kbps = 50
source = "n2"
destination = "n0"
start_s = 1
stop_s = 2
[[flow]]
name = "spaced"
protocol = "udp"
ip = 6
rate_kbps = 50
spacing = "random"
source = "n2"
destination = "n0"
start_s = 2
stop_s = 3
[[flow]]
name = "counted"
ip = 6
packets = 20
packet_bytes = 1000
source = "n1"
destination = "n0"
start_s = 5
[[flow]]
name = "rr"
protocol = "rr"
ip = 6
source = "n1"
destination = "n0"
transactions = 10
start_s = 5.5
[measure]
packets = true
frames = true
captures = ["n1:wlan0"]
"""


def rows(out: Path, table: str) -> dict[str, dict[str, Any]]:
    return {row["flow"]: row for row in results.load(out).rows(table)}


def test_flows_of_every_kind(tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]) -> None:
    text = f"duration_s = 7\n{CHAIN}{PING.format(ip=6)}{TRANSFERS}"
    first = run_scenario(text)
    found = rows(tmp_path / "run1", "flows")
    assert found["ping6"]["received"] == 7
    # Two hops of 2 Mbit/s share the channel: half of what one carries, and of that most is payload.
    assert 500 < found["tcp"]["goodput_kbps"] < 800
    assert found["counted"]["delivered_bytes"] == 20_000
    for name in ("udp", "spaced"):
        assert found[name]["sent"] >= 10
        assert found[name]["lost"] <= 1  # one may be under way at the end
    assert found["rr"]["received"] == 10
    samples = [row for row in results.load(tmp_path / "run1").rows("tcp") if row["flow"] == "tcp"]
    assert samples[-1]["delivered_bytes"] == found["tcp"]["delivered_bytes"] > 0
    packets = results.load(tmp_path / "run1").rows("packets")
    of_tcp = [row for row in packets if row["flow"] == "tcp"]
    assert sum(row["bytes"] for row in of_tcp if row["received_s"]) >= samples[-1]["acked_bytes"]
    assert {row["packet_id"] for row in packets} == {None}
    # On the air they are distinct too: each hop of a segment has its ends.
    own = plan(resolve(parse(tomllib.loads(text), "test")))
    address = own.address_6
    frames = results.load(tmp_path / "run1").rows("frames")
    ends = (address["n0"], address["n2"])
    segments = [f for f in frames if (f["packet_src"], f["packet_dst"]) == ends]
    payload = {
        (frame["src"], frame["seq"]): frame["payload_bytes"]
        for frame in segments
        if frame["protocol"] == "tcp" and frame["fate"] == "delivered" and frame["payload_bytes"]
    }
    for hop in ("n0", "n1"):
        carried = sum(octets for (source, _), octets in payload.items() if source == hop)
        assert carried >= samples[-1]["delivered_bytes"]
    assert {frame["ttl"] for frame in segments if frame["src"] == "n0"} == {64}
    assert {frame["ttl"] for frame in segments if frame["src"] == "n1"} == {63}
    kinds = {frame["protocol"] for frame in frames if ":" in (frame["packet_src"] or "")}
    assert kinds == {"tcp", "udp", "icmp"}
    # The capture has them as what they are.
    with (tmp_path / "run1" / "captures" / "n1-wlan0.pcapng").open("rb") as file:
        kinds = {dpkt.ethernet.Ethernet(data).type for _, data in dpkt.pcapng.Reader(file)}
    assert kinds == {dpkt.ethernet.ETH_TYPE_IP6}
    assert run_scenario(text)["digest"] == first["digest"]


@pytest.mark.parametrize("protocol", ["static", "babeld", "batman-adv"])
def test_both_versions_are_routed(
    protocol: str, tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    """At once, and to the same places."""
    routing = f'routing = {{ protocol = "{protocol}" }}\n'
    run_scenario(f"duration_s = 5\n{routing}{CHAIN}{PING.format(ip=6)}{PING.format(ip=4)}")
    found = rows(tmp_path / "run1", "flows")
    assert {name: row["received"] for name, row in found.items()} == {"ping6": 5, "ping4": 5}


def test_stations_say_nothing_by_themselves(
    tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    """Neither to find duplicate addresses nor routers, nor of their groups; and a relay tells
    nobody of a better next hop."""
    run_scenario(
        f"duration_s = 6\n{CHAIN}{PING.format(ip=6)}interval_s = 2\n[measure]\nframes = true"
    )
    frames = [
        frame
        for frame in results.load(tmp_path / "run1").rows("frames")
        if frame["kind"] not in ("ack", "beacon")
    ]
    # Three echoes over two hops, there and back: that is all.
    assert len(frames) == 3 * 4
    assert {frame["kind"] for frame in frames} == {"data"}


def test_over_a_wire(tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]) -> None:
    """Beyond a radio, and exact: what IPv6's header is longer takes its time."""
    text = """
duration_s = 5
station = [{ name = "a", radio = false }, { name = "b", radio = false }]
link = [{ ends = ["a", "b"], rate_mbps = 2, delay_ms = 20 }]
"""
    for ip in (4, 6):
        ping = PING.format(ip=ip)
        text += ping.replace("n0", "a").replace("n2", "b") + f"start_s = {ip / 10}\n"
    run_scenario(text + '[measure]\ncaptures = ["b:eth0"]')
    found = rows(tmp_path / "run1", "flows")
    longer_ms = found["ping6"]["rtt_ms_max"] - found["ping4"]["rtt_ms_max"]
    assert longer_ms == pytest.approx(2 * 20 * 8 / 2e3, abs=0.003)
    with (tmp_path / "run1" / "captures" / "b-eth0.pcapng").open("rb") as file:
        assert len(list(dpkt.pcapng.Reader(file))) == 4 * 5


WEB = """
duration_s = 6
topology = { kind = "chain", stations = 3 }
network = { ipv6 = true }
[[program]]
name = "server"
station = "n2"
run = "python3 -m http.server --bind :: 80"
ready = { port = 80 }
file = { page = "forty" }
[[program]]
name = "client"
station = "n0"
run = "python3 get.py"
start_s = 1
expect = 0
measure = true
[program.file]
"get.py" = '''
import socket, urllib.request
assert socket.gethostbyname("n2") == "10.0.0.3"
print(urllib.request.urlopen("http://n2.ip6/page").read())
'''
"""


def test_programs_name_stations_by_ipv6(
    tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    run_scenario(WEB)
    assert (tmp_path / "run1" / "logs" / "program-client.out").read_text() == "b'forty'\n"
    lines = (tmp_path / "run1" / "raw" / "connections.jsonl").read_text().splitlines()
    (row,) = map(json.loads, lines)
    assert (row["peer"], row["peer_port"]) == ("n2", 80)
    assert row["received_bytes"] > len("forty")


def test_in_a_cell(tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]) -> None:
    """From client to client, by way of the access point."""
    text = """
duration_s = 4
station = [{ name = "n0" }, { name = "ap", x_m = 50 }, { name = "n2", x_m = 100 }]
cell = [{ access_point = "ap", clients = ["n0", "n2"] }]
"""
    run_scenario(text + PING.format(ip=6))
    assert rows(tmp_path / "run1", "flows")["ping6"]["received"] == 4


def test_over_batman_adv_a_second_destination_is_reached(
    tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    """Its address is asked for by another broadcast than that of the first."""
    text = f'duration_s = 4\nrouting = {{ protocol = "batman-adv" }}\n{CHAIN}{PING.format(ip=4)}'
    text += PING.format(ip=4).replace("ping4", "late").replace('"n2"', '"n1"') + "start_s = 2\n"
    run_scenario(text)
    found = rows(tmp_path / "run1", "flows")
    assert {name: row["received"] for name, row in found.items()} == {"ping4": 4, "late": 2}

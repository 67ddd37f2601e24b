# SPDX-License-Identifier: Apache-2.0
"""A user's routing daemon at every station: `routing.protocol = "own"`."""

from pathlib import Path

import pytest

import hoplab

OWN = '''
duration_s = 20
[topology]
kind = "chain"
stations = 3
[routing]
protocol = "own"
[[program]]
name = "daemon"
stations = "all"
run = "babeld -I pid -S state -c babeld.conf wlan0"
[program.file]
"babeld.conf" = """
redistribute local ip {address}/32 allow
redistribute local deny
default type wireless
"""
[[flow]]
source = "n0"
destination = "n2"
[measure]
frames = true
'''


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> hoplab.Run:
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.toml").write_text(OWN)
    return hoplab.run(folder / "own.toml", out=folder / "run")


def test_it_routes(own: hoplab.Run) -> None:
    """By the relay: n2 is out of n0's reach, and Hoplab installs no route."""
    (flow,) = own.rows("flows")
    assert flow["goodput_kbps"] > 300
    started = {r["detail"]: r["t_s"] for r in own.rows("events") if r["kind"] == "program-start"}
    assert set(started) == {"daemon-n0", "daemon-n1", "daemon-n2"}
    # All at once, with the warm-up of 20 s before them.
    assert min(started.values()) > -22 and max(started.values()) < -20


def test_its_packets_are_the_routing_overhead(own: hoplab.Run) -> None:
    """Each packet of the measured time is a broadcast frame, and none is missing."""
    counted = {(r["node"], r["counter"]): r["value"] for r in own.rows("routing")}
    frames = [row for row in own.rows("frames") if row["protocol"] == "babel"]
    for station in ("n0", "n1", "n2"):
        sent = [row for row in frames if row["src"] == station]
        assert len(sent) >= 4  # a hello in four seconds
        assert counted[station, "routing_packets"] == len(sent)
        # A frame's MAC header, LLC, SNAP and FCS are not the packet's.
        octets = sum(row["bytes"] - 24 - 8 - 4 for row in sent)
        assert counted[station, "routing_bytes"] == octets


def test_without_a_daemon_there_is_no_route(tmp_path: Path) -> None:
    """Not even to a neighbour, so that nothing but the daemon decides."""
    scenario = {
        "duration_s": 2,
        "topology": {"kind": "pair"},
        "routing": {"protocol": "own"},
        "program": [{"name": "look", "station": "n0", "run": "ip route get 10.0.0.2", "expect": 2}],
    }
    run = hoplab.run(scenario, out=tmp_path / "run")
    said = (run.run_dir / "logs" / "program-look.err").read_text()
    assert "unreachable" in said


BROADCASTS = """
import socket, sys, time
kind = {"raw": socket.SOCK_RAW, "cooked": socket.SOCK_DGRAM}[sys.argv[1]]
sender = socket.socket(socket.AF_PACKET, kind, 0x88B5)
everyone = bytes([255] * 6)
header = everyone + bytes.fromhex("02000000000088b5") if sys.argv[1] == "raw" else b""
if sys.argv[2] == "later":
    time.sleep(float(sys.argv[3]))
while True:
    sender.sendto(header + bytes(86), ("wlan0", 0x88B5, 0, 1, everyone))
    time.sleep(0.5)
"""


def test_packets_of_packet_sockets_count_too(tmp_path: Path) -> None:
    """And those of a program that does not route do not."""
    word = "python3 sends.py"
    sends = {"file": {"sends.py": BROADCASTS}}
    daemon = {"name": "daemon", "routing": True, **sends}
    scenario = {
        "duration_s": 4.2,
        "topology": {"kind": "pair"},
        "routing": {"protocol": "own"},
        "program": [
            {**daemon, "station": "n0", "run": f"{word} raw now"},
            {**daemon, "station": "n1", "run": f"{word} cooked now", "name": "other"},
            {"name": "noise", "station": "n0", "run": f"{word} raw later 0.2", **sends},
        ],
        "measure": {"frames": True},
    }
    run = hoplab.run(scenario, out=tmp_path / "run")
    counted = {(r["node"], r["counter"]): r["value"] for r in run.rows("routing")}
    frames = [row for row in run.rows("frames") if row["bytes"] == 86 + 24 + 8 + 4]
    sent = {station: [r for r in frames if r["src"] == station] for station in ("n0", "n1")}
    assert counted["n1", "routing_packets"] == len(sent["n1"]) >= 8
    assert counted["n0", "routing_packets"] == len(sent["n1"]) < len(sent["n0"])
    assert counted["n0", "routing_bytes"] == 86 * counted["n0", "routing_packets"]
    assert counted["n1", "routing_bytes"] == 86 * counted["n1", "routing_packets"]

# SPDX-License-Identifier: Apache-2.0
"""A program that may send raw packets at a station tells its neighbours lies, in guests."""

import json
import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hoplab.guest.network.inside import inside
from hoplab.guest.system.processes import program
from tests.emulation.false_packets import Raw, false_dsr, false_lack, false_segment

TCP_CONGESTION = 13
CHAIN = {"kind": "chain", "stations": 4}
EVERYONE = b"\xff" * 6


def link_address(station: str) -> bytes:
    with inside(station), socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as probe:
        probe.bind(("wlan0", 0))
        address: bytes = probe.getsockname()[4]
        return address


@pytest.mark.hoplab
def test_dsr_finds_its_routes_again_after_false_headers(network: Callable[..., Any]) -> None:
    net = network({"topology": CHAIN, "routing": {"protocol": "dsr"}})
    net.answers("n0", "n3", within_s=10)
    draw = random.Random(1)
    everyone = list(net.address.values())
    hears = {"n1": ("n0", "n2"), "n2": ("n1", "n3")}
    liars = {Raw(name): [link_address(other) for other in hears[name]] for name in hears}
    for _ in range(600):
        for liar, neighbours in liars.items():
            liar.send(false_dsr(draw, everyone))
            liar.frame(false_dsr(draw, everyone), draw.choice([*neighbours, EVERYONE]))
        time.sleep(0.01)
    net.answers("n0", "n3", within_s=10)


class Stream:
    """A connection of the scenario, sending a known text."""

    def __init__(self, entry: dict[str, Any], size: int) -> None:
        self.near = (entry["source"], entry["source_port"])
        self.far = (entry["destination"], entry["destination_port"])
        self.text = random.Random(2).randbytes(size)
        self.got = b""

    def begin(self) -> None:
        with inside("n3"):
            listener = socket.create_server(self.far)
        with inside("n0"):
            connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"window")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1440)
        connection.bind(self.near)
        connection.connect(self.far)
        peer, _ = listener.accept()

        def send() -> None:
            connection.sendall(self.text)
            connection.shutdown(socket.SHUT_WR)

        def take() -> None:
            while part := peer.recv(1 << 16):
                self.got += part

        self.threads = [threading.Thread(target=t, daemon=True) for t in (send, take)]
        for thread in self.threads:
            thread.start()

    def arrives(self, within_s: float) -> bool:
        for thread in self.threads:
            thread.join(within_s)
        return self.got == self.text


def memory_kb() -> dict[int, int]:
    """The most that each daemon of Split-TCP has had, by its process."""
    found = {}
    for comm in Path("/proc").glob("[0-9]*/comm"):
        if comm.read_text() == "hoplab-split\n":
            status = (comm.parent / "status").read_text()
            peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
            found[int(comm.parent.name)] = int(peak.split()[1])
    return found


@pytest.mark.hoplab
def test_split_tcp_lives_through_a_storm_of_false_segments(network: Callable[..., Any]) -> None:
    flow = {"source": "n0", "destination": "n3", "mss": 1440}
    split = {"proxies": ["n1", "n2"]}
    routing = {"protocol": "static"}
    net = network({"topology": CHAIN, "routing": routing, "split": split, "flow": [flow, flow]})
    entries = json.loads((net.logs.parent / "raw" / "split-n0.json").read_text())["connection"]
    lied_about, honest = (Stream(entry, 200_000) for entry in entries)
    before = memory_kb()
    assert len(before) == 4
    honest.begin()
    draw = random.Random(1)
    there, back = (lied_about.near, lied_about.far), (lied_about.far, lied_about.near)
    near, far = Raw("n0"), Raw("n3")
    for _ in range(200):
        for _ in range(10):
            near.send(false_segment(draw, *there))
            far.send(false_segment(draw, *back))
            custodian = net.address[draw.choice(("n0", "n1", "n2"))]
            ends = draw.choice((there, (honest.near, honest.far)))
            far.send(false_lack(draw, *ends, custodian))
        time.sleep(0.02)
    # More at a time than the queue of the packet filter holds.
    for _ in range(6000):
        near.send(false_segment(draw, *there))
    assert honest.arrives(within_s=120)
    for name in ("n0", "n1", "n2"):
        assert "flow0" in net.run(name, program("hoplab-split"), "ctl").stdout
    after = memory_kb()
    assert after.keys() == before.keys()
    assert all(after[pid] - before[pid] < 16_384 for pid in before), (before, after)
    log = "".join(path.read_text() for path in net.logs.glob("split-*.log"))
    assert "panicked" not in log

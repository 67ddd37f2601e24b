# SPDX-License-Identifier: Apache-2.0
"""Routing daemons, file transfers and long waits over multi-hop networks."""

import hashlib
import socket
import time

import pytest

DIAMOND = {
    "station": [
        {"name": "a", "x_m": 0},
        {"name": "left", "x_m": 200, "y_m": 100},
        {"name": "right", "x_m": 200, "y_m": -100},
        {"name": "b", "x_m": 400},
    ],
}


@pytest.mark.hoplab
@pytest.mark.parametrize(("protocol", "limit_s"), [("babeld", 40), ("batmand", 60)])
def test_a_daemon_finds_the_other_way(network, protocol, limit_s):
    net = network({**DIAMOND, "routing": {"protocol": protocol}})
    net.answers("a", "b", 60)
    used = net.run("a", "ip", "route", "get", "b").stdout.split()[2]
    relay = next(name for name, address in net.address.items() if address == used)
    net.run(relay, "ip", "link", "set", "wlan0", "down")
    net.answers("a", "b", limit_s)


@pytest.mark.hoplab
def test_a_file_survives_a_lossy_path(network, tmp_path):
    net = network(
        {
            "topology": {"kind": "chain", "stations": 4},
            "routing": {"protocol": "dsr"},
            "loss": [{"kind": "uniform", "rate": 0.05}],
        }
    )
    content = bytes(range(256)) * 800
    (tmp_path / "file").write_bytes(content)
    net.start("n3", "python3", "-m", "http.server", "8000", "--directory", str(tmp_path))
    time.sleep(1)
    url = f"http://{net.address['n3']}:8000/file"
    net.run("n0", "wget", "-q", "-O", f"{tmp_path}/got", url)
    assert (
        hashlib.sha256((tmp_path / "got").read_bytes()).digest() == hashlib.sha256(content).digest()
    )


@pytest.mark.hoplab
def test_keepalive_gives_up_on_a_silent_peer_after_two_hours(network):
    """As RFC 1122 4.2.3.6 and Linux's defaults have it: 7200 s, then nine probes 75 s apart."""
    from hoplab.guest.network.inside import inside

    net = network({"topology": {"kind": "pair"}, "routing": {"protocol": "static"}})
    with inside("n1"):
        server = socket.create_server((net.address["n1"], 5000))
    with inside("n0"):
        client = socket.create_connection((net.address["n1"], 5000))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    peer, _ = server.accept()
    net.run("n1", "ip", "link", "set", "wlan0", "down")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        client.recv(1)
    # The guest's time is virtual, whatever the host's speed. Linux's timer wheel fires timers of
    # hours up to 1.6 % late.
    assert time.monotonic() - began == pytest.approx(7200 + 9 * 75, rel=0.016)
    counts = net.run("n0", "nstat", "-asz", "TcpExtTCPKeepAlive").stdout
    assert counts.split()[-2:-1] == ["9"], counts
    peer.close()


@pytest.mark.hoplab
def test_large_packets_are_fragmented_or_refused(network):
    net = network({"topology": {"kind": "chain", "stations": 3}, "routing": {"protocol": "static"}})
    assert "1 received" in net.run("n0", "ping", "-c", "1", "-s", "4000", "n2").stdout
    refused = net.run("n0", "ping", "-c", "1", "-M", "do", "-s", "4000", "n2", check=False)
    assert "message too long" in refused.stdout + refused.stderr


@pytest.mark.hoplab
def test_a_path_has_the_hops_that_it_should(network):
    net = network({"topology": {"kind": "chain", "stations": 5}, "routing": {"protocol": "babeld"}})
    net.answers("n0", "n4", 90)
    assert "ttl=61" in net.run("n0", "ping", "-c", "1", "n4").stdout

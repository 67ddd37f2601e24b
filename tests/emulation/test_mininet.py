# SPDX-License-Identifier: Apache-2.0
"""Scripts of Mininet and Mininet-WiFi in a guest, with hoplab-medium in wmediumd's place."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hoplab.errors import MissingTool
from hoplab.machine import mininet_wifi
from hoplab.mininet import launch
from hoplab.resources import BINARIES

Hoplab = Callable[..., subprocess.CompletedProcess[str]]

ADHOC = """
import time
from mn_wifi.link import wmediumd, adhoc
from mn_wifi.net import Mininet_wifi
from mn_wifi.wmediumdConnector import interference
net = Mininet_wifi(link=wmediumd, wmediumd_mode=interference)
stations = [
    net.addStation(f"sta{i}", ip6=f"fe80::{i}", position=f"{40 * i},10,0") for i in (1, 2, 3)
]
net.setPropagationModel(model="logDistance", exp=4)
net.configureNodes()
for station in stations:
    net.addLink(station, cls=adhoc, intf=station.name + "-wlan0", ssid="x", mode="g", channel=5)
net.build()
time.sleep(15)
print(stations[0].cmd("ping -c 3 10.0.0.2"))
print(stations[0].cmd("iw dev sta1-wlan0 station dump"))
net.stop()
"""

CONFIG = """
ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00"]; };
model: { type = "path_loss"; positions = ((0.0, 0.0, 0.0), (10.0, 0.0, 0.0));
  isnodeaps = (0, 0); tx_powers = (14, 14); model_name = "free_space"; sL = 1; };
"""
TALK = """
import socket, struct, subprocess, time
medium = subprocess.Popen(["/run/b/wmediumd", "-l", "0", "-s", "-c", "wmediumd.cfg"])
peer = socket.socket(socket.AF_UNIX)
while peer.connect_ex("/var/run/wmediumd.sock"):
    time.sleep(0.1)
first, stranger = bytes.fromhex("020000000000"), bytes(6)
asked = [
    struct.pack("!B6sfff", 13, first, 11, 10, 0),
    struct.pack("!B6si", 15, first, 14),
    struct.pack("!B6si", 17, stranger, 5),
    struct.pack("!B6si", 23, first, 2),
    struct.pack("!B6s6si", 1, first, first, 5),
    bytes([99]),
]
for request in asked:
    peer.sendall(request)
    print(peer.recv(100).hex())
peer.close()
again = socket.socket(socket.AF_UNIX)
again.connect("/var/run/wmediumd.sock")
again.sendall(bytes([0]))
print(medium.wait(timeout=5))
"""


def test_hwsim_mgmt_makes_and_removes_radios(hoplab: Hoplab) -> None:
    program = launch.INSIDE / "bin" / "hwsim_mgmt"
    script = f"{program} -c -n a; {program} -c -n b; {program} -x a; ls /sys/class/ieee80211"
    done = hoplab("exec", "--", "sh", "-c", script)
    told = re.findall(r"ID (\d+)", done.stdout)
    assert told == ["0", "1"], done.stderr
    assert done.stdout.split()[-1] == "b"


def test_the_socket_of_a_wmediumd(tmp_path: Path, hoplab: Hoplab) -> None:
    """Byte for byte; an unknown type does not wedge the peer, and the next peer is served."""
    (tmp_path / "wmediumd.cfg").write_text(CONFIG)
    (tmp_path / "talk.py").write_text(TALK)
    link = f"mkdir -p /run/b; ln -s {BINARIES / 'hoplab-medium'} /run/b/wmediumd"
    done = hoplab("exec", "--", "sh", "-c", f"{link}; python3 talk.py", cwd=tmp_path)
    assert done.stdout.split() == [
        "ready",
        "0e0d020000000000" + "41300000" + "41200000" + "00000000" + "00",
        "100f0200000000000000000e" + "00",
        "1211" + "00" * 6 + "00000005" + "01",
        "181702000000000000000002" + "00",
        "0201" + "020000000000" * 2 + "00000005" + "03",
        "646303",
        "0",
    ], done.stderr


def test_a_script_of_mininet_wifi_twice(tmp_path: Path, hoplab: Hoplab) -> None:
    try:
        mininet_wifi.find()
    except MissingTool as error:
        pytest.skip(str(error))
    (tmp_path / "adhoc.py").write_text(ADHOC)
    digests = set()
    for name in ("one", "other"):
        done = hoplab("mininet", "--out", name, "adhoc.py", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "3 packets transmitted, 3 received" in done.stdout
        # 14 dBm and twice 5 dBi over 40 m with exponent 4 at channel 5.
        assert re.search(r"signal:\s*-80 dBm", done.stdout)
        digests.add(re.findall(r"digest (\w{64})", done.stderr)[0])
    assert len(digests) == 1


def test_a_missing_mininet_wifi_is_told(tmp_path: Path, hoplab: Hoplab) -> None:
    (tmp_path / "script.py").write_text("")
    environment = {**os.environ, "HOPLAB_MININET_WIFI": str(tmp_path)}
    done = hoplab("mininet", "script.py", cwd=tmp_path, env=environment)
    assert done.returncode == 3
    assert "HOPLAB_MININET_WIFI" in done.stderr and "clone" in done.stderr

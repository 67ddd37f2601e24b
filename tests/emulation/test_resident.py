# SPDX-License-Identifier: Apache-2.0
"""The routing daemons and the ends of flows in the guest's kernel: the results of their processes,
and their end."""

import re
from pathlib import Path

import pytest

from hoplab.host import results
from hoplab.model.keys.routers import ROUTERS
from tests.emulation.conftest import BY_DSR, Hoplab, Run

MOVING = """
duration_s = 20
[topology]
kind = "random-waypoint"
stations = 12
width_m = 800
height_m = 300
min_speed_mps = 18
max_speed_mps = 22
pause_s = 0
[radio]
profile = "wavelan"
[routing]
protocol = "dsr"
[tcp]
profile = "classic"
elfn = true
[[flow]]
source = "n0"
destination = "n1"
congestion_control = "reno"
window = 8
[[flow]]
source = "n2"
destination = "n3"
protocol = "udp"
rate_kbps = 50
"""
SPLIT = """
duration_s = 15
[topology]
kind = "chain"
stations = 6
[routing]
protocol = "dsr"
[tcp]
profile = "classic"
[split]
every_hops = 2
[[flow]]
source = "n0"
destination = "n5"
[[event]]
kind = "down"
station = "n2"
at_s = 5
[[event]]
kind = "up"
station = "n2"
at_s = 8
"""


FLOWS = """
duration_s = 6
topology = { kind = "chain", stations = 3 }
[measure]
interval_s = 0.25
[[flow]]
name = "transfer"
source = "n0"
destination = "n2"
generator = "hoplab"
[[flow]]
name = "counted"
source = "n0"
destination = "n1"
packets = 200
packet_bytes = 700
start_s = 0.5
[[flow]]
name = "datagrams"
protocol = "udp"
source = "n2"
destination = "n0"
rate_kbps = 100
spacing = "random"
[[flow]]
name = "echoes"
protocol = "ping"
source = "n1"
destination = "n2"
interval_s = 0.3
[[flow]]
name = "turns"
protocol = "rr"
source = "n2"
destination = "n1"
ip = 6
response = { kind = "exponential", mean = 2000 }
think = { kind = "exponential", mean = 0.1 }
"""
BY_ROUTERS = [MOVING.replace('"dsr"', f'"{name}"') for name in ROUTERS]
BY_ROUTERS = [
    text if '"aodv"' in text else text.replace("elfn = true", "elfn = false") for text in BY_ROUTERS
]


@pytest.mark.parametrize(
    "text", [MOVING, SPLIT, FLOWS, *BY_ROUTERS], ids=["moving", "split", "flows", *ROUTERS]
)
def test_both_homes_give_equal_tables(run_scenario: Run, text: str) -> None:
    tables = [
        results.load(
            Path(run_scenario(text, "--set", f"network.routing={home}")["folder"])
        ).manifest.tables
        for home in ("process", "daemon")
    ]
    assert tables[0] == tables[1] and tables[0]


def asking(run: str) -> str:
    """A chain of three by DSR, where a program at the relay does this."""
    return f"""{BY_DSR}
[[program]]
name = "asks"
station = "n1"
run = "{run}"
start_s = 2
expect = 0
"""


LOOK = "for d in /proc/[0-9]*; do [ $(cat $d/comm) != hoplab-dsr ] || ls -l $d/exe $d/fd; done"
OWN_FILES = re.compile(
    r"/out/logs/dsr-n.\.log|/out/raw/(events-dsr|routing)-n.\.jsonl|/dev/net/tun|socket:.*"
)


@pytest.mark.parametrize(("home", "program"), [("kernel", "python"), ("process", "hoplab-dsr")])
def test_what_a_daemon_has(run_scenario: Run, home: str, program: str) -> None:
    """One that the kernel starts has the lab's memory, which it does not use, and no file of the
    lab's."""
    text = asking("sh look.sh") + f"file = {{ 'look.sh' = '{LOOK}' }}\n"
    run = Path(run_scenario(text, "--set", f"network.routing={home}")["folder"])
    found = (run / "logs" / "program-asks.out").read_text()
    files = re.findall(r"(exe|\d+) -> (.*)", found)
    programs = [file for name, file in files if name == "exe"]
    assert len(programs) == 3 and all(program in Path(file).name for file in programs), found
    if home == "kernel":
        others = [file for name, file in files if name != "exe"]
        assert len(others) > 3 * 6 and all(OWN_FILES.fullmatch(file) for file in others), found


@pytest.mark.parametrize(
    ("home", "discards"), [("daemon", True), ("process", False), ("kernel", False)]
)
def test_ip_does_not_look_at_frames_of_a_daemon_in_the_kernel(
    run_scenario: Run, home: str, discards: bool
) -> None:
    """It would discard them by strict reverse-path filtering (RFC 3704 2.2)."""
    text = asking("cat /proc/net/netstat")
    run = Path(run_scenario(text, "--set", f"network.routing={home}")["folder"])
    said = (run / "logs" / "program-asks.out").read_text()
    names, counts = (line.split() for line in said.splitlines() if line.startswith("TcpExt: "))
    counted = dict(zip(names, counts, strict=True))
    assert (int(counted["IPReversePathFilter"]) > 0) == discards


HEARD = """
import fcntl, socket, subprocess, sys
wanted, all = sys.argv[1], b"\\xff" * 6
subprocess.run("iw dev wlan0 interface add looks type monitor && ip link set looks up",
               shell=True, check=True)
if wanted == "daemon":
    wanted = next(name for _, name in socket.if_nameindex() if name.startswith("mon"))
looks = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
own = fcntl.ioctl(looks, 0x8927, b"wlan0".ljust(40, b"\\0"))[18:24]  # SIOCGIFHWADDR
if wanted != "any":
    looks.bind((wanted, 0))
heard = set()
while len(heard) < 2:
    frame, (name, *_) = looks.recvfrom(4096)
    if name.startswith(("looks", "mon")):
        frame = frame[frame[2]:]  # behind radiotap
        if frame[4:10] == all and frame[10:16] != own:
            heard.add(name if wanted == "any" else frame[10:16])
print(heard)
"""


@pytest.mark.parametrize("wanted", ["looks", "daemon", "any"])
def test_others_hear_what_the_daemon_does_not_want(run_scenario: Run, wanted: str) -> None:
    """Its filter refuses frames for all, of which no copy is made while nobody else looks. A
    monitor interface, a socket on the daemon's and one on all interfaces bring them."""
    text = asking(f"python3 look.py {wanted}") + f"file = {{ 'look.py' = '''{HEARD}''' }}\n"
    run = Path(run_scenario(text)["folder"])
    assert (run / "logs" / "program-asks.out").read_text()


def test_its_control_socket_answers(run_scenario: Run) -> None:
    run = Path(run_scenario(asking("hoplab-dsr ctl stats"))["folder"])
    said = run / "logs" / "program-asks.out"
    counted = dict(line.split() for line in said.read_text().splitlines())
    assert int(counted["forwarded"]) > 0 and int(counted["calls_wait"]) > 0


def test_one_that_is_killed_ends_the_run(tmp_path: Path, hoplab: Hoplab) -> None:
    script = (
        "for d in /proc/[0-9]*; do [ $(cat $d/comm) != hoplab-dsr ] || kill -9 ${d#/proc/}; done"
    )
    (tmp_path / "kill.toml").write_text(
        asking("sh kill.sh") + f'file = {{ "kill.sh" = "{script}" }}\n'
    )
    done = hoplab("run", str(tmp_path / "kill.toml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 4, done.stderr
    assert "dsr at n" in done.stderr and "SIGKILL" in done.stderr, done.stderr

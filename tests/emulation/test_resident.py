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

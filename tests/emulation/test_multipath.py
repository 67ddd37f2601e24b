# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP in the guest's kernel. The part `tcp/mptcp` of the validation has its sum."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from hoplab.host import results
from hoplab.model.resources import PROJECT
from tests.emulation.conftest import Hoplab, Run, run

EXAMPLE = PROJECT / "docs" / "examples" / "mptcp.toml"


def test_a_download_goes_on_out_of_the_cell(hoplab: Hoplab, tmp_path: Path) -> None:
    """Its subflow by radio stands still from some time on, and that by the link does not."""
    done = run(hoplab, Path(shutil.copy(EXAMPLE, tmp_path)), "run")
    (flow,) = done["flows"]
    rows = results.load(Path(done["folder"])).rows("subflows")
    acked: dict[str, list[tuple[float, int]]] = {}
    for row in rows:
        acked.setdefault(row["via"], []).append((row["t_s"], row["acked_bytes"]))
    assert set(acked) == {"radio", "lte"}
    late = {via: _grown(values, 25, 40) for via, values in acked.items()}
    assert late["radio"] == 0
    # The preset has 12 Mbit/s on average, but not in each 15 s.
    assert late["lte"] * 8e-6 / 15 > 6
    whole = sum(max(octets for _, octets in values) for values in acked.values())
    assert flow["delivered_bytes"] <= whole
    assert flow["delivered_bytes"] == pytest.approx(whole, rel=0.1)


def _grown(values: list[tuple[float, int]], begin_s: float, end_s: float) -> int:
    inside = [octets for t_s, octets in values if begin_s <= t_s <= end_s]
    return max(inside) - min(inside)


TWO = """duration_s = 5
routing = {{ protocol = "static" }}
station = [
    {{ name = "a", radio = false, mptcp = {mptcp} }},
    {{ name = "p", radio = false }},
    {{ name = "q", radio = false }},
    {{ name = "r", radio = false }},
    {{ name = "b", radio = false }},
]
link = [
    {{ ends = ["a", "p"], rate_mbps = 4 }},
    {{ ends = ["a", "q"], rate_mbps = 2 }},
    {{ ends = ["p", "r"], rate_mbps = 50 }},
    {{ ends = ["q", "r"], rate_mbps = 50 }},
    {{ ends = ["r", "b"], rate_mbps = 50 }},
]
[[flow]]
protocol = "mptcp"
source = "a"
destination = "b"
{keys}
"""


def _vias(done: dict[str, Any]) -> dict[str, int]:
    rows = results.load(Path(done["folder"])).rows("subflows")
    return {row["via"]: row["backup"] for row in rows}


def test_the_path_manager_does_as_the_station_says(run_scenario: Run) -> None:
    for mptcp, expected in (
        ("{}", {"p": 0, "q": 0}),
        ('{ without = ["q"] }', {"p": 0}),
        ('{ backup = ["q"] }', {"p": 0, "q": 1}),
        ("{ subflows = 0 }", {"p": 0}),
    ):
        assert _vias(run_scenario(TWO.format(mptcp=mptcp, keys=""))) == expected


RADIOS = """duration_s = 5
radio = {{ profile = "80211n", channel = 36 }}
routing = {{ protocol = "static" }}
station = [
    {{ name = "server", radio = false }},
    {{ name = "ap" }},
    {{ name = "laptop", x_m = 10, mptcp = {mptcp} }},
]
cell = [
    {{ access_point = "ap", clients = ["laptop"] }},
    {{ access_point = "ap", clients = ["laptop"], channel = 149 }},
]
link = [{{ ends = ["server", "ap"], rate_mbps = 1000, delay_ms = 2 }}]
[[flow]]
protocol = "mptcp"
source = "{source}"
destination = "{destination}"
"""


@pytest.mark.parametrize("ends", [("laptop", "server"), ("server", "laptop")])
def test_two_radios_carry_twice_what_one_does(run_scenario: Run, ends: tuple[str, str]) -> None:
    """The server has one address. So it learns of the laptop's second one, down as well as up."""
    source, destination = ends

    def mbps(mptcp: str) -> dict[str, float]:
        text = RADIOS.format(mptcp=mptcp, source=source, destination=destination)
        rows = results.load(Path(run_scenario(text)["folder"])).rows("subflows")
        return {row["via"]: 8e-6 * row["acked_bytes"] / 5 for row in rows}

    both, one = mbps("{}"), mbps('{ without = ["ap"] }')
    assert set(both) == {"radio", "ap"} and len(one) == 1
    assert sum(both.values()) == pytest.approx(2 * sum(one.values()), rel=0.1)
    assert both["ap"] == pytest.approx(both["radio"], rel=0.1)


def test_a_counted_transfer_ends_with_its_last_octet(run_scenario: Run) -> None:
    text = TWO.format(mptcp="{}", keys="packets = 500\npacket_bytes = 1000")
    (flow,) = results.load(Path(run_scenario(text)["folder"])).rows("flows")
    assert flow["delivered_bytes"] == 500_000
    # 6 Mbit/s in sum.
    assert 0.6 < flow["stop_s"] < 1.5


SERVER = """import socket
with socket.create_server(("", 80)) as door:
    peer, _ = door.accept()
    with peer:
        peer.sendall(bytes(1_500_000))
"""
CLIENT = """import socket, time
began = time.monotonic()
with socket.create_connection(("a", 80)) as peer:
    octets = 0
    while got := peer.recv(65536):
        octets += len(got)
print(octets, time.monotonic() - began)
"""


def _download(done: dict[str, Any]) -> float:
    """The Mbit/s that the client found."""
    said = (Path(done["folder"]) / "logs" / "program-get.out").read_text(encoding="utf-8")
    octets, lasted_s = said.split()
    assert int(octets) == 1_500_000
    return 8e-6 * int(octets) / float(lasted_s)


def test_programs_take_both_paths(run_scenario: Run) -> None:
    """Paths of 4 and 2 Mbit/s carry more than the first alone can."""
    found = {}
    for mptcp in (True, False):
        programs = [
            {
                "name": "serve",
                "station": "a",
                "run": "python3 serve.py",
                "file": {"serve.py": SERVER},
                "ready": {"port": 80},
                "expect": 0,
                "mptcp": mptcp,
            },
            {
                "name": "get",
                "station": "b",
                "run": "python3 get.py",
                "file": {"get.py": CLIENT},
                "expect": 0,
                "mptcp": mptcp,
            },
        ]
        network = TWO.partition("[[flow]]")[0].format(mptcp="{}")
        found[mptcp] = _download(run_scenario(network + tomli_w.dumps({"program": programs})))
    assert found[False] < 4 < found[True]


def test_a_static_program_is_refused(hoplab: Hoplab, tmp_path: Path) -> None:
    network = TWO.partition("[[flow]]")[0].format(mptcp="{}")
    programs = [
        {"name": name, "station": name, "run": "busybox true", "mptcp": True} for name in ("a", "b")
    ]
    file = tmp_path / "s.toml"
    file.write_text(network + tomli_w.dumps({"program": programs}))
    done = hoplab("run", str(file), "--out", str(tmp_path / "run"))
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert "program a: mptcp: 'busybox' is linked statically" in line


def test_a_scheduler_that_the_kernel_lacks_is_refused(hoplab: Hoplab, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TWO.format(mptcp='{ scheduler = "nobody" }', keys=""))
    done = hoplab("run", str(file), "--out", str(tmp_path / "run"))
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert "station a: mptcp.scheduler: this kernel" in line
    assert "has no 'nobody'; one of: default" in line

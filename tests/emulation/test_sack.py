# SPDX-License-Identifier: Apache-2.0
"""SACK is a flow's: a server sends with and without it, and like is compared with like."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import hoplab
from hoplab.host import results
from hoplab.many.study.segments import SYN, segments

CELL = """
duration_s = {duration_s}
[radio]
profile = "80211g"
[[station]]
name = "ap"
[[station]]
name = "laptop"
x_m = 10
[[station]]
name = "server"
radio = false
[[cell]]
access_point = "ap"
clients = ["laptop"]
[[link]]
ends = ["ap", "server"]
rate_mbps = 100
delay_ms = 10
"""
TRANSFER = """
[[flow]]
name = "{name}"
source = "server"
destination = "laptop"
congestion_control = "{variant}"
"""
SERVER = (
    CELL.format(duration_s=4)
    + TRANSFER.format(name="cubic", variant="cubic")
    + TRANSFER.format(name="newreno", variant="newreno")
    + TRANSFER.format(name="six", variant="newreno")
    + "ip = 6\n"
    + TRANSFER.format(name="reno", variant="linux-reno")
    + """
[[flow]]
name = "asks"
protocol = "rr"
source = "server"
destination = "laptop"
[[program]]
name = "sink"
station = "laptop"
run = "iperf3 --server --one-off --port 9000"
ready = { port = 9000 }
[[program]]
name = "source"
station = "server"
run = "iperf3 --client laptop --port 9000 --time 3 --congestion reno"
measure = true
[measure]
captures = ["server"]
"""
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> hoplab.Run:
    folder = tmp_path_factory.mktemp("server")
    (folder / "server.toml").write_text(SERVER)
    return hoplab.run(folder / "server.toml", out=folder / "run")


def test_each_flow_of_a_server_has_its_own_sack(server: hoplab.Run) -> None:
    """Beside each other, by IPv4 and IPv6; requests and a program keep Linux's."""
    used = {row["flow"]: row["sack"] for row in server.rows("flows")}
    with_sack = {"cubic": 1, "newreno": 0, "six": 0, "reno": 1, "asks": 1, "source": 1}
    assert used == with_sack
    (warning,) = server.manifest.verdict.warnings
    assert "cubic, linux-reno with it, newreno without" in warning


def test_the_permission_becomes_nops(server: hoplab.Run) -> None:
    """In a SYN with timestamps that is what Linux sends without SACK (tcp_options_write)."""
    run = results.load(server.run_dir)
    opened = {}
    for index, name in enumerate(("cubic", "newreno")):
        opened[name], answer = (s for s in segments(run, "server", index) if s.flags & SYN)
        assert ("sack-permitted" in answer.options) == (name == "cubic")
    assert "sack-permitted" in opened["cubic"].options
    assert "sack-permitted" not in opened["newreno"].options
    assert "timestamps" in opened["newreno"].options


LOSSY = (
    CELL.format(duration_s=20)
    + TRANSFER.format(name="download", variant="cubic")
    + """
[[loss]]
src = "ap"
dst = "laptop"
takes = "packets"
rate = 0.005
"""
)
SEEDS = (1, 2)


def test_by_a_lossy_access_point_cubic_does_not_beat_reno_by_half(tmp_path: Path) -> None:
    """Linux's Reno is within a tenth of it. The Reno of RFC 2001 is what falls behind."""
    (tmp_path / "lossy.toml").write_text(LOSSY)

    def kbps(variant: str, seed: int, **more: Any) -> float:
        changed = {"flow.0.congestion_control": variant, **more}
        out = tmp_path / f"{variant}-{seed}-{len(more)}"
        run = hoplab.run(tmp_path / "lossy.toml", set=changed, seed=seed, out=out)
        (row,) = run.rows("flows")
        assert row["sack"] == (variant in ("cubic", "linux-reno") and not more)
        assert bool(run.manifest.verdict.warnings) == (variant == "reno")
        return float(row["goodput_kbps"])

    cubic, reno, papers = (
        fmean(kbps(variant, seed) for seed in SEEDS) for variant in ("cubic", "linux-reno", "reno")
    )
    assert reno == pytest.approx(cubic, rel=0.1)
    assert papers < 0.8 * reno
    # The same algorithm without SACK is the same, whatever it is called.
    assert kbps("linux-reno", 1, **{"flow.0.sack": False}) == kbps("newreno", 1)

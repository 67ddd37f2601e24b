# SPDX-License-Identifier: Apache-2.0
"""Runs through the real kernel, held against physics, and their repeatability."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

Run = Callable[..., dict[str, Any]]
Hoplab = Callable[..., subprocess.CompletedProcess[str]]

CHAIN = """
duration_s = 10
[topology]
kind = "chain"
stations = {stations}
[tcp]
profile = "classic"
[[flow]]
source = "n0"
destination = "n{last}"
window = 8
"""

DUMBBELL = """
duration_s = 10
[topology]
kind = "dumbbell"
[[flow]]
source = "n1"
destination = "n4"
"""


def chain(stations: int) -> str:
    return CHAIN.format(stations=stations, last=stations - 1)


def test_one_hop_uses_the_channel(tmp_path: Path, run_scenario: Run) -> None:
    """2 Mbit/s WaveLAN, 1500-byte packets, one ACK for two segments.

    A data exchange takes DIFS 50 + backoff 310 + 192 + 1536 * 8 / 2 + SIFS 10 + ACK 304 us =
    7010 us, a TCP ACK's 50 + 310 + 192 + 76 * 4 + 10 + 304 = 1170 us: 1460 bytes in 7010 + 585 us
    is 1538 kbit/s without collisions.
    """
    run_scenario(chain(2))
    rows = pq.read_table(tmp_path / "run1" / "tables" / "tcp.parquet").to_pylist()
    delivered = {row["t_s"]: row["delivered_bytes"] for row in rows}
    goodput_kbps = (delivered[10.0] - delivered[4.0]) * 8e-3 / 6
    assert 0.95 * 1538 < goodput_kbps < 1.02 * 1538


def test_goodput_falls_with_hops(run_scenario: Run) -> None:
    """Neighbouring hops share the channel: two hops get at most half of one, three a third."""
    goodput = [run_scenario(chain(n))["flows"][0]["goodput_kbps"] for n in (2, 3, 4)]
    assert goodput[1] < 0.55 * goodput[0]
    assert goodput[2] < 0.40 * goodput[0]
    assert goodput[2] > 0.10 * goodput[0]


def test_wired_bottleneck(run_scenario: Run) -> None:
    """10 Mbit/s Ethernet: 1448 bytes of 1514 with timestamps are payload."""
    goodput = run_scenario(DUMBBELL)["flows"][0]["goodput_kbps"]
    assert 8000 < goodput < 10_000 * 1448 / 1514


def test_same_seed_same_digest_another_seed_another(run_scenario: Run) -> None:
    digests = [run_scenario(chain(3), "--seed", seed)["digest"] for seed in ("1", "1", "2")]
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_busy_machine_and_parallel_runs_change_nothing(tmp_path: Path, hoplab: Hoplab) -> None:
    from concurrent.futures import ThreadPoolExecutor

    file = tmp_path / "chain.toml"
    file.write_text(chain(3))

    def digest(number: int) -> str:
        import json

        done = hoplab("run", str(file), "--json", "--out", str(tmp_path / f"r{number}"))
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["digest"])

    alone = digest(0)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(digest, range(1, 5))) == {alone}


@pytest.mark.parametrize(
    ("command", "status", "out"),
    [
        (["sh", "-c", "echo hello; exit 7"], 7, "hello\n"),
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["sh", "-c", "ls /sys/class/ieee80211 | wc -l"], 0, "2\n"),
    ],
)
def test_exec(hoplab: Hoplab, command: list[str], status: int, out: str) -> None:
    done = hoplab("exec", "--radios", "2", "--", *command, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (status, out)


def test_exec_cannot_write_to_the_host(tmp_path: Path, hoplab: Hoplab) -> None:
    done = hoplab("exec", "--", "touch", "gone", cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_panic_is_one_line_and_status_5(hoplab: Hoplab) -> None:
    done = hoplab(
        "exec", "--", "sh", "-c", "echo c > /proc/sysrq-trigger", stdin=subprocess.DEVNULL
    )
    assert done.returncode == 5
    assert "Kernel panic" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_in_use_is_refused(tmp_path: Path, hoplab: Hoplab) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(chain(2))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("x")
    done = hoplab("run", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 6
    assert "is not empty" in done.stderr
    assert (tmp_path / "out" / "precious").read_text() == "x"

# SPDX-License-Identifier: Apache-2.0
"""Echoes, and requests with their responses: exact times, losses, the same each time."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hoplab.host import results
from hoplab.show.report.data import figures

WIRED = """
duration_s = 10
station = [{ name = "a", radio = false }, { name = "b", radio = false }]
link = [{ ends = ["a", "b"], rate_mbps = 2, delay_ms = 20 }]
"""
ECHO_BYTES = 14 + 20 + 8 + 56
"""Of Ethernet, IPv4, ICMP, and the payload."""
MICROSECOND_MS = 0.001


def one_way_ms(frame_bytes: int) -> float:
    """Over the link of `WIRED`."""
    return frame_bytes * 8 / 2e3 + 20


def flows(run: Path) -> dict[str, dict[str, Any]]:
    return {row["flow"]: row for row in results.load(run).rows("flows")}


def test_an_echos_time_is_that_of_its_way(
    tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    text = f"""{WIRED}
[[flow]]
protocol = "ping"
source = "a"
destination = "b"
start_s = 1
interval_s = 0.5
"""
    told = run_scenario(text)["flows"][0]
    rows = results.load(tmp_path / "run1").rows("exchanges")
    assert [row["number"] for row in rows] == [*range(1, 19)]
    for row in rows:
        assert row["rtt_ms"] == pytest.approx(2 * one_way_ms(ECHO_BYTES), abs=2 * MICROSECOND_MS)
        # By the clock, however long the wait was; the process takes a moment to start.
        assert 0 <= row["sent_s"] - (1 + (row["number"] - 1) * 0.5) < 0.001
        assert row["t_s"] == pytest.approx(row["sent_s"] + row["rtt_ms"] / 1e3, abs=1e-8)
        assert row["sent_bytes"] == row["received_bytes"] == 56
    times = [row["rtt_ms"] for row in rows]
    assert (told["sent"], told["received"], told["lost"]) == (18, 18, 0)
    assert (told["rtt_ms_min"], told["rtt_ms_max"]) == (min(times), max(times))
    assert told["rtt_ms_mean"] == pytest.approx(sum(times) / 18)


def test_a_station_that_is_off_replies_to_nobody(
    tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    text = """
duration_s = 10
topology = { kind = "pair" }
[[flow]]
name = "counted"
protocol = "ping"
source = "n0"
destination = "n1"
packets = 8
timeout_s = 0.5
[[flow]]
name = "to-the-end"
protocol = "ping"
source = "n1"
destination = "n0"
start_s = 8.2
[[event]]
at_s = 3.5
kind = "down"
station = "n1"
[[event]]
at_s = 5.5
kind = "up"
station = "n1"
[[event]]
at_s = 8.5
kind = "down"
station = "n0"
"""
    first = run_scenario(text)
    found = results.load(tmp_path / "run1").rows("exchanges")
    lost = {(row["flow"], row["number"]): row for row in found if row["rtt_ms"] is None}
    assert lost.keys() == {("counted", 5), ("counted", 6), ("to-the-end", 2)}
    fifth = lost["counted", 5]
    # Given up after its timeout; what is under way at the end is then.
    assert fifth["t_s"] - fifth["sent_s"] == pytest.approx(0.5, abs=0.001)
    assert lost["to-the-end", 2]["t_s"] == 10
    told = flows(tmp_path / "run1")
    counts = {name: (row["sent"], row["received"], row["lost"]) for name, row in told.items()}
    assert counts == {"counted": (8, 6, 2), "to-the-end": (2, 1, 1)}
    assert told["counted"]["stop_s"] == max(row["t_s"] for row in found if row["flow"] == "counted")
    (panel,) = figures(results.load(tmp_path / "run1"))["panels"]
    assert panel["title"] == "Echoes and transactions"
    assert run_scenario(text)["digest"] == first["digest"]


def test_transactions_follow_one_another(
    tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    text = f"""{WIRED}
[[flow]]
name = "fixed"
protocol = "rr"
source = "a"
destination = "b"
stop_s = 5
request = {{ mean = 100 }}
response = {{ mean = 1000 }}
think = {{ mean = 0.2 }}
[[flow]]
name = "drawn"
protocol = "rr"
source = "a"
destination = "b"
start_s = 5
transactions = 15
response = {{ kind = "uniform", low = 1, high = 1000 }}
think = {{ kind = "exponential", mean = 0.05, high = 0.2 }}
"""
    run_scenario(text)
    told, rows = flows(tmp_path / "run1"), results.load(tmp_path / "run1").rows("exchanges")
    fixed = [row for row in rows if row["flow"] == "fixed"]
    # Of Ethernet, IPv4, TCP with its timestamps.
    time_ms = one_way_ms(14 + 20 + 32 + 100) + one_way_ms(14 + 20 + 32 + 1000)
    done = [row for row in fixed if row["rtt_ms"] is not None]
    for row in done[1:]:
        assert row["rtt_ms"] == pytest.approx(time_ms, abs=0.5)
    for before, after in itertools.pairwise(done):
        # The kernel wakes a sleeper at most its timer slack of 50 us late.
        assert 0.2 < after["sent_s"] - before["t_s"] < 0.2002
    assert told["fixed"]["rate_per_s"] == pytest.approx(len(done) / 5, abs=1e-3)
    assert told["fixed"]["delivered_bytes"] == 1000 * len(done)
    # Its connection is sampled, each way: what came is at most one exchange ahead of what counts.
    samples = [s for s in results.load(tmp_path / "run1").rows("tcp") if s["t_s"] < 5]
    for name, size, column in (("fixed", 100, "sent_bytes"), ("fixed<", 1000, "received_bytes")):
        mine = [sample for sample in samples if sample["flow"] == name]
        assert len(mine) > 40
        for sample in mine:
            complete = sum(row[column] for row in done if row["t_s"] <= sample["t_s"])
            assert complete <= sample["delivered_bytes"] <= complete + size
        # No queue is on the way, and neither end delays its acknowledgement of a pause.
        assert mine[-1]["rtt_ms"] > 2 * one_way_ms(14 + 20 + 32)
    drawn = [row for row in rows if row["flow"] == "drawn"]
    sizes = [row["received_bytes"] for row in drawn]
    assert len(sizes) == 15 and len(set(sizes)) > 10 and 1 <= min(sizes) <= max(sizes) <= 1000
    assert told["drawn"]["stop_s"] == drawn[-1]["t_s"] < 10
    assert {row["sent_bytes"] for row in drawn} == {1}
    run_scenario(text, "--seed", "2")
    other = results.load(tmp_path / "run2").rows("exchanges")
    assert [row["received_bytes"] for row in other if row["flow"] == "drawn"] != sizes

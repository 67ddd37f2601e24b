# SPDX-License-Identifier: Apache-2.0
"""Links whose capacity, delay and losses follow a trace."""

from pathlib import Path
from typing import Any

import pytest

from hoplab.host import results
from tests.emulation.conftest import Hoplab, run

SCENARIO = """duration_s = {duration_s}
[[station]]
name = "a"
radio = false
[[station]]
name = "b"
radio = false
[[link]]
ends = ["a", "b"]
delay_ms = 0
up = {{ trace = "{trace}" }}
down = {{ rate_mbps = 100 }}
[[flow]]
protocol = "udp"
source = "a"
destination = "b"
packet_bytes = {octets}
rate_kbps = {rate_kbps}
[measure]
packets = true
"""


def packets(hoplab: Hoplab, folder: Path, trace: str, text: str, **keys: Any) -> list[Any]:
    (folder / trace).write_text(text)
    file = folder / "s.toml"
    keys = {"duration_s": 6, "octets": 972, "rate_kbps": 777.6, **keys}
    file.write_text(SCENARIO.format(trace=trace, **keys))
    run(hoplab, file, "run")
    rows = results.load(folder / "run").rows("packets")
    return sorted(rows, key=lambda row: int(row["seq"]))


def test_delays_and_losses_follow_the_rows(hoplab: Hoplab, tmp_path: Path) -> None:
    """100 packets a second in steps of 1 s, and again. A packet counts as sent when the link has
    carried it."""
    text = "t_s,rate_mbps,delay_ms,loss\n0,4,10,0\n1,4,35,0\n2,4,5,1\n"
    rows = packets(hoplab, tmp_path, "t.csv", text)
    for row in rows:
        second = int(row["sent_s"])
        if second % 3 == 2:
            assert row["received_s"] is None
        else:
            delay_ms = 1000 * (row["received_s"] - row["sent_s"])
            assert delay_ms == pytest.approx(10 if second % 3 == 0 else 35, abs=0.01)


def test_a_delay_that_falls_keeps_the_order(hoplab: Hoplab, tmp_path: Path) -> None:
    text = "t_s,rate_mbps,delay_ms\n0,4,100\n1,4,5\n"
    rows = packets(hoplab, tmp_path, "t.csv", text)
    arrived = [row["received_s"] for row in rows if row["received_s"] is not None]
    assert len(arrived) > 500
    assert arrived == sorted(arrived)
    held = [row for row in rows if 1.0 < row["sent_s"] < 1.09 and row["received_s"] is not None]
    assert all(row["received_s"] > 1.09 for row in held)


def test_packets_leave_at_opportunities(hoplab: Hoplab, tmp_path: Path) -> None:
    """Full packets above the capacity: each takes one line of the trace, again and again. The link
    begins anew after its last line, at 7 ms."""
    rows = packets(hoplab, tmp_path, "t.up", "2\n2\n7\n", octets=1472, rate_kbps=9000)
    arrived_ms = [1000 * row["received_s"] for row in rows if row["received_s"] is not None]
    steady = [t_ms for t_ms in arrived_ms if t_ms > 100]
    within = [round(t_ms % 7, 2) % 7 for t_ms in steady]
    assert {round(value) % 7 for value in within} == {0, 2}
    assert len(steady) == pytest.approx(5.9 / 0.007 * 3, abs=3)
    twos = sum(round(value) % 7 == 2 for value in within)
    assert twos / len(within) == pytest.approx(2 / 3, abs=0.01)


def test_small_packets_share_an_opportunity(hoplab: Hoplab, tmp_path: Path) -> None:
    """Packets of 372 octets of IP take a quarter, 376 with Mahimahi's own 4."""
    rows = packets(hoplab, tmp_path, "t.up", "10\n", octets=344, rate_kbps=2000)
    arrived = [row["received_s"] for row in rows if row["received_s"] is not None]
    assert len(arrived) == pytest.approx(4 * 600, abs=8)


def test_a_trace_that_ends_carries_nothing_more(hoplab: Hoplab, tmp_path: Path) -> None:
    lines = "".join(f"{t}\n" for t in range(1, 2001))
    (tmp_path / "t.up").write_text(lines)
    text = SCENARIO.format(trace="t.up", duration_s=5, octets=972, rate_kbps=777.6)
    file = tmp_path / "s.toml"
    file.write_text(text.replace('"t.up"', '"t.up", trace_repeats = false'))
    run(hoplab, file, "run")
    rows = results.load(tmp_path / "run").rows("packets")
    last_s = max(row["received_s"] for row in rows if row["received_s"] is not None)
    assert last_s == pytest.approx(2.0, abs=0.02)

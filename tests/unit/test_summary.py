# SPDX-License-Identifier: Apache-2.0
"""A run's flows in print: a table a kind, whole numbers at any width, units that fit."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from hoplab.host.results.reader import Results
from hoplab.show import report
from hoplab.show.report import units
from hoplab.show.report.summary import summary_html, summary_table
from tests.unit.test_report import _row, _run

TCP = {
    "congestion_control": "newreno",
    "goodput_kbps": 5025.123,
    "delivered_bytes": 25_125_615,
    "retransmits": 1258,
    "timeouts": 0,
    "rtt_ms_mean": 1952.7,
}
UDP = {
    "goodput_kbps": 2825.123,
    "delivered_bytes": 2_125_615,
    "sent": 12_345,
    "received": 12_000,
    "lost": 345,
    "latency_ms_mean": 12.5,
}


def results(*rows: dict[str, Any]) -> Results:
    flows = [_row("flows", flow=f"flow{i}", **row) for i, row in enumerate(rows)]
    manifest = SimpleNamespace(run="x", seed=1, digest="abcdef0123456789")
    scenario = {"title": "Two kinds"}
    found: Any = SimpleNamespace(manifest=manifest, scenario=scenario, rows=lambda name: flows)
    return found  # type: ignore[no-any-return]


def printed(run: Results, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as text:
        console.print(summary_table(run))
    assert all(len(line) <= width for line in text.get().splitlines())
    return text.get()


BOTH = results(
    {"protocol": "tcp", "src": "laptop", "dst": "server", **TCP},
    {"protocol": "udp", "src": "laptop", "dst": "server", **UDP},
)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_numbers_are_never_cut(width: int) -> None:
    text = printed(BOTH, width)
    assert "…" not in text
    whole = {"5,025.1", "25,125.6", "1,258", "0", "1,952.7", "2,825.1", "2,125.6"}
    whole |= {"12,345", "12,000", "345", "12.5"}
    found = set(re.findall(r"(?<=\s)[\d.,]+(?=\s)", text.replace("seed 1,", "")))
    assert found <= whole and found & {"5,025.1", "2,825.1"}


def test_each_kind_has_a_table_of_its_own_columns() -> None:
    text = printed(BOTH, 120)
    tcp, udp = text.split("Two kinds: udp")
    assert "Two kinds: tcp" in tcp
    assert "variant" in tcp and "sent" not in tcp
    assert "lost" in udp and "variant" not in udp and "retransmits" not in udp
    alone = printed(results({"protocol": "tcp", "src": "n0", "dst": "n3", **TCP}), 120)
    assert "Two kinds\n" in re.sub(" +\n", "\n", alone)


def test_at_80_columns_all_of_short_names_is_there() -> None:
    run = results({"protocol": "tcp", "src": "n0", "dst": "n3", **TCP})
    text = printed(run, 80)
    assert "1,952.7" in text and "the report has also" not in text
    narrow = " ".join(printed(run, 45).split())
    assert "the report has also: retransmits, timeouts, mean RTT ms" in narrow


def test_a_run_without_flows_has_a_line() -> None:
    assert printed(results(), 80).startswith("Two kinds: no flows; seed 1")
    assert summary_html(results()).startswith("<p>Two kinds: no flows; seed 1")


def test_a_notebook_has_a_table_a_kind() -> None:
    assert summary_html(BOTH).count("<table>") == 2


def test_rates_are_in_mbps_from_10_000_kbps_on() -> None:
    assert units.of_rates([9_999.9, None]) == units.KBPS
    assert units.of_rates([3.2, 10_000.0]) == units.MBPS
    fast = results(
        {"protocol": "tcp", "src": "n0", "dst": "n3", **TCP, "goodput_kbps": 31_234.567},
        {"protocol": "tcp", "src": "n0", "dst": "n3", **TCP, "goodput_kbps": 4.2},
    )
    text = printed(fast, 120)
    assert "Mbit/s" in text and "31.235" in text and "0.004" in text
    assert "kbit/s" in printed(BOTH, 120)


def test_the_report_has_the_same_unit(tmp_path: Path) -> None:
    _run(tmp_path / "slow", 2, 1)
    assert "Mbit/s" not in report.render(tmp_path / "slow").read_text(encoding="utf-8")
    fast = {"t_s": 1.0, "flow": "flow0", "ca_state": "Open", "delivered_bytes": 0}
    rows = [_row("tcp", **fast), _row("tcp", **{**fast, "t_s": 2.0, "delivered_bytes": 5_000_000})]
    flows = [_row("flows", flow="flow0", protocol="tcp", goodput_kbps=40_000.0)]
    run = _run(tmp_path / "fast", 2, 1)
    run._tables.update(_tables(run, flows=flows, tcp=rows))
    page = report.render(run.run_dir).read_text(encoding="utf-8")
    assert "<i>Mbit/s</i>" in page and "40.000" in page
    assert re.search(r"Goodput \(Mbit(/|\\u002f)s\)", page)


def _tables(run: Results, **rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Write a run's tables anew."""
    import pyarrow.parquet as pq

    from hoplab.host.results import arrow

    made = {name: arrow.from_rows(name, found, "test") for name, found in rows.items()}
    for name, table in made.items():
        pq.write_table(table, run.run_dir / "tables" / f"{name}.parquet")
    return made

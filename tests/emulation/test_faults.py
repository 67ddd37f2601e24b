# SPDX-License-Identifier: Apache-2.0
"""Every cause of the benchmark shows in the tables that a participant gets."""

from pathlib import Path

import pytest
from pyarrow import parquet

from tests.unit.test_faults import faults

pytestmark = pytest.mark.nightly


def test_each_cause_changes_what_a_flow_gets(tmp_path: Path) -> None:
    faults.make(tmp_path / "cases", seed=1)
    flows = {
        name: parquet.read_table(tmp_path / "cases" / name / "flows.parquet").to_pylist()
        for name in ("healthy", *faults.cases(1))
    }
    healthy = flows.pop("healthy")
    for name, rows in flows.items():
        pairs = zip(healthy, rows, strict=False)
        changes = [abs(b["goodput_kbps"] / a["goodput_kbps"] - 1) for a, b in pairs]
        assert max(changes) > 0.05, f"case {name}, {faults.cases(1)[name]}: {changes}"
    assert not (tmp_path / "cases" / "1" / "scenario.json").exists()
    events = parquet.read_table(tmp_path / "cases" / "1" / "events.parquet")
    assert "scenario" not in events["source"].to_pylist()

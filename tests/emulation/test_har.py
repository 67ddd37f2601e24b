# SPDX-License-Identifier: Apache-2.0
"""A page's load by `hoplab-har`, in a run."""

import csv
from collections import Counter
from pathlib import Path

import hoplab
from hoplab.model.resources import PROJECT

EXAMPLE = PROJECT / "docs" / "examples" / "page.toml"


def load(place: Path, *more: str) -> hoplab.Run:
    words = f"hoplab-har load page.har server --pages 2 {' '.join(more)}"
    return hoplab.run(EXAMPLE, out=place, set={"duration_s": 5, "program.1.run": words})


def test_objects_come_in_the_archives_order_over_several_connections(tmp_path: Path) -> None:
    run = load(tmp_path / "six")
    with (run.run_dir / "programs" / "browser" / "objects.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["page"] == "1"]
    there = {int(row["object"]): float(row["there_s"]) for row in rows}
    asked = {int(row["object"]): float(row["asked_s"]) for row in rows}
    assert len(rows) == 18
    # By the archive style.css begins 10 ms after the page's text, and img0.jpg 14 ms after app.js.
    assert 0.010 <= asked[1] - there[0] < 0.012
    assert 0.014 <= asked[4] - there[2] < 0.016
    # Two origins: one has its objects at most two at a time, the other has six connections.
    connections = run.rows("connections")
    assert {row["peer"] for row in connections} == {"server"}
    assert len(connections) == 2 * (6 + 1)
    octets = sum(int(row["octets"]) for row in rows)
    (flow,) = (row for row in run.rows("flows") if row["flow"] == "browser")
    assert flow["delivered_bytes"] == 2 * octets
    assert load(tmp_path / "again").digest == run.digest


def test_fewer_connections_take_longer(tmp_path: Path) -> None:
    run = load(tmp_path / "one", "--connections", "1")
    assert len(run.rows("connections")) == 2 * 2
    said = (run.run_dir / "logs" / "program-browser.out").read_text(encoding="utf-8")
    words = [line.split() for line in said.splitlines()]
    assert Counter(word[0] for word in words) == {"page": 2}
    assert all(1.2 < float(word[2]) < 1.4 for word in words)

# SPDX-License-Identifier: Apache-2.0
"""A map of a city's network runs."""

import json
from pathlib import Path

import hoplab
from hoplab.front.imports import formats
from tests.maps import city

NODES = 200


def test_a_map_of_200_nodes_runs(tmp_path: Path) -> None:
    """TCP crosses it, over more than one hop, and the losses of its links are on the air."""
    file = tmp_path / "meshviewer.json"
    file.write_text(json.dumps(city(NODES)))
    document = formats.read(file, None).document("static")
    assert len(document["station"]) == NODES
    run = hoplab.run({**document, "duration_s": 10.0}, out=tmp_path / "run")
    (flow,) = run.rows("flows")
    assert flow["delivered_bytes"] > 0
    assert sum(row["airtime_data_s"] > 0 for row in run.rows("radios")) > 2
    assert sum(row["error_model"] for row in run.rows("links")) > 0

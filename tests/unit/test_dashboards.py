# SPDX-License-Identifier: Apache-2.0
"""The dashboards' files: made by the code, of Grafana's types, each panel complete."""

import json

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.write import ANNOTATIONS, FOLDER, built, texts


def test_committed_files_are_what_the_code_makes() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(texts())
    for name, text in texts().items():
        committed = (FOLDER / name).read_text(encoding="utf-8")
        assert committed == text, f"{name}: run 'python -m dashboards'"


CORE = {"timeseries", "stat", "statetimeline", "state-timeline", "table", "barchart", "nodeGraph"}


def test_panels_are_grafanas_own_and_say_what_they_show() -> None:
    for name, board in built().items():
        assert board["time"]["from"].startswith("now-")
        for panel in board["panels"]:
            if panel["type"] == "row":
                continue
            where = f"{name}: {panel['title']}"
            assert panel["type"] in CORE, where
            assert panel["description"].endswith("."), where
            assert panel["datasource"]["type"] == "prometheus", where
            defaults = panel.get("fieldConfig", {}).get("defaults", {})
            if panel["type"] in ("timeseries", "stat", "barchart"):
                assert defaults["unit"], where
            if panel["type"] == "timeseries":
                assert defaults["min"] == 0, where
                assert panel["options"]["legend"]["placement"] == "right", where
                assert panel["options"]["legend"]["displayMode"] == "table", where


def test_the_json_is_of_grafanas_types() -> None:
    """Read by the types and written again, nothing is lost or changed."""
    register_default_plugins()
    for name, board in built().items():
        again = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(board)))
        for annotation in again["annotations"].get("list", []):
            annotation.update(ANNOTATIONS)
        assert again == board, name

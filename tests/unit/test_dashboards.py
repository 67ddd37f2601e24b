# SPDX-License-Identifier: Apache-2.0
"""The dashboards' files: made by the code, of Grafana's types, each panel complete."""

import json
import re

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, VariableHide

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
        for variable in board["templating"]["list"]:
            variable["id"] = variable["name"]  # the types want one
        again = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(board)))
        for annotation in again["annotations"].get("list", []):
            annotation.update(ANNOTATIONS)
        assert again == board, name


def test_every_variable_is_kept() -> None:
    """Grafana up to 11 keeps one variable of each id, or of each name where there is none."""
    for name, board in built().items():
        variables = board["templating"]["list"]
        kept = {variable.get("id", variable["name"]) for variable in variables}
        assert len(kept) == len(variables), name


def test_links_carry_what_was_chosen_alone() -> None:
    for name, board in built().items():
        for variable in board["templating"]["list"]:
            hidden = variable.get("hide") == VariableHide.HIDE_VARIABLE.value
            assert variable["skipUrlSync"] == hidden, (name, variable["name"])
        (link,) = board["links"]
        assert link["asDropdown"] and link["includeVars"] and link["keepTime"], name


def test_a_variable_names_only_those_before_it() -> None:
    for name, board in built().items():
        known = {"__range"}
        for variable in board["templating"]["list"]:
            used = re.findall(r"\$\{?([a-z_]+)", variable.get("query") or "")
            assert known >= set(used), (name, variable["name"])
            known.add(variable["name"])


def test_no_panel_is_red_above_grafanas_80_and_none_is_empty_without_a_reason() -> None:
    for name, board in built().items():
        for panel in board["panels"]:
            if panel["type"] in ("row", "nodeGraph"):
                continue
            defaults, where = panel["fieldConfig"]["defaults"], (name, panel["title"])
            assert [step["color"] for step in defaults["thresholds"]["steps"]] == ["green"], where
            assert defaults["noValue"], where


def test_axes_of_counters_that_stay_at_zero_end_near_it() -> None:
    for board in built().values():
        for panel in board["panels"]:
            if panel["type"] == "timeseries":
                defaults = panel["fieldConfig"]["defaults"]
                assert defaults["custom"]["axisSoftMax"] <= 1000, panel["title"]


def test_no_time_is_told_in_minutes() -> None:
    """Unit "s" would have 60 s as "1 min"; "short" has 1430 as "1.43 K"."""
    for board in built().values():
        for panel in board["panels"]:
            unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
            assert unit not in ("s", "short"), panel["title"]

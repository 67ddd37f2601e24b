# SPDX-License-Identifier: Apache-2.0
"""The dashboards as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import VariableHide

from dashboards import compare, health, run, sweep

FOLDER = Path(__file__).with_name("grafana") / "json"
ANNOTATIONS = {
    "step": "100ms",
    "titleFormat": "{{kind}}",
    "textFormat": "{{source}} at {{node}}",
    "useValueForTime": True,
}
"""What the data source reads of an annotation's query beyond what the types know."""

HIDDEN = VariableHide.HIDE_VARIABLE.value


def built() -> dict[str, dict[str, Any]]:
    """Every dashboard by the name of its file."""
    boards = {}
    for module in (run, sweep, compare, health):
        encoded = JSONEncoder(sort_keys=True).encode(module.dashboard().build())
        board: dict[str, Any] = json.loads(encoded)
        for annotation in board.get("annotations", {}).get("list", []):
            annotation.update(ANNOTATIONS)
        for variable in board["templating"]["list"]:
            # The types give all the same one, and Grafana up to 11 keeps one variable of an id.
            del variable["id"]
            # Links carry what was chosen, not what follows from it.
            variable["skipUrlSync"] = variable.get("hide") == HIDDEN
        for number, panel in enumerate(board["panels"], 1):
            panel["id"] = number
        boards[f"{board['uid']}.json"] = board
    return boards


def texts() -> dict[str, str]:
    """Their files."""
    return {
        name: json.dumps(board, indent=1, sort_keys=True) + "\n" for name, board in built().items()
    }

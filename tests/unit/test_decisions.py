# SPDX-License-Identifier: Apache-2.0
"""What an agent decided, as a run's folder keeps it, may be a stranger's; without a guest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hoplab.front import api
from hoplab.host.runs import decisions
from hoplab.host.runs.steps import Steps, Wanted
from hoplab.model.errors import ResultsError
from hoplab.model.keys import requests

PAIR = api.resolved_scenario(
    {
        "duration_s": 2,
        "topology": {"kind": "pair"},
        "flow": [{"name": "f", "source": "n0", "destination": "n1"}],
    }
)
TOLD = [[requests.Window(flow="f", segments=2), requests.Down(station="n1")], []]


def test_decisions_are_read_as_they_were_made(tmp_path: Path) -> None:
    wanted = Wanted(0.5, ["f"], [], True)
    decisions.write(tmp_path, PAIR, Steps(wanted, TOLD))
    found = decisions.read(tmp_path, "a run")
    assert (found.scenario, found.wanted, found.told) == (PAIR, wanted, TOLD)


def changed(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda document: document.update({key: value})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (changed("told", [[{"do": "end"}]]), "do: 'end' is not known"),
        (changed("told", [[{"do": ["down"]}]]), "do: list is not known"),
        (changed("told", [[{"do": "window", "flow": "f", "segments": 0}]]), "segments"),
        (changed("told", 3), "told"),
        (changed("wanted", {"step_s": -1, "windows": [], "flows": [], "medium": True}), "step_s"),
        (changed("wanted", {}), "step_s"),
        (changed("more", 1), "more"),
        (changed("scenario", {}), "scenario: .*missing"),
    ],
)
def test_what_cannot_be_one_is_told_in_a_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    decisions.write(tmp_path, PAIR, Steps(Wanted(0.5)))
    path = tmp_path / decisions.NAME
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ResultsError, match=f"^a run: decisions.json: .*({told})") as caught:
        decisions.read(tmp_path, "a run")
    assert "\n" not in str(caught.value)


def test_a_run_without_any_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"^a run: an agent took part in it, and no decisions"):
        decisions.read(tmp_path, "a run")

# SPDX-License-Identifier: Apache-2.0
"""Other futures of a run: which of them a page may ask for; without a guest."""

from pathlib import Path
from typing import Any

import pytest

from hoplab.front import api
from hoplab.front.commands import futures as module
from hoplab.front.commands.futures import Futures
from hoplab.host.runs.launch import RunRequest
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved

PAIR: dict[str, Any] = {
    "title": "A pair",
    "duration_s": 10,
    "topology": {"kind": "pair"},
    "flow": [{"source": "n0", "destination": "n1"}],
    "event": [{"at_s": 6.0, "kind": "down", "station": "n1"}],
}


class Machine:
    def require(self, scenario: Resolved) -> None: ...


class Page:
    """A run's page, which keeps the futures that it has shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[Resolved, str]] = []

    def future(self, scenario: Resolved, title: str) -> Any:
        self.shown.append((scenario, title))
        return type("Future", (), {"address": f"future{len(self.shown)}/"})()


@pytest.fixture
def futures(monkeypatch: pytest.MonkeyPatch) -> Futures:
    monkeypatch.setattr(Futures, "_perform", lambda *_: None)

    def request(scenario: Resolved, number: int) -> Any:
        return RunRequest(scenario, Machine(), out=Path(f"out{number}"))  # type: ignore[arg-type]

    return Futures(api.resolved_scenario(PAIR), request)


def test_a_future_is_a_branch_with_a_page_of_its_own(futures: Futures) -> None:
    asked = {"do": "branch", "at_s": 4.0, "without": "0", "kind": "down", "station": "n0"}
    with pytest.raises(ScenarioError, match=r"^branch: the run has not begun"):
        futures.act(asked)
    page = Page()
    futures.page = page  # type: ignore[assignment]
    assert futures.act(asked) == {"page": "future1/", "name": "From 4 s on, 1"}
    ((scenario, title),) = page.shown
    assert title == "A pair · another future from 4 s on"
    assert scenario.branch is not None
    assert scenario.branch.at_s == 4.0
    assert [(event.at_s, event.station) for event in scenario.event] == [(4.001, "n0")]
    assert scenario.branch.past == api.resolved_scenario(PAIR)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"do": "end"}, r"^do: 'end' is not known; one of: branch$"),
        ({"do": "branch"}, r"^branch: 'at_s'"),
        ({"do": "branch", "at_s": 11.0}, r"^branch.at_s: 11; expected less than duration_s, 10$"),
        ({"do": "branch", "at_s": 1.0, "kind": "down", "station": "n9"}, "n9"),
        ({"do": "branch", "at_s": 1.0, "kind": "down"}, "needs station"),
    ],
)
def test_what_cannot_be_is_one_line(futures: Futures, asked: dict[str, Any], told: str) -> None:
    futures.page = Page()  # type: ignore[assignment]
    with pytest.raises(ScenarioError, match=told) as caught:
        futures.act(asked)
    assert "\n" not in str(caught.value)


def test_a_run_has_so_many_futures_and_no_more(futures: Futures) -> None:
    futures.page = Page()  # type: ignore[assignment]
    for _ in range(module.MOST):
        futures.act({"do": "branch", "at_s": 1.0})
    with pytest.raises(ScenarioError, match=r"^branch: this run has 8 futures already"):
        futures.act({"do": "branch", "at_s": 1.0})

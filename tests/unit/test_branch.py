# SPDX-License-Identifier: Apache-2.0
"""What a branch may change, and how a sweep names it; without a guest."""

from pathlib import Path
from typing import Any

import pytest

from hoplab.front import api
from hoplab.many.sweep import points
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve.resolve import resolve

EARLY = {"at_s": 5.0, "kind": "down", "station": "n1"}
LATE = {"at_s": 20.0, "kind": "up", "station": "n1"}
PAST: dict[str, Any] = {
    "duration_s": 30,
    "topology": {"kind": "chain", "stations": 3, "spacing_m": 200},
    "radio": {"profile": "wavelan"},
    "flow": [{"source": "n0", "destination": "n2", "window": 8}],
    "event": [EARLY, LATE],
}


def branched(changes: dict[str, Any], at_s: float = 10.0) -> Resolved:
    return api.resolved_scenario({**PAST, "branch": {"at_s": at_s, "set": changes}})


def test_a_future_has_its_past_inside_and_reads_back_the_same() -> None:
    found = branched({"event": [EARLY], "flow.0.window": 2})
    assert found.branch is not None
    assert found.branch.past == api.resolved_scenario(PAST)
    assert [event.kind for event in found.event] == ["down"]
    assert found.flow[0].window == 2
    again = Resolved.model_validate_json(found.model_dump_json(exclude_none=True))
    assert again == found == resolve(found)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"event": [LATE]}, "branch: an event before 10 s cannot change at 10 s"),
        ({"radio.rts_threshold": 3}, "branch: radio.rts_threshold cannot change at 10 s"),
        ({"routing.protocol": "dsr"}, "branch: routing cannot change"),
        ({"duration_s": 40}, "branch: duration_s cannot change"),
        ({"flow": []}, "branch: flow flow0 cannot change"),
        ({"flow.0.start_s": 12.0}, "branch: flow.0.start_s cannot change"),
        ({"flow.0.window": "8"}, "flow.0.window"),
        ({"flow.7.window": 8}, "branch.set: flow.7.window: flow has index 0 only; got '7'"),
        ({"branch.at_s": 3}, "is no key of a future"),
        ({"station.1.y_m": 9e9}, "station.1.y_m"),
    ],
)
def test_what_cannot_change_is_named(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError) as found:
        branched(changes)
    assert told in str(found.value)
    assert "\n" not in str(found.value)


def test_a_branch_is_within_the_run() -> None:
    with pytest.raises(ScenarioError, match=r"^branch.at_s: 30; expected less than duration_s, 30"):
        branched({}, 30.0)


def test_a_station_that_moves_by_itself_is_not_put_elsewhere() -> None:
    document = {
        **PAST,
        "event": [],
        "flow": [],
        "topology": {},
        "station": [{"name": "a", "waypoints": [[0.0, 0.0, 0.0], [9.0, 50.0, 0.0]]}, {"name": "b"}],
        "branch": {"at_s": 3.0, "set": {"station.0.x_m": 4.0}},
    }
    with pytest.raises(ScenarioError, match=r"^branch: .*station"):
        api.resolved_scenario(document)


def test_a_sweeps_branches_have_axes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(
        'duration_s = 9\n[topology]\nkind = "pair"\n[[flow]]\nsource = "n0"\ndestination = "n1"\n'
    )
    (tmp_path / "sweep.toml").write_text(
        'seeds = 2\n[[axis]]\nkey = "topology.spacing_m"\nvalues = [5, 10]\n'
        '[[branch]]\nat_s = 3\n[[branch.axis]]\nkey = "flow.0.window"\nvalues = [1, 2, 4]\n'
        "[[branch]]\nat_s = 6\nset = { event = [] }\n"
        '[[branch.axis]]\nkey = "flow.0.window"\nvalues = [8]\n'
    )
    sweep = points.read(tmp_path / "sweep.toml")
    assert sweep.parameters == ("spacing_m", "window")
    found = [point.scenario() for point in sweep.points()]
    assert len(found) == 2 * (3 + 1) * 2
    at_s = [one.branch.at_s for one in found if one.branch is not None]
    assert at_s.count(3.0) == 12
    assert at_s.count(6.0) == 4
    assert {one.flow[0].window for one in found} == {1, 2, 4, 8}
    assert {one.branch.past.flow[0].window for one in found if one.branch} == {None}

# SPDX-License-Identifier: Apache-2.0
"""`routing.protocol = "own"`: a copy of a program at each station, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hoplab.host.machine import host
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.scenario import Scenario
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

DAEMON = {"name": "d", "stations": "all", "run": "d --as {name} {address} {else}"}
FLOW = {"source": "n0", "destination": "n2"}


def own(*programs: dict[str, Any], protocol: str = "own", **tables: Any) -> Scenario:
    """Resolved, of three stations."""
    document = {
        "duration_s": 10,
        "topology": {"kind": "chain", "stations": 3},
        "routing": {"protocol": protocol},
        "program": list(programs),
        **tables,
    }
    return resolve(parse(document, "test"), Path())


def test_each_station_has_a_copy_with_its_name_and_address() -> None:
    texts = {"env": {"ME": "{name}"}, "file": {"conf": "id {address}\n", "raw": "base64:ICA="}}
    found = own({**DAEMON, **texts}, flow=[FLOW])
    assert [one.name for one in found.program] == ["d-n0", "d-n1", "d-n2"]
    assert [one.station for one in found.program] == ["n0", "n1", "n2"]
    last = found.program[-1]
    assert last.run == "d --as n2 10.0.0.3 {else}"
    assert last.env == {"ME": "n2"}
    assert last.file == {"conf": "id 10.0.0.3\n", "raw": "base64:ICA="}
    assert all(one.routing for one in found.program)
    assert found.warm_up_s == 20
    # A resolved scenario is one, and resolves to itself.
    again = Scenario.model_validate_json(found.model_dump_json(exclude_none=True))
    assert resolve(again) == found


def test_copies_route_only_where_nobody_else_does() -> None:
    assert not any(one.routing for one in own(DAEMON, protocol="static").program)
    braces = own({"station": "n0", "run": "awk {name}"}, protocol="static")
    assert braces.program[0].run == "awk {name}"


@pytest.mark.parametrize(
    ("programs", "tables", "said"),
    [
        ([{"run": "d"}], {}, "give station, or stations"),
        ([{**DAEMON, "station": "n0"}], {}, "here are both"),
        ([], {"flow": [FLOW]}, "installs no routes, and no \\[\\[program\\]\\] does"),
        ([{**DAEMON, "ready": {"port": 80}}], {}, "it starts with the warm-up"),
        ([{**DAEMON, "routing": True}], {"protocol": "static"}, "has its own routes"),
        ([{**DAEMON, "name": "d" * 30}], {}, "program d+-n0: name"),
        ([DAEMON, {**DAEMON, "run": "e"}], {}, "'d-n0' is given twice"),
        ([DAEMON], {"tcp": {"delayed_ack": False}}, "own makes its own"),
    ],
)
def test_what_is_refused(programs: list[dict[str, Any]], tables: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        own(*programs, **tables)


def test_a_copy_at_each_of_many_stations_is_too_many() -> None:
    document = {
        "topology": {"kind": "chain", "stations": 200},
        "routing": {"protocol": "own"},
        "program": [DAEMON, {**DAEMON, "name": "e"}],
    }
    with pytest.raises(ScenarioError, match="program: 400 with a copy at each station"):
        resolve(parse(document, "test"))


def test_groups_of_a_crashed_run_are_removed_from_within(tmp_path: Path) -> None:
    group = tmp_path / "hoplab-7"
    for folder in (group, tmp_path / "hoplab-7-routing" / "n0", tmp_path / "hoplab-8"):
        folder.mkdir(parents=True)
    found = [str(one.relative_to(tmp_path)) for one in host._groups(str(group))]
    assert found == ["hoplab-7-routing/n0", "hoplab-7-routing", "hoplab-7"]
    assert host._groups(None) == []

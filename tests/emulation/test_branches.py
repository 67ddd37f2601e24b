# SPDX-License-Identifier: Apache-2.0
"""A branch is its past's run up to its time, and from there its own."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hoplab.front import api
from hoplab.host import results
from hoplab.host.machine import confined, select
from hoplab.host.machine.launcher.confine import NAMESPACE
from hoplab.host.machine.originals import Originals
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from tests.emulation.conftest import Hoplab

AT_S = 12.0
DOWN = {"at_s": 8.0, "kind": "down", "station": "n1"}
UP = {"at_s": 10.0, "kind": "up", "station": "n1"}
FAILS = {"at_s": 14.0, "kind": "down", "station": "n2"}
PAST: dict[str, Any] = {
    "duration_s": 20,
    "topology": {"kind": "chain", "stations": 4, "spacing_m": 200},
    "radio": {"profile": "wavelan"},
    "routing": {"protocol": "dsr"},
    "flow": [
        {"source": "n0", "destination": "n3", "window": 8},
        {"source": "n3", "destination": "n0", "protocol": "udp", "rate_kbps": 20},
    ],
    "event": [DOWN, UP, FAILS],
    "measure": {"packets": True, "frames": True},
}
"""A relay fails and returns; later another one fails for good."""
FUTURES: dict[str, dict[str, Any]] = {
    "it does not fail": {"event": [DOWN, UP]},
    "a smaller window": {"flow.0.window": 2},
    "a station moves, at half the power": {"station.3.x_m": 650.0, "radio.tx_power_dbm": 12.0},
    "a further flow": {
        "flow": [
            *PAST["flow"],
            {"source": "n1", "destination": "n2", "start_s": 15.0, "window": 4},
        ]
    },
    "another seed": {"seed": 2},
}


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "room"
    folder.mkdir()
    return folder


def performed(out: Path, change: dict[str, Any] | None, among: Originals | None = None) -> Manifest:
    document = PAST if change is None else {**PAST, "branch": {"at_s": AT_S, "set": change}}
    kind = Sealed(select.chosen(), originals=among)
    return perform(RunRequest(api.resolved_scenario(document), kind, out=out))


def rows_until(out: Path, at_s: float) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table that has times, before this one."""
    run = results.load(out)
    tables = {name: run.table(name) for name in run.manifest.tables or {}}
    return {
        name: [row for row in table.to_pylist() if row["t_s"] is None or row["t_s"] < at_s]
        for name, table in tables.items()
        if "t_s" in table.column_names
    }


def test_a_branch_is_its_pasts_run_up_to_its_time(room: Path) -> None:
    performed(room / "past", None)
    before = rows_until(room / "past", AT_S)
    assert {"tcp", "udp", "events", "frames"} <= {name for name, rows in before.items() if rows}
    digests = set()
    for name, change in FUTURES.items():
        digests.add(performed(room / name, change).digest)
        assert rows_until(room / name, AT_S) == before, name
    assert len(digests) == len(FUTURES)


def test_copies_of_a_guest_at_the_branch_are_as_runs_that_repeat_the_past(room: Path) -> None:
    """Each with a future of its own, also one whose guest stood by for another one."""
    if confined.confinement() == NAMESPACE:
        pytest.skip("guests boot where there is no Landlock")
    with closing(Originals(room, at_once=True)) as made:
        for name, change in FUTURES.items():
            copied = performed(room / f"copied {name}", change, made)
            assert copied.digest == performed(room / f"booted {name}", change).digest, name
        assert len(made._originals) == 1  # all of one past, and none was refused


def test_what_changes_acts(room: Path) -> None:
    def later_kbps(name: str, change: dict[str, Any]) -> float:
        performed(room / name, change)
        rows = [row for row in results.load(room / name).tcp.to_pylist() if row["flow"] == "flow0"]
        before = [row["delivered_bytes"] for row in rows if row["t_s"] <= 15.0]
        return float(rows[-1]["delivered_bytes"] - before[-1]) * 8e-3 / 5

    fails = later_kbps("fails", {})
    works = later_kbps("works", {"event": [DOWN, UP]})
    assert fails == 0  # its route is gone
    assert works > 300  # as over three hops before: README
    assert 0 < later_kbps("small", {"event": [DOWN, UP], "flow.0.window": 1}) < works
    events = results.load(room / "small").table("events").to_pylist()
    assert [row["t_s"] for row in events if row["kind"] == "window"] == [AT_S]


def test_the_command_makes_one_that_verifies(tmp_path: Path, hoplab: Hoplab) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(
        'duration_s = 6\n[topology]\nkind = "pair"\n[[flow]]\nsource = "n0"\ndestination = "n1"\n'
    )
    change = "event=[{at_s = 4.0, kind = 'down', station = 'n1'}]"
    command = ["branch", str(file), "--at", "3", "--set-at", "3", change]
    done = hoplab(*command, "--out", str(tmp_path / "A"), "--json")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "A" / "manifest.json").read_text())
    assert manifest["branch"]["at_s"] == 3
    again = hoplab("verify", str(tmp_path / "A"))
    assert again.returncode == 0, again.stderr
    other = hoplab("branch", str(file), "--at", "3", "--set-at", "4", change)
    assert other.stderr == "hoplab: --set-at 4: expected 3, as --at: a branch has one time\n"

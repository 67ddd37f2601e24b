# SPDX-License-Identifier: Apache-2.0
"""Networks of so many stations that they have more than one byte of addresses, and do not all hear
each other before time 0."""

import io
import ipaddress
import itertools
import math
import re
from dataclasses import replace

import pytest
from rich.console import Console

from hoplab.front.commands import check, progress
from hoplab.guest.network.build import counted
from hoplab.host.runs import launch, size
from hoplab.host.runs.launch import Observers, Part, Progress
from hoplab.host.stream.hub import Stream
from hoplab.model.keys.scenario import Scenario
from hoplab.model.network.plan import plan
from hoplab.model.network.reach import meeting, reach_m
from tests.scenarios import resolved

GRID = """
[topology]
kind = "grid"
rows = {}
columns = 20
spacing_m = 200
[routing]
protocol = "{}"
"""
MOBILE = """
duration_s = 60
[topology]
kind = "random-waypoint"
stations = 40
width_m = 4000
height_m = 4000
"""


def brute_force(scenario: Scenario, times: range) -> set[tuple[str, str]]:
    places = [{one.name: one.place(t) for one in scenario.station} for t in times]
    reach = reach_m(scenario.radio)
    names = [one.name for one in scenario.station]
    return {
        (a, b)
        for a, b in itertools.permutations(names, 2)
        if any(math.dist(at[a], at[b]) <= reach for at in places)
    }


def pairs(scenario: Scenario) -> set[tuple[str, str]]:
    found = meeting(scenario, [one.name for one in scenario.station])
    return {(a, b) for a, others in found.items() for b in others}


def test_a_large_set_up_is_estimated_before_it_begins() -> None:
    assert size.told(resolved(GRID.format(5, "dsr"))) is None
    assert (size.told(resolved(GRID.format(50, "dsr"))) or "").startswith(
        "setting up 1000 stations takes some 20 s of processor time"
    )
    links = "".join(f'[[link]]\nends = ["n0", "n{i}"]\n' for i in range(1, 400))
    wired = "".join(f'[[station]]\nname = "n{i}"\nradio = false\n' for i in range(400)) + links
    assert "400 stations and 399 links takes some" in (size.told(resolved(wired)) or "")
    said = check._told(resolved(wired))
    assert said.startswith("valid: 400 stations, ") and "; setting up 400 stations and 399" in said


def test_a_large_set_up_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for 25 stations, which moves the bar; a small one and a session's say nothing."""
    large = plan(resolved(GRID.format(6, "dsr")))
    assert list(counted(large, "sets up stations", large.scenario.station)) == [
        *large.scenario.station
    ]
    lines = capsys.readouterr().out.splitlines()
    seen: list[Part] = []
    for line in lines:
        launch.heard(line, Observers(on_part=seen.append), Stream([]), 0.0)
    assert seen == [Part("sets up stations", done, 120) for done in (0, 25, 50, 75, 100, 120)]
    for other in (plan(resolved(GRID.format(5, "dsr"))), replace(large, end_s=None)):
        assert counted(other, "stations", other.scenario.station) is other.scenario.station
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    "line", ['{"part": "\\u001b[2J", "done": 1, "of": 2}', '{"part": 1}', "[]", "{", '"part"']
)
def test_what_no_lab_says_moves_nothing(line: str) -> None:
    seen: list[object] = []
    launch.heard(line, Observers(seen.append, on_part=seen.append), Stream([]), 0.0)
    assert not seen


def test_the_bar_shows_the_set_up_and_then_the_time() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with progress.shown(console, "grid", 40.0) as moved:
        for report in (Part("sets up links", 75, 300), Progress(10.0, 12.0, 2.0)):
            move = moved.on_part if isinstance(report, Part) else moved.on_progress
            move(report)
            moved._bar.refresh()
    assert isinstance(console.file, io.StringIO)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    assert "sets up links: 75 of 300" in text and "10.0 of 40.0 s" in text


@pytest.mark.parametrize("title", ["a scenario with a title of many words", "[/red] in brackets"])
def test_a_bar_of_80_columns_cuts_no_number(title: str) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, legacy_windows=False)
    with progress.shown(console, title, 20_000.0) as moved:
        for report in (
            Part("sets up stations' routes", 1000, 1000),
            Progress(12_345.6, 145_000.0, 123.456),
        ):
            move = moved.on_part if isinstance(report, Part) else moved.on_progress
            move(report)
            moved._bar.refresh()
    assert isinstance(console.file, io.StringIO)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    assert "sets up stations' routes: 1000 of 1000" in text
    assert "12345.6 of 20000.0 s" in text
    assert "100.0 virtual s/s 145000 kbit/s" in text
    assert title[:15] in text


def test_addresses_of_many_stations_are_hosts_of_one_network() -> None:
    found = plan(resolved(GRID.format(100, "batmand")))
    assert len(set(found.address.values())) == 2000
    network = ipaddress.ip_network(f"10.0.0.1/{found.prefix}", strict=False)
    assert str(network.broadcast_address) == found.broadcast
    for address in map(ipaddress.ip_address, found.address.values()):
        assert address in network and address not in (network[0], network[-1])
        assert address.packed[3] not in (0, 255)


def test_few_stations_keep_their_addresses() -> None:
    found = plan(resolved(GRID.format(5, "batmand")))
    assert (found.address["n0"], found.address["n99"]) == ("10.0.0.1", "10.0.0.100")
    assert (found.prefix, found.broadcast) == (24, "10.0.0.255")


def test_stations_at_rest_meet_those_that_they_reach() -> None:
    scenario = resolved(GRID.format(8, "static"))
    assert pairs(scenario) == brute_force(scenario, range(1))


def test_moving_stations_meet_at_least_those_that_they_ever_reach() -> None:
    scenario = resolved(MOBILE)
    found, reached = pairs(scenario), brute_force(scenario, range(61))
    assert reached <= found
    assert len(found) < 40 * 39, "those that stay apart need not know each other"


def test_a_station_meets_those_at_both_ends_of_a_jump() -> None:
    ways = ("[[0, 0, 0], [5, 0, 0], [5, 9000, 0]]", "[[0, 100, 0]]", "[[0, 9100, 0]]")
    stations = (f'[[station]]\nname = "n{i}"\nwaypoints = {way}\n' for i, way in enumerate(ways))
    found = meeting(resolved("".join(stations)), ["n0", "n1", "n2"])
    assert found == {"n0": ["n1", "n2"], "n1": ["n0"], "n2": ["n0"]}


def test_where_chance_decides_all_meet() -> None:
    scenario = resolved(GRID.format(2, "static") + '[radio]\nfading = "rayleigh"')
    assert len(pairs(scenario)) == 40 * 39

# SPDX-License-Identifier: Apache-2.0
"""Requests to a running network: one declaration for pages, agents, events and the medium."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from hoplab.model.errors import ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.faults import Event
from hoplab.model.keys.requests import Happening, OfChannel

OF_CHANNEL = (
    requests.Down(station="a"),
    requests.Up(station="a"),
    requests.Move(station="a", x_m=1.5, y_m=-2.0),
    requests.Lose(src="a", dst="b", rate=0.25),
    requests.Transmit(station="a", dbm=-3.5),
    requests.Reseed(seed=2**63 - 1),
)
MEDIUMS = Path(__file__).parents[2] / "daemons" / "medium" / "tests" / "requests.json"


def kinds_of(kind: type[OfChannel]) -> set[type[OfChannel]]:
    below = set().union(*map(kinds_of, kind.__subclasses__()))
    return below or {kind}


def test_the_medium_reads_every_request_of_the_channel() -> None:
    """Its own test reads this file (daemons/medium/tests/control.rs)."""
    assert {type(request) for request in OF_CHANNEL} == kinds_of(OfChannel)
    assert json.loads(MEDIUMS.read_text()) == [request.document() for request in OF_CHANNEL]


@pytest.mark.parametrize("request_", OF_CHANNEL, ids=lambda request: request.do)
def test_what_is_written_is_read_again(request_: OfChannel) -> None:
    kinds = [type(request_)]
    assert requests.read(request_.document(), kinds) == request_


def test_an_event_is_a_request_at_a_time() -> None:
    happening = [request for request in OF_CHANNEL if isinstance(request, Happening)]
    kinds = Event.model_fields["kind"].annotation.__args__  # type: ignore[union-attr]
    assert {request.do for request in happening} == set(kinds)
    for request in happening:
        event = request.event(2.5)
        assert (event.at_s, event.kind) == (2.5, request.do)
        assert requests.of_event(event) == request


def test_a_page_cannot_ask_for_what_only_the_lab_may() -> None:
    with pytest.raises(ScenarioError, match=r"^do: 'reseed' is not known; one of: down, up, move"):
        requests.read({"do": "reseed", "seed": 1})


def test_an_event_needs_what_counts_for_its_kind() -> None:
    for given, lacking in (({"station": "a", "x_m": 1.0}, "y_m"), ({}, "station")):
        with pytest.raises(ValidationError, match=f'an event of kind "move" needs {lacking}'):
            Event.model_validate({"at_s": 1.0, "kind": "move", **given})


def test_another_future_keeps_what_was_and_has_its_own_events() -> None:
    planned = [
        Event(at_s=1.0, kind="down", station="a"),
        Event(at_s=3.0, kind="up", station="a"),
        Event(at_s=4.0, kind="loss", src="a", dst="b", rate=0.5),
    ]
    lost = {"at_s": 4.0, "kind": "loss", "src": "a", "dst": "b", "rate": 0.5}
    down = {"at_s": 1.0, "kind": "down", "station": "a"}
    asked = {"do": "branch", "at_s": 2.5, "without": "0,1"}
    wish = requests.read(asked, [requests.Branch])
    assert isinstance(wish, requests.Branch)
    assert wish.events(planned) == [down, lost]
    more = requests.read({**asked, "kind": "down", "station": "b"}, [requests.Branch])
    assert isinstance(more, requests.Branch)
    own = {"at_s": 2.501, "kind": "down", "station": "b"}
    assert more.events(planned) == [down, lost, own]


@pytest.mark.parametrize("without", ["a", "1,", ",", "-1", "1" * 7, "1 2", "1," * 400])
def test_what_a_future_leaves_out_are_numbers(without: str) -> None:
    with pytest.raises(ScenarioError, match=r"^branch: 'without'"):
        requests.read({"do": "branch", "at_s": 1.0, "without": without}, [requests.Branch])

# SPDX-License-Identifier: Apache-2.0
"""What `hoplab check` accepts becomes documents that the daemons read.

Scenarios are drawn from the JSON Schema, so that a new key is drawn as soon as it is declared.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hoplab.front.pages import keys as schema
from hoplab.guest.medium import config as medium_config
from hoplab.model.errors import ScenarioError
from hoplab.model.keys import documents
from hoplab.model.keys.dsr import DsrFile
from hoplab.model.keys.routers import ROUTERS, settings_of
from hoplab.model.keys.split import SplitFile
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import BINARIES
from tests.hostile import scenarios

SCHEMA = schema.document()
STATIONS = ("n0", "n1", "n2")
EXAMPLES = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def value_of(declared: dict[str, Any], wild: bool) -> st.SearchStrategy[Any]:
    """Values of a key; ``wild`` ones need not be allowed."""
    if wild:
        return st.one_of(
            value_of(declared, False),
            st.integers(-(10**6), 10**6),
            st.floats(allow_nan=True),
            st.booleans(),
            st.sampled_from(["", "n0", "none", "auto", "802.11"]),
        )
    if "$ref" in declared:
        return table(SCHEMA["$defs"][declared["$ref"].removeprefix(schema.REFERENCE)])
    if "enum" in declared:
        return st.sampled_from(declared["enum"])
    kind = declared.get("type")
    low = declared.get("minimum", declared.get("exclusiveMinimum", -1e6))
    high = declared.get("maximum", 1e6)
    if kind == "integer":
        return st.integers(int(low), int(high))
    if kind == "number":
        above = "exclusiveMinimum" in declared
        return st.floats(low, high, exclude_min=above, allow_nan=False)
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.just([])
    return st.just("x")


def table(declared: dict[str, Any], wild: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the keys of a table."""
    keys = {name: value_of(key, wild) for name, key in declared["properties"].items()}
    return st.fixed_dictionaries({}, optional=keys)


def some_keys(name: str, wild: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """A few keys of the table ``name``: with all of them hardly anything would be accepted."""
    properties = SCHEMA["$defs"][name]["properties"]

    def chosen(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({key: value_of(properties[key], wild) for key in names})

    names = st.lists(st.sampled_from(sorted(properties)), max_size=3, unique=True)
    return names.flatmap(chosen)


def tidy(value: Any) -> Any:
    """Names of stations where the schema knows only strings."""
    if isinstance(value, dict):
        return {
            key: STATIONS[len(str(entry)) % 3]
            if key in ("src", "dst", "station") and isinstance(entry, str)
            else tidy(entry)
            for key, entry in value.items()
        }
    return value


LOSSES = st.one_of(
    st.fixed_dictionaries({"rate": st.floats(0, 1)}),
    st.fixed_dictionaries({"kind": st.just("list"), "frames": st.lists(st.integers(1, 99))}),
    st.fixed_dictionaries(
        {
            "kind": st.just("burst"),
            "rate": st.floats(0, 1),
            "on_s": st.floats(1e-6, 10),
            "period_s": st.floats(1e-6, 10),
        },
        optional={"start_s": st.floats(0, 100)},
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("gilbert-elliott"),
            "p_good_to_bad": st.floats(0, 1),
            "p_bad_to_good": st.floats(0, 1),
        },
        optional={"loss_good": st.floats(0, 1), "src": st.sampled_from(STATIONS)},
    ),
    some_keys("Loss").map(tidy),
)

TIMES = st.floats(0, 60)
COORDINATES = st.floats(-1e6, 1e6)
EVENTS = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["down", "up"]),
            "at_s": TIMES,
            "station": st.sampled_from(STATIONS),
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("move"),
            "at_s": TIMES,
            "station": st.sampled_from(STATIONS),
            "x_m": COORDINATES,
            "y_m": COORDINATES,
        }
    ),
    st.permutations(STATIONS).flatmap(
        lambda ends: st.fixed_dictionaries(
            {
                "kind": st.just("loss"),
                "at_s": TIMES,
                "src": st.just(ends[0]),
                "dst": st.just(ends[1]),
                "rate": st.floats(0, 1),
            }
        )
    ),
)
"""Whole ones: three keys drawn from the schema make one in 300 times."""


def check(program: str, *arguments: str) -> tuple[bool, str]:
    done = subprocess.run([str(BINARIES / program), *arguments], capture_output=True, text=True)
    return done.returncode == 0, done.stderr.strip()


@EXAMPLES
@given(
    radio=some_keys("Radio"),
    loss=st.lists(LOSSES, max_size=2),
    events=st.lists(EVENTS, max_size=2),
)
def test_the_medium_reads_the_document_of_whatever_is_accepted(
    tmp_path: Path, radio: dict[str, Any], loss: list[dict[str, Any]], events: list[dict[str, Any]]
) -> None:
    """It comes as far as the radios or, where there are any, the folder of records."""
    document = {
        "topology": {"kind": "chain", "stations": 3, "spacing_m": 1},
        "radio": radio,
        "loss": loss,
        "event": events,
    }
    try:
        scenario = resolve(parse(document, "drawn"))
    except ScenarioError:
        assume(False)
    (tmp_path / "raw").mkdir(exist_ok=True)
    path = medium_config.write(plan(scenario), 0, tmp_path, overhear=True)
    text = path.read_text().replace(str(tmp_path / "raw"), str(tmp_path / "none"))
    path.write_text(text)
    accepted, told = check("hoplab-medium", str(path))
    assert not accepted and not told.startswith(f"hoplab-medium: {path}"), told


@EXAMPLES
@given(drawn=some_keys("DsrSettings"))
def test_dsr_reads_the_document_of_whatever_is_accepted(
    tmp_path: Path, drawn: dict[str, Any]
) -> None:
    """It comes as far as the interface, which does not exist."""
    given = {"interface": "nosuch0", "address": "10.0.0.1/24", "settings": drawn}
    path = documents.write(tmp_path / "dsr.json", DsrFile.model_validate(given).document())
    accepted, told = check("hoplab-dsr", str(path))
    assert not accepted and told.startswith('hoplab-dsr: interface "nosuch0"'), told


@pytest.mark.parametrize("name", ROUTERS)
@EXAMPLES
@given(data=st.data())
def test_a_router_reads_the_document_of_whatever_is_accepted(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    drawn = data.draw(some_keys(settings_of(name).__name__))
    given = {"interface": "nosuch0", "address": "10.0.0.1/24", "settings": drawn}
    document = ROUTERS[name].model_validate(given).document()
    path = documents.write(tmp_path / f"{name}.json", document)
    accepted, told = check(f"hoplab-{name}", str(path))
    assert not accepted and told.startswith(f'hoplab-{name}: interface "nosuch0"'), told


@EXAMPLES
@given(drawn=some_keys("SplitConnection"))
def test_split_reads_the_document_of_whatever_is_accepted(
    tmp_path: Path, drawn: dict[str, Any]
) -> None:
    """It comes as far as its control socket, in a folder that does not exist."""
    ends = {key: "10.0.0.9" for key in ("source", "destination") if key in drawn}
    given = {
        "address": "10.0.0.1",
        "connection": [{**drawn, **ends}],
        "control": str(tmp_path / "none" / "control"),
    }
    path = documents.write(tmp_path / "split.json", SplitFile.model_validate(given).document())
    accepted, told = check("hoplab-split", str(path))
    assert not accepted and told.startswith("hoplab-split: control socket"), told


@given(
    document=st.fixed_dictionaries(
        {},
        optional={
            "topology": some_keys("Topology", wild=True),
            "radio": some_keys("Radio", wild=True),
            "tcp": some_keys("Tcp", wild=True),
            "measure": some_keys("Measure", wild=True),
            "routing": some_keys("Routing", wild=True),
            "flow": st.lists(some_keys("Flow", wild=True), max_size=2),
            "link": st.lists(some_keys("Link", wild=True), max_size=2),
            "station": st.lists(some_keys("Station", wild=True), max_size=2),
            "loss": st.lists(some_keys("Loss", wild=True), max_size=2),
            "event": st.lists(some_keys("Event", wild=True), max_size=2),
        },
    )
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_drawn_is_accepted_or_refused_in_a_few_lines(document: dict[str, Any]) -> None:
    """On top of the corpus: no other exception, no page of output."""
    try:
        once = resolve(parse(document, "drawn"))
    except ScenarioError as error:
        assert 1 <= len(str(error).splitlines()) <= 11
        return
    assert resolve(once) == once


def test_the_corpus_has_scenarios_that_are_accepted() -> None:
    assert sum(words is None for _, words in scenarios.CASES) > 15

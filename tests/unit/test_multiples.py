# SPDX-License-Identifier: Apache-2.0
"""A sweep's figure: what is along x, what is joined, which axes are logarithmic."""

import json
from itertools import product
from typing import Any

import pytest

from hoplab.host.statistics.samples import Sample
from hoplab.show.report.multiples import Group, Metric, is_logarithmic, small_multiples

METRIC = Metric("goodput_kbps", "Goodput", "kbit/s")


def drawn(names: list[str], *values: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Traces and layout of the figure over all combinations."""
    groups = [Group(at, {METRIC.name: Sample(1.0, 0.1, 3)}) for at in product(*values)]
    text = str(small_multiples(names, groups, [METRIC]))
    found = text[text.index("[", text.index("Plotly.newPlot(")) :]
    traces, end = json.JSONDecoder().raw_decode(found)
    layout, _ = json.JSONDecoder().raw_decode(found[end:].lstrip(", \n"))
    return traces, layout


def test_flows_are_not_joined_by_lines() -> None:
    """A line along x says that there is something between its points."""
    for names, values in (
        (["variant", "flow"], [["reno", "cubic"], ["a", "b", "c"]]),
        (["flow"], [["a", "b", "c"]]),
        (["variant"], [["reno", "cubic"]]),
    ):
        traces, _ = drawn(names, *values)
        assert {trace["type"] for trace in traces} == {"bar"}
    traces, _ = drawn(["variant", "flow"], ["reno", "cubic"], ["a", "b", "c"])
    assert [(trace["name"], trace["x"]) for trace in traces] == [
        (flow, ["reno", "cubic"]) for flow in "abc"
    ]
    traces, layout = drawn(["hops", "flow"], [1, 2, 3], ["a", "b"])
    assert [(trace["type"], trace["mode"]) for trace in traces] == [
        ("scatter", "lines+markers")
    ] * 2
    assert layout["xaxis"].get("type") != "log"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.001, 0.01, 0.1], True),
        ([1, 10, 100, 1000], True),
        ([1, 2, 5, 10, 20, 50], True),
        ([1, 2, 3, 4], False),
        ([1, 20, 40, 60, 80, 100], False),
        ([0, 1, 10, 100], False),
        ([1, 25, 50], False),
        ([1, 1000], False),
    ],
)
def test_an_axis_is_logarithmic_where_its_values_are(values: list[float], expected: bool) -> None:
    assert is_logarithmic(values) is expected
    if not expected:
        return
    _, layout = drawn(["loss"], values)
    assert layout["xaxis"]["type"] == "log"
    assert layout["xaxis"]["ticktext"] == [f"{value:g}" for value in values]


def test_the_y_axis_can_be_made_logarithmic() -> None:
    _, layout = drawn(["hops", "variant", "rate"], [1, 2, 3], ["reno", "cubic"], [1, 2])
    scales = layout["updatemenus"][1]["buttons"]
    assert [button["args"][0] for button in scales] == [
        {"yaxis.type": kind, "yaxis2.type": kind} for kind in ("linear", "log")
    ]

# SPDX-License-Identifier: Apache-2.0
"""Dashboard *Sweep*: a parameter against a result, over the runs of a sweep.

`hoplab push DATASET` makes a tag of every parameter, ``p_NAME``, and a field of every result.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.dashboard import VariableOption

from dashboards.panels import (
    bars,
    board,
    choice,
    listing,
    number,
    organized,
    query,
    rows,
    transformer,
)
from dashboards.variables import listed

KEPT = "$__range"
SWEEP = 'sweep="$sweep"'
RESULT = f'last_over_time({{__name__="hoplab_sweep_$result", {SWEEP}}}[{KEPT}])'
NUMBER = f"last_over_time(hoplab_sweep_number_$parameter{{{SWEEP}}}[{KEPT}])"
SORTED = f"sort(avg by ($parameter) ({NUMBER}))"
"""Gives the values of a parameter that is a number their order; of another it has nothing."""
FIRST = "goodput_kbps"
VALUES = f"count by ($parameter) ({RESULT})"
OF_SAMPLE = f"sqrt(({VALUES} > 1) / ({VALUES} - 1))"
"""Makes the whole's standard deviation that of a sample."""
RUNS = f"last_over_time(hoplab_sweep_seed_number{{{SWEEP}}}[{KEPT}])"


def dashboard() -> Dashboard:
    """Of each value of a parameter the mean over all runs, lowest and highest."""
    made = board(
        "hoplab-sweep",
        "Hoplab: Sweep",
        "Results of a sweep over one of its parameters; what else varies is averaged.",
    ).time("now-7d", "now+1h")
    pushed = f"max by (sweep) (last_over_time(hoplab_axis_pushed_s[{KEPT}]))"
    made.with_variable(
        listed(
            "sweep",
            "Sweep",
            f"sort_desc({pushed})",
            '/sweep="([^"]*)"/',
            "What it was pushed as; the last one first.",
        )
    )
    weight = f"max by (parameter) (last_over_time(hoplab_axis_weight{{{SWEEP}}}[{KEPT}]))"
    made.with_variable(
        listed(
            "parameter",
            "Parameter",
            f"sort_desc({weight})",
            '/parameter="([^"]*)"/',
            "Along the axis.",
        )
    )
    made.with_variable(
        choice("result", "Result", "metrics(hoplab_sweep_.*)", "What is drawn.")
        .regex("/^hoplab_sweep_((?!number_|seed_number|failed).*)$/")
        .current(VariableOption(selected=True, text=FIRST, value=FIRST))
    )
    made.with_row(Row("$result over $parameter"))
    made.with_panel(
        bars(
            "$result over $parameter",
            "Mean over all runs that have the parameter's value, with the lowest and the highest.",
            "none",
            rows(SORTED, "A"),
            rows(f"avg by ($parameter) ({RESULT})", "B"),
            rows(f"min by ($parameter) ({RESULT})", "C"),
            rows(f"max by ($parameter) ({RESULT})", "D"),
        )
        .span(24)
        .height(12)
        .with_transformation(transformer("merge"))
        .with_transformation(
            organized(
                {"Value #B": "mean", "Value #C": "lowest", "Value #D": "highest"},
                "Value #A",
                ordered=False,
            )
        )
    )
    made.with_panel(
        number(
            "Runs",
            "Of the sweep; those that failed have no results.",
            "none",
            query(f"count(count by (key) ({RUNS}))", step="1m"),
        )
    )
    made.with_panel(
        listing(
            "Mean, spread and number of runs",
            "The sample's standard deviation over the runs of each value: none for a single run.",
            rows(SORTED, "A"),
            rows(f"avg by ($parameter) ({RESULT})", "B"),
            rows(f"stddev by ($parameter) ({RESULT}) * {OF_SAMPLE}", "C"),
            rows(VALUES, "D"),
        )
        .span(20)
        .with_transformation(transformer("merge"))
        .with_transformation(
            organized(
                {"Value #B": "Mean", "Value #C": "Standard deviation", "Value #D": "Values"},
                "Value #A",
                ordered=False,  # the parameter, whatever its name is, comes first
            )
        )
    )
    return made

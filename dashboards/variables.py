# SPDX-License-Identifier: Apache-2.0
"""Variables of the dashboards: which runs there are, which are drawn, and where they lie in time.

A run that a dashboard names is visible and may be ``newest``. The run that it draws is a hidden
variable beside it. Grafana asks for it again whenever the time shown moves. So an open page goes on
to a new run, and one that the user chose by name stays.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, QueryVariable
from grafana_foundation_sdk.models.dashboard import VariableHide, VariableOption, VariableSort

from dashboards.panels import choice

NEWEST = "newest"
OTHER = "newest other"
START = "hoplab_run_start_s"
SHOWN = "[1m${__range}]"
"""The time shown and a minute before it: a user who looks at one second of a run has its rows
too."""
AROUND = "[60d] offset -30d"
"""A month to either side of the time shown, which is the first run's."""
FIRST = 1e12
"""Above every date."""
NAMES = '/run="([^"]*)"/'
NUMBER = "/} (-?[0-9.]+)/"


def runs(made: Dashboard) -> None:
    """The run that is chosen, and the run that is drawn: ``$shown``."""
    known = _starts("", SHOWN)
    made.with_variable(
        _named("run", "Run", _listed(NEWEST, known), NEWEST).description(
            "The run's folder; newest is the one that began last in the time shown."
        )
    )
    chosen = _starts('{run="$run"}', SHOWN)
    made.with_variable(_hidden("shown", _picked(chosen, known, "$run", NEWEST), NAMES))


def others(made: Dashboard) -> None:
    """The run beside it: ``$against``, and how much later the first began: ``$shift``, in ms."""
    known = _starts('{run!="$shown"}', AROUND)
    made.with_variable(
        _named("other", "Other run", _listed(OTHER, known), OTHER).description(
            "Moved in time; it may have been a month before or after."
        )
    )
    chosen = _starts('{run="$other"}', AROUND)
    made.with_variable(_hidden("against", _picked(chosen, known, "$other", OTHER), NAMES))
    begins = [f'max(max_over_time({START}{{run="{run}"}}{AROUND}))' for run in RUNS]
    made.with_variable(
        _hidden("shift", f"round(1000 * ({begins[0]} - {begins[1]})) or vector(0)", NUMBER)
    )


RUNS = ("$shown", "$against")


def until(made: Dashboard) -> None:
    """How far the run has come in the time shown, as a date: ``$until``."""
    last = [
        f'max(last_over_time({metric}{{run="$shown"}}{SHOWN}))'
        for metric in (START, "hoplab_run_t_s")
    ]
    made.with_variable(_hidden("until", f"{last[0]} + {last[1]} or vector(0)", NUMBER))


def listed(name: str, label: str, query: str, regex: str, description: str) -> QueryVariable:
    """Values in the order in which the query has them."""
    return (
        choice(name, label, f"query_result({query})", description)
        .regex(regex)
        .sort(VariableSort.DISABLED)
    )


def _starts(labels: str, time: str) -> str:
    return f"max by (run) (max_over_time({START}{labels}{time}))"


def _listed(word: str, known: str) -> str:
    """The word, then the runs, latest first."""
    return f'sort_desc(label_replace(vector({FIRST:.0f}), "run", "{word}", "", "") or {known})'


def _picked(chosen: str, known: str, variable: str, word: str) -> str:
    """The run of that name; the latest where the word was chosen."""
    said, meant = (
        f'label_replace(vector(1), "word", "{text}", "", "")' for text in (variable, word)
    )
    return f"topk(1, {chosen} + {FIRST:.0f} or ({known} and on () ({said} and {meant})))"


def _named(name: str, label: str, query: str, word: str) -> QueryVariable:
    return listed(name, label, query, NAMES, "").current(
        VariableOption(selected=True, text=word, value=word)
    )


def _hidden(name: str, query: str, regex: str) -> QueryVariable:
    return listed(name, name, query, regex, "").hide(VariableHide.HIDE_VARIABLE)

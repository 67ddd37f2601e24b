# SPDX-License-Identifier: Apache-2.0
"""Dashboard *Compare*: two runs on one axis of scenario time."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.builders.prometheus import Dataquery

from dashboards.panels import board, lines, listing, organized, query, rows, transformer
from dashboards.run import AVERAGED
from dashboards.variables import AROUND, RUNS, others, runs

A, B = (f'run="{run}"' for run in RUNS)
SHIFT = " offset ${shift}ms"
"""Brings the second run's time 0 to the first one's; below 0 where that began later."""


def dashboard() -> Dashboard:
    """The second run is drawn at the dates of the first one."""
    made = board(
        "hoplab-compare",
        "Hoplab: Compare",
        "Two runs on one axis: the second is drawn as if it had begun with the first.",
    )
    runs(made)
    others(made)
    made.with_row(Row("TCP"))
    made.with_panel(
        lines(
            "Goodput",
            "Payload that receivers have taken in, all flows together.",
            "bps",
            *both("sum(8 * rate(hoplab_tcp_delivered_bytes{%s}[$__rate_interval]%s))", AVERAGED),
            least=1000,
        )
    )
    made.with_panel(
        lines(
            "Congestion window",
            "The mean over flows.",
            "suffix: segments",
            *both("avg(hoplab_tcp_cwnd{%s}%s)"),
        )
    )
    made.with_panel(
        lines(
            "Round-trip time",
            "Smoothed; the mean over flows.",
            "ms",
            *both("avg(hoplab_tcp_rtt_ms{%s}%s)"),
        )
    )
    made.with_panel(
        lines(
            "Segments sent again",
            "Since the flows' start, all together.",
            "suffix: segments",
            *both("sum(hoplab_tcp_retransmits{%s}%s)"),
        )
    )
    made.with_row(Row("Radios"))
    made.with_panel(
        lines(
            "Busy air",
            "Share of the time since 0 in which radios sent or sensed the channel busy, mean.",
            "percentunit",
            *both("avg(hoplab_nodes_busy_fraction{%s}%s)"),
        ).max(1)
    )
    made.with_panel(
        lines(
            "Energy",
            "That all radios have used since time 0.",
            "joule",
            *both("sum(hoplab_nodes_energy_j{%s}%s)"),
            least=0.001,
        )
    )
    made.with_row(Row("At the end"))
    made.with_panel(
        listing(
            "Flows",
            "Table `flows` of both runs.",
            rows(_ended("hoplab_flows_goodput_kbps"), "A"),
            rows(_ended("hoplab_flows_retransmits"), "B"),
        )
        .span(24)
        .no_value("told when a run is over")
        .with_transformation(transformer("merge"))
        .with_transformation(
            organized(
                {
                    "run": "Run",
                    "flow": "Flow",
                    "Value #A": "Goodput, kbit/s",
                    "Value #B": "Segments sent again",
                }
            )
        )
    )
    return made


def both(form: str, step: str = "100ms") -> tuple[Dataquery, Dataquery]:
    """A query of each run: ``form`` has a place for the labels and one for the shift."""
    return (
        query(form % (A, ""), RUNS[0], "A", step),
        query(form % (B, SHIFT), RUNS[1], "B", step),
    )


def _ended(metric: str) -> str:
    """Without the metric's name, so that those of one flow become one row."""
    ended = " or ".join(f"last_over_time({metric}{{{run}}}{AROUND})" for run in (A, B))
    return f"max by (run, flow) ({ended})"

# SPDX-License-Identifier: Apache-2.0
"""Dashboard *Lab health*: how fast a run goes, and whether its medium can be trusted."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    ValueMap,
    ValueMappingResult,
)

from dashboards.panels import STREAMED, board, lines, listing, number, organized, query, rows
from dashboards.run import AVERAGED, RUN, last
from dashboards.variables import runs


def dashboard() -> Dashboard:
    """One run's speed, audit, lateness and system calls."""
    made = board(
        "hoplab-health",
        "Hoplab: Lab health",
        "How fast a run goes, and what the medium daemon says of itself at its end.",
    )
    runs(made)
    made.with_row(Row("Speed"))
    wall = f"hoplab_progress_wall_s{{{RUN}}}"
    made.with_panel(
        lines(
            "Speed",
            "Seconds of scenario time in a second of wall time.",
            "suffix: s/s",
            query(f"1 / ({wall} - {wall} offset 1s)", "{{run}}", step=AVERAGED),
        ).no_value(STREAMED)
    )
    made.with_panel(
        lines(
            "Wall time",
            "Since the machine was started.",
            "suffix: s",
            query(wall, "{{run}}", step=AVERAGED),
        ).no_value(STREAMED)
    )
    made.with_row(Row("The medium, at the end"))
    trusted = ValueMap(
        options={
            "0": ValueMappingResult(text="no: see the manifest", color="red", index=0),
            "1": ValueMappingResult(text="yes", color="green", index=1),
        }
    )
    made.with_panel(
        number(
            "Trustworthy",
            "Whether the medium daemon has doubts about the run.",
            "none",
            query(last("hoplab_health_value", f'{RUN}, item="trustworthy"')),
        ).mappings([trusted])
    )
    made.with_panel(
        number(
            "System calls a frame",
            "Of the medium daemon.",
            "none",
            query(last("hoplab_health_value", f'{RUN}, item="system_calls.per_frame"')),
        ).decimals(2)
    )
    made.with_panel(
        number(
            "Unaccounted frames",
            "Frames that the kernel gave, less those that have an outcome or are under way: the "
            "audit of frames wants none.",
            "none",
            query(
                f"sum({last('hoplab_health_value', _items('accepted'))}) - "
                f"sum({last('hoplab_health_value', _items(OUTCOMES))})"
            ),
        )
    )
    made.with_panel(
        listing(
            "Frames and their outcomes",
            "The audit: every frame that a host gave has one outcome.",
            rows(_by_item('item=~"frames\\\\..*"')),
        ).with_transformation(_columns())
    )
    made.with_panel(
        listing(
            "Kernel, system calls and lateness",
            "What came from the kernel and went to it; in real time, how late deliveries were.",
            rows(_by_item('item!~"frames\\\\..*"')),
        ).with_transformation(_columns())
    )
    return made


OUTCOMES = "acked|sent|retry_limit|queue_full|off|refused|open"


def _items(names: str) -> str:
    return f'{RUN}, item=~"frames\\\\.({names})"'


def _by_item(items: str) -> str:
    """Without the columns that all rows have in common."""
    return f"sum by (item) ({last('hoplab_health_value', f'{RUN}, {items}')})"


def _columns() -> DataTransformerConfig:
    return organized({"item": "Item", "Value": "Value"})

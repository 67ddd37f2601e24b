# SPDX-License-Identifier: Apache-2.0
"""What all panels have in common: the data source, queries, legends that stay in their place."""

from __future__ import annotations

from typing import Any, TypeVar

from grafana_foundation_sdk.builders import barchart, common, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DashboardLink,
    DatasourceVariable,
    QueryVariable,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.common import (
    GraphGradientMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    TableSortByFieldState,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
STEP = "100ms"
"""Samples are taken ten times a second unless the scenario says otherwise."""
HALF = 12
HEIGHT = 8
LEGEND_PX = 190
NOTHING = "nothing in the time shown"
COUNTED = "suffix: "
STREAMED = "told while a run is streamed; a pushed run has none"


def query(expr: str, legend: str = "", ref: str = "A", step: str = STEP) -> Dataquery:
    """Values over time."""
    return (
        Dataquery().expr(expr).legend_format(legend or "__auto").ref_id(ref).interval(step).range()
    )


def rows(expr: str, ref: str = "A") -> Dataquery:
    """Rows of a table: a label a column, and the value at the end of the time shown."""
    return Dataquery().expr(expr).ref_id(ref).instant().format(PromQueryFormat.TABLE)


def legend() -> common.VizLegendOptions:
    """A narrow table at the right, which scrolls: thirty stations leave the lines their place."""
    return (
        common.VizLegendOptions()
        .display_mode(LegendDisplayMode.TABLE)
        .placement(LegendPlacement.RIGHT)
        .show_legend(True)
        .width(LEGEND_PX)
        .calcs(["lastNotNull"])
        .sort_by("Last *")
        .sort_desc(True)
    )


P = TypeVar("P", barchart.Panel, stat.Panel, statetimeline.Panel, table.Panel, timeseries.Panel)


def _common(panel: P, title: str, description: str, *queries: Dataquery) -> P:
    """A panel with what all have."""
    panel.title(title).description(description).datasource(SOURCE).span(HALF).height(HEIGHT)
    panel.no_value(NOTHING)
    # Grafana's own threshold is 80, whatever is measured.
    panel.thresholds(ThresholdsConfig().steps([Threshold(value=None, color="green")]))
    for each in queries:
        panel.with_target(each)
    return panel


def lines(
    title: str, description: str, unit: str, *queries: Dataquery, least: float = 1
) -> timeseries.Panel:
    """Lines over time, from zero up to ``least`` or higher: where all are zero, Grafana's axis ends
    at 100."""
    counted = unit.startswith(COUNTED)  # shown once, at the axis: a legend has no place for it
    panel = (
        timeseries.Panel()
        .unit("none" if counted else unit)
        .axis_label(unit.removeprefix(COUNTED) if counted else "")
        .min(0)
        .axis_soft_max(least)
        .line_width(1)
        .fill_opacity(0)
        .span_nulls(False)
        .legend(legend())
        .tooltip(
            common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)
        )
    )
    return _common(panel, title, description, *queries)


def number(title: str, description: str, unit: str, one: Dataquery) -> stat.Panel:
    """One number."""
    panel = (
        stat.Panel().unit(unit).reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    )
    return _common(panel, title, description, one).span(4).height(4)


def states(title: str, description: str, *queries: Dataquery) -> statetimeline.Panel:
    """States over time, a line each."""
    panel = (
        statetimeline.Panel()
        .merge_values(True)
        .fill_opacity(70)
        .line_width(0)
        .row_height(0.8)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    )
    return _common(panel, title, description, *queries)


def listing(title: str, description: str, *queries: Dataquery) -> table.Panel:
    """A table."""
    return _common(table.Panel().show_header(True), title, description, *queries)


def bars(title: str, description: str, unit: str, *queries: Dataquery) -> barchart.Panel:
    """Bars, one a row."""
    panel = (
        barchart.Panel()
        .unit(unit)
        .min(0)
        .fill_opacity(80)
        .line_width(1)
        .gradient_mode(GraphGradientMode.NONE)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    )
    return _common(panel, title, description, *queries)


def organized(
    renamed: dict[str, str], *left_out: str, ordered: bool = True
) -> DataTransformerConfig:
    """Columns in this order and under other names, without some."""
    return DataTransformerConfig(
        id_val="organize",
        options={
            "renameByName": renamed,
            "excludeByName": dict.fromkeys(("Time", *left_out), True),
            "indexByName": {name: place for place, name in enumerate(renamed) if ordered},
        },
    )


def transformer(name: str, **options: Any) -> DataTransformerConfig:
    """Another transformation."""
    return DataTransformerConfig(id_val=name, options=options)


def setting(name: str, value: Any) -> DynamicConfigValue:
    """One thing that an override says."""
    return DynamicConfigValue(id_val=name, value=value)


def choice(name: str, label: str, definition: str, description: str) -> QueryVariable:
    """A variable that the data source has the values of."""
    return (
        QueryVariable(name)
        .label(label)
        .description(description)
        .datasource(SOURCE)
        .query(definition)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )


def downwards(column: str) -> list[Builder[TableSortByFieldState]]:
    """A table sorted by a column, highest first."""
    return [common.TableSortByFieldState().display_name(column).desc(True)]


def several(variable: QueryVariable) -> QueryVariable:
    """Of which one chooses some, or all."""
    return variable.multi(True).include_all(True).all_value(".*")


def board(uid: str, title: str, description: str) -> Dashboard:
    """A dashboard, empty but for the choice of a data source and the links to the others."""
    return (
        Dashboard(title)
        .uid(uid)
        .description(description)
        .tags(["hoplab"])
        .refresh("5s")
        # Virtual time runs ahead of the clock: a run's end can lie in the future.
        .time("now-5m", "now+5m")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .link(
            DashboardLink("Dashboards")
            .type(DashboardLinkType.DASHBOARDS)
            .tags(["hoplab"])
            .as_dropdown(True)
            .keep_time(True)
            .include_vars(True)
        )
        .with_variable(DatasourceVariable("source").label("Database").type("prometheus"))
    )

# SPDX-License-Identifier: Apache-2.0
"""Hoplab from Python, in scripts and notebooks.

    import hoplab

    run = hoplab.run("experiments/demo.toml", seed=3, set={"flow.0.window": 8})
    run.flows["goodput_kbps"]          # an Arrow table's column; run.flows.to_pandas() for pandas,
    run.tcp.to_pandas()                # polars.from_arrow(run.tcp) for polars
    run.figure()                       # the report's figures, by Plotly

A mistake in a scenario raises `ScenarioError`, a failure of a run another `HoplabError`; their
messages are those of the commands.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from rich.console import Console

from hoplab.front.mininet.found import builder
from hoplab.front.mininet.movement import walk
from hoplab.host.results import reader
from hoplab.host.runs import kinds
from hoplab.host.runs.launch import Observers, RunRequest, perform
from hoplab.host.terminal import PLAIN_WIDTH
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.scenario import Scenario
from hoplab.model.resolve.file import assign, parse, read
from hoplab.model.resolve.resolve import resolve
from hoplab.show.report import data, figures, render, units
from hoplab.show.report.summary import summary_html, summary_of, summary_table


@dataclass(frozen=True)
class Run(reader.Results):
    """A finished run. Its tables are Arrow tables; `docs/tables.md` has columns and units.

    In a notebook it shows the table that ``hoplab run`` prints.
    """

    @property
    def digest(self) -> str:
        """SHA-256 over all tables' values: equal for equal runs."""
        return str(self.manifest.digest)

    @property
    def goodput_kbps(self) -> float:
        """Goodput of all flows together, in kbit/s of payload."""
        return float(sum(row["goodput_kbps"] or 0.0 for row in self.rows("flows")))

    @property
    def report(self) -> Path:
        """Path of the report's page, which is written if it is missing."""

        page = self.run_dir / "report.html"
        return page if page.exists() else render(self.run_dir)

    def summary(self) -> dict[str, Any]:
        """Return what ``hoplab run --json`` prints."""

        return summary_of(self)

    def figure(self) -> go.Figure:
        """Goodput, cwnd and ssthresh, RTT, delays and queues over virtual time."""

        figure = figures.over_time_figure(units.of_data(data.figures(self)))
        # The report's page is white. A notebook may be dark, and the figure's letters are dark too.
        return figure.update_layout(paper_bgcolor="white", plot_bgcolor="white")

    def __str__(self) -> str:

        console = Console(width=PLAIN_WIDTH, color_system=None)
        with console.capture() as text:
            console.print(summary_table(self))
        return text.get()

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""

        return summary_html(self)


def run(
    scenario: Scenario | str | Path | Mapping[str, Any],
    *,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    machine: str = "uml",
    wall_limit_s: float | None = None,
) -> Run:
    """Run a scenario, and return the results. It is a path of a file, or a document as a mapping.

    ``set`` overrides keys: ``{"flow.0.window": 8, "routing.protocol": "babeld"}``. ``out`` is the
    results' new folder, by default one below ``runs``. ``machine`` is "uml", a guest in virtual
    time, or "host", this kernel in real time, as root. ``wall_limit_s`` ends a guest that takes
    longer.

    Raises `ScenarioError` for a mistake in the scenario, and `MissingTool` if this computer lacks
    something. Raises `DaemonDied` and `GuestFailed` for a run that failed, whose results so far are
    kept.
    """
    source = Path(scenario) if isinstance(scenario, str | Path) else None
    resolved = resolved_scenario(scenario, seed, set or {})
    kind = kinds.chosen(kinds.parse(machine, "machine"), resolved, builder)
    folder = None if out is None else Path(out)
    places: list[Path] = []
    perform(
        RunRequest(resolved, kind, source, folder, wall_limit_s),
        Observers(on_results=places.append),
    )
    return load(places[0])


def load(run_dir: Path | str) -> Run:
    """Return the run in a folder. Raises `ResultsError` if that is no finished run."""
    found = reader.load(run_dir)
    return Run(found.run_dir, found.manifest, found.scenario)


def resolved_scenario(
    scenario: Scenario | str | Path | Mapping[str, Any],
    seed: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Resolved:
    """Return a scenario, a file or a document with ``changes`` made and all keys filled in."""
    folder, source = Path(), "scenario"
    if isinstance(scenario, str | Path):
        path = Path(scenario)
        document, folder, source = read(path), path.parent, str(path)
    elif isinstance(scenario, Scenario):
        document = scenario.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    else:
        document = copy.deepcopy(dict(scenario))
    for name, value in (changes or {}).items():
        assign(document, name, value, f"set {name}")
    if seed is not None:
        document["seed"] = seed
    return resolve(parse(document, source), folder, walk)

# SPDX-License-Identifier: Apache-2.0
"""``hoplab plot``: runs over each other on a page, or runs and sweeps as figures for papers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.commands.grouped import grouped
from hoplab.host import results
from hoplab.host.results.reader import Results
from hoplab.host.runs.push import DATASET
from hoplab.host.terminal import output
from hoplab.many.sweep import charts as charts_of_sweep
from hoplab.model.errors import ScenarioError
from hoplab.show.paper import form as forms
from hoplab.show.paper import of_runs as charts_of_runs
from hoplab.show.report import overlay

app = typer.Typer()

PAPER = "SVG, PDF and PNG"
SWEEP = "Of a sweep"
OF_PAPER = ("kind", "y", "log", "size", "font", "font_size")
OF_SWEEP = ("x", "lines", "only")


@dataclass(frozen=True)
class Options:
    """Options of ``hoplab plot``."""

    out: Annotated[
        Path, typer.Option(help="The file: .html for a page, .svg, .pdf or .png for a paper.")
    ] = Path("plot.html")
    kind: Annotated[
        str | None,
        typer.Option(
            help="lines (over time, over a parameter), bars, or cdf.", rich_help_panel=PAPER
        ),
    ] = None
    y: Annotated[
        list[str] | None,
        typer.Option(
            "--y",
            metavar="NAME",
            help="What to draw; may be repeated. A panel of runs, else a column of table flows.",
            rich_help_panel=PAPER,
        ),
    ] = None
    log: Annotated[
        str | None,
        typer.Option(metavar="AXES", help="x, y or xy: logarithmic.", rich_help_panel=PAPER),
    ] = None
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTHxHEIGHT", help="In mm; 88 wide by default.", rich_help_panel=PAPER
        ),
    ] = None
    font: Annotated[
        str, typer.Option(help="serif, sans-serif, or an installed one.", rich_help_panel=PAPER)
    ] = "sans-serif"
    font_size: Annotated[float, typer.Option(help="In points.", rich_help_panel=PAPER)] = 8.0
    x: Annotated[
        str | None,
        typer.Option("--x", metavar="KEY", help="Along the x axis.", rich_help_panel=SWEEP),
    ] = None
    lines: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="A line or bar for each value.", rich_help_panel=SWEEP),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Of these runs; may be repeated.", rich_help_panel=SWEEP
        ),
    ] = None

    @property
    def of_paper(self) -> list[str]:
        """Options given that a page has no use for."""
        usual = Options()
        return [
            f"--{name.replace('_', '-')}"
            for name in (*OF_PAPER, *OF_SWEEP)
            if getattr(self, name) != getattr(usual, name)
        ]

    @property
    def of_sweep(self) -> list[str]:
        """Options given that runs have no use for."""
        return [f"--{name}" for name in OF_SWEEP if getattr(self, name)]

    @property
    def choice(self) -> charts_of_sweep.Choice:
        """What to draw of a sweep. Raises `ScenarioError`."""
        only = []
        for given in self.only or ():
            key, equals, value = given.partition("=")
            if not equals:
                raise ScenarioError(f"--only: {given!r} is no KEY=VALUE, such as flow=a")
            only.append((key, value))
        return charts_of_sweep.Choice(self.y or (), self.x, self.lines, only)


@app.command()
@grouped
def plot(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...|SWEEP")], options: Options
) -> None:
    """Draw runs over each other, or a sweep: on a page, or for a paper."""

    suffix = forms.suffix_of(options.out)
    # Read all options before anything is drawn.
    form = forms.form(options.size, options.font_size, options.font, options.log)
    kind = None if options.kind is None else forms.chosen("--kind", options.kind, forms.KINDS)
    if suffix == forms.PAGE and options.of_paper:
        raise ScenarioError(
            f"{options.of_paper[0]}: is for {PAPER}; name such a file with --out, e.g. plot.pdf"
        )
    sweeps = [folder for folder in folders if charts_of_sweep.is_sweep(folder)]
    if sweeps and len(folders) > 1:
        raise ScenarioError(f"{sweeps[0]}: is a sweep, which is drawn alone; name no other folder")
    if sweeps:
        if suffix == forms.PAGE:
            raise ScenarioError(
                f"--out: the page of a sweep is {sweeps[0] / 'index.html'}; expected a name that "
                f"ends in {', '.join(forms.PAPER[:-1])} or {forms.PAPER[-1]}"
            )
        charts = charts_of_sweep.charts(sweeps[0], kind, options.choice)
    else:
        if options.of_sweep:
            raise ScenarioError(
                f"{options.of_sweep[0]}: is for a sweep, and {folders[0]} has no "
                f"{DATASET}; name the results folder of 'hoplab sweep'"
            )
        runs: dict[str, Results] = {}
        for folder in folders:
            name = folder.name if folder.name not in runs else str(folder)
            runs[name] = results.load(folder)
        if suffix == forms.PAGE:
            overlay.write(runs, options.out)
            output.print(f"plot: {options.out}", soft_wrap=True, markup=False)
            return
        charts = charts_of_runs.charts(runs, kind or "lines", options.y or ())
    from hoplab.show.paper import drawing  # matplotlib, an extra

    drawing.write(charts, options.out, form)
    output.print(f"plot: {options.out}", soft_wrap=True, markup=False)

# SPDX-License-Identifier: Apache-2.0
"""``hoplab sweep``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from hoplab.front.commands.grouped import grouped
from hoplab.front.commands.options import say
from hoplab.front.commands.progress import short
from hoplab.front.commands.stream import send_sweep
from hoplab.front.mininet.movement import walk
from hoplab.guest.system import signals
from hoplab.host.machine import select
from hoplab.host.runs.push import DATASET, sweep_name
from hoplab.host.stream.chosen import sinks
from hoplab.host.terminal import messages, output
from hoplab.many.store.entry import TOTALS
from hoplab.many.store.files import Store
from hoplab.many.sweep import api as sweeps
from hoplab.many.sweep import page
from hoplab.many.sweep.api import Cluster, Progress, Sweep
from hoplab.many.sweep.cluster import PROCESSES, cores
from hoplab.many.sweep.dataset import Dataset
from hoplab.many.sweep.estimate import estimate
from hoplab.many.sweep.place import held
from hoplab.many.sweep.summary import Summary, told
from hoplab.model.reading import MAX_BYTES, read_text
from hoplab.model.resolve.file import override

app = typer.Typer()

MOST_ROWS = 40
PANEL = "Where runs go"


@dataclass(frozen=True)
class Options:
    """Options of ``hoplab sweep`` beside its file."""

    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the base scenario."),
    ] = None
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Seeds 1 to N, not the file's.")
    ] = None
    out: Annotated[Path | None, typer.Option(help="Results folder; sweeps/NAME by default.")] = None
    store: Annotated[
        Path | None, typer.Option(help="Where runs are kept; HOPLAB_STORE or the cache by default.")
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell how many runs, how long, what is there.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed before.")
    ] = False
    keep: Annotated[
        list[str] | None, typer.Option(help="A table to keep in the store beside the totals.")
    ] = None
    keep_runs: Annotated[
        bool, typer.Option("--keep-runs", help="Keep each run's folder and report below OUT.")
    ] = False
    cold: Annotated[
        bool, typer.Option("--cold", help="Boot a guest for every run, instead of copies.")
    ] = False
    influx: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send the results there at the end; may be repeated."),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="How many; a worker a core by default.", rich_help_panel=PANEL),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(help="Join this Dask scheduler: tcp://….", rich_help_panel=PANEL),
    ] = None
    cluster: Annotated[
        str,
        typer.Option(
            help="processes of this command, or of Dask's: local, ssh, or a queue of "
            "dask-jobqueue: slurm, pbs, sge, lsf, htcondor, …",
            rich_help_panel=PANEL,
        ),
    ] = PROCESSES
    cluster_set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="For the cluster's class, as TOML.", rich_help_panel=PANEL
        ),
    ] = None

    @property
    def place(self) -> Cluster:
        """The cluster that makes the runs."""
        return Cluster(
            self.scheduler, self.cluster, self.workers, _assigned(self.cluster_set or [])
        )

    def changed(self, sweep: Sweep) -> Sweep:
        """Return the sweep with the command line's changes."""
        overrides = self.overrides or []
        base = json.loads(json.dumps(sweep.base, default=str)) if overrides else sweep.base
        for one in overrides:
            override(base, one)
        update: dict[str, Any] = {"keep": (*sweep.file.keep, *(self.keep or []))}
        if self.seeds is not None:
            update["seeds"] = self.seeds
        return replace(sweep, base=base, file=sweep.file.model_copy(update=update))


@app.command()
@grouped
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sweep in TOML (docs/sweeps.md).")],
    options: Options,
) -> None:
    """Run every combination of a sweep that the store does not have; table, dataset, page."""
    chosen = sinks(options.influx, None)
    whole = options.changed(sweeps.read(file, walk))
    if options.dry_run:
        _tell_plan(whole, options.store, options.place, options.as_json)
        return
    folder = options.out or Path("sweeps") / whole.short
    with held(folder):
        answer = _run(whole, file, folder, options)
        try:
            if chosen:
                data = Path(answer["results"])
                answer["grafana"] = send_sweep(data, sweep_name(data), chosen, say)
        finally:  # print the results whether a database takes them or not
            _print(answer, options.as_json)
    if answer["failed"]:
        raise typer.Exit(1)


def _assigned(given: list[str]) -> dict[str, Any]:

    options: dict[str, Any] = {}
    for one in given:
        override(options, one, "--cluster-set")
    return options


def _tell_plan(sweep: Sweep, store: Path | None, place: Cluster, as_json: bool) -> None:

    sweep.check()
    machine = select.chosen()
    kept = Store(store)
    found = estimate(sweep, kept, machine, (*TOTALS, *sweep.tables))
    workers = place.workers or cores()
    facts = {
        "sweep": sweep.name,
        "combinations": sum(1 for _ in sweep.combinations()),
        "runs": found.runs,
        "there": found.there,
        "failed": found.failed,
        "missing": found.runs - found.there,
        "run_s": round(found.run_s, 3),
        "workers": workers,
        "left_s": round(found.left_s(workers), 1),
        "basis": found.basis,
        "store": str(kept.folder),
        "machine": machine.id,
    }
    if as_json:
        print(json.dumps(facts))
        return
    about = "about " if found.sampled else ""
    least = ", at least: seeds are added by the rule" if sweep.rule is not None else ""
    failures = f", {found.failed} of them failed" if found.failed else ""
    for line in (
        f"{sweep.name}: {found.runs} runs, {facts['combinations']} combinations{least}",
        f"there: {about}{found.there}{failures}; to be made: {about}{facts['missing']}",
        f"should take {_duration(found.left_s(workers))} on {workers} workers, "
        f"{found.run_s:.1f} core-seconds per run ({found.basis})",
        f"store: {kept.folder}",
    ):
        output.print(line, markup=False, highlight=False, soft_wrap=True)


def _run(sweep: Sweep, file: Path, folder: Path, options: Options) -> dict[str, Any]:
    """Run the sweep. If it is stopped, the runs so far become results too."""

    machine = select.chosen()
    # Read them before the first run: they may have changed or disappeared after the last.
    texts = [
        read_text(path, MAX_BYTES, "a TOML file")
        for path in (file, file.parent / sweep.file.scenario)
    ]
    summary = Summary(sweep)
    data = Dataset(folder / DATASET, sweep)
    began = time.monotonic()
    stopped: signals.Stopped | None = None
    total = sweep.count()
    try:
        with _shown(sweep.name, total) as move:
            for done in sweeps.run(
                sweep,
                store=options.store,
                cluster=options.place,
                retry=options.retry_failed,
                folders=folder / page.RUNS if options.keep_runs else None,
                machine=machine,
                cold=options.cold,
                progress=move,
                total=total,
                say=say,
            ):
                summary.add(done)
                data.add(done)
    except signals.Stopped as error:
        stopped = error
    except BaseException:
        data.abandon()
        raise
    with signals.postponed():
        data.close()
        facts = {
            "file": str(file),
            "machine": machine.id,
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "wall_s": round(time.monotonic() - began, 1),
            "total": total if stopped is not None else None,
            "out": str(folder),
            "text": texts[0],
            "base": texts[1],
        }
        shown = page.write(folder, sweep, summary, facts)
    if stopped is not None:
        say(f"{summary.done} of {total} runs are in {folder}; the same command goes on from there")
        raise stopped
    return {
        "sweep": sweep.name,
        "runs": summary.done,
        "from_store": summary.from_store,
        "failed": summary.failed,
        "wall_s": facts["wall_s"],
        "machine": machine.id,
        "results": str(data.path),
        "rows": data.rows,
        "page": str(shown),
        "combinations": summary.as_json(),
        "failures": [vars(failure) for failure in summary.failures],
        "warnings": summary.warnings(),
        "summary": summary,
        "parameters": list(sweep.parameters),
    }


def _print(answer: dict[str, Any], as_json: bool) -> None:

    summary: Summary = answer.pop("summary")
    if as_json:
        print(json.dumps(answer))
        return
    rows = list(summary.rows())
    flows = {flow for _, flow, _ in rows}
    table = Table(title=Text(answer["sweep"]), caption="mean ± half-width of the 95 % interval")
    for name in [*answer["parameters"], *(["flow"] if len(flows) > 1 else [])]:
        table.add_column(name)
    table.add_column("seeds", justify="right")
    metrics = summary.metrics()
    for metric in metrics:
        table.add_column(f"{metric.title} {metric.unit}".strip(), justify="right")
    for group, flow, samples in rows[:MOST_ROWS]:
        cells = ["" if value is None else str(value) for value in group.parameters.values()]
        cells += [flow] if len(flows) > 1 else []
        limit = " (limit)" if group.enough is False else ""
        cells.append(f"{group.done - group.failed}{limit}")
        for metric in metrics:
            sample = samples.get(metric.name)
            cells.append("" if sample is None else " ± ".join(told(sample)))
        table.add_row(*map(Text, cells))
    output.print(table)
    if len(rows) > MOST_ROWS:
        output.print(f"and {len(rows) - MOST_ROWS} more rows")
    for warning in answer["warnings"]:
        say(f"hoplab: warning: {warning}")
    for failure in summary.failures[:5]:
        say(f"failed: {failure.label}: {failure.error}")
    if summary.failed:
        say(f"{summary.failed} runs failed; --retry-failed runs them again")
    output.print(
        f"{answer['runs']} runs, {answer['from_store']} of them from the store, in "
        f"{answer['wall_s']:.1f} s",
        highlight=False,
    )
    output.print(f"results: {answer['results']}", soft_wrap=True, markup=False, highlight=False)
    output.print(f"page: {answer['page']}", soft_wrap=True, markup=False, highlight=False)
    if link := answer.get("grafana"):
        output.print(f"Grafana: {link}", soft_wrap=True, markup=False, highlight=False)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def _shown(title: str, total: int) -> Iterator[Callable[[Progress], None]]:
    """Show a bar if messages go to a terminal."""

    with Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed} of {task.total} runs"),
        TextColumn("{task.fields[told]}"),
        console=messages,
        disable=not messages.is_terminal or messages.is_dumb_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task(short(title), total=total, told="")

        def move(progress: Progress) -> None:
            told = []
            if progress.per_s is not None:
                told.append(f"{progress.per_s:.2f} a second")
            if progress.left_s is not None:
                told.append(f"{_duration(progress.left_s)} left")
            if progress.from_store:
                told.append(f"{progress.from_store} were there")
            if progress.failed:
                told.append(f"{progress.failed} failed")
            bar.update(task, completed=progress.done, total=progress.total, told=", ".join(told))

        yield move

# SPDX-License-Identifier: Apache-2.0
"""``hoplab run``: scenarios, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from hoplab.front.commands import progress
from hoplab.front.commands.following import page_of, told_so_far
from hoplab.front.commands.futures import Futures
from hoplab.front.commands.grouped import grouped
from hoplab.front.commands.options import (
    Overrides,
    Seed,
    known_pace,
    say,
    scenario_of,
)
from hoplab.front.commands.saves import kept, stay
from hoplab.front.mininet.found import builder
from hoplab.host import results
from hoplab.host.machine import select
from hoplab.host.machine.copies import Source
from hoplab.host.machine.originals import Originals
from hoplab.host.machine.saved import Point, Saved
from hoplab.host.results.manifest import Manifest, Where
from hoplab.host.runs import folder, kinds, size
from hoplab.host.runs.launch import Observers, RunRequest, perform, require_time
from hoplab.host.stream.chosen import sinks
from hoplab.host.stream.hub import Stream
from hoplab.host.terminal import messages, output
from hoplab.model.errors import HoplabError, ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.show import report

if TYPE_CHECKING:
    from hoplab.show.live.shown import Shown

app = typer.Typer()


@dataclass(frozen=True)
class Options:
    """Options of ``hoplab run`` beside scenarios."""

    overrides: Overrides = None
    seed: Seed = None
    machine: Annotated[
        str,
        typer.Option(
            help="uml (a guest), host (this kernel, real time), or a name of 'machine build'."
        ),
    ] = "uml"
    medium: Annotated[
        str | None,
        typer.Option(help="Where the medium works: kernel or daemon, as network.medium."),
    ] = None
    out: Annotated[Path | None, typer.Option(help="Results folder; must be new.")] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout, a line for each run.")
    ] = False
    wall_limit: Annotated[
        float | None, typer.Option(help="Stop a guest that takes longer, in s of wall time.")
    ] = None
    machine_file: Annotated[
        Path | None, typer.Option(help="Boot this machine: what 'hoplab machine pack' wrote.")
    ] = None
    influx: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send samples there as Influx lines; may be repeated."),
    ] = None
    stream: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write samples to a file or pipe; may be repeated."),
    ] = None
    pace: Annotated[
        float | None,
        typer.Option(metavar="X", help="Hold virtual time to X times real time, to watch."),
    ] = None
    live: Annotated[
        bool, typer.Option("--live", help="Show the run on a page on this host as it goes.")
    ] = False
    cold: Annotated[
        bool, typer.Option("--cold", help="Boot guests, instead of copies or images of others.")
    ] = False
    show_command: Annotated[
        bool, typer.Option("--show-command", help="Print what would be started; run nothing.")
    ] = False

    def check(self, files: int) -> None:
        """Raise `ScenarioError` for options with which no scenario can run."""
        known_pace(self.pace, self.where)
        if self.wall_limit is not None:
            require_time(self.wall_limit, "--wall-limit")
        for name, value in (("--out", self.out), ("--live", self.live)):
            if value and files > 1:
                raise ScenarioError(f"{name}: is for one scenario, not for {files}")
        sinks(self.influx, self.stream)
        if self.is_named and self.machine_file is not None:
            raise ScenarioError("--machine-file: is a machine already; leave --machine out")

    @property
    def is_named(self) -> bool:
        """Whether the machine's word is a name of a user's own."""
        return self.machine not in (Where.GUEST, Where.HOST)

    @property
    def where(self) -> Where:
        """Return where the runs take place."""
        return Where.GUEST if self.is_named else Where(self.machine)

    def on(self, scenario: Resolved, among: Source | None = None) -> kinds.Runnable:
        """Return the machine for a scenario. A guest may be a copy of one ``among`` others."""
        named = select.named(self.machine) if self.is_named else None
        return kinds.chosen(
            self.where, scenario, builder, self.machine_file, named, among, self.cold
        )


@app.command()
@grouped
def run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Scenarios in TOML.")],
    save_at: Annotated[
        list[float] | None,
        typer.Option(
            metavar="S",
            help="Keep the network as it is then, for 'hoplab branch', until Ctrl-C; may be "
            "repeated.",
        ),
    ] = None,
    *,
    options: Options,
) -> None:
    """Run scenarios, one after the other; each leaves a folder with tables, logs and a report."""
    run_files(files, options, save_at or ())


def run_files(files: list[Path], options: Options, save_at: Sequence[float] = ()) -> None:
    """Run scenarios and print their results. Networks at the times ``save_at`` stay until the user
    ends them. Raises `typer.Exit` if one of several failed."""
    options.check(len(files))
    if save_at and len(files) > 1:
        raise ScenarioError(f"--save-at: is for one scenario, not for {len(files)}")
    # Report mistakes in all files before the first run begins.
    scenarios = [(file, _scenario(file, options, len(files) == 1)) for file in files]
    if options.show_command:
        for _, scenario in scenarios:
            print(options.on(scenario).shown(scenario))
        return
    failed: HoplabError | None = None
    with ExitStack() as stack:
        among = stack.enter_context(_among(len(files), options))
        if save_at:
            stack.enter_context(_saving(*scenarios[0], options, save_at))
        for file, scenario in scenarios:
            error = _told(scenario, file, options, len(files) == 1, among)
            failed = failed or error
    if failed is not None:
        raise typer.Exit(failed.exit_status)


@contextmanager
def _among(files: int, options: Options) -> Iterator[Originals | None]:
    """Provide guests to be copies of, if there are several runs. Their results are below the folder
    `folder.DEFAULT`."""
    if files == 1 or options.cold or options.where is not Where.GUEST:
        yield None
        return
    with closing(Originals(folder.DEFAULT, at_once=True)) as originals:
        yield originals


@contextmanager
def _saving(
    file: Path, scenario: Resolved, options: Options, save_at: Sequence[float]
) -> Iterator[None]:
    """Keep the network as it is at some times of the run inside. Afterwards stay until the user
    presses Ctrl-C."""
    room = (folder.DEFAULT / "new" if options.out is None else options.out).parent
    points = [_point(file, scenario, options, at_s) for at_s in sorted(set(save_at))]
    with kept(points, room) as saving:
        yield
        times = [f"{at_s:g}" for at_s in saving.wait()]
        if not times:
            return
        say(
            f"saved: {' s, '.join(times)} s. Another future, from another terminal: hoplab branch "
            f"{file} --at {times[0]} --set-at {times[0]} KEY=VALUE. Ctrl-C ends this command"
        )
        stay()


def _point(file: Path, scenario: Resolved, options: Options, at_s: float) -> Point:
    """Return the guest to keep for `told_branch` at this time."""
    if scenario.branch is not None:
        raise ScenarioError("--save-at: the scenario has a [branch] itself; leave that out")
    if not 0 <= at_s < scenario.duration_s:
        raise ScenarioError(
            f"--save-at: {at_s:g}; expected s from 0 to less than duration_s, "
            f"{scenario.duration_s:g}"
        )
    branched = _scenario(file, options, True, {"at_s": at_s, "set": {}})
    on = options.on(branched)
    on.require(branched)
    assert isinstance(on, kinds.Sealed)  # others have no branches
    return on.point(branched)


def _told(
    scenario: Resolved, file: Path, options: Options, alone: bool, among: Source | None
) -> HoplabError | None:
    """Perform one run and print its results. Returns its error if there are further runs."""
    try:
        done = performed(scenario, file, options, among)
    except HoplabError as error:
        if alone:
            raise
        say(f"hoplab: {file}: {error}")
        return error
    for warning in done.warnings():
        say(f"hoplab: warning: {warning}")
    if options.as_json:
        print(json.dumps(done.as_json()), flush=True)
        return None
    if not alone:
        _print(f"{file}:")
    output.print(done.table())
    for line in done.lines():
        _print(line)
    return None


def told_branch(file: Path, options: Options, branch: Mapping[str, Any]) -> None:
    """Perform the run of a scenario with this table `branch`, and print its results."""
    scenario = _scenario(file, options, True, branch)
    if options.show_command:
        print(options.on(scenario).shown(scenario))
        return
    _told(scenario, file, options, True, _saved(options))


def _saved(options: Options) -> Source | None:
    """Return networks that 'hoplab run --save-at' keeps."""
    return None if options.cold else Saved(lambda line: say(f"hoplab: {line}"))


def _scenario(
    file: Path, options: Options, alone: bool, branch: Mapping[str, Any] | None = None
) -> Resolved:
    overrides = list(options.overrides or ())
    if options.medium is not None:
        overrides.append(f"network.medium={options.medium}")
    try:
        return scenario_of(file, overrides, options.seed, branch)
    except ScenarioError as error:
        if alone or str(error).startswith(str(file)):
            raise
        raise ScenarioError(f"{file}: {error}") from None


def _print(line: str) -> None:
    output.print(line, soft_wrap=True, markup=False, highlight=False)


@dataclass(frozen=True)
class Done:
    """A run that has ended, with its manifest, its report and its stream."""

    manifest: Manifest
    page: Path
    following: Stream

    @property
    def folder(self) -> Path:
        return self.page.parent

    def warnings(self) -> list[str]:
        return [*self.manifest.verdict.warnings, *self.following.warnings()]

    def table(self) -> RenderableType:
        return report.summary_table(results.load(self.folder))

    def as_json(self) -> dict[str, Any]:
        accounts = [asdict(account) for account in self.following.accounts]
        about = {"folder": str(self.folder), "streams": accounts}
        return {**report.summary_of(results.load(self.folder)), **about}

    def lines(self) -> list[str]:
        """Return the lines to print below the table."""
        virtual_s, wall_s = self.manifest.virtual_s or 0.0, self.manifest.wall_s or 1.0
        return [
            f"{virtual_s:g} virtual s in {wall_s:.1f} s ({virtual_s / wall_s:.1f} to 1)",
            *self.following.summary(),
            f"report: {self.page}",
        ]


@contextmanager
def _page(scenario: Resolved, file: Path, options: Options, on: kinds.Runnable) -> Iterator[Shown]:
    """Serve the run's page. It has futures if the run repeats, and is none itself."""
    has_futures = on.sealed is not None and scenario.branch is None
    futures = Futures(scenario, partial(_future, file, options))
    act = futures.act if has_futures else None
    with page_of(scenario, act, has_futures) as page:
        futures.page = page
        yield page


def _future(file: Path, options: Options, scenario: Resolved, number: int) -> RunRequest:
    """Return the request to perform the ``number``-th future of a run."""
    out = None if options.out is None else Path(f"{options.out}-future{number}")
    on = options.on(scenario, _saved(options))
    return RunRequest(scenario, on, file, out, options.wall_limit, options.pace)


def performed(
    scenario: Resolved, file: Path, options: Options, among: Source | None = None
) -> Done:
    """Perform one run to its end. Its guest may be a copy of one ``among`` others."""

    pages: list[Path] = []
    chosen = sinks(options.influx, options.stream)
    with ExitStack() as stack:
        on = options.on(scenario, among)
        page = stack.enter_context(_page(scenario, file, options, on)) if options.live else None
        # A user who slows a run down wants to look at it.
        tell = None if options.pace is None else say
        following = Stream([*chosen, page.sink] if page is not None else chosen, tell=tell)

        def on_results(where: Path) -> None:
            pages.append(report.render(where))
            if page is not None:
                page.report = pages[0]

        stack.enter_context(told_so_far(pages))
        bar = progress.shown(messages, scenario.title or file.stem, scenario.duration_s)
        request = RunRequest(
            scenario,
            on,
            file,
            options.out,
            options.wall_limit,
            options.pace,
        )
        moved = stack.enter_context(bar)
        if (takes := size.told(scenario)) is not None:
            say(f"hoplab: {takes}")
        observers = Observers(
            moved.on_progress,
            on_results,
            lambda: report.prepare(),
            following,
            lambda what: say(f"hoplab: {what}; it goes on: press Ctrl-C to end it"),
            moved.on_part,
        )
        manifest = perform(request, observers)
    return Done(manifest, pages[0], following)

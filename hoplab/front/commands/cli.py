# SPDX-License-Identifier: Apache-2.0
"""The commands."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hoplab import __version__
from hoplab.front.commands import helping
from hoplab.front.commands.init import app as scenarios
from hoplab.front.commands.machine import app as machines
from hoplab.front.commands.runs import app as folders
from hoplab.front.commands.store import app as stores
from hoplab.front.commands.stream import app as streams
from hoplab.front.commands.sweep import app as sweeps
from hoplab.front.mininet.found import builder
from hoplab.front.mininet.movement import walk
from hoplab.guest.system import signals
from hoplab.host.terminal import messages, output, visible_toml
from hoplab.model import errors
from hoplab.model.errors import HoplabError
from hoplab.model.scenario.file import load
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.resolve import resolve

if TYPE_CHECKING:
    from hoplab.host.results.reader import Results
    from hoplab.host.stream.hub import Stream
    from hoplab.host.stream.sink import Sink
    from hoplab.show.live.shown import Shown

SLOWEST, FASTEST = 0.01, 1000.0
"""Paces that a run can be held to."""

app = typer.Typer(
    no_args_is_help=True,
    help="A lab for TCP over multi-hop wireless networks, in virtual time.",
    pretty_exceptions_enable=False,
)
app.add_typer(scenarios)
app.add_typer(folders)
app.add_typer(sweeps)
app.add_typer(stores, name="store")
app.add_typer(machines, name="machine")
app.add_typer(streams)


def _keys(incomplete: str) -> list[tuple[str, str]]:
    from hoplab.front.commands import completion

    return completion.overrides(incomplete)


ScenarioFile = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario in TOML.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override path.to.key, e.g. flow.0.window=8.",
        autocompletion=_keys,
    ),
]
Machine = Annotated[str, typer.Option(help="uml (a guest) or host (this kernel, real time).")]
Seed = Annotated[int | None, typer.Option("--seed", help="Override the scenario's seed.")]


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"hoplab {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """What every command has."""


def _scenario(path: Path, overrides: list[str] | None, seed: int | None) -> Scenario:
    extra = [] if seed is None else [f"seed={seed}"]
    return resolve(load(path, [*(overrides or []), *extra]), path.parent, walk)


def _known_machine(name: str) -> None:
    if name not in ("uml", "host"):
        raise errors.ScenarioError(f"--machine: {name!r} is not known; one of: uml, host")


def _known_limit(wall_limit: float | None) -> None:
    if wall_limit is not None and not 0 < wall_limit < math.inf:
        raise errors.ScenarioError(
            f"--wall-limit: {wall_limit:g} is no time; expected seconds, above 0"
        )


def _known_pace(pace: float | None, machine: str) -> None:
    if pace is None:
        return
    if machine == "host":
        raise errors.ScenarioError("--pace: a host's run is in real time; leave it out")
    if not SLOWEST <= pace <= FASTEST:
        raise errors.ScenarioError(f"--pace: {pace:g} is not between {SLOWEST:g} and {FASTEST:g}")


def _say(line: str) -> None:
    messages.print(line, markup=False, highlight=False, soft_wrap=True)


def _page(
    scenario: Scenario, act: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> AbstractContextManager[Shown]:
    from hoplab.show.live.shown import shown

    return shown(scenario, _say, act)


def _play(scenario: Scenario, file: Path, out: Path | None, machine: str) -> None:
    """A session on a page, and at the prompt where there is a terminal."""
    from contextlib import closing

    from hoplab.host.runs import session
    from hoplab.host.stream.hub import Stream
    from hoplab.show import report as reports

    pages: list[Path] = []
    with (
        _told_so_far(pages),
        closing(session.Line()) as line,
        _page(scenario, line.ask) as page,
    ):
        line.on_flows = page.view.tell_flows

        def on_results(folder: Path) -> None:
            pages.append(reports.render(folder))
            page.report = pages[0]

        stream = Stream([page.sink])
        session.session(scenario, file, out, machine, stream, line, on_results, builder)
    output.print(f"report: {pages[0]}", soft_wrap=True, markup=False)


@app.command()
def run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Scenarios in TOML.")],
    overrides: Overrides = None,
    seed: Seed = None,
    machine: Machine = "uml",
    out: Annotated[Path | None, typer.Option(help="Results folder; must be new.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout, a line for each run.")
    ] = False,
    wall_limit: Annotated[
        float | None, typer.Option(help="Stop a guest that takes longer, in s of wall time.")
    ] = None,
    machine_file: Annotated[
        Path | None, typer.Option(help="Boot this machine: what 'hoplab machine pack' wrote.")
    ] = None,
    influx: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send samples there as Influx lines; may be repeated."),
    ] = None,
    stream: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write samples to a file or pipe; may be repeated."),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(metavar="X", help="Hold virtual time to X times real time, to watch."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show the run on a page on this host as it goes.")
    ] = False,
    show_command: Annotated[
        bool, typer.Option("--show-command", help="Print what would be started; run nothing.")
    ] = False,
) -> None:
    """Run scenarios, one after the other; each leaves a folder with tables, logs and a report."""
    from hoplab.host import results
    from hoplab.host.stream.chosen import sinks
    from hoplab.show.report.summary import summary, summary_table

    _known_machine(machine)
    _known_pace(pace, machine)
    _known_limit(wall_limit)
    for name, value in (("--out", out), ("--live", live)):
        if value and len(files) > 1:
            raise errors.ScenarioError(f"{name}: is for one scenario, not for {len(files)}")
    sinks(influx, stream)
    # Whatever is wrong with the last of them is told before the first begins.
    scenarios = []
    for file in files:
        try:
            scenarios.append((file, _scenario(file, overrides, seed)))
        except errors.ScenarioError as error:
            if len(files) == 1 or str(error).startswith(str(file)):
                raise
            raise errors.ScenarioError(f"{file}: {error}") from None
    if show_command:
        from hoplab.host.runs import shown

        for _, scenario in scenarios:
            print(shown.command(scenario, machine, machine_file, builder))
        return
    failed: HoplabError | None = None
    for file, scenario in scenarios:
        chosen = sinks(influx, stream)
        try:
            manifest, page, following = _performed(
                scenario, file, out, machine, wall_limit, machine_file, chosen, pace, live
            )
        except HoplabError as error:
            if len(files) == 1:
                raise
            messages.print(
                f"hoplab: {file}: {error}", markup=False, highlight=False, soft_wrap=True
            )
            failed = failed or error
            continue
        for warning in [*manifest["verdict"]["warnings"], *following.warnings()]:
            messages.print(f"hoplab: warning: {warning}", markup=False, soft_wrap=True)
        found = results.load(page.parent)
        if as_json:
            accounts = [asdict(account) for account in following.accounts]
            about = {"folder": str(page.parent), "streams": accounts}
            print(json.dumps({**summary(found), **about}), flush=True)
            continue
        if len(files) > 1:
            output.print(f"{file}:", soft_wrap=True, markup=False, highlight=False)
        output.print(summary_table(found))
        speed = manifest["virtual_s"] / manifest["wall_s"]
        output.print(
            f"{manifest['virtual_s']:g} virtual s in {manifest['wall_s']:.1f} s ({speed:.1f} to 1)"
        )
        for line in following.summary():
            output.print(line, soft_wrap=True, markup=False, highlight=False)
        output.print(f"report: {page}", soft_wrap=True, markup=False)
    if failed is not None:
        raise typer.Exit(failed.exit_status)


def _performed(
    scenario: Scenario,
    file: Path,
    out: Path | None,
    machine: str,
    wall_limit: float | None,
    machine_file: Path | None,
    chosen: Sequence[Sink],
    pace: float | None,
    live: bool,
) -> tuple[dict[str, Any], Path, Stream]:
    """One run to its end: its manifest, its report, and its stream."""
    from hoplab.front.commands import progress
    from hoplab.host.runs import launch as runs
    from hoplab.host.stream.hub import Stream
    from hoplab.show import report as reports

    pages: list[Path] = []
    with ExitStack() as stack:
        page = stack.enter_context(_page(scenario)) if live else None
        # Who holds a run back wants to look at it.
        tell = None if pace is None else _say
        following = Stream([*chosen, page.sink] if page is not None else chosen, tell=tell)

        def on_results(folder: Path) -> None:
            pages.append(reports.render(folder))
            if page is not None:
                page.report = pages[0]

        stack.enter_context(_told_so_far(pages))
        bar = progress.shown(messages, scenario.title or file.stem, scenario.duration_s)
        manifest = runs.run(
            scenario,
            file,
            out,
            machine,
            wall_limit,
            on_progress=stack.enter_context(bar),
            on_results=on_results,
            machine_file=machine_file,
            stream=following,
            pace=pace,
            find=builder,
        )
    return manifest, pages[0], following


@contextmanager
def _told_so_far(pages: list[Path]) -> Iterator[None]:
    """Who ends a run by a signal is told where its results are, and what they say."""
    from hoplab.host import results
    from hoplab.show.report.summary import summary_table

    try:
        yield
    except signals.Stopped as stopped:
        if stopped.__cause__ is not None:  # why there are none
            _say(f"hoplab: {stopped.__cause__}")
        for page in pages:
            found = results.load(page.parent)
            messages.print(summary_table(found))
            reached = found.manifest.get("virtual_s") or _last_s(found)
            planned = found.scenario["duration_s"]
            _say(f"results so far, to {reached:g} of {planned:g} s, are in {page.parent}")
            _say(f"report: {page}")
        raise


def _last_s(found: Results) -> float:
    """Of a run that was cut short, the time of its last sample."""
    return max((row["t_s"] for name in ("nodes", "tcp") for row in found.rows(name)), default=0.0)


@app.command()
def check(
    file: ScenarioFile,
    overrides: Overrides = None,
    seed: Seed = None,
    movement: Annotated[
        Path | None,
        typer.Option(help="Also write the movement: .ns2, .tcl, .ns_movements, .movements, .xml."),
    ] = None,
) -> None:
    """Validate a scenario and print it resolved, as TOML."""
    import tomli_w

    from hoplab.model.scenario.movement import Trace, save

    scenario = _scenario(file, overrides, seed)
    if movement is not None:
        places = {s.name: s.waypoints or ((0.0, s.x_m, s.y_m),) for s in scenario.station}
        save({name: Trace.of(points) for name, points in places.items()}, movement)
    text = tomli_w.dumps(json.loads(scenario.model_dump_json(exclude_none=True)))
    print(visible_toml(text), end="")


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check TOML."""
    from hoplab.front.pages.keys import SCHEMA

    print(SCHEMA.read_text(encoding="utf-8"), end="")


def _tell_stalled(what: str) -> None:
    _say(
        f"hoplab: {what}; it goes on. Where nothing comes of it, a program polls without ever "
        "waiting: press Ctrl-C, and try --realtime"
    )


@app.command("exec", context_settings={"ignore_unknown_options": True})
def execute(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...")],
    radios: Annotated[int, typer.Option(min=0, max=100, help="hwsim radios to make.")] = 0,
    realtime: Annotated[bool, typer.Option(help="Real time; needed to type to COMMAND.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the guest's entropy.")] = 1,
    writable: Annotated[
        bool, typer.Option(help="Keep what COMMAND writes below the current folder.")
    ] = False,
) -> None:
    """Run a command as root in a fresh guest; its exit status and output are yours.

    The guest has this computer's files, read-only, unlike that of a run.
    """
    from hoplab.host.machine.uml import refuse_input, run_guest
    from hoplab.host.machine.watch import Limits

    if not realtime:
        refuse_input()
    result = run_guest(
        command,
        seed=seed,
        virtual=not realtime,
        radios=radios,
        cwd=str(Path.cwd()),
        writable_cwd=writable,
        limits=Limits(tell=None if realtime else _tell_stalled),
        stdin=sys.stdin.fileno(),
        # In virtual time a guest does not wait for a person to type.
        terminal=realtime and sys.stdin.isatty() and sys.stdout.isatty(),
    )
    raise typer.Exit(result.exit_status)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def mininet(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="For Mininet-WiFi or Mininet.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...")] = None,
    medium: Annotated[
        str, typer.Option(help="always, or as-written: for scripts that name none, none.")
    ] = "always",
    realtime: Annotated[
        bool, typer.Option(help="Real time; needed to type at its prompt.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for records and results; must be new.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the guest's entropy.")] = 1,
    influx: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send recordings' samples there as Influx lines."),
    ] = None,
    stream: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write recordings' samples to a file or pipe."),
    ] = None,
) -> None:
    """Run a script for Mininet-WiFi in a guest, over Hoplab's channel; its status is yours."""
    from hoplab.front.mininet import found as mininet_wifi
    from hoplab.front.mininet import launch, measured, streamed
    from hoplab.host.stream.chosen import sinks

    found = mininet_wifi.find(script)
    wanted = bool(sinks(influx, stream))
    folder = launch.passing() if out is None else out
    kept = out is not None
    try:
        with ExitStack() as stack:
            if wanted:
                chosen = partial(sinks, influx, stream)
                stack.enter_context(streamed.follow(folder, chosen, realtime, _tell_stream))
            status = launch.run(
                found,
                script,
                arguments or [],
                medium=medium,
                realtime=realtime,
                out=folder,
                seed=seed,
                tell=_tell_stalled,
            )
        for line in launch.refused(folder):
            _say(f"hoplab: warning: {line}")
        account = launch.account(folder)
        if account is None:
            _say("hoplab: the script used no medium")
        else:
            for doubt in account["doubts"]:
                _say(f"hoplab: warning: {doubt}")
            frames = account["frames"]["accepted"]
            _say(f"hoplab: {frames} frames; digest {launch.digest(folder)}")
        if measured.recordings(folder):
            folder, kept = folder if kept else launch.keep(folder, script), True
            _tell_recordings(launch.complete(folder))
    finally:
        if not kept:
            launch.remove(folder)
    raise typer.Exit(status)


def _tell_stream(line: str) -> None:
    _say(f"hoplab: {line}")


def _tell_recordings(manifests: dict[Path, dict[str, Any]]) -> None:
    from hoplab.host import results
    from hoplab.show.report.summary import summary_table

    for folder, manifest in manifests.items():
        output.print(summary_table(results.load(folder)))
        for doubt in manifest["verdict"]["warnings"]:
            _say(f"hoplab: warning: {doubt}")
        _say(f"hoplab: {folder / 'report.html'}; digest {manifest['digest']}")


@app.command()
def shell(
    file: ScenarioFile,
    overrides: Overrides = None,
    seed: Seed = None,
    machine: Machine = "uml",
    live: Annotated[
        bool,
        typer.Option("--live", help="Take part on a page: drag stations, start and stop flows."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="With --live, the results folder; must be new.")
    ] = None,
) -> None:
    """Bring the network up in real time and open a prompt: n0 ping n3.

    The guest has this computer's files, read-only, unlike that of a run.
    """
    import tempfile

    from hoplab.host.runs import launch as runs

    _known_machine(machine)
    scenario = _scenario(file, overrides, seed)
    if live:
        _play(scenario, file, out, machine)
        return
    if out is not None:
        raise errors.ScenarioError("--out: is for --live; without, a shell leaves nothing")
    with tempfile.TemporaryDirectory(prefix="hoplab-shell-") as folder:
        raise typer.Exit(runs.shell(scenario, Path(folder), machine, builder))


@app.command()
def clean() -> None:
    """Remove what your crashed runs left, and only that: guests' folders; as root, host runs'."""
    from hoplab.host.machine import host, private

    removed = private.clean()
    if os.geteuid() == 0:
        removed += host.clean()
    for thing in removed:
        output.print(f"removed {thing}", soft_wrap=True)
    if not removed:
        output.print("nothing was left behind")


@app.command()
def doctor() -> None:
    """Tell what this machine can run and what is missing."""
    from hoplab.front import doctor as examination

    table = Table("", "what", "for", "found")
    results = list(examination.checks())
    for check in results:
        sign = "[green]ok[/]" if check.ok else "[red]missing[/]"
        table.add_row(sign, check.subject, check.purpose, Text(check.found))
    output.print(table)
    if not all(check.ok for check in results if check.needed):
        raise typer.Exit(errors.MissingTool.exit_status)


@app.command()
def report(run_folder: Annotated[Path, typer.Argument(metavar="RUN")]) -> None:
    """Write the report of a finished run again."""
    from hoplab.show import report as reports

    output.print(f"report: {reports.render(run_folder)}", soft_wrap=True)


@app.command()
def finish(run_folder: Annotated[Path, typer.Argument(metavar="RUN")]) -> None:
    """Make the tables and the report of a run that was killed or had no space for them."""
    from hoplab.host.runs import collect
    from hoplab.show import report as reports

    manifest = collect.finish(run_folder)
    page = reports.render(run_folder)
    ended = manifest["verdict"]["error"] or "the run had come to its end"
    output.print(f"{run_folder}: tables made; {ended}", soft_wrap=True, markup=False)
    output.print(f"report: {page}", soft_wrap=True, markup=False)


@app.command()
def study(
    name: Annotated[
        str | None, typer.Argument(help="A study, or a folder of its shape; none: list them.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The short version, compared with committed values.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for tables and pictures.")] = None,
    docs: Annotated[
        bool, typer.Option("--docs", help="Renew the study's page and pictures in docs/.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    expect: Annotated[
        bool, typer.Option("--expect", help="With --quick: write the values to compare with.")
    ] = False,
    draws: Annotated[
        int, typer.Option(min=2, help="With --expect: so many times, each under other seeds.")
    ] = 10,
) -> None:
    """Run a study, or what is missing of it: tables, pictures, a verdict for each claim."""
    from hoplab.front.commands import study as command
    from hoplab.many.study import folder

    if name is None:
        output.print(command.listing())
        return
    if expect and not quick:
        raise errors.ScenarioError("--expect: goes with --quick only")
    if docs and quick:
        raise errors.ScenarioError("--docs: pages show the full version; leave out --quick")
    found = folder.find(name)
    if expect:
        output.print(f"written: {command.expect(found, draws, messages)}", soft_wrap=True)
        return
    outcome = command.perform(found, quick, out, docs, messages)
    if as_json:
        print(json.dumps(outcome.document()))
    else:
        output.print(command.summary(outcome))
        output.print(f"written: {outcome.folder}", soft_wrap=True, markup=False)
    outcome.require()
    if quick and not as_json:
        output.print(command.compared(outcome), soft_wrap=True, markup=False)


def main() -> None:
    """Entry point: turn every known failure into one line and its exit status."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    signals.raise_on_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files can be any bytes
            stream.reconfigure(errors="surrogateescape")
    try:
        status = helping.commands(app)(args=arguments, standalone_mode=False)
        sys.exit(status or 0)
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # whoever reads the output has gone
            sys.exit(128 + signal.SIGPIPE)
        raise
    except HoplabError as error:
        if debug:
            raise
        messages.print(f"hoplab: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_status)
    except signals.Stopped as stopped:
        signals.say(stopped)
        sys.exit(stopped.exit_status)
    except Exception as error:
        show = getattr(error, "show", None)
        if debug:
            raise
        if show is not None:  # a mistake on the command line
            show()
            sys.exit(2)
        text = f"hoplab: {type(error).__name__}: {error}; this is a bug, --debug shows where"
        messages.print(text, markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)

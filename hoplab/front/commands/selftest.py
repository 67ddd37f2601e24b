# SPDX-License-Identifier: Apache-2.0
"""``hoplab selftest``: the kernel's own tests, in virtual time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from hoplab.front.commands.grouped import grouped
from hoplab.front.commands.options import say
from hoplab.host.machine import select, store
from hoplab.host.selftest import junit, ktap, repeat
from hoplab.host.selftest.ktap import Status
from hoplab.host.selftest.one import Outcome
from hoplab.host.selftest.prepare import ready
from hoplab.host.terminal import messages, visible

app = typer.Typer()

SHOWN_SEEDS = 5
"""Failing seeds that the table has."""


@dataclass(frozen=True)
class Options:
    """Options of ``hoplab selftest`` beside what is tested."""

    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="NAME", help="This test alone; may be repeated."),
    ] = None
    times: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Run each so often, each with another seed.")
    ] = 1
    seed: Annotated[int, typer.Option(help="Seed of the guest; the first one of --times.")] = 1
    machine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Take this machine's kernel as it is; build none."),
    ] = None
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML as well.")
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="Guests at a time; by default one for each core.")
    ] = None


@dataclass
class Told:
    """What is known of one test after its runs."""

    test: str
    outcomes: list[Outcome] = field(default_factory=list)

    def of(self, status: Status) -> list[Outcome]:
        """Return the outcomes with this status."""
        return [one for one in self.outcomes if one.status is status]

    @property
    def status(self) -> Status:
        """Return the test's status: failed if a run failed, else that of its first run."""
        return Status.FAIL if self.of(Status.FAIL) else self.outcomes[0].status


@app.command()
@grouped
def selftest(
    tree: Annotated[
        str, typer.Argument(metavar="TREE", help="A kernel's tree, or a kernel of the lock.")
    ],
    what: Annotated[
        str, typer.Argument(metavar="COLLECTION[:TEST]", help="Such as net/mptcp:simult_flows.sh.")
    ],
    options: Options,
) -> None:
    """Run a kernel's own tests (tools/testing/selftests) in guests, in virtual time.

    Results are KTAP on standard output, as kselftest prints them. Status 1 if a test failed.
    """

    if options.junit is not None:
        with store.writing_to(options.junit, "--junit"):
            options.junit.touch()
    prepared = ready(select.chosen(), tree, what, options.test or [], options.machine, say)
    seeds = range(options.seed, options.seed + options.times)
    again = ["hoplab", "selftest", tree]
    with closing(repeat.outcomes(prepared.requests(seeds), options.workers)) as outcomes:
        told = list(_printed(outcomes, prepared.tests, len(seeds), again, options.machine))
    if options.junit is not None:
        with store.writing_to(options.junit, "--junit"):
            every = [outcome for one in told for outcome in one.outcomes]
            options.junit.write_text(junit.document(every), encoding="utf-8")
    if len(told) > 1 or options.times > 1:
        messages.print(_table(told))
    raise typer.Exit(1 if any(one.status is Status.FAIL for one in told) else 0)


def _printed(
    outcomes: Iterator[Outcome],
    tests: Sequence[str],
    times: int,
    again: list[str],
    machine: str | None,
) -> Iterator[Told]:
    """Print each test's results as soon as they are there, and yield what is known of it."""
    _print(ktap.HEADER)
    _print(f"1..{len(tests)}")
    statuses = []
    for number, test in enumerate(tests, 1):
        name = f"selftests: {test.replace(':', ': ', 1)}"
        told = Told(test)
        if times > 1:
            _print(f"# {name}")
            _print(f"# {ktap.HEADER}")
            _print(f"# 1..{times}")
        for run, outcome in enumerate(islice(outcomes, times), 1):
            told.outcomes.append(outcome)
            seed = outcome.request.seed
            if times > 1:
                repeated = _again(again, test, seed, machine)
                why = f"{_why(outcome)}; {repeated}" if outcome.status is Status.FAIL else ""
                _print("# " + ktap.line(run, f"seed {seed}", outcome.status, why))
            else:
                _print_output(outcome)
        why = told.outcomes[0].why if times == 1 else ""
        if times > 1 and (failed := len(told.of(Status.FAIL))):
            why = f"{failed} of {times} failed"
        statuses.append(told.status)
        _print(ktap.line(number, name, told.status, _without_sign(why, told.status)))
        yield told
    _print(ktap.totals(statuses))


def _print_output(outcome: Outcome) -> None:
    """Print a test's own output, which its guest has put into comments."""
    for line in outcome.lines:
        if line.startswith("#") and not line.startswith("# Totals:"):
            _print(line)
    seed = f"seed {outcome.request.seed}"
    _print(f"# {seed}: {outcome.virtual_s:.2f} virtual s, {outcome.wall_s:.1f} s")


def _why(outcome: Outcome) -> str:
    failed = [part.name for part in outcome.parts if part.status is Status.FAIL]
    return ", ".join(failed[:SHOWN_SEEDS]) or outcome.why


def _without_sign(why: str, status: Status) -> str:
    """Return what follows a directive's own word, which `ktap.line` writes."""
    first, _, rest = why.partition(" ")
    return rest if first.upper() == status.upper() else why


def _again(again: list[str], test: str, seed: int, machine: str | None) -> str:
    kernel = [] if machine is None else ["--machine", machine]
    return shlex.join([*again, test, *kernel, "--seed", str(seed)])


def _print(line: str) -> None:
    print(visible(line), flush=True)


def _table(told: list[Told]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("test", overflow="fold")
    for column in ("runs", "passed", "failed", "skipped", "virtual s", "wall s"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("failing seeds", overflow="fold")
    for one in told:
        runs = one.outcomes
        failed = [outcome.request.seed for outcome in one.of(Status.FAIL)]
        seeds = ", ".join(map(str, failed[:SHOWN_SEEDS])) + (
            " …" if len(failed) > SHOWN_SEEDS else ""
        )
        table.add_row(
            Text(one.test.partition(":")[2]),
            str(len(runs)),
            str(len(one.of(Status.PASS)) + len(one.of(Status.XFAIL))),
            str(len(failed)),
            str(len(one.of(Status.SKIP))),
            f"{sum(run.virtual_s for run in runs) / len(runs):.2f}",
            f"{sum(run.wall_s for run in runs) / len(runs):.1f}",
            seeds,
        )
    return table

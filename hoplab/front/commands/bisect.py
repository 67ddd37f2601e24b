# SPDX-License-Identifier: Apache-2.0
"""``hoplab bisect``: one commit of a kernel's tree, good or bad, for ``git bisect run``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hoplab.front.commands.grouped import grouped
from hoplab.front.commands.options import Overrides, ScenarioFile, Seed, say, scenario_of
from hoplab.host import results
from hoplab.host.machine import kernels, select
from hoplab.host.machine.kernels import DoesNotBuild, Wanted
from hoplab.host.machine.sealed import Machine
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.many.sweep.conditions import Condition
from hoplab.model.errors import DaemonDied, GuestFailed, HoplabError, ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.records.schema import TABLES

app = typer.Typer()

GOOD, BAD, SKIP, ABORT = 0, 1, 125, 128
"""Statuses as ``git bisect run`` reads them; from 128 on it stops."""


@dataclass(frozen=True)
class Options:
    """Options of ``hoplab bisect`` beside the scenario."""

    expect: Annotated[
        str, typer.Option(help="Columns of flows, e.g. 'goodput_kbps > 300'; of every flow.")
    ] = ""
    source: Annotated[Path, typer.Option(metavar="FOLDER", help="The kernel's tree.")] = Path()
    flow: Annotated[str | None, typer.Option(help="Expect it of this flow alone.")] = None
    patch: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Applied to every commit.")
    ] = None
    config: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Further options of the kernel.")
    ] = None
    overrides: Overrides = None
    seed: Seed = None
    name: Annotated[str, typer.Option(help="What the machine is called.")] = "bisect"

    def condition(self) -> Condition:
        """Return what is expected. Raises `ScenarioError` for what is no condition on a flow."""
        if not self.expect:
            raise ScenarioError("--expect: is missing; e.g. --expect 'goodput_kbps > 300'")
        return Condition(self.expect, TABLES["flows"].names, "--expect")

    def wanted(self) -> Wanted:
        """Return the kernel to build."""
        return Wanted(None, self.source, tuple(self.patch or ()), tuple(self.config or ()))

    def scenario(self, file: Path) -> Resolved:
        """Return the scenario. Raises `ScenarioError` if it lacks the flow."""
        scenario = scenario_of(file, self.overrides, self.seed)
        names = [one.name for one in scenario.flow]
        if not names or (self.flow is not None and self.flow not in names):
            raise ScenarioError(
                f"--flow: {self.flow!r} is no flow of {file}; one of: {', '.join(map(str, names))}"
            )
        return scenario


@app.command()
@grouped
def bisect(file: ScenarioFile, options: Options) -> None:
    """Build the tree's kernel, run a scenario on it, and exit as git bisect run expects. Status 0
    is good, 1 is bad, and 125 is a commit that does not build."""

    # A run takes no chances, so one is enough for a verdict.
    try:
        condition = options.condition()
        scenario = options.scenario(file)
        machine = kernels.build(select.chosen(), options.wanted(), options.name, say)
        rows = _flows(scenario, file, machine)
    except DoesNotBuild as error:
        say(f"hoplab: {error}: skipped")
        raise typer.Exit(SKIP) from None
    except (GuestFailed, DaemonDied) as error:
        # A kernel that cannot run the scenario is no good one.
        say(f"hoplab: bad: {error}")
        raise typer.Exit(BAD) from None
    except HoplabError as error:
        say(f"hoplab: {error}")
        raise typer.Exit(ABORT + error.exit_status) from None
    asked = [row for row in rows if options.flow in (None, row["flow"])]
    failed = [row for row in asked if not condition.holds(row)]
    for row in asked:
        told = ", ".join(f"{key} {row[key]}" for key in condition.names() if key in row)
        say(f"{'bad' if row in failed else 'good'}: {row['flow']}: {told}")
    raise typer.Exit(BAD if failed or not asked else GOOD)


def _flows(scenario: Resolved, file: Path, machine: Machine) -> list[dict[str, Any]]:
    """Return the flows of a run."""
    # Not in the current folder, which is the tree: a file there would make another kernel.
    with tempfile.TemporaryDirectory(prefix="hoplab-bisect-") as folder:
        out = Path(folder) / "run"
        perform(RunRequest(scenario, Sealed(machine, is_cold=True), file, out))
        return results.load(out).rows("flows")

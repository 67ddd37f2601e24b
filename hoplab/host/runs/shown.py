# SPDX-License-Identifier: Apache-2.0
"""What a run would start, as text, for who wants to see it or to start it by hand."""

from __future__ import annotations

import shlex
from pathlib import Path

from hoplab.host.machine import host, select, uml
from hoplab.host.runs import launch
from hoplab.host.runs.builder import Find
from hoplab.model.resources import PROJECT
from hoplab.model.scenario.model import Scenario


def command(scenario: Scenario, machine: str, machine_file: Path | None, find: Find) -> str:
    """The command line and the environment of the guest, or of the lab on this host; nothing is
    run. What stands in capitals is made anew for each run."""
    builder = launch.others(scenario, find, machine_file is not None)
    if machine == "host":
        values = [f"{key}={value}" for key, value in builder.environment.items()]
        lab = [word.replace(str(Path("OUT").resolve()), "OUT") for word in _host_lab()]
        return f"# in {PROJECT}, as root, with this environment\n{_line('env', *values, *lab)}"
    sealed = None if builder else select.chosen(machine_file)
    values = [f"{key}={value}" for key, value in uml.environment().items()]
    kernel = uml.guest_command(sealed, launch.memory_mb(scenario), scenario.seed)
    whose = "this computer's files" if sealed is None else f"machine {sealed.id}, {sealed.root}"
    return "\n".join(
        (
            f"# the guest, in a folder of its own ({whose}), confined by {uml.confinement()}",
            _line("env", "-i", *values, *kernel),
            "# in the guest, as its job; /out is the run's folder",
            _line(*launch.lab_command(sealed, builder)),
        )
    )


def _host_lab() -> list[str]:
    return host.lab_command(Path("OUT"))


def _line(*words: str) -> str:
    return shlex.join(words)

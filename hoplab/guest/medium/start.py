# SPDX-License-Identifier: Apache-2.0
"""Start the medium daemon on a plan's radios."""

from __future__ import annotations

import select
import subprocess
from pathlib import Path
from typing import IO

from hoplab.guest.medium import config
from hoplab.guest.system.processes import READY_LIMIT_S, Daemon, Daemons, last_line, program
from hoplab.model import writing
from hoplab.model.errors import DaemonDied, ScenarioError
from hoplab.model.network.plan import Plan

FD_SETSIZE = 1024
"""select(2) knows no descriptor from here on. The stations' sockets come before."""
RUN_FOLDER = Path("/out")
"""The host's folder in a guest. A test's network has its records in the guest's memory instead."""


def start(
    plan: Plan,
    epoch_ns: int,
    out: Path,
    real_time: bool,
    daemons: Daemons,
    control: Path | None = None,
) -> None:
    """Return when the medium decides every frame's fate. Its process joins ``daemons``. If the
    guest's kernel is the medium, that process only starts and ends it."""
    # mac80211 gives an IBSS interface no frames for others, even in promiscuous mode. Only monitor
    # interfaces show them. DSR opens one, and in real time any program may.
    overhear = real_time or plan.scenario.routing.protocol == "dsr"
    in_kernel = (
        not real_time
        and plan.scenario.network.medium == "kernel"
        # The kernel itself writes its records, to the host's folder of the run.
        and out.is_relative_to(RUN_FOLDER)
    )
    if plan.scenario.radio.queue == "fq_codel" and not in_kernel:
        raise ScenarioError(
            'radio.queue: "fq_codel" needs the medium in the guest\'s kernel, which is there in '
            'virtual time only; run with --machine uml, or set radio.queue = "fifo"'
        )
    if plan.scenario.roams and not in_kernel:
        raise ScenarioError(
            "cell: roaming needs the medium in the guest's kernel, which is there in virtual time "
            "only; run with --machine uml, or remove it"
        )
    document = config.write(plan, epoch_ns, out, overhear, control)
    log = out / "logs" / "medium.log"
    with writing.added(log) as messages:
        process = subprocess.Popen(
            [program("hoplab-medium"), *(["--in-kernel"] if in_kernel else []), str(document)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=messages,
        )
    daemons.add(Daemon("medium", process, log, leaves_tables=True))
    if process.stdout is None or (said := _first_line(process.stdout)) == b"ready":
        return
    how = "did not start" if said is not None else f"was not ready within {READY_LIMIT_S:g} s"
    raise DaemonDied(f"medium: {how}: {last_line(log)}; see logs/medium.log")


def _first_line(pipe: IO[bytes]) -> bytes | None:
    """Return the daemon's first line, empty if it has ended, or None if nothing comes in time."""
    return pipe.readline().strip() if _comes(pipe) else None


def _comes(pipe: IO[bytes]) -> bool:
    """Whether the pipe can be read in time."""
    if pipe.fileno() < FD_SETSIZE:
        return bool(select.select([pipe], [], [], READY_LIMIT_S)[0])
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(READY_LIMIT_S * 1000))

# SPDX-License-Identifier: Apache-2.0
"""The lab of a network that a script has built: ``python -m hoplab.front.mininet.recorder``.

The request to measure comes at standard input (`hoplab.front.mininet.recording`). A line of JSON on
standard output gives time 0 or the error. On a host this program makes tables and report. For a
guest the host makes them (`hoplab.front.mininet.launch`).
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hoplab.front.mininet import measured
from hoplab.front.mininet.recording import STARTED
from hoplab.guest.lab import job
from hoplab.guest.network.build import Network
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system import signals
from hoplab.guest.system.note import Note, start_time
from hoplab.host.results.manifest import Where
from hoplab.host.runs import folder
from hoplab.host.stream.chosen import sinks
from hoplab.host.stream.hub import Stream
from hoplab.model.errors import HoplabError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.network.plan import Plan
from hoplab.model.reading import content
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

MEDIUM = "wmediumd"


def main() -> int:
    signals.raise_on_signals()
    try:
        request = json.load(sys.stdin)
        scenario = resolve(parse(request["scenario"], "record"))
        out = folder.made(Path(request["out"]), None)
        folder.fill(out, scenario, None)
        status = _measure(request, scenario, out)
    except HoplabError as error:
        _say(error=str(error))
        return error.exit_status
    except signals.Stopped as stopped:
        return stopped.exit_status
    return status


def _measure(request: dict[str, Any], scenario: Resolved, out: Path) -> int:
    real_time = bool(request["real_time"])
    perform = functools.partial(
        job.perform,
        out,
        real_time,
        functools.partial(adopted, request["pids"]),
        functools.partial(_ready, out),
    )
    if request["guest"]:
        status = perform()
        error = json.loads(content(out / "raw" / "verdict.json"))["error"]
        if error is not None:
            _say(error=f"record: {error}")
        return status
    chosen = sinks(request["influx"], [Path(name) for name in request["stream"]])
    with Stream(chosen) as stream:
        stream.begin(out, scenario, Where.SCRIPT, real_time)
        status = perform()
    for line in stream.warnings():
        print(f"hoplab: warning: {line}", file=sys.stderr)
    manifest = measured.complete(out, None, status)
    if manifest.verdict.error is not None:
        _say(error=f"record: {manifest.verdict.error}")
    return status


def adopted(pids: Mapping[str, int], plan: Plan, note: Note) -> Network:
    """Return the existing stations as a network. ``pids`` has a process in each."""
    network = Network(Namespaces(), None)
    try:
        for station in plan.scenario.station:
            network.namespaces.adopt(station.name, pids[station.name], note.adopted)
    except BaseException:
        network.close()
        raise
    return network


def _ready(out: Path, begin_ns: int) -> None:
    medium_s = medium_start_s()
    if medium_s is not None:
        (out / "raw" / STARTED).write_text(json.dumps(medium_s), encoding="utf-8")
    _say(begin_ns=begin_ns)
    # Progress is for a user who watches a run, and has no reader here.
    nobody = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1)
    os.set_inheritable(kept, False)
    sys.stdout.flush()
    os.dup2(nobody, 1)
    os.close(nobody)
    global _answers
    _answers = kept


_answers = 1
"""Descriptor of the line to the script."""


def _say(**what: Any) -> None:
    os.write(_answers, (json.dumps(what) + "\n").encode())


def medium_start_s() -> float | None:
    """Return when the process called `MEDIUM` began, to a tick of the kernel's (10 ms)."""
    for path in sorted(Path("/proc").glob("[0-9]*/comm")):
        try:
            if path.read_text(encoding="utf-8", errors="replace").strip() != MEDIUM:
                continue
        except OSError:
            continue
        ticks = start_time(int(path.parts[2]))
        if ticks is not None:
            return int(ticks) / os.sysconf("SC_CLK_TCK")
    return None


if __name__ == "__main__":
    sys.exit(main())

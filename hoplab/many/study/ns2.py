# SPDX-License-Identifier: Apache-2.0
"""Run a study's scripts with ns-2.35 (Debian package ``ns2``) and read its wireless traces."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hoplab.model.errors import HoplabError, MissingTool
from hoplab.model.reading import opened

DSR_HEADER = re.compile(
    # [source:port destination:port ttl next hop] addresses [request number] [reply ...] [error ...]
    r"------- \[(?P<source>\d+):.*?\] \d+ \[(?P<request>\d) \d+\] \[(?P<reply>\d) .*?\] "
    r"\[(?P<error>\d) "
)


@dataclass(frozen=True)
class Trace:
    """Output of a run, and counts of its events."""

    printed: str
    events: Counter[tuple[str, str, str]]
    """Counts by kind (s, f, r, D), layer (AGT, RTR, IFQ) and type of packet."""
    link_failures: int
    """Frames whose last try was not acknowledged."""
    route_errors: int
    """Route Errors at their origin, without those that a Route Request carries on."""


def run(script: Path, **options: object) -> str:
    """Return what ``ns SCRIPT -OPTION VALUE …`` prints.

    Raises `MissingTool` without ns-2, and `HoplabError` if the script fails.
    """
    if shutil.which("ns") is None:
        raise MissingTool("ns: is not installed; Debian has it in the package ns2")
    words = [word for key, value in options.items() for word in (f"-{key}", str(value))]
    done = subprocess.run(["ns", str(script), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or "it says nothing").splitlines()[-1]
        raise HoplabError(f"ns {script} {' '.join(words)}: status {done.returncode}: {last}")
    return done.stdout


def trace(script: Path, **options: object) -> Trace:
    """Run a script that takes ``-trace FILE`` with `run`, and count the events of its trace."""
    with tempfile.TemporaryDirectory(prefix="hoplab-ns2-") as folder:
        file = Path(folder) / "trace"
        return _read(file, run(script, trace=file, **options))


def _read(path: Path, printed: str) -> Trace:
    events: Counter[tuple[str, str, str]] = Counter()
    failures = errors = 0
    with io.TextIOWrapper(opened(path), "ascii", "replace") as lines:
        for line in lines:
            # Kind, time, station, layer, flags, number, type, octets, ...
            words = line.split(maxsplit=7)
            if line.startswith("SSendFailure"):
                failures += 1
            elif len(words) > 7 and words[0] in ("s", "f", "r", "D"):
                events[words[0], words[3], words[6]] += 1
                if (words[0], words[3], words[6]) == ("s", "RTR", "DSR"):
                    errors += _starts_error(words[2].strip("_"), words[7])
    return Trace(printed, events, failures, errors)


def _starts_error(station: str, rest: str) -> bool:
    header = DSR_HEADER.search(rest)
    return (
        header is not None
        and header["source"] == station
        and (header["request"], header["reply"], header["error"]) == ("0", "0", "1")
    )

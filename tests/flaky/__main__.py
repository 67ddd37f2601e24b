# SPDX-License-Identifier: Apache-2.0
"""Run tests many times on a slowed host; a table of what passed and failed, and status 1 for one
failure or more. What the failed ones said is in build/flaky."""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from hoplab.model.resources import PROJECT
from tests.flaky import slow

OUT = PROJECT / "build" / "flaky"
TIMES = 20
SHARES = (Fraction(1, 2), Fraction(1, 4))
CROWDS = (20,)
Slowness = Fraction | int
"""A share of the host's speed, or a number of busy processes beside the tests."""
Counts = dict[tuple[str, Slowness], Counter[bool]]
"""By test and slowness: how often it passed, and how often not."""


def options() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="python -m tests.flaky", description=__doc__)
    asked.add_argument("tests", nargs="*", help="as pytest takes them; marked 'chance' otherwise")
    asked.add_argument("--times", type=int, default=TIMES, help=f"how often each ({TIMES})")
    asked.add_argument(
        "--share",
        type=Fraction,
        action="append",
        help="of the host's speed that is left, 1 for all: repeatable (1/2 and 1/4)",
    )
    asked.add_argument(
        "--crowd",
        type=int,
        action="append",
        help="busy processes beside the tests: repeatable (20)",
    )
    given = asked.parse_args()
    if not given.share and not given.crowd:
        given.share, given.crowd = list(SHARES), list(CROWDS)
    given.share, given.crowd = given.share or [], given.crowd or []
    for share in given.share:
        if not 0 < share <= 1:
            asked.error(f"--share: {share}: expected more than 0, at most 1, as 1/4")
    for crowd in given.crowd:
        if crowd < 1:
            asked.error(f"--crowd: {crowd}: expected 1 or more")
    if given.times < 1:
        asked.error(f"--times: {given.times}: expected 1 or more")
    return given


def once(tests: list[str], prefix: slow.Prefix, name: str) -> dict[str, bool]:
    """Which tests passed; nothing of one that was not run."""
    report, log = OUT / f"{name}.xml", OUT / f"{name}.log"
    chosen = tests or ["-m", "chance and not nightly"]
    pytest = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *chosen]
    with log.open("wb") as file:
        ended = subprocess.run(
            [*prefix, *pytest], cwd=PROJECT, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    if ended.returncode not in (0, 1):
        raise SystemExit(f"flaky: pytest ended with status {ended.returncode}: {log}")
    passed = dict(cases(report))
    if ended.returncode == 0:
        log.unlink()
    report.unlink()
    return passed


def cases(report: Path) -> Iterator[tuple[str, bool]]:
    """Each test of a JUnit report and whether it passed."""
    for case in ET.parse(report).iter("testcase"):
        where = (case.get("classname") or "").rpartition(".")[2]
        bad = any(case.find(kind) is not None for kind in ("failure", "error"))
        yield f"{where}::{case.get('name')}", not bad


def label(slowness: Slowness) -> str:
    """How a table calls it."""
    return str(slowness) if isinstance(slowness, Fraction) else f"{slowness} busy"


def table(counts: Counts, hosts: Sequence[Slowness]) -> list[str]:
    """Passes and failures, a row a test, a column a slowness."""
    tests = list(dict.fromkeys(test for test, _ in counts))
    width = max(map(len, tests), default=0)
    lines = [" ".join([" " * width, *(f"{label(host):>9}" for host in hosts)])]
    for test in tests:
        found = [counts.get((test, host), Counter()) for host in hosts]
        cells = [f"{f'{count[True]}/{count[False]}':>9}" for count in found]
        lines.append(" ".join([f"{test:<{width}}", *cells]))
    return lines


def main() -> int:
    given = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the slowed host is given back
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    counts: Counts = {}
    hosts: list[Slowness] = [*given.share, *given.crowd]
    for host in hosts:
        shared = isinstance(host, Fraction)
        with slow.host(float(host)) if shared else slow.crowded(int(host)) as (how, prefix):
            for number in range(1, given.times + 1):
                name = f"{label(host).replace('/', '-').replace(' ', '-')}-{number}"
                passed = once(given.tests, prefix, name)
                for test, good in passed.items():
                    counts.setdefault((test, host), Counter())[good] += 1
                bad = [test for test, good in passed.items() if not good]
                said = f"failed: {' '.join(bad)}" if bad else "all passed"
                print(f"{label(host)} ({how}), {number} of {given.times}: {said}", flush=True)
    print("\npasses/failures at a share of the host's speed, or beside busy processes")
    print("\n".join(table(counts, hosts)))
    failed = sum(count[False] for count in counts.values())
    if failed:
        print(f"flaky: {failed} failures; what they said: {OUT}", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

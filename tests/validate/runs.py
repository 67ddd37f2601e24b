# SPDX-License-Identifier: Apache-2.0
"""Runs of the validation, a guest a core, with their progress on standard error."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

from hoplab.host import results
from hoplab.host.machine import select
from hoplab.host.results.reader import Results
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

Answer = TypeVar("Answer")
EVERY_S = 20.0

kernel: str | None = None
"""Name of the machine whose kernel all runs take; the default one without a name."""


class _Teller:
    """A line that is written over on a terminal, else one now and then."""

    def __init__(self) -> None:
        self.began_s = self.told_s = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now_s = time.monotonic()
        terminal = sys.stderr.isatty()
        if not (terminal or done == total or now_s - self.told_s > EVERY_S):
            return
        self.told_s = now_s
        text = f"  {done} of {total} runs, {now_s - self.began_s:.0f} s"
        end = "\r" if terminal and done < total else "\n"
        print(text, end=end, file=sys.stderr, flush=True)


def measure(document: dict[str, Any], read: Callable[[Results], Answer]) -> Answer:
    """Run the scenario and read what is asked from its results."""
    with tempfile.TemporaryDirectory(prefix="hoplab-study-") as folder:
        out = Path(folder) / "run"
        scenario = resolve(parse(document, "scenario"))
        machine = select.named(kernel) if kernel else select.chosen()
        perform(RunRequest(scenario, Sealed(machine), out=out))
        return read(results.load(out))


def measure_all(
    documents: Sequence[dict[str, Any]], read: Callable[[Results], Answer]
) -> list[Answer]:
    """`measure` of each, in order, several at a time. The first failure ends it."""
    told = _Teller()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(measure, document, read) for document in documents]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                told(done, len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def measure_seeds(
    documents: Sequence[dict[str, Any]], seeds: Sequence[int], read: Callable[[Results], Answer]
) -> list[list[Answer]]:
    """Each document under every seed: its answers in the order of ``seeds``."""
    repeated = [{**document, "seed": seed} for document in documents for seed in seeds]
    found = measure_all(repeated, read)
    return [found[i : i + len(seeds)] for i in range(0, len(found), len(seeds))]


def goodput_kbps(results: Results) -> float:
    """Goodput of the first flow."""
    return float(results.rows("flows")[0]["goodput_kbps"])

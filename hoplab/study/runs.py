# SPDX-License-Identifier: Apache-2.0
"""Run scenarios given as documents, one guest a core."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

from hoplab import results
from hoplab.results.reader import Results
from hoplab.runs.launch import run
from hoplab.scenario.file import parse
from hoplab.scenario.resolve import resolve

Answer = TypeVar("Answer")
OnDone = Callable[[int, int], None]
"""Told, after each run, how many of how many are done."""


def _silent(done: int, total: int) -> None:
    pass


def measure(document: dict[str, Any], read: Callable[[Results], Answer]) -> Answer:
    """Run the scenario and read what is asked from its results."""
    with tempfile.TemporaryDirectory(prefix="hoplab-study-") as folder:
        out = Path(folder) / "run"
        run(resolve(parse(document, "scenario")), None, out)
        return read(results.load(out))


def measure_all(
    documents: Sequence[dict[str, Any]],
    read: Callable[[Results], Answer],
    on_done: OnDone = _silent,
) -> list[Answer]:
    """`measure` of each, in order, several at a time. The first failure ends it."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(measure, document, read) for document in documents]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                on_done(done, len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def measure_seeds(
    documents: Sequence[dict[str, Any]],
    seeds: Sequence[int],
    read: Callable[[Results], Answer],
    on_done: OnDone = _silent,
) -> list[list[Answer]]:
    """Each document under every seed: its answers in the order of ``seeds``."""
    repeated = [{**document, "seed": seed} for document in documents for seed in seeds]
    found = measure_all(repeated, read, on_done)
    return [found[i : i + len(seeds)] for i in range(0, len(found), len(seeds))]


def goodput_kbps(results: Results) -> float:
    """Goodput of the first flow."""
    return float(results.rows("flows")[0]["goodput_kbps"])

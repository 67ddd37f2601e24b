# SPDX-License-Identifier: Apache-2.0
"""Run scenarios given as documents, one guest a core."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from hoplab import results
from hoplab.results.reader import Results
from hoplab.run.launch import run
from hoplab.scenario.file import parse
from hoplab.scenario.resolve import resolve

Answer = TypeVar("Answer")


def measure(document: dict[str, Any], read: Callable[[Results], Answer]) -> Answer:
    """Run the scenario and read what is asked from its results."""
    with tempfile.TemporaryDirectory(prefix="hoplab-validate-") as folder:
        out = Path(folder) / "run"
        run(resolve(parse(document, "scenario")), None, out)
        return read(results.load(out))


def measure_all(
    documents: Sequence[dict[str, Any]], read: Callable[[Results], Answer]
) -> list[Answer]:
    """`measure` of each, in order, several at a time."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(lambda document: measure(document, read), documents))


def goodput_kbps(results: Results) -> float:
    """Goodput of the first flow."""
    return float(results.rows("flows")[0]["goodput_kbps"])

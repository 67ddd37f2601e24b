# SPDX-License-Identifier: Apache-2.0
"""Runs of the validation, with their progress on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hoplab.results.reader import Results
from hoplab.study import runs

Answer = TypeVar("Answer")
EVERY_S = 20.0


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


def measure_all(
    documents: Sequence[dict[str, Any]], read: Callable[[Results], Answer]
) -> list[Answer]:
    """`hoplab.study.runs.measure_all`."""
    return runs.measure_all(documents, read, _Teller())


def measure_seeds(
    documents: Sequence[dict[str, Any]], seeds: Sequence[int], read: Callable[[Results], Answer]
) -> list[list[Answer]]:
    """`hoplab.study.runs.measure_seeds`."""
    return runs.measure_seeds(documents, seeds, read, _Teller())

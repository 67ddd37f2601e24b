# SPDX-License-Identifier: Apache-2.0
"""Many tests, and each many times under different seeds, on all cores."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import FrameType

from hoplab.guest.system.signals import ENDING
from hoplab.host.selftest.one import Outcome, Request, run
from hoplab.model.errors import HoplabError

PR_SET_PDEATHSIG = 1


class _Worker:
    """State of this worker: whether it has a guest, and whether it was asked to end."""

    is_busy = False
    has_ended = False


def outcomes(
    requests: Sequence[Request], workers: int | None = None
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each request, in their order.

    If the caller leaves early, the guests that run are ended.
    """
    workers = min(len(requests), workers or len(os.sched_getaffinity(0)))
    if workers <= 1:
        yield from map(run, requests)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin)
    try:
        yield from pool.map(_work, requests)
    except BrokenProcessPool:
        raise HoplabError(
            "a worker was killed from outside (is there memory for so many guests?); "
            "take fewer with --workers"
        ) from None
    finally:
        # Those that have nothing to do end by the pool's own word.
        for child in multiprocessing.active_children():
            child.terminate()
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Prepare a worker. Its guest ends with it, and it ends with the command."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: FrameType | None) -> None:
    was_busy = _Worker.is_busy and not _Worker.has_ended
    _Worker.has_ended = True  # what still waits for it in the pool's queue is not begun
    if was_busy:
        sys.exit(128 + number)


def _work(request: Request) -> Outcome:
    if _Worker.has_ended:
        sys.exit(128 + signal.SIGTERM)
    _Worker.is_busy = True
    try:
        return run(request)
    finally:
        _Worker.is_busy = False

# SPDX-License-Identifier: Apache-2.0
"""Workers that are processes of this command, on this computer.

Each has a pool of its own (`concurrent.futures`), since a process that dies breaks its whole pool.
So only the runs at a worker that died are lost with it. Workers are copies of one process, the fork
server, which imports what they need once.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from pathlib import Path

from hoplab.host.machine import sealed
from hoplab.host.machine.sealed import Machine
from hoplab.many.sweep import task
from hoplab.many.sweep.task import Answer, Request
from hoplab.model.errors import MissingTool

DEATHS = (BrokenProcessPool, CancelledError, SystemExit)
"""How the run of a worker ends that died, or was asked to leave."""
GRACE_S = 10.0
"""Seconds in which a worker clears up after its command has gone."""


class Processes:
    """So many workers. Closing ends them, in the middle of a run too."""

    link = None
    """Address of a page about the workers; there is none."""

    def __init__(self, count: int) -> None:
        with contextlib.ExitStack() as stack:
            made = tempfile.TemporaryDirectory(prefix="hoplab-sweep-")
            self._scratch = Path(stack.enter_context(made))
            self._workers = [_Worker(self._scratch) for _ in range(count)]
            stack.callback(self._end)
            self._stack = stack.pop_all()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *about: object) -> None:
        self._stack.close()

    def present(self) -> Mapping[str, int]:
        """Return how many runs each worker makes at a time, by its name."""
        return {str(number): 1 for number in range(len(self._workers))}

    def submit(self, request: Request, machine: Machine, name: str) -> Future[Answer]:
        """Have a run made by the worker with the least to do."""
        number, chosen = min(enumerate(self._workers), key=lambda entry: entry[1].waiting)
        if chosen.is_dead:
            chosen.end()
            chosen = self._workers[number] = _Worker(self._scratch)
        return chosen.submit(request, machine)

    def answer_of(self, future: Future[Answer]) -> Answer | None:
        """Return a worker's result, or None if the worker died."""
        try:
            return future.result()
        except DEATHS:
            return None

    def receive(self, content: bytes, workers: Sequence[str]) -> None:
        """Raise `MissingTool`: workers use the command's own machine, which must have gone."""
        raise MissingTool("machine: its files have gone meanwhile; run 'make setup' again")

    def _end(self) -> None:
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.end()


class _Worker:
    """A process that makes runs, one after the other."""

    def __init__(self, scratch: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([task.__name__])
        begin = scratch, dict(os.environ)
        self._pool = ProcessPoolExecutor(1, context, _begin, begin)
        self._pid = self._pool.submit(os.getpid)
        self._going: set[Future[Answer]] = set()
        self.is_dead = False

    @property
    def waiting(self) -> int:
        """The number of runs here that have not ended."""
        return len(self._going)

    def submit(self, request: Request, machine: Machine) -> Future[Answer]:
        try:
            future = self._pool.submit(_work, request, machine.folder)
        except BrokenProcessPool as error:  # it died with nothing to do
            self.is_dead = True
            future = Future()
            future.set_exception(error)
            return future
        self._going.add(future)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, future: Future[Answer]) -> None:
        if future.cancelled() or isinstance(future.exception(), DEATHS):
            self.is_dead = True
        self._going.discard(future)

    def stop(self) -> None:
        """Have it give up its runs, and clear up."""
        with contextlib.suppress(BrokenProcessPool, CancelledError, ProcessLookupError):
            os.kill(self._pid.result(), signal.SIGTERM)

    def end(self) -> None:
        """Wait until it has ended."""
        self._pool.shutdown(cancel_futures=True)


_place = Path()
"""A worker's folder for its runs."""
_busy = threading.Lock()
"""Held while a worker makes a run."""
_leaving = threading.Event()


def _begin(scratch: Path, environment: Mapping[str, str]) -> None:
    """Begin as a worker. The fork server may be older than what its command has in its
    environment."""
    global _place
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    _place = scratch
    # A terminal's Ctrl-C is for the command, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_command, daemon=True).start()


def _leave(number: int, frame: object) -> None:
    """Give up the run, and clear up. A further signal would interrupt that."""
    if not _leaving.is_set():
        _leaving.set()
        if _busy.locked():
            sys.exit()


def _end_with_command() -> None:
    command = multiprocessing.parent_process()
    assert command is not None
    connection.wait([command.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    if _busy.acquire(timeout=GRACE_S):
        task.clear()
    os._exit(1)


def _work(request: Request, folder: Path) -> Answer:
    """Make the run with the machine in ``folder``, which the command has checked."""
    with _busy:
        if _leaving.is_set():
            sys.exit()
        if not task.knows(request.machine):
            task.know(sealed.load(folder))
        return task.work(request, str(_place))

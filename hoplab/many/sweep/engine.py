# SPDX-License-Identifier: Apache-2.0
"""Runs points. The store supplies the runs that it has, and workers make the rest.

The client, the scheduler and the workers hold a bounded number of runs at a time, `AHEAD` a worker.
Points are made when there is room for them. A run that has ended is handed over and forgotten.

**Workers that die.** A run that was at a worker when it died is put aside, with the runs that
waited behind it. They are made again after all others, each alone on a worker. If that worker dies
too, the run is given up and named. At least one of the two deaths was its own fault.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from hoplab.host.machine import private, select
from hoplab.host.machine.kernels import Machines
from hoplab.host.machine.sealed import SHORT, Machine
from hoplab.many.store import entry as entries
from hoplab.many.store.entry import TOTALS, Entry
from hoplab.many.store.files import Store
from hoplab.many.store.key import evaluation, key_of, text_of
from hoplab.many.sweep import cluster as clusters
from hoplab.many.sweep import task
from hoplab.many.sweep.cluster import Cluster
from hoplab.many.sweep.points import Point
from hoplab.many.sweep.processes import Processes
from hoplab.many.sweep.task import Answer, Request
from hoplab.model.errors import GuestFailed, HoplabError, ResultsError, of_status

AHEAD = 2
"""Runs at a worker: one is made and one waits, so that no worker waits for the client."""
WAKE_S = 1.0
GIVEN_UP = "killed its worker twice: it needs more memory than there is, or hoplab has a bug"
"""The error message of such a run, which the store keeps."""


@dataclass(frozen=True)
class Done:
    """A point's run, from the store or made now; see `hoplab.many.store.entry.Entry` for more."""

    point: Point
    entry: Entry
    from_store: bool

    @property
    def key(self) -> str:
        return self.entry.key

    @property
    def error(self) -> str | None:
        """The reason why it failed; None if it did not."""
        return self.entry.error

    @property
    def digest(self) -> str | None:
        """The run's digest over all its tables."""
        return self.entry.digest

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that were kept, by name; read from the entry each time."""
        return {name: self.entry.table(name) for name in self.entry.tables}

    def table(self, name: str) -> pa.Table:
        """Return one of the tables, without rows if the run had none for it.

        Raises `ResultsError` for a table that was not requested, and if the run failed.
        """
        if self.error is not None:
            raise ResultsError(f"{self.point.label}: failed: {self.error}")
        return self.entry.table(name)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of `table`, null as None."""
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows


class Source(Protocol):
    """Points, one after the other. The next point may depend on runs that have ended."""

    def next(self) -> Point | None:
        """Return the next point, or None if there is none at present."""

    def told(self, done: Done) -> None:
        """Take note of a run that has ended."""


class Workers(Protocol):
    """What makes runs: processes of this command, or a cluster's workers."""

    @property
    def link(self) -> str | None:
        """Address of a page about the workers, or None."""

    def present(self) -> Mapping[str, int]:
        """Return how many runs each worker makes at a time, by its name."""

    def submit(self, request: Request, machine: Machine, name: str) -> Any:
        """Begin a run; the future has its answer."""

    def answer_of(self, future: Any) -> Answer | None:
        """Return the result of a run that has ended, or None if its worker died."""

    def receive(self, content: bytes, workers: Sequence[str]) -> None:
        """Send a packed machine to workers that lack it."""


class Listed:
    """A source of points from an iterable."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._points = iter(points)

    def next(self) -> Point | None:
        return next(self._points, None)

    def told(self, done: Done) -> None:
        pass


@dataclass(frozen=True)
class Options:
    """Options for running points. ``tables`` are required beside `TOTALS`. With ``retry`` failed
    runs are made again. ``folders`` is where runs' folders are kept, by key. If ``cold``, a
    guest boots for each. ``say`` receives messages for the user."""

    store: Store
    tables: tuple[str, ...] = ()
    retry: bool = False
    cluster: Cluster = field(default_factory=Cluster)
    folders: Path | None = None
    machine: Machine | None = None
    cold: bool = False
    say: Callable[[str], None] = lambda line: None

    @property
    def kept(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*TOTALS, *self.tables)))


class Engine:
    """One pass over a source. `run` yields every run as it ends; runs in the store come at once. If
    the caller leaves early, the cluster stops, and its runs with it."""

    def __init__(self, source: Source, options: Options) -> None:
        self._source = source
        self._options = options
        self._store = options.store
        self._machines = Machines(options.machine or select.chosen())
        self._used: dict[str, Machine] = {}
        self._stack = contextlib.ExitStack()
        self._workers: Workers | None = None
        self._going: dict[Any, tuple[Point, Request, int]] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._suspects: deque[tuple[Point, Request]] = deque()
        self._twins: dict[str, list[Point]] = {}
        self._packed: dict[str, bytes] = {}
        self._supplied: dict[tuple[str, str], int] = {}
        self._threads: Mapping[str, int] = {}
        self._counted_s = -WAKE_S
        self._submitted = 0

    def run(self) -> Iterator[Done]:
        with self._stack:
            while True:
                yield from self._fill()
                if self._going:
                    for done in self._wait(self._suspects):
                        yield from self._told(done)
                elif self._suspects:
                    yield from self._alone()
                else:
                    return

    def _fill(self) -> Iterator[Done]:
        """Begin as many runs as there is room for. Runs in the store are done at once."""
        while len(self._going) < self._room() and (point := self._source.next()) is not None:
            done = self._begin(point)
            if done is not None:
                yield from self._told(done)

    def _told(self, done: Done) -> Iterator[Done]:
        for point in (done.point, *self._twins.pop(done.key, ())):
            one = replace(done, point=point)
            self._source.told(one)
            yield one

    def _room(self) -> int:
        if self._options.cluster.workers == 0:
            return 1
        return AHEAD * self._count()

    def _count(self) -> int:
        """Return the number of workers, now or a moment ago: not each run asks the scheduler."""
        now = time.monotonic()
        if self._workers is not None and now - self._counted_s > WAKE_S:
            self._counted_s = now
            self._threads = self._workers.present()
        return max(1, sum(self._threads.values()))

    def _begin(self, point: Point) -> Done | None:
        """Take the run from the store, or send it to a worker."""
        text = text_of(point.scenario())
        machine = self._machines.of(point.machine)
        if machine.id not in self._used:
            task.know(machine)
            self._used[machine.id] = machine
        key = key_of(text, machine.id)
        found = self._store.get(key)
        if found is not None and self._serves(found):
            return Done(point, found, True)
        self._store.require_writable(key)
        wants = self._options.kept if found is None else (*self._options.kept, *found.tables)
        request = Request(
            key,
            machine.id,
            text,
            tuple(dict.fromkeys(wants)),
            evaluation(),
            self._options.folders is not None,
            self._options.cold,
        )
        if self._options.cluster.workers == 0:
            return self._take(point, request, task.work(request))
        if key in self._twins:  # another point of the same scenario is being run
            self._twins[key].append(point)
            return None
        self._twins[key] = []
        self._submit(point, request)
        return None

    def _serves(self, found: Entry) -> bool:
        if found.error is not None:
            return not self._options.retry
        folders = self._options.folders
        return found.has(self._options.kept) and (
            folders is None or (folders / found.key[:SHORT]).is_dir()
        )

    def _submit(self, point: Point, request: Request) -> None:
        workers = self._workers or self._started()
        self._submitted += 1
        name = f"hoplab-{request.key[:SHORT]}-{self._submitted}"
        future = workers.submit(request, self._used[request.machine], name)
        self._going[future] = point, request, self._submitted
        future.add_done_callback(self._ended.put)

    def _started(self) -> Workers:
        """Start the workers, which a sweep whose runs are all there does without."""
        place = self._options.cluster
        workers: Workers
        if place.is_dasks:
            clusters.require()
            from hoplab.many.sweep import dasked  # an extra, and a second to import

            workers = self._stack.enter_context(dasked.joined(place))
        else:
            workers = self._stack.enter_context(Processes(place.workers or clusters.cores()))
        self._workers = workers
        if workers.link is not None:
            self._options.say(f"dashboard: {workers.link}")
        return workers

    def _wait(self, aside: deque[tuple[Point, Request]]) -> Iterator[Done]:
        """Yield runs that have ended meanwhile. A run whose worker died goes ``aside``."""
        assert self._workers is not None
        try:
            ended = [self._ended.get(timeout=WAKE_S)]
        except queue.Empty:
            return
        while not self._ended.empty():
            ended.append(self._ended.get())
        lacking: list[tuple[Point, Request, str, int]] = []
        for future in ended:
            point, request, number = self._going.pop(future)
            answer = self._workers.answer_of(future)
            if answer is None:
                aside.append((point, request))
            elif answer.lacks_machine is not None:
                lacking.append((point, request, answer.lacks_machine, number))
            else:
                yield self._take(point, request, answer)
        if lacking:
            # A run that was under way when the machine was sent proves nothing about it.
            missing: dict[str, set[str]] = {}
            for _, request, worker, number in lacking:
                if number > self._supplied.get((request.machine, worker), 0):
                    missing.setdefault(request.machine, set()).add(worker)
            for identity, workers in missing.items():
                self._supply(self._used[identity], sorted(workers))
            for point, request, _, _ in lacking:
                self._submit(point, request)

    def _supply(self, machine: Machine, workers: Sequence[str]) -> None:
        """Send a machine, through the scheduler, to workers whose computers lack it."""
        if machine.id not in self._packed:
            self._packed[machine.id] = task.packed(machine)
        content = self._packed[machine.id]
        self._options.say(
            f"machine {machine.id[:SHORT]}: {len(content) >> 20} MiB sent to "
            f"{len(workers)} worker{'s' if len(workers) > 1 else ''}"
        )
        assert self._workers is not None
        present = self._workers.present()
        self._workers.receive(content, [worker for worker in workers if worker in present])
        for worker in workers:
            self._supplied[machine.id, worker] = self._submitted

    def _alone(self) -> Iterator[Done]:
        """Repeat the runs whose workers died, each alone on a worker."""
        waiting, self._suspects = self._suspects, deque()
        dead: deque[tuple[Point, Request]] = deque()
        while waiting or self._going:
            while waiting and len(self._going) < self._count():
                self._submit(*waiting.popleft())
            for done in self._wait(dead):
                yield from self._told(done)
            while dead:
                yield from self._told(self._give_up(*dead.popleft()))

    def _give_up(self, point: Point, request: Request) -> Done:
        with contextlib.suppress(HoplabError):
            private.clean()
        head = {
            "format": 1,
            "key": request.key,
            "machine": request.machine,
            "evaluation": request.evaluation,
            "scenario": point.scenario().model_dump(mode="json", exclude_none=True),
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "warnings": [],
            "virtual_s": None,
            "wall_s": None,
            "cpu_s": None,
        }
        self._options.say(f"{point.label}: {GIVEN_UP}")
        entry = entries.failed(head, GIVEN_UP, GuestFailed.exit_status)
        return Done(point, self._store.put(entry), False)

    def _take(self, point: Point, request: Request, answer: Answer) -> Done:
        """Keep the result of a worker."""
        if answer.entry is None:
            problem = f"{point.label}: could not be run: {answer.problem}"
            raise of_status(answer.exit_status, problem)
        entry = entries.unpack(answer.entry, f"answer for {point.label}")
        if answer.folder is not None and self._options.folders is not None:
            task.extract(answer.folder, self._options.folders / request.key[:SHORT])
        return Done(point, self._store.put(entry), False)

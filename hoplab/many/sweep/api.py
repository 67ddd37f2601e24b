# SPDX-License-Identifier: Apache-2.0
"""The public functions of `hoplab.many.sweep`; see there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from hoplab.host.machine.sealed import Machine
from hoplab.many.store.files import Store
from hoplab.many.sweep.cluster import Cluster
from hoplab.many.sweep.engine import Done, Engine, Listed, Options, Source
from hoplab.many.sweep.points import Combination, Point, Sweep, read
from hoplab.many.sweep.progress import Progress, Teller
from hoplab.many.sweep.seeds import Adaptive
from hoplab.model.resolve.resolve import Walk, no_walk

__all__ = [
    "Asked",
    "Cluster",
    "Combination",
    "Done",
    "Point",
    "Progress",
    "Sweep",
    "point",
    "read",
    "run",
    "run_all",
]


def point(
    document: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    folder: Path | str = ".",
    walk: Walk = no_walk,
) -> Point:
    """Return a point made in a program from a scenario's document. ``parameters`` name the point in
    the results. ``seed`` is for a document that has none. ``folder`` holds the files that the
    document names, and ``walk`` computes Mininet-WiFi's movement."""
    whole = dict(document) if seed is None else {**document, "seed": seed}
    return Point(dict(parameters or {}), whole, Path(folder), walk)


class Asked(TypedDict, total=False):
    """How runs are made, all of which may be left out."""

    store: Store | Path | str | None
    """A folder; `hoplab.many.store.files.default_folder` without one."""
    tables: Iterable[str]
    """Tables to keep beside the totals."""
    workers: int | None
    """Their number; a worker a core without one, 0 for this process."""
    cluster: Cluster | None
    """Where they are; this computer without one."""
    retry: bool
    """Whether runs that failed are made again."""
    folders: Path | None
    """Where each run's whole folder is kept, with its report."""
    machine: Machine | None
    """The machine of every run; the newest without one."""
    cold: bool
    """Whether a guest boots for each run. Else a worker's runs are copies of one that stands by."""
    progress: Callable[[Progress], None] | None
    """Called after each run."""
    total: int | None
    """The number of runs, if known."""
    say: Callable[[str], None]
    """Receives messages for the user."""


def run(points: Sweep | Iterable[Point], **asked: Unpack[Asked]) -> Iterator[Done]:
    """Run points, or a sweep with its rule for seeds. Yields each run as it ends.

    `Asked` has the options. A sweep's combinations are all checked before the first run. Raises a
    `HoplabError` if runs cannot be made at all. A run that fails is a `Done` with its ``error``.
    """
    if unknown := asked.keys() - Asked.__annotations__.keys():
        known = ", ".join(Asked.__annotations__)
        raise TypeError(f"run: there is no option {min(unknown)!r}; one of: {known}")
    store, tables, total = asked.get("store"), asked.get("tables", ()), asked.get("total")
    place = asked.get("cluster") or Cluster()
    workers = asked.get("workers")
    if workers is not None:
        place = replace(place, workers=workers)
    source: Source
    if isinstance(points, Sweep):
        points.check()
        tables = (*points.tables, *tables)
        total = points.count() if total is None else total
        source = Adaptive(points) if points.rule is not None else Listed(points.points())
    else:
        total = len(points) if total is None and isinstance(points, list | tuple) else total
        source = Listed(points)
    options = Options(
        store=store if isinstance(store, Store) else Store(store),
        tables=tuple(tables),
        retry=asked.get("retry", False),
        cluster=place,
        folders=asked.get("folders"),
        machine=asked.get("machine"),
        cold=asked.get("cold", False),
        say=asked.get("say", lambda line: None),
    )
    teller = Teller(total, asked.get("progress"))
    for done in Engine(source, options).run():
        teller.told(done, source.more() if isinstance(source, Adaptive) else 0)
        yield done


def run_all(points: Iterable[Point], **asked: Unpack[Asked]) -> list[Done]:
    """Run points with `run`, and return the results in the order of the points. Holds all results
    at once."""
    ordered = list(points)
    # The same point may occur several times.
    places: dict[int, list[int]] = {}
    for place, one in enumerate(ordered):
        places.setdefault(id(one), []).append(place)
    found: dict[int, Done] = {}
    for done in run(ordered, **asked):
        found[places[id(done.point)].pop(0)] = done
    return [found[place] for place in sorted(found)]

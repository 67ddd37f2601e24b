# SPDX-License-Identifier: Apache-2.0
"""The public functions of `hoplab.many.sweep`; see there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hoplab.host.machine.sealed import Machine
from hoplab.many.store.files import Store
from hoplab.many.sweep.cluster import Cluster
from hoplab.many.sweep.engine import Done, Engine, Listed, Options, Source
from hoplab.many.sweep.points import Combination, Point, Sweep, read
from hoplab.many.sweep.progress import Progress, Teller
from hoplab.many.sweep.seeds import Adaptive
from hoplab.model.resolve.resolve import Walk, no_walk

__all__ = [
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


def run(
    points: Sweep | Iterable[Point],
    *,
    store: Store | Path | str | None = None,
    tables: Iterable[str] = (),
    workers: int | None = None,
    cluster: Cluster | None = None,
    retry: bool = False,
    folders: Path | None = None,
    machine: Machine | None = None,
    cold: bool = False,
    progress: Callable[[Progress], None] | None = None,
    total: int | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[Done]:
    """Run points, or a sweep with its rule for seeds. Yields each run as it ends.

    ``store`` is a folder (`hoplab.many.store.files.default_folder` by default). ``workers`` is
    their number (a worker a core by default), and ``cluster`` is their place. ``folders`` is where
    each run's whole folder is kept, with its report. A worker's runs are copies of a guest that
    stands by; if ``cold``, a guest boots for each. ``progress`` is called after each run.
    ``total`` is the number of runs, if known. A sweep's combinations are all
    checked before the first run. Raises a `HoplabError` if runs cannot be made at all.
    A run that fails is a `Done` with its ``error``.
    """
    place = cluster or Cluster()
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
        retry=retry,
        cluster=place,
        folders=folders,
        machine=machine,
        cold=cold,
        say=say,
    )
    teller = Teller(total, progress)
    for done in Engine(source, options).run():
        teller.told(done, source.more() if isinstance(source, Adaptive) else 0)
        yield done


def run_all(points: Iterable[Point], **options: Any) -> list[Done]:
    """Run points with `run`, and return the results in the order of the points. Holds all results
    at once."""
    ordered = list(points)
    # The same point may occur several times.
    places: dict[int, list[int]] = {}
    for place, one in enumerate(ordered):
        places.setdefault(id(one), []).append(place)
    found: dict[int, Done] = {}
    for done in run(ordered, **options):
        found[places[id(done.point)].pop(0)] = done
    return [found[place] for place in sorted(found)]

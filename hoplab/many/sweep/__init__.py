# SPDX-License-Identifier: Apache-2.0
"""Many runs: read a sweep, or make points in Python, and run those that no store has yet.

    import hoplab.many.sweep

    sweep = hoplab.many.sweep.read("experiments/chain-variants/sweep.toml")
    for done in hoplab.many.sweep.run(sweep):      # as runs end; from the store where it has them
        if done.error is None:
            print(done.point.parameters, done.point.seed, done.rows("flows")[0]["goodput_kbps"])

    points = [
        hoplab.many.sweep.point({**base, "duration_s": 20}, parameters={"hops": hops}, seed=seed)
        for hops in (2, 3) for seed in (1, 2)
    ]
    results = hoplab.many.sweep.run_all(points, tables=("tcp",))      # in the order of the points

A point has ``.parameters`` (dict), ``.document`` (what a scenario's file would say), ``.seed`` and
``.label``. A `Done` has ``.point``, ``.error`` (None, or why the run failed: that is a value, kept
in the store and retried only with ``retry=True``), ``.tables`` (Arrow tables by name),
``.table(name)``, ``.rows(name)``, ``.digest``, ``.key``, ``.from_store`` and ``.entry``.

Kept are the tables of `hoplab.many.store.TOTALS` (flows, links, radios, routing) and those of
``tables``. A run's key does not depend on them: where the store has the run without a table that is
asked for, it is made again, its digest compared, and the table added to what was kept.

``workers=0`` runs in this process, one after the other, without Dask. A program that uses more must
have the usual ``if __name__ == "__main__":``, since workers are processes of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoplab.many.sweep.api import (
        Cluster,
        Combination,
        Done,
        Point,
        Progress,
        Sweep,
        point,
        read,
        run,
        run_all,
    )

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


def __getattr__(name: str) -> Any:
    """Imported when first used: commands that have nothing to do with sweeps start without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hoplab.many.sweep import api

    return getattr(api, name)

# SPDX-License-Identifier: Apache-2.0
"""Many runs: read a sweep, or make points in Python, and run those that no store has yet.

    from hoplab import sweep

    asked = sweep.read("experiments/chain-variants/sweep.toml")
    for done in sweep.run(asked):      # as runs end; from the store where it has them
        if done.error is None:
            print(done.point.parameters, done.point.seed, done.rows("flows")[0]["goodput_kbps"])

    points = [
        sweep.point({**base, "duration_s": 20}, parameters={"hops": hops}, seed=seed)
        for hops in (2, 3) for seed in (1, 2)
    ]
    results = sweep.run_all(points, tables=("tcp",))      # in the order of the points

A point has ``.parameters`` (dict), ``.document`` (what a scenario's file would say), ``.seed`` and
``.label``. A `Done` has ``.point``, ``.error`` (None, or why the run failed), ``.tables`` (Arrow
tables by name), ``.table(name)``, ``.rows(name)``, ``.digest``, ``.key``, ``.from_store`` and
``.entry``. The store keeps an error as it keeps a result, and only ``retry=True`` runs the point
again.

The store keeps the tables of `hoplab.many.store.entry.TOTALS` (flows, links, radios, routing) and
those of ``tables``. A run's key does not depend on them. If the store has the run without a
requested table, the run is made again. Its digest is compared, and the table is added to the store.

``workers=0`` runs in this process, one after the other, without Dask. A program that uses more must
have the usual ``if __name__ == "__main__":``, since workers are processes of their own.
"""

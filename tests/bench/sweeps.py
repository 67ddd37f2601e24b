# SPDX-License-Identifier: Apache-2.0
"""What a sweep costs beside its runs, in processor time a run: ``python -m tests.bench.sweeps``.

Client and Dask's scheduler are this process, so its processor time is theirs; workers do nothing
but return an entry of the demo's size.
"""

from __future__ import annotations

import itertools
import os
import queue
import resource
import tempfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hoplab.many.store import entry as entries
from hoplab.many.store.files import Store
from hoplab.many.store.key import key_of, text_of
from hoplab.many.sweep import api as sweeps
from hoplab.many.sweep.dasked import joined
from hoplab.many.sweep.engine import AHEAD
from hoplab.many.sweep.processes import Processes
from hoplab.many.sweep.task import Answer, Request
from hoplab.model.resources import PROJECT

RUNS = 400
WORKERS = 2


def _echo(request: Request, content: bytes) -> Answer:
    return Answer(content)


def _cpu_ms(action: Callable[[], Any], times: int = RUNS) -> float:
    """Of this process, for each of so many times."""
    before = os.times()
    action()
    after = os.times()
    return 1000 * (after.user + after.system - before.user - before.system) / times


def _requests(document: dict[str, Any]) -> list[Request]:
    found = []
    for seed in range(RUNS):
        text = text_of(sweeps.point(document, seed=seed).scenario())
        machine = "m" * 64
        found.append(Request(key_of(text, machine), machine, text, ("flows",), "e" * 64))
    return found


def _through(submit: Callable[[Request], Any], requests: list[Request]) -> None:
    """Every request to a worker and back, as the engine does it."""
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    waiting = iter(requests)
    going = 0
    while True:
        while going < AHEAD * WORKERS and (request := next(waiting, None)) is not None:
            future = submit(request)
            future.add_done_callback(ended.put)
            going += 1
        if not going:
            return
        future = ended.get()
        future.result()
        going -= 1


def main() -> None:
    """Every figure, a line each."""
    document = tomllib.loads((PROJECT / "experiments" / "demo.toml").read_text("utf-8"))
    requests: list[Request] = []
    print(f"resolve_and_key_ms {_cpu_ms(lambda: requests.extend(_requests(document))):.2f}")
    with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as folder:
        store = Store(Path(folder))
        point = sweeps.point(document)
        made = sweeps.run_all([point], store=store, workers=0)[0].entry
        content = entries.pack(made)
        print(f"bytes_of_a_demo_in_the_store {len(content)}")
        keyed = [replace(made, head={**made.head, "key": one.key}) for one in requests]
        print(f"store_put_ms {_cpu_ms(lambda: [store.put(one) for one in keyed]):.2f}")
        print(f"store_get_ms {_cpu_ms(lambda: [store.get(one.key) for one in requests]):.2f}")
    began_s = time.monotonic()
    with Processes(WORKERS) as processes:
        pools = itertools.cycle([worker._pool for worker in processes._workers])
        _through(lambda one: next(pools).submit(_echo, one, content), requests[:WORKERS])
        started_s = time.monotonic() - began_s
        spent = _cpu_ms(
            lambda: _through(lambda one: next(pools).submit(_echo, one, content), requests)
        )
        began_s = time.monotonic()
    print(f"processes_start_and_stop_s {started_s + time.monotonic() - began_s:.2f}")
    print(f"processes_ms {spent:.2f}")
    with joined(sweeps.Cluster(kind="local", workers=WORKERS)) as cluster:
        client = cluster.client
        for _ in range(2):  # the first pass is the slower one
            spent = _cpu_ms(
                lambda: _through(
                    lambda one: client.submit(_echo, one, content, pure=False), requests
                )
            )
            print(f"client_and_scheduler_ms {spent:.2f}", flush=True)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"client_and_scheduler_peak_mb {peak_mb}")


if __name__ == "__main__":
    main()

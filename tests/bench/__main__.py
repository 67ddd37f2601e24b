# SPDX-License-Identifier: Apache-2.0
"""Print one line a figure: name, measured, what was aimed at. Nothing is asserted.

Figures in wall seconds are for a machine of two cores; the ratios hold more widely.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import statistics
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hoplab.host.machine import select
from hoplab.host.results import load as load_results
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, Progress, RunRequest, perform
from hoplab.host.stream.hub import Stream
from hoplab.host.stream.influx import Influx
from hoplab.many.sweep import api as sweeps
from hoplab.many.sweep.cluster import cores
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve.file import load, parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PROJECT
from hoplab.show import report
from tests.bench import bare, turns
from tests.emulation.victoria import victoria
from tests.page import busy

REPEATS = 3
SWEPT = 200


def _document(stations: int, duration_s: float, **more: Any) -> Resolved:
    return resolve(
        parse(
            {
                "duration_s": duration_s,
                "topology": {"kind": "chain", "stations": stations},
                "flow": [{"source": "n0", "destination": f"n{stations - 1}"}],
                **more,
            },
            "bench",
        )
    )


def _mobile(duration_s: float) -> Resolved:
    """30 stations on 1500 m x 300 m at about 10 m/s, DSR, one saturating flow."""
    return _document(
        30,
        duration_s,
        topology={
            "kind": "random-waypoint",
            "stations": 30,
            "min_speed_mps": 9,
            "max_speed_mps": 11,
        },
        routing={"protocol": "dsr"},
    )


def _saturated(duration_s: float) -> Resolved:
    """30 stations in five rows, a TCP flow along each row, static routes."""
    return _document(
        30,
        duration_s,
        topology={"kind": "grid", "rows": 5, "columns": 6, "spacing_m": 200},
        flow=[{"source": f"n{6 * row}", "destination": f"n{6 * row + 5}"} for row in range(5)],
    )


def _run(scenario: Resolved, observers: Observers | None = None) -> Manifest:
    with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as folder:
        request = RunRequest(scenario, Sealed(select.chosen()), out=Path(folder) / "run")
        return perform(request, observers or Observers())


def _wall_s(action: Callable[[], Any]) -> float:
    """Median wall time of the action."""
    times = []
    for _ in range(REPEATS):
        started = time.monotonic()
        action()
        times.append(time.monotonic() - started)
    return statistics.median(times)


def _speed(scenario: Resolved) -> float:
    """Virtual seconds a wall second, boot and all."""
    walls = [_run(scenario).wall_s or 0.0 for _ in range(REPEATS)]
    return float((scenario.duration_s + (scenario.warm_up_s or 0)) / statistics.median(walls))


def _speed_of_cpu(scenario: Resolved) -> float:
    """Virtual seconds a second of processor time, boot and tables and all: what one core gives
    when nothing else runs."""
    before = os.times()
    _run(scenario)
    after = os.times()
    # User and system time, of this process and of those that it started.
    spent_s = sum(after[:4]) - sum(before[:4])
    return (scenario.duration_s + (scenario.warm_up_s or 0)) / spent_s


def _engine() -> float:
    """Million events a second of the medium's engine with 10 radios."""
    command = (
        ". scripts/rust && cargo bench --quiet --locked --manifest-path daemons/Cargo.toml "
        "--package hoplab-medium-core --bench engine -- --quick static/10$"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    found = re.search(r"^static 10: .* ([0-9.]+) M events/s$", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    return float(found[1])


def _demo() -> None:
    with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as folder:
        file = PROJECT / "experiments" / "demo.toml"
        request = RunRequest(
            resolve(load(file)), Sealed(select.chosen()), file, Path(folder) / "run"
        )
        perform(request, Observers(on_results=report.render))


def _first_sample_s() -> float:
    """Boot to the first virtual second of 30 stations with a flow from the start."""
    first: list[float] = []

    def on_progress(progress: Progress) -> None:
        first.append(progress.wall_s)

    scenario = _document(30, 1.0)
    started = []
    for _ in range(REPEATS):
        first.clear()
        _run(scenario, Observers(on_progress))
        started.append(first[0])
    return statistics.median(started)


def _fast_pair_over_bare() -> float:
    """TCP's payload a wall second over a pair of VHT80 radios, over that of radios without a
    medium. What a run or a guest needs beside is taken off, by a second one that carries less."""
    spent = []
    for seconds in (1, 5):
        scenario = resolve(parse({**bare.PAIR, "duration_s": seconds}, "bench"))
        bits: list[float] = []

        def on_results(folder: Path, bits: list[float] = bits) -> None:
            (flow,) = load_results(folder).rows("flows")
            bits.append(8 * flow["delivered_bytes"])

        walls = [_run(scenario, Observers(on_results=on_results)).wall_s for _ in range(REPEATS)]
        spent.append((bits[0], statistics.median(wall or 0.0 for wall in walls)))
    ours = (spent[1][0] - spent[0][0]) / (spent[1][1] - spent[0][1])
    return ours / _bare_bits_a_second()


def _bare_bits_a_second() -> float:
    sizes = 100_000_000, 1_100_000_000
    times = []
    for size in sizes:
        times.append(_wall_s(functools.partial(turns.in_guest, "tests.bench.bare", str(size))))
    return 8 * (sizes[1] - sizes[0]) / (times[1] - times[0])


def _side_by_side() -> float:
    scenario = _document(3, 40)

    def both() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: _run(scenario), range(2)))

    return _wall_s(both) / _wall_s(lambda: _run(scenario))


def _streamed() -> float:
    """A run of 30 stations with DSR whose tables all go to a database, over the same without."""
    with (
        tempfile.TemporaryDirectory(prefix="hoplab-bench-") as folder,
        victoria(Path(folder)) as db,
    ):
        ratios = []
        for _ in range(REPEATS):
            alone = _run(_mobile(60)).wall_s or 0.0
            followed = _run(_mobile(60), Observers(stream=Stream([Influx(db.url)]))).wall_s or 0.0
            ratios.append(followed / alone)
    return statistics.median(ratios)


def _page() -> float:
    """Processor time that a live page of 30 stations takes for a second of its run."""
    before = time.process_time()
    busy.told(seconds=20)
    return (time.process_time() - before) / 20


def _sweep_over_runs() -> float:
    """Wall time of a sweep of 200 demos over that of 200 runs, one after the other on each core."""
    file = PROJECT / "experiments" / "demo.toml"
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    one_s = _wall_s(lambda: _run(resolve(load(file))))
    points = (sweeps.point(document, seed=seed) for seed in range(1, SWEPT + 1))
    with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as folder:
        started = time.monotonic()
        failed = sum(done.error is not None for done in sweeps.run(points, store=folder))
        wall_s = time.monotonic() - started
    assert not failed
    return wall_s / (SWEPT * one_s / cores())


def main() -> None:
    """Every figure, a line each; or those that have a counterpart, beside it."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--beside", metavar="COMMIT", help="take turns with another version")
    parser.add_argument("--peers", action="store_true", help="take turns with ns-3")
    parser.add_argument("--wmediumd", type=Path, metavar="CHECKOUT", help="and with wmediumd")
    options = parser.parse_args()
    if options.beside:
        turns.beside(options.beside)
    if options.peers:
        turns.peers(options.wmediumd)
    if not options.beside and not options.peers:
        figures()


def figures() -> None:
    """Every figure, a line each."""
    measured: tuple[tuple[str, Callable[[], float], str], ...] = (
        ("demo_to_report_wall_s", lambda: _wall_s(_demo), "<= 1.2"),
        ("boot_to_first_second_30_stations_wall_s", _first_sample_s, "<= 1.0"),
        ("chain_of_3_virtual_per_wall", lambda: _speed(_document(3, 120)), ">= 150"),
        ("30_stations_saturated_virtual_per_wall", lambda: _speed(_saturated(60)), ">= 60"),
        ("30_stations_saturated_virtual_per_cpu", lambda: _speed_of_cpu(_saturated(60)), ">= 8"),
        ("medium_engine_10_radios_million_events_per_s", _engine, ">= 1.5"),
        ("30_stations_dsr_virtual_per_wall", lambda: _speed(_mobile(60)), ">= 40"),
        ("vht80_pair_payload_a_wall_second_over_hwsim_alone", _fast_pair_over_bare, ">= 0.5"),
        ("two_runs_side_by_side_over_one", _side_by_side, "<= 1.25"),
        ("30_stations_dsr_streamed_over_not", _streamed, "<= 1.03"),
        ("live_page_30_stations_cpu_per_virtual", _page, "<= 0.25"),
        ("sweep_of_200_over_200_runs_a_core", _sweep_over_runs, "<= 1.15"),
    )
    for name, measure, aim in measured:
        print(f"{name} {measure():.2f} (aim {aim})", flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Sweeps in guests: once each, on workers that share nothing, which may die."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hoplab.many.store import again
from hoplab.many.store.files import Store
from hoplab.many.sweep import api as sweeps
from hoplab.model.resources import PROJECT
from tests.scenarios import ONE_HOP

pytestmark = pytest.mark.chance

DASK = PROJECT / ".venv" / "bin" / "dask"
PAIR = {
    "duration_s": 2,
    "topology": {"kind": "pair"},
    "flow": [{"source": "n0", "destination": "n1"}],
}
POISON = "kills its worker"
RUNNING = "running-"
KILLED = "killed"
"""A file: one worker has been killed in the middle of a run."""
LONGEST_WAIT_S = 60
PRELOAD = f"""
import os, pathlib, signal, time
from hoplab.many.sweep import task
make = getattr(task, "own_make", task.make)
task.own_make = make
def watched(request, machine, scratch):
    if '"title":"{POISON}"' in request.scenario:
        # Later the killer could meet a run that is repeated alone, which is then given up.
        end_s = time.monotonic() + {LONGEST_WAIT_S}
        while not pathlib.Path(os.environ["{KILLED}"]).exists() and time.monotonic() < end_s:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)
    note = pathlib.Path(scratch, f"{RUNNING}{{os.getpid()}}")
    note.touch()
    try:
        return make(request, machine, scratch)
    finally:
        note.unlink()
task.make = watched
"""


def points(count: int) -> list[sweeps.Point]:
    return [sweeps.point(PAIR, {"number": i}, seed=i) for i in range(1, count + 1)]


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """A scheduler and workers on the loopback address, each with a cache and a store of its own;
    yields the scheduler's address."""
    (folder / "preload.py").write_text(PRELOAD)
    told = folder / "scheduler.json"
    processes = []

    def start(name: str, *arguments: str, **variables: str) -> None:
        with (folder / f"{name}.log").open("w") as log:
            processes.append(
                subprocess.Popen(
                    [str(DASK), *arguments, "--scheduler-file", str(told), "--no-dashboard"],
                    env={**os.environ, **variables},
                    stderr=log,
                )
            )

    try:
        start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0")
        for i in range(workers):
            own = folder / f"worker{i}"
            own.mkdir()
            start(
                f"worker{i}",
                *("worker", "--nthreads", "1", "--host", "127.0.0.1"),
                *("--preload", str(folder / "preload.py"), "--local-directory", str(own)),
                HOPLAB_CACHE=str(own / "cache"),
                HOPLAB_STORE=str(own / "store"),
                **{KILLED: str(folder / KILLED)},
            )
        while not told.exists() or not told.read_text().strip():
            assert processes[0].poll() is None, (folder / "scheduler.log").read_text()
            time.sleep(0.05)
        yield json.loads(told.read_text())["address"]
    finally:
        for process in reversed(processes):  # workers while there is a scheduler to leave
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def kill_one_in_mid_run(folder: Path, killed: list[int], over: threading.Event) -> None:
    """SIGKILL for the first worker that has had a run's guest for a moment, unless all is over."""
    while not over.is_set():
        for note in folder.glob(f"worker*/dask-*/*/{RUNNING}*"):
            with contextlib.suppress(FileNotFoundError):  # a run's folder goes when the run ends
                if any(note.parent.glob("hoplab-sweep-*/*/run/raw/*")) and note.exists():
                    killed.append(int(note.name.removeprefix(RUNNING)))
                    os.kill(killed[0], signal.SIGKILL)
                    (folder / KILLED).touch()
                    return
        time.sleep(0.02)


def test_runs_are_the_same_on_workers_that_share_nothing_and_die(tmp_path: Path) -> None:
    """Each worker gets the machine over the scheduler. One dies in the middle of a run, and one run
    kills any worker that gets it. That run is named, and all others are as those made here."""
    wanted = points(5)
    bad = sweeps.point({**PAIR, "title": POISON}, {"number": 0})
    told: list[str] = []
    killed: list[int] = []
    found: dict[int, sweeps.Done] = {}
    with cluster(tmp_path, 2) as address:
        over = threading.Event()
        killer = threading.Thread(target=kill_one_in_mid_run, args=(tmp_path, killed, over))
        killer.start()
        for done in sweeps.run(
            [wanted[0], bad, *wanted[1:]],
            store=tmp_path / "store",
            cluster=sweeps.Cluster(scheduler=address),
            say=told.append,
        ):
            found[done.point.parameters["number"]] = done
        over.set()
        killer.join()
    assert len(killed) == 1
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    failure = found.pop(0)
    assert failure.error is not None and "killed its worker twice" in failure.error
    assert any(line.startswith("number 0") for line in told)
    assert [done.error for done in found.values()] == [None] * 5
    # Both lacked the machine; neither has kept a run.
    for i in range(2):
        assert len(list((tmp_path / f"worker{i}" / "cache" / "machines").glob("*/linux"))) == 1
        assert not (tmp_path / f"worker{i}" / "store").exists()
    here = {
        done.point.parameters["number"]: done.digest
        for done in sweeps.run(wanted[1:4:2], store=tmp_path / "local", workers=0)
    }
    assert here == {number: found[number].digest for number in here}


def test_what_the_store_has_is_not_run_again(tmp_path: Path) -> None:
    """It goes by the digest and tables alone. A table that is asked for later is added, and none is
    lost. A failure is kept, and retried on request."""
    point, other = points(2)
    store = Store(tmp_path)
    first = sweeps.run_all([point, point], store=store, workers=0)
    assert [done.from_store for done in first] == [False, True]
    assert first[0].rows("flows")[0]["goodput_kbps"] > 1000
    assert "tcp" not in first[1].tables
    again_ = sweeps.run_all([point], store=store, workers=0, tables=["tcp"])
    assert not again_[0].from_store
    assert again_[0].table("tcp").num_rows > 10 and again_[0].digest == first[0].digest
    assert sweeps.run_all([point], store=store, workers=0, tables=["tcp"])[0].from_store
    assert len(list(store)) == 1
    verdicts = list(again.verify(store, list(store)))
    assert [verdict.ok for verdict in verdicts] == [True], verdicts
    # A routing daemon that cannot start fails in the guest, which is a result.
    broken = sweeps.point(
        {**PAIR, "routing": {"protocol": "babeld", "settings": {"H": "never"}}}, {"number": 3}
    )
    failures = [
        sweeps.run_all([broken], store=store, workers=0, retry=retry)[0] for retry in (0, 0, 1)
    ]
    assert all(done.error and "babeld" in done.error for done in failures), failures[0].error
    assert [done.from_store for done in failures] == [False, True, False]
    assert other.label == "number 2, seed 2"


SWEEP = """
title = "Windows"
seeds = [1, 2]
stop_when = "ci95 of goodput_kbps < 20 %"
most_seeds = 4
[[axis]]
key = "flow.0.window"
values = [1, 8]
"""
SCENARIO = f"duration_s = 2\n{ONE_HOP}"


@pytest.mark.nightly
def test_a_sweep_may_end_at_any_moment(tmp_path: Path) -> None:
    """Ten times by a signal, once so many more runs are in the store; each goes on from there."""
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "sweep.toml").write_text(
        'seeds = 60\n[[axis]]\nkey = "flow.0.window"\nvalues = [1]\n'
    )
    store, scratch = Store(tmp_path / "store"), tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "hoplab", "sweep", str(tmp_path / "sweep.toml")]
    command += ["--store", str(store.folder), "--out", str(tmp_path / "out"), "--workers", "1"]
    chance, there = random.Random(7), 0
    for number in range(10):
        name = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[number % 3]
        sweep = subprocess.Popen(
            command,
            cwd=scratch,
            env={**os.environ, "TMPDIR": str(scratch)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        wanted = there + chance.randrange(3)
        while sum(1 for _ in store) < wanted:
            assert sweep.poll() is None
            time.sleep(0.01)
        time.sleep(chance.random())
        sweep.send_signal(name)
        told = sweep.communicate()[1].decode()
        assert "Traceback" not in told and "bug" not in told, told
        while members(sweep.pid):  # a killed one's workers see that it is gone, and end
            time.sleep(0.1)
        keys = list(store)
        assert all(store.read(key) is not None for key in keys), "each is whole"
        assert len(keys) >= there
        there = len(keys)
        if name != signal.SIGKILL:
            assert list(scratch.iterdir()) == [], (number, told)
        for path in scratch.iterdir():
            shutil.rmtree(path)
    assert not list(tmp_path.rglob("dask-scratch-space"))


def members(session: int) -> list[int]:
    """Processes of a session that are not over."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            if int(words[3]) == session and words[0] != "Z":
                found.append(int(path.parts[2]))
    return found


def test_the_command_leaves_dataset_page_and_numbers(
    tmp_path: Path, hoplab: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    store = ("--store", str(tmp_path / "store"))

    def sweep(*options: str) -> dict[str, Any]:
        sweep_file = str(tmp_path / "sweep.toml")
        done = hoplab("sweep", sweep_file, *store, "--json", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    plan = sweep("--dry-run")
    assert (plan["runs"], plan["there"], plan["missing"]) == (4, 0, 4)
    out = ("--out", str(tmp_path / "out"))
    first = sweep(*out, "--workers", "2", "--keep-runs")
    assert first["failed"] == 0 and first["from_store"] == 0
    for combination in first["combinations"]:
        goodput = combination["flows"]["flow0"]["goodput_kbps"]
        narrow = goodput["half_width"] <= 0.2 * goodput["mean"]
        assert combination["enough"] == narrow and (narrow or combination["runs"] == 4)
    data = pq.read_table(tmp_path / "out" / "results.parquet")
    assert data.num_rows == first["runs"] == first["rows"]
    assert data.column("window").to_pylist()[:2] == [1, 1]
    page = (tmp_path / "out" / "index.html").read_text()
    for key in data.column("key").to_pylist():
        assert f'href="runs/{key[:16]}/report.html"' in page
        assert (tmp_path / "out" / "runs" / key[:16] / "report.html").is_file()
    second = sweep(*out)
    assert second["from_store"] == first["runs"]
    assert pq.read_table(tmp_path / "out" / "results.parquet").equals(data)
    # A report that was not kept is made when it is asked for.
    key = data.column("key").to_pylist()[0]
    made = hoplab("store", "report", key[:12], "--out", str(tmp_path / "later"), *store)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "later" / "runs" / key[:16] / "report.html").is_file()
    listed = json.loads(hoplab("store", "ls", "--json", *store).stdout)
    assert listed["count"] == first["runs"]
    assert not list(tmp_path.rglob("dask-scratch-space"))
    dry = hoplab("sweep", str(tmp_path / "sweep.toml"), *store, "--dry-run")
    assert "there: 4" in dry.stdout

# SPDX-License-Identifier: Apache-2.0
"""Every way a run can end badly: one line, its own exit status, results kept, nothing left."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hoplab.host.machine import private
from tests.emulation.conftest import CHAIN, HOPLAB, Hoplab, chain, in_private_mounts

pytestmark = pytest.mark.chance

LONG = CHAIN.format(stations=3, last=2).replace("duration_s = 10", "duration_s = 80000")
"""Goes on for hours of wall time."""
PATIENCE_S = 60.0
"""Until processes that were killed are gone: a moment, but on a slow host."""


def children(pid: int) -> list[int]:
    """Processes whose ancestor is ``pid``, nearest first."""
    found = [pid]
    for parent in found:
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = status.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found.append(int(status.parent.name))
    return found[1:]


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A run that a failed test leaves would go on for hours beside all others. The memory of a
    killed one would stay, because only this test's folder tells of it."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.wait()
    if not runtime(tmp_path).is_dir():
        return
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime(tmp_path)))
    places = [(guest / private.MEMORY).readlink() for guest in guests(tmp_path)]
    private.clean()
    assert not [place for place in places if place.exists()]


def start(tmp_path: Path, text: str = LONG) -> tuple[subprocess.Popen[str], Path]:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    out = tmp_path / "out"
    runtime(tmp_path).mkdir(mode=0o700)
    process = subprocess.Popen(
        [str(HOPLAB), "run", str(file), "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime(tmp_path))},
    )
    STARTED.append(process)
    return process, out


def runtime(tmp_path: Path) -> Path:
    """The run's own runtime folder: other runs on this machine leave traces of their own."""
    return tmp_path / "runtime"


def guests(tmp_path: Path) -> list[Path]:
    return list((runtime(tmp_path) / "hoplab" / "guests").glob("*"))


def wait_for_samples(process: subprocess.Popen[str], out: Path) -> None:
    path = out / "raw" / "tcp.jsonl"
    while not (path.exists() and path.stat().st_size > 0):
        assert process.poll() is None
        time.sleep(0.05)


def all_gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while any(Path("/proc", str(pid)).exists() for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "hung up"),
    ],
)
def test_a_signal_in_mid_run_keeps_results(
    tmp_path: Path, number: signal.Signals, status: int, word: str
) -> None:
    process, out = start(tmp_path)
    wait_for_samples(process, out)
    below = children(process.pid)
    assert below
    process.send_signal(number)
    _, message = process.communicate()
    assert process.returncode == status
    assert tells_of_results(message, out, word)
    assert (out / "tables" / "tcp.parquet").exists()
    assert (out / "report.html").exists()
    assert not (out / "running.pid").exists()
    assert all_gone(below)


def tells_of_results(message: str, out: Path, word: str) -> bool:
    """Whether a run that a signal ended says what it has, where, and at last what ended it."""
    *_, reached, page, last = message.splitlines()
    told = reached.startswith("results so far, to ") and reached.endswith(f" are in {out}")
    return told and page == f"report: {out}/report.html" and last == f"hoplab: {word}"


def test_further_signals_wait_for_the_results(tmp_path: Path) -> None:
    """A user who presses Ctrl-C again and again still gets tables and report, once."""
    process, out = start(tmp_path)
    wait_for_samples(process, out)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    _, message = process.communicate()
    assert process.returncode == 130
    assert tells_of_results(message, out, "interrupted")
    assert (out / "tables" / "tcp.parquet").exists()
    assert (out / "report.html").exists()


@pytest.mark.parametrize("delay_s", [0.1, 0.2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_the_program_is_loaded(
    tmp_path: Path, delay_s: float, number: signal.Signals
) -> None:
    process, _ = start(tmp_path)
    time.sleep(delay_s)
    process.send_signal(number)
    _, message = process.communicate()
    if process.returncode != -number:  # the interpreter itself was not up yet
        assert process.returncode == 128 + number
        assert len(message.splitlines()) == 1


def test_a_failed_run_into_an_old_one_leaves_its_report(tmp_path: Path, hoplab: Hoplab) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(chain(2).replace("= 10", "= 1", 1))
    assert hoplab("run", str(file), "--out", str(tmp_path / "out")).returncode == 0
    report = tmp_path / "out" / "report.html"
    report.write_text("mine")
    assert hoplab("run", str(file), "--out", str(tmp_path / "out")).returncode == 6
    assert report.read_text() == "mine"


@pytest.mark.parametrize("name", ['a, "b" c', b"caf\xe9"])
def test_any_name_of_a_folder(tmp_path: Path, hoplab: Hoplab, name: str | bytes) -> None:
    (tmp_path / "scenario.toml").write_text(chain(2).replace("= 10", "= 1", 1))
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    file = (tmp_path / "scenario.toml").rename(folder / f"{os.fsdecode(name)}.toml")
    done = hoplab("run", str(file), "--out", str(folder / "out"), errors="surrogateescape")
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "report.html").exists()
    assert hoplab("report", str(folder / "out"), errors="surrogateescape").returncode == 0


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 0.6, 0.9, 1.2])
def test_a_signal_at_any_moment_leaves_nothing(tmp_path: Path, delay_s: float) -> None:
    process, _ = start(tmp_path)
    time.sleep(delay_s)
    below = children(process.pid)
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate()
    assert process.returncode in (143, -signal.SIGTERM)
    assert "Traceback" not in message
    assert all_gone(below)
    assert not guests(tmp_path)


def test_a_guest_killed_from_outside(tmp_path: Path) -> None:
    process, out = start(tmp_path)
    wait_for_samples(process, out)
    below = children(process.pid)
    os.kill(below[0], signal.SIGKILL)
    _, message = process.communicate()
    assert process.returncode == 5
    assert len(message.splitlines()) == 1
    assert "guest kernel" in message
    assert (out / "tables" / "tcp.parquet").exists()
    assert all_gone(below)


def test_a_guest_that_takes_too_long(tmp_path: Path, hoplab: Hoplab) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(LONG)
    out = tmp_path / "out"
    done = hoplab("run", str(file), "--out", str(out), "--wall-limit", "4")
    assert done.returncode == 5
    assert "within 4 s" in done.stderr and "--wall-limit" in done.stderr
    assert (out / "tables" / "tcp.parquet").exists()


def test_a_process_of_the_guest_killed_from_outside(tmp_path: Path) -> None:
    """Not its leader: the kernel then waits for a process that is no more, or its process dies."""
    process, _ = start(tmp_path)
    wait_for_samples(process, tmp_path / "out")
    below = children(process.pid)
    for pid in below[1:]:
        with contextlib.suppress(ProcessLookupError):  # the guest ends those that are left itself
            os.kill(pid, signal.SIGKILL)
    _, message = process.communicate()
    assert process.returncode in (4, 5), message
    assert len(message.splitlines()) == 1
    assert all_gone(below)
    assert not guests(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGUSR1])
def test_clean_removes_what_a_killed_run_left_and_nothing_else(
    tmp_path: Path, number: signal.Signals, hoplab: Hoplab
) -> None:
    process, out = start(tmp_path)
    wait_for_samples(process, out)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime(tmp_path))}
    (alive,) = guests(tmp_path)
    memory = (alive / "memory").readlink()
    done = hoplab("clean", env=environment)
    assert str(alive) not in done.stdout and (alive / "job").exists() and memory.exists()
    below = children(process.pid)
    process.send_signal(number)
    process.communicate()
    assert all_gone(below)
    done = hoplab("clean", env=environment)
    assert done.returncode == 0
    assert f"removed guest folder {alive}" in done.stdout
    assert not alive.exists() and not memory.exists()


def test_two_runs_into_one_folder(tmp_path: Path, hoplab: Hoplab) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(chain(2))

    def run(_: int) -> subprocess.CompletedProcess[str]:
        return hoplab("run", str(file), "--out", str(tmp_path / "out"))

    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(run, range(2)))
    assert sorted(done.returncode for done in both) == [0, 6]
    refused = next(done for done in both if done.returncode == 6)
    assert len(refused.stderr.splitlines()) == 1


def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(chain(3))
    done = in_private_mounts(
        "mkdir small && mount -t tmpfs -o size=64k none small && "
        f"{HOPLAB} run scenario.toml --out small/out; s=$?; ls small/out >&2; exit $s",
        tmp_path,
    )
    assert done.returncode == 6, done.stderr
    first, *kept = done.stderr.splitlines()
    assert "No space left on device" in first
    assert "scenario.json" in kept


def test_a_disk_that_fills_up_in_mid_run(tmp_path: Path) -> None:
    """The records are kept, the manifest says where it ended, and once there is room
    `hoplab finish` makes the tables of what there was."""
    (tmp_path / "scenario.toml").write_text(LONG)
    done = in_private_mounts(
        "mkdir small && mount -t tmpfs -o size=400k none small && "
        f"{HOPLAB} run scenario.toml --out small/out; echo $? >first; "
        "cat small/out/manifest.json >manifest; mount -o remount,size=40m small; "
        f"{HOPLAB} finish small/out; s=$?; cp -r small/out/tables small/out/report.html .; exit $s",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "first").read_text() == "6\n", done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "No space left on device" in done.stderr and "hoplab finish small/out" in done.stderr
    manifest = json.loads((tmp_path / "manifest").read_text())
    assert manifest["state"] == "records only"
    assert manifest["verdict"]["status"] == 6
    assert (tmp_path / "tables" / "tcp.parquet").exists()
    assert (tmp_path / "report.html").exists()


def test_a_killed_run_is_finished(tmp_path: Path, hoplab: Hoplab) -> None:
    process, out = start(tmp_path)
    wait_for_samples(process, out)
    process.kill()
    process.communicate()
    refused = hoplab("report", str(out))
    assert refused.returncode == 6 and f"hoplab finish {out}" in refused.stderr
    done = hoplab("finish", str(out))
    assert done.returncode == 0, done.stderr
    assert (out / "tables" / "tcp.parquet").exists()
    assert (out / "report.html").exists()


def test_a_read_only_folder(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(chain(2))
    done = in_private_mounts(
        "mkdir fixed && mount -t tmpfs -o ro none fixed && "
        f"{HOPLAB} run scenario.toml --out fixed/out",
        tmp_path,
    )
    assert done.returncode == 6
    assert len(done.stderr.splitlines()) == 1
    assert "Read-only file system" in done.stderr


def test_a_read_only_store(tmp_path: Path) -> None:
    """The first run is not even begun: a scenario of a day would be heard of here."""
    (tmp_path / "scenario.toml").write_text(chain(2))
    (tmp_path / "sweep.toml").write_text('scenario = "scenario.toml"\nseeds = 2\n')
    done = in_private_mounts(
        "mkdir fixed && mount -t tmpfs -o ro none fixed && "
        f"{HOPLAB} sweep sweep.toml --workers 0 --set duration_s=86000 --store fixed/store",
        tmp_path,
    )
    assert done.returncode == 6, done.stderr
    assert "Read-only file system" in done.stderr and "--store" in done.stderr


def test_a_file_that_is_no_scenario(tmp_path: Path, hoplab: Hoplab) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text("duration_s = 'long'")
    done = hoplab("run", str(file))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "duration_s" in done.stderr and "'long'" in done.stderr

# SPDX-License-Identifier: Apache-2.0
"""`make flaky` slows a test down, counts what fails, and ends with a status that says so."""

import contextlib
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import psutil
import pytest

from tests.flaky import __main__ as flaky
from tests.flaky import slow

QUARTER = Fraction(1, 4)


def test_the_table_has_each_test_at_each_slowness() -> None:
    counts: flaky.Counts = {
        ("test_a::test_x", Fraction(1, 2)): Counter({True: 20}),
        ("test_a::test_x", QUARTER): Counter({True: 19, False: 1}),
        ("test_a::test_x", 20): Counter({True: 18, False: 2}),
    }
    rows = [line.split() for line in flaky.table(counts, [Fraction(1, 2), QUARTER, 20])]
    assert rows == [["1/2", "1/4", "20", "busy"], ["test_a::test_x", "20/0", "19/1", "18/2"]]


def test_a_test_that_fails_every_other_time_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pathlib\n"
        "def test_good(): pass\n"
        "def test_second_time():\n"
        f"    note = pathlib.Path({str(tmp_path / 'note')!r})\n"
        "    assert not note.exists() or note.unlink()\n"
        "    note.touch()\n"
    )
    monkeypatch.setattr(flaky, "OUT", tmp_path / "out")
    words = [str(tmp_path / "test_it.py"), "--share", "1", "--times", "2"]
    monkeypatch.setattr(sys, "argv", ["flaky", *words])
    assert flaky.main() == 1
    told = capsys.readouterr()
    rows = [line.split() for line in told.out.splitlines()]
    assert ["test_it::test_good", "2/0"] in rows and ["test_it::test_second_time", "1/1"] in rows
    assert "test_second_time" in (tmp_path / "out" / "1-2.log").read_text()


def test_a_slowed_host_gives_less_time() -> None:
    """With a tenth of one core, a fifth of a second of processor time has to wait for its quota. So
    it does beside others that leave it less than a core. Without a quota it waits for its turn."""
    program = "import time\nwhile time.process_time() < 0.2: pass"
    cores = len(os.sched_getaffinity(0))
    with slow.host(0.1 / cores) as (how, prefix):
        subprocess.run([*prefix, sys.executable, "-c", program], check=True)
        if how == "a control group":
            assert throttled() > 0
        else:
            assert spinning() == cores * (10 * cores - 1)
    assert spinning() == 0
    assert not list(Path("/sys/fs/cgroup").glob(f"**/hoplab-slow-{os.getpid()}"))


def test_a_crowded_host_has_so_many_busy_processes() -> None:
    with slow.crowded(3) as (_, prefix):
        assert spinning() == 3 and prefix == []
    assert spinning() == 0


def throttled() -> int:
    """In how many periods the slowed group had used its quota up."""
    (file,) = Path("/sys/fs/cgroup").glob(f"*/hoplab-slow-{os.getpid()}/cpu.stat")
    return int(dict(line.split() for line in file.read_text().splitlines())["nr_throttled"])


def spinning() -> int:
    """How many processes use up this one's cores."""
    children = psutil.Process().children()
    return sum("sched_setaffinity" in words(child) for child in children)


def words(child: psutil.Process) -> str:
    """Its command. One that has just begun has none yet, and one that has ended none any more."""
    found: list[str] = []
    with contextlib.suppress(psutil.NoSuchProcess):  # also of what nobody has waited for
        while not found:
            found = child.cmdline()
    return " ".join(found)

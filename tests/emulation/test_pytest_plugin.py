# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, by pytest: tests in guests report as if they had run here."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

IN_GUESTS = """
import os, subprocess, time
import pytest

@pytest.mark.hoplab(radios=2)
def test_root_has_radios_and_time_is_virtual(tmp_path):
    began = time.monotonic()
    time.sleep(600)
    assert 600 <= time.monotonic() - began < 601
    assert os.geteuid() == 0
    (tmp_path / "file").write_text("writing works")
    assert "wlan1" in subprocess.run(["ip", "link"], capture_output=True, text=True).stdout

@pytest.mark.hoplab
def test_fails_like_any_other():
    print("said before")
    values = {"a": 1, "b": [1, 2, 3]}
    assert values == {"a": 1, "b": [1, 2, 4]}

@pytest.mark.hoplab
@pytest.mark.parametrize("word", ["a b/ü"])
def test_skips(word):
    pytest.skip(f"not today, {word}")

@pytest.mark.hoplab
def test_takes_its_interpreter_along():
    os._exit(3)

@pytest.mark.hoplab(radio=3)
def test_with_a_wrong_option():
    pass

def test_stays_here():
    assert os.uname().nodename != "hoplab"
"""
WITH_A_NETWORK = """
import subprocess, time
import pytest

@pytest.mark.hoplab
def test_looks_at_nothing(network):
    network({"topology": {"kind": "pair"}, "routing": {"protocol": "babeld"}})
    subprocess.run(["pkill", "-KILL", "--oldest", "babeld"], check=True)
    time.sleep(1)  # virtual
"""
WITH_LAB = """
from hoplab import assert_within

SCENARIO = {
    "duration_s": 2,
    "topology": {"kind": "pair"},
    "flow": [{"source": "n0", "destination": "n1"}],
}

def test_reuses_what_was_run(lab):
    first = lab.run(SCENARIO)
    assert first.flows.num_rows == 1
    assert lab.run(SCENARIO).run_dir == first.run_dir
    assert lab.run(SCENARIO, seed=2).run_dir != first.run_dir

def test_fails_with_its_report(lab):
    assert_within(lab.sample(SCENARIO, seeds=2), expected=1.0, relative=0.1)
"""


def run(folder: Path, text: str, *options: str) -> str:
    (folder / "test_it.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("guests")
    said = run(folder, IN_GUESTS, "-v", "--durations=1", "--junitxml=report.xml")
    return said + (folder / "report.xml").read_text()


@pytest.mark.parametrize(
    "line",
    [
        r"test_root_has_radios_and_time_is_virtual PASSED",
        r"test_fails_like_any_other FAILED",
        r"test_skips\[.*\] SKIPPED \(not today",
        r"test_takes_its_interpreter_along FAILED",
        r"test_stays_here PASSED",
        r"E +Differing items:",  # of the assertion's introspection
        r"-+ Captured stdout call -+\nsaid before",
        r"slowest 1 durations =+\n(?!60\d\.)\d+\.\d\ds call",  # in wall time: no 600 s
        r'name="virtual_s" value="600\.\d+"',
        r"hoplab: radio is none of its options; name them: memory_mb, radios, realtime, seed",
        r"the guest's pytest ended before the test did",
        r"3 failed, 2 passed, 1 skipped",
    ],
)
def test_what_is_told(told: str, line: str) -> None:
    assert re.search(line, told), told


def test_a_daemon_that_ends_is_an_error_of_the_test(tmp_path: Path) -> None:
    told = run(tmp_path, WITH_A_NETWORK)
    assert re.search(r"DaemonDied: babeld at n\d: was ended by SIGKILL", told), told


def test_each_seed_is_a_guest_of_its_own(tmp_path: Path) -> None:
    text = """
import pytest

@pytest.mark.hoplab
def test_draws():
    print("drew", open("/dev/urandom", "rb").read(4).hex())
"""
    told = run(tmp_path, text, "--hoplab-seeds=2", "-v", "-s")
    drawn = re.findall(r"test_draws\[seed\d\] drew (\w+)\s+PASSED", told)
    assert len(set(drawn)) == 2
    # Under -s a guest's terminal is the user's, but what pytest says is said once.
    assert told.count("test session starts") == 1
    assert told.count(" passed in ") == 1


def test_what_a_project_does_in_the_end_is_done_in_the_guest_too(tmp_path: Path) -> None:
    """Though nothing of the interpreter is taken down there."""
    (tmp_path / "conftest.py").write_text(
        """
import atexit
def pytest_configure(config):
    config.add_cleanup(lambda: print("clean-up"))
    atexit.register(lambda: print("interpreter's end"))
def pytest_sessionfinish():
    print("session's end")
def pytest_unconfigure():
    print("pytest's end")
"""
    )
    text = "import pytest\n@pytest.mark.hoplab\ndef test_it():\n    print('test')\n"
    told = run(tmp_path, text, "-s")
    assert told.count("test\n") == 1
    for end in ("session's", "pytest's", "interpreter's"):
        assert told.count(f"{end} end") == 2
    assert told.count("clean-up") == 2


def test_a_test_that_waits_for_nothing_fails(tmp_path: Path) -> None:
    text = """
import signal
import pytest

@pytest.mark.hoplab
def test_waits():
    signal.pause()
"""
    told = run(tmp_path, text)
    assert "hung: no end within 86400 s of virtual time" in told
    assert "1 failed" in told


def test_what_was_kept_for_a_test_in_a_guest_is_torn_down(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "test_it.py").write_text("def test_stays_here():\n    pass\n")
    with (tmp_path / "first" / "test_it.py").open("a") as file:
        file.write("import pytest\n@pytest.mark.hoplab\ndef test_in_a_guest():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout


def test_runs_are_kept_and_named(tmp_path: Path) -> None:
    told = run(tmp_path, WITH_LAB)
    assert "1 failed, 1 passed" in told
    report = re.search(r"report: (\S+)", told)
    assert report is not None
    assert Path(report[1]).is_file()
    assert "n0 scenario flow-start flow0" in told  # among the last events
    runs = [path for path in (tmp_path / ".hoplab").iterdir() if path.is_dir()]
    assert len(runs) == 2
    before = {run: json.loads((run / "manifest.json").read_text())["started"] for run in runs}
    run(tmp_path, WITH_LAB)
    after = {run: json.loads((run / "manifest.json").read_text())["started"] for run in runs}
    assert before == after


SIDE_BY_SIDE = """
import os, subprocess, time
import pytest

@pytest.mark.parametrize("number", range(2))
@pytest.mark.hoplab(radios=1)
def test_in_a_guest(number):
    time.sleep(600)
    assert "wlan0" in subprocess.run(["ip", "link"], capture_output=True, text=True).stdout

@pytest.mark.hoplab
def test_fails_in_a_guest():
    print("said before")
    assert [1, 2] == [1, 3]

@pytest.mark.parametrize("number", range(2))
def test_asks_for_the_same_run(lab, number, tmp_path_factory):
    run = lab.run({
        "duration_s": 2,
        "topology": {"kind": "pair"},
        "flow": [{"source": "n0", "destination": "n1"}],
    })
    with open(os.environ["RUNS"], "a") as file:
        file.write(f"{run.run_dir} {run.manifest.digest} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def test_xdist_has_a_guest_in_each_of_its_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports come back over two processes; what both ask for is one run."""
    monkeypatch.setenv("RUNS", str(tmp_path / "runs.txt"))
    told = run(tmp_path, SIDE_BY_SIDE, "-n", "2", "-v", "-rA")
    assert "1 failed, 4 passed" in told
    for worker in ("gw0", "gw1"):
        assert re.search(rf"\[{worker}\] .*PASSED test_it.py::", told)
    assert "At index 1 diff: 2 != 3" in told
    assert "said before" in told
    rows = [line.split() for line in (tmp_path / "runs.txt").read_text().splitlines()]
    assert len(rows) == 2
    assert rows[0][:2] == rows[1][:2]


def test_what_a_killed_pytest_left_is_cleaned(tmp_path: Path) -> None:
    text = """
import time
import pytest

@pytest.mark.hoplab(realtime=True)
def test_waits():
    print("waiting", flush=True)
    time.sleep(3600)
"""
    (tmp_path / "test_it.py").write_text(text)
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(private)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as pytest_:
        assert pytest_.stdout is not None
        assert any("waiting" in line for line in pytest_.stdout)
        pytest_.kill()
    guests = private / "hoplab" / "guests"
    left = sorted(map(str, guests.iterdir()))
    assert left
    clean = [sys.executable, "-m", "hoplab", "clean"]
    done = subprocess.run(clean, env=environment, capture_output=True, text=True, check=True)
    said = [line.removeprefix("removed guest folder ") for line in done.stdout.splitlines()]
    assert sorted(line for line in said if line.startswith(str(private))) == left
    assert not list(guests.iterdir())

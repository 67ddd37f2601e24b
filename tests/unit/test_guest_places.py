# SPDX-License-Identifier: Apache-2.0
"""Where a guest's folder, memory and core are: private, large enough, idle."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hoplab.host.machine import cores, memory, private
from hoplab.host.machine.cores import Core, Load
from hoplab.model.errors import MissingTool


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder of this test's alone; the other candidates lie beside it."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_the_private_folder_is_nobody_elses(runtime: Path) -> None:
    assert private.folder() == runtime / "hoplab"
    assert private.folder().stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_is_refused(runtime: Path, tmp_path: Path) -> None:
    (runtime / "hoplab").mkdir()
    (runtime / "hoplab").chmod(0o777)
    assert private.folder() == tmp_path / "cache" / "hoplab" / "run"


def test_a_link_laid_beforehand_is_refused(runtime: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    (runtime / "hoplab").symlink_to(target)
    assert private.folder() == tmp_path / "cache" / "hoplab" / "run"
    assert not list(target.iterdir())


def test_a_folder_whose_parent_others_may_write_is_refused(runtime: Path, tmp_path: Path) -> None:
    runtime.chmod(0o777)
    assert private.folder() == tmp_path / "cache" / "hoplab" / "run"


def test_a_lock_follows_no_link(runtime: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (private.folder() / "core-0").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        private.lock(private.folder() / "core-0")
    assert victim.read_text() == "precious"


def test_where_nothing_serves_all_are_named(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setattr(private.tempfile, "gettempdir", lambda: str(tmp_path))
    with pytest.raises(MissingTool, match=r"others may write.*XDG_RUNTIME_DIR"):
        private.folder()
    tmp_path.chmod(0o700)


def test_a_guests_folder_goes_with_its_memory(runtime: Path) -> None:
    with private.guest_folder() as folder:
        memory.attach(folder, 64)
        place = (folder / private.MEMORY).readlink()
        assert place.is_dir()
        assert private.clean() == []
        assert folder.is_dir()
    assert not folder.exists() and not place.exists()


def test_what_a_killed_command_left_is_cleaned(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only that: what others made under such a name, or use, stays."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(private.tempfile, "tempdir", str(place))
    program = (
        "import os, pathlib, signal, tempfile\n"
        "from hoplab.host.machine import private\n"
        f"tempfile.tempdir = {str(place)!r}\n"
        "with private.temporary('verify') as folder:\n"
        "    (folder / 'run').mkdir()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = place.iterdir()
    (place / "hoplab-verify-others").mkdir()
    with private.temporary("verify") as used:
        assert private.clean() == [f"temporary folder {left}"]
        assert used.is_dir() and not left.exists()
    assert [path.name for path in place.iterdir()] == ["hoplab-verify-others"]


def test_no_place_for_memory(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_candidates", lambda: [str(tmp_path / "absent"), str(tmp_path)])
    with pytest.raises(MissingTool, match=r"no place for \d+ MB.*absent: No such.*MB free.*TMPDIR"):
        memory.attach(tmp_path, 1 << 40)


def test_memory_goes_by_the_scenario_alone_and_in_steps() -> None:
    assert memory.needed_mb(2, 1, 10.0) == memory.needed_mb(3, 0, 20.0) == 320
    assert memory.needed_mb(30, 5, 100.0) == 832
    assert memory.needed_mb(200, 250, 1e6) == memory.LARGEST_MB


def test_a_commands_own_work_is_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    # In a second it computed for 0.7 s on core 1, and others for 0.2 s there and 0.5 s on core 0.
    counts = iter([{0: (0, 0), 1: (0, 0)}, {0: (50, 100), 1: (90, 100)}])
    own_s = iter([1.0, 1.7])
    monkeypatch.setattr(Load, "_read", staticmethod(lambda: next(counts)))
    monkeypatch.setattr(cores.time, "process_time", lambda: next(own_s))
    monkeypatch.setattr(cores, "_here", lambda: 1)
    monkeypatch.setattr(cores, "TICKS_A_SECOND", 100)
    assert Load().since_last() == {0: 0.5, 1: pytest.approx(0.2)}


def test_only_a_command_that_just_began_waits_for_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(cores.time, "sleep", waits.append)
    for age_s, wait_s in ((0.02, 0.03), (1.0, 0.0)):
        ages = iter([age_s, age_s])
        monkeypatch.setattr(Load, "age_s", property(lambda load, ages=ages: next(ages)))
        cores._lately()
        assert waits.pop() == pytest.approx(wait_s)
    # A sample of long ago says nothing of now.
    ages = iter([60.0, 0.0])
    monkeypatch.setattr(Load, "age_s", property(lambda load: next(ages)))
    cores._lately()
    assert waits == [cores.SAMPLE_S]


@pytest.fixture
def two_cores(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Cores 0 and 1, as busy as the test says; moving is recorded in ``moved``."""
    busy = {0: 0.0, 1: 0.0}
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(cores.time, "sleep", lambda s: None)
    monkeypatch.setattr(cores.random, "random", lambda: 0.9)
    monkeypatch.setattr(Load, "since_last", lambda load: dict(busy))
    return busy


def test_the_idle_core_is_chosen(two_cores: dict[int, float]) -> None:
    two_cores[0] = 1.0  # another user's guest, whose locks this one cannot see
    assert Core().number == 1


def test_guests_of_one_user_take_different_cores(two_cores: dict[int, float]) -> None:
    first, second = Core(), Core()
    assert {first.number, second.number} == {0, 1}
    first.close()
    assert Core().number == first.number


def test_a_guest_moves_on_when_another_sits_on_its_core(
    two_cores: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[tuple[int, set[int]]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda task, to: moved.append((task, to)))
    core = Core()
    other = 1 - core.number
    two_cores[core.number] = 1.0
    core.reconsider(0.1, [os.getpid()])
    assert not moved  # it need not wait
    core.reconsider(0.5, [os.getpid()])
    assert core.number == other
    assert (os.getpid(), {other}) in moved


def test_a_guest_stays_where_no_core_idles(
    two_cores: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    core = Core()
    number = core.number
    two_cores.update({0: 1.0, 1: 1.0})
    core.reconsider(0.5, [os.getpid()])
    assert core.number == number

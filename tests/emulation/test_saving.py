# SPDX-License-Identifier: Apache-2.0
"""Networks that a run's command keeps. Others' branches are copies of them, to the bytes of those
that repeat the past, and nothing is left of either."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hoplab.front import api
from hoplab.front.commands import run
from hoplab.front.commands.futures import Futures
from hoplab.front.commands.options import scenario_of
from hoplab.front.commands.run import Options, run_files
from hoplab.host.machine import confined, private, processes, saved, saving, select
from hoplab.host.machine.copies import COPY, Source
from hoplab.host.machine.launcher.confine import NAMESPACE
from hoplab.host.machine.saved import Saved
from hoplab.host.machine.saving import Saving
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.model.errors import GuestFailed, ScenarioError
from hoplab.model.keys import requests
from tests.emulation.conftest import HOPLAB, Hoplab
from tests.emulation.test_branches import AT_S, FUTURES, PAST
from tests.emulation.test_originals import ended

pytestmark = pytest.mark.skipif(
    confined.confinement() == NAMESPACE, reason="guests boot where there is no Landlock"
)

PAIR = """
duration_s = 6
[topology]
kind = "pair"
[[flow]]
source = "n0"
destination = "n1"
[[event]]
at_s = 5
kind = "down"
station = "n1"
"""
CHANGE = "event=[{at_s = 4.0, kind = 'down', station = 'n1'}]"
USED = "hoplab: goes on from the network that another command has saved\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(PAIR)
    return path


@contextmanager
def keeper(file: Path, *times: str) -> Iterator[subprocess.Popen[str]]:
    """A command that has run ``file`` into ``run`` beside it, and keeps networks."""
    options = [word for at_s in times for word in ("--save-at", at_s)]
    command = [str(HOPLAB), "run", str(file), "--out", str(file.parent / "run"), "--json", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if "Ctrl-C" in line:
                break
        kept = [line for line in said if line.startswith("saved: the network at ")]
        assert len(kept) == len(times), said
        assert all(int(re.findall(r"holds (\d+) MB", line)[0]) > 20 for line in kept)
        try:
            yield process
        finally:
            process.terminate()


def branch(hoplab: Hoplab, file: Path, out: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = ["branch", str(file), "--at", "3", "--set-at", "3", CHANGE, *more]
    return hoplab(*command, "--out", str(file.parent / out), "--json")


def digest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())["digest"]


def test_a_branch_finds_the_network_that_another_command_keeps(file: Path, hoplab: Hoplab) -> None:
    """Its bytes are those of one that repeats the past; the run's, of one that keeps nothing."""
    place = file.parent
    with keeper(file, "3", "1") as process:
        done = branch(hoplab, file, "copied")
        assert (done.returncode, done.stderr) == (0, USED)
        elsewhere = branch(hoplab, file, "below/elsewhere")
        assert elsewhere.stderr == USED
        # An earlier moment has a past of its own.
        other = hoplab("branch", str(file), "--at", "2", "--out", str(place / "other"), "--json")
        assert (other.returncode, other.stderr) == (0, "")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    repeated = branch(hoplab, file, "repeated")
    assert (repeated.returncode, repeated.stderr) == (0, "")
    assert (
        digest(place / "copied") == digest(place / "repeated") == digest(place / "below/elsewhere")
    )
    again = hoplab("verify", str(place / "copied"))
    assert again.returncode == 0, again.stderr
    hoplab("run", str(file), "--out", str(place / "alone"), "--json")
    assert digest(place / "run") == digest(place / "alone")


def test_where_it_may_not_write_the_past_is_repeated(
    file: Path, hoplab: Hoplab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with keeper(file, "3"):
        done = branch(hoplab, file, str(elsewhere / "run"))
        cold = branch(hoplab, file, "cold", "--cold")
    assert done.stderr == (
        f"hoplab: the saved network writes to folders in {file.parent} only, so give --out one "
        "there; this run repeats its past\n"
    )
    assert cold.stderr == ""
    assert digest(elsewhere / "run") == digest(file.parent / "cold")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "room"
    folder.mkdir()
    return folder


def at(change: dict[str, Any], at_s: float = AT_S) -> Any:
    return api.resolved_scenario({**PAST, "branch": {"at_s": at_s, "set": change}})


def digest_of(change: dict[str, Any], out: Path, source: Source | None) -> str | None:
    kind = Sealed(select.chosen(), originals=source)
    return perform(RunRequest(at(change), kind, out=out)).digest


def test_each_future_is_as_if_it_had_repeated_the_past(room: Path) -> None:
    """With events before and after, other windows, places, powers, flows and another seed."""
    told: list[str] = []
    with closing(Saving([Sealed(select.chosen()).point(at({}))], room, told.append)) as made:
        assert made.wait() == [AT_S]
        for name, change in FUTURES.items():
            used: list[str] = []
            copied = digest_of(change, room / f"copied {name}", Saved(used.append))
            assert used == ["goes on from the network that another command has saved"]
            assert copied == digest_of(change, room / f"booted {name}", None), name
    assert len(told) == 1


def test_the_oldest_is_dropped_when_they_hold_too_much(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of what would be free has room for two, and the third takes that of the first."""
    told: list[str] = []
    monkeypatch.setattr(saving._Served, "held_mb", lambda served: 100.0)
    monkeypatch.setattr(saving, "available_mb", lambda: 500.0 - 100.0 * len(sockets(os.getpid())))
    kind = Sealed(select.chosen())
    points = [kind.point(at({}, at_s)) for at_s in (1.0, 2.0, 3.0)]
    with closing(Saving(points, room, told.append)) as made:
        assert made.wait() == [2.0, 3.0]
    assert told[-1] == (
        "--save-at 1: dropped, since saved networks hold 300 MB, and 50% of the free memory is "
        "250 MB"
    )


def sockets(pid: int) -> list[Path]:
    """Those of guests that a process keeps for others."""
    found = (private.folder() / private.GUESTS).glob(f"*/{saved.SOCKET.format('*')}")
    return [path for path in found if (path.parent / private.OWNER).read_text() == str(pid)]


OWNER = """
import sys
from pathlib import Path
from hoplab.front.commands.options import scenario_of
from hoplab.host.machine import select
from hoplab.host.machine.saving import Saving
from hoplab.host.runs.kinds import Sealed
file = Path(sys.argv[1])
point = Sealed(select.chosen()).point(scenario_of(file, None, None, {"at_s": 3.0, "set": {}}))
Saving([point], file.parent, lambda line: print(line, flush=True)).wait()
sys.stdin.read()
"""


@contextmanager
def owner(file: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that keeps the network of ``file`` at 3 s, without a run of its own."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-c", OWNER, str(file)]
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline().startswith("saved: the network at 3 s")
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def branching(file: Path, out: str) -> Iterator[subprocess.Popen[str]]:
    """A command whose run is a copy of a saved network, and goes on."""
    command = [str(HOPLAB), "branch", str(file), "--at", "3", "--out", str(file.parent / out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == USED
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def long(file: Path) -> Path:
    """A scenario that no test waits for."""
    file.write_text(PAIR.replace("duration_s = 6", "duration_s = 8000"))
    return file


def below(process: subprocess.Popen[str]) -> set[int]:
    """The guests' processes that this one has started."""
    return {found.pid for found in processes.of(process.pid)} - {process.pid}


def test_nothing_outlives_the_command_that_keeps_networks(long: Path, hoplab: Hoplab) -> None:
    """Its guest, and another command's copy, which says so."""
    with owner(long) as process, branching(long, "copied") as other:
        pids = below(process)
        assert len({os.getsid(pid) for pid in pids}) == 2  # the guest's session, and the copy's
        process.kill()
        for pid in pids:
            ended(pid)
        _, said = other.communicate(timeout=60)
        assert other.returncode == GuestFailed.exit_status
        assert "it was killed from outside" in said
    # Its socket is of no use to anybody.
    (path,) = sockets(process.pid)
    assert saved._greeted(path) is None
    assert hoplab("clean").returncode == 0
    assert not sockets(process.pid)


def test_a_copy_ends_with_the_command_whose_run_it_is(long: Path) -> None:
    with owner(long) as process:
        before = below(process)
        with branching(long, "first") as other:
            (copy,) = {os.getsid(pid) for pid in below(process) - before}
            other.kill()
            ended(copy)
        with branching(long, "second"):  # it is asked again
            assert below(process) > before


HOSTILE = {
    "nothing": (b"", 0),
    "another word": (b"whole", 4),
    "to go": (b"go", 0),
    "a long word": (COPY * 1000, 4),
    "no descriptor": (COPY, 0),
    "three descriptors": (COPY, 3),
    "fifty descriptors": (COPY, 50),
    "of the wrong kinds": (COPY, 4),
}


def guests() -> set[int]:
    """Children of this process that lead sessions of their own. Other tests' may be there too."""
    found = set()
    for process in processes.of(os.getpid())[1:]:
        with suppress(ProcessLookupError):  # another test's may end meanwhile
            if os.getsid(process.pid) == process.pid:
                found.add(process.pid)
    return found


def test_what_is_no_request_gets_no_copy_and_others_do(room: Path) -> None:
    others = guests()
    with closing(Saving([Sealed(select.chosen()).point(at({}))], room, lambda line: None)) as made:
        made.wait()
        (path,) = sockets(os.getpid())
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone
        place = os.open(room, os.O_PATH)
        for word, count in HOSTILE.values():
            found = saved._greeted(path)
            assert found is not None
            with found[1] as connection:
                socket.send_fds(connection, [word], [place] * count)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(100):
                    pass
        os.close(place)
        used: list[str] = []
        assert digest_of({}, room / "copied", Saved(used.append)) is not None
        assert len(used) == 1
        assert len(guests() - others) == 1  # the guest alone
        assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((6.0,), r"^--save-at: 6; expected s from 0 to less than duration_s, 6$"),
        ((-1.0,), r"^--save-at: -1; expected"),
        ((float("nan"),), r"^--save-at: nan; expected"),
    ],
)
def test_a_time_that_is_none_is_told(file: Path, options: tuple[float], told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        run_files([file], Options(), options)
    with pytest.raises(ScenarioError, match=r"^--save-at: is for one scenario, not for 2$"):
        run_files([file, file], Options(), options)
    with pytest.raises(ScenarioError, match=r"^branch: needs a sealed machine"):
        run_files([file], Options(machine="host"), (3.0,))


def test_a_future_of_the_live_page_is_one_of_the_same_network(file: Path) -> None:
    """Of the run's own scenario, as the command that keeps its network and shows its page has
    it."""
    scenario = scenario_of(file, None, None)
    futures = Futures(scenario, lambda resolved, number: pytest.fail())
    future = futures._branched(requests.Branch(at_s=3.0, without="0"))
    kept = run._point(file, scenario, Options(), 3.0)
    assert Sealed(select.chosen()).point(future).name == kept.name
    other = run._point(file, scenario, Options(), 2.0)
    assert kept.name != other.name

# SPDX-License-Identifier: Apache-2.0
"""Copies of a guest that stands by are as if each had booted, and leave nothing behind."""

import os
import select as selecting
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from hoplab.front.commands.options import scenario_of
from hoplab.host.machine import (
    clock,
    confined,
    images,
    memory,
    originals,
    private,
    processes,
    select,
    uml,
)
from hoplab.host.machine.copies import Wish
from hoplab.host.machine.cores import Core
from hoplab.host.machine.guests import Boot, SealedGuest
from hoplab.host.machine.launcher.confine import LANDLOCK, NAMESPACE
from hoplab.host.machine.originals import Originals
from hoplab.host.machine.sealed import Machine
from hoplab.host.machine.uml import Streams
from hoplab.host.machine.watch import Limits
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.model.errors import GuestFailed
from hoplab.model.resources import PROJECT
from tests.proof.__main__ import SCENARIOS

STANDING_BY = (
    "import sys; from hoplab.guest.lab.standby import stand_by; stand_by();"
    "exec(open('/out/script').read())"
)
COMMAND = ["python3", "-S", "-P", "-c", STANDING_BY]
BOOT = Boot(memory.SMALLEST_MB)

pytestmark = pytest.mark.skipif(
    confined.confinement() == NAMESPACE, reason="guests boot where there is no Landlock"
)


def machine_at_hand() -> Machine:
    """The machine, with the kernel that TESTED_KERNEL names if it does."""
    name = os.environ.get("TESTED_KERNEL")
    return select.named(name) if name else select.chosen()


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "room"
    folder.mkdir()
    return folder


BOOTS, FROM_IMAGE = "boots", "starts from an image"
BOTH = pytest.mark.parametrize("made", [BOOTS, FROM_IMAGE], indirect=True)


@pytest.fixture
def made(
    room: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Originals]:
    """Originals that boot, or for tests of `BOTH` start from the image of a run that booted."""
    if getattr(request, "param", BOOTS) == BOOTS:
        monkeypatch.setattr(images, "place", lambda *about: None)
    monkeypatch.setattr(images, "folder", lambda: room.parent / "images")
    with closing(Originals(room)) as found:
        yield found


def carried_out(room: Path, name: str, script: str, made: Originals | None) -> list[str]:
    """The lines that a script says in a guest whose /out is the folder ``name`` of ``room``."""
    out = room / name
    out.mkdir(exist_ok=True)
    (out / "script").write_text(script)
    said: list[str] = []
    guest = SealedGuest(machine_at_hand(), out)
    is_cold = made is None
    streams = Streams(on_line=said.append, stands_by=True, originals=made, is_cold=is_cold)
    result = uml.run_guest(guest, COMMAND, BOOT, streams)
    return [*said, str(result.exit_status)]


def standing(room: Path, made: Originals) -> originals.Original:
    """The original, after a run that booted and one that was its copy."""
    for _ in range(2):
        assert carried_out(room, "first", "print('here')", made) == ["here", "0"]
    (original,) = made._originals.values()
    return original


def ended(pid: int) -> None:
    """Wait until a process has gone."""
    with suppress(ProcessLookupError):
        selecting.select([os.pidfd_open(pid)], [], [])


@BOTH
@pytest.mark.parametrize(
    "name",
    [
        "dsr-chain",
        *(pytest.param(n, marks=pytest.mark.nightly) for n in SCENARIOS if n != "dsr-chain"),
    ],
)
def test_a_copy_has_the_digest_of_a_guest_that_booted(
    name: str, room: Path, made: Originals
) -> None:
    """Also for another seed, of which the original knows nothing."""
    (room.parent / "scenario.toml").write_text(SCENARIOS[name])
    machine = machine_at_hand()

    def digest(run: str, seed: int, among: Originals | None) -> str | None:
        scenario = scenario_of(room.parent / "scenario.toml", None, seed)
        kind = Sealed(machine, originals=among, is_cold=among is None)
        return perform(RunRequest(scenario, kind, out=room / run)).digest

    booted = digest("booted", 1, made)
    assert digest("copied", 1, made) == booted
    assert len(made._originals) == 1
    seeded = digest("seeded", 2, made)
    assert seeded == digest("booted-seeded", 2, None)
    # A flow over wires with DropTail draws nothing.
    assert (seeded == booted) == (name == "wired-dumbbell")


@BOTH
def test_several_copies_go_on_at_once_each_with_its_own(room: Path, made: Originals) -> None:
    standing(room, made)
    script = (
        "import os, threading, time\n"
        "me = open('/out/name').read()\n"
        "open('/tmp/mine', 'w').write(me)\n"
        "thread = threading.Thread(target=time.sleep, args=(1,)); thread.start(); thread.join()\n"
        "print(open('/tmp/mine').read(), sum(i * 0.1 for i in range(10**5)), time.monotonic_ns())"
    )

    def one(name: str) -> list[str]:
        (room / name).mkdir()
        (room / name / "name").write_text(name)
        return carried_out(room, name, script, made)

    names = [f"n{i}" for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, names))
    assert [line.split()[0] for line, _ in found] == names
    assert {status for _, status in found} == {"0"}
    assert len({line.partition(" ")[2] for line, _ in found}) == 1  # virtual time, to the ns
    (room / "booted").mkdir()
    (room / "booted" / "name").write_text("booted")
    (line, _) = carried_out(room, "booted", script, None)
    assert line.partition(" ")[2] == found[0][0].partition(" ")[2]


@BOTH
def test_a_copy_writes_files_of_the_root_for_itself(room: Path, made: Originals) -> None:
    """What the original keeps for it is read, written, mapped, cut and removed."""
    standing(room, made)
    script = (
        "import hashlib, mmap, os, glob\n"
        "paths = sorted(glob.glob('/usr/lib/**/*.so*', recursive=True))[:40]\n"
        "before = [hashlib.sha256(open(p, 'rb').read()).hexdigest() for p in paths]\n"
        "path = '/usr/bin/iperf3'\n"
        "with open(path, 'r+b') as file:\n"
        "    with mmap.mmap(file.fileno(), 0) as content:\n"
        "        content[:4] = b'mine'\n"
        "    file.seek(8192); file.write(b'x' * 4096); file.truncate(20000)\n"
        "print(hashlib.sha256(open(path, 'rb').read()).hexdigest())\n"
        "os.remove('/usr/sbin/babeld')\n"
        "open('/tmp/large', 'wb').write(os.urandom(1) * (1 << 24))\n"
        "after = [hashlib.sha256(open(p, 'rb').read()).hexdigest() for p in paths]\n"
        "print(before == after)"
    )
    first, second = (carried_out(room, name, script, made) for name in ("one", "two"))
    assert first == second == carried_out(room, "booted", script, None)
    assert first[1:] == ["True", "0"]


@BOTH
def test_a_copy_writes_nowhere_but_to_its_own(room: Path, made: Originals) -> None:
    """Not where the original may write: in folders of other runs."""
    if confined.confinement() != LANDLOCK:
        pytest.skip("nothing confines guests here")
    standing(room, made)
    (room / "other").mkdir()
    script = (
        "import subprocess\n"
        "subprocess.run(['mkdir', '-p', '/tmp/host'], check=True)\n"
        "subprocess.run(['mount', '-t', 'hostfs', '-o', {place!r}, 'none', '/tmp/host'])\n"
        "try:\n"
        "    open('/tmp/host/planted', 'w').write('here'); print('written')\n"
        "except OSError as error:\n"
        "    print(error.errno)"
    )
    for place, answer in ((room / "other", "13"), (room / "own", "written")):
        said = carried_out(room, "own", script.format(place=str(place)), made)
        assert said == [answer, "0"]
    assert not [*(room / "other").iterdir()]


def test_copies_outlive_an_original_that_was_killed_and_later_guests_boot(
    room: Path, made: Originals
) -> None:
    original = standing(room, made)
    said: list[str] = []

    def on_line(line: str) -> None:
        if not said:
            os.kill(original.pid, signal.SIGKILL)
            processes.wait_for_end(original.pid)
        said.append(line)

    (room / "own").mkdir()
    (room / "own" / "script").write_text(
        "import time\nfor i in range(3): print(i, flush=True); time.sleep(1)"
    )
    guest = SealedGuest(machine_at_hand(), room / "own")
    streams = Streams(on_line=on_line, stands_by=True, originals=made)
    assert uml.run_guest(guest, COMMAND, BOOT, streams).exit_status == 0
    assert said == ["0", "1", "2"]
    assert carried_out(room, "next", "print('booted')", made) == ["booted", "0"]
    assert not made._originals


@BOTH
def test_a_copy_that_was_killed_leaves_nothing(room: Path, made: Originals) -> None:
    standing(room, made)
    before = children()
    seen: list[int] = []

    def on_line(line: str) -> None:
        (copy,) = set(children()) - set(before)
        seen.extend(process.pid for process in processes.of(copy))
        os.kill(copy, signal.SIGKILL)

    (room / "own").mkdir()
    (room / "own" / "script").write_text("import time\nprint('on', flush=True); time.sleep(1e6)")
    guest = SealedGuest(machine_at_hand(), room / "own")
    streams = Streams(on_line=on_line, stands_by=True, originals=made)
    with pytest.raises(GuestFailed, match="ended without a verdict"):
        uml.run_guest(guest, COMMAND, BOOT, streams)
    assert len(seen) > 1  # its programs too
    for pid in seen:
        ended(pid)
    assert children() == before
    assert made._home is not None and {p.name for p in made._home.iterdir()} == {private.OWNER}
    assert carried_out(room, "next", "print('copied')", made) == ["copied", "0"]
    assert len(made._originals) == 1


def test_a_copy_is_seen_from_outside_and_keeps_to_its_limits(room: Path, made: Originals) -> None:
    """Its clock and its program are read in its kernel's memory, as for watch and pace."""
    standing(room, made)
    before = children()
    machine = machine_at_hand()
    seen: list[tuple[float | None, float]] = []

    def on_line(line: str) -> None:
        (copy,) = set(children()) - set(before)
        # A thread of the kernel may have taken the line to its end.
        while clock.running(copy, machine.kernel) != "python3":
            assert not processes.has_ended(copy)
            time.sleep(0.01)
        seen.append((clock.virtual_s(copy, machine.kernel), float(line)))

    (room / "own").mkdir()
    (room / "own" / "script").write_text(
        "import time\nprint(time.monotonic(), flush=True)\nwhile True: pass"
    )
    streams = Streams(on_line=on_line, stands_by=True, originals=made)
    limits = Limits(progress=True, wall_s=5.0)
    with pytest.raises(GuestFailed, match="no end within 5 s of wall time"):
        uml.run_guest(SealedGuest(machine, room / "own"), COMMAND, BOOT, streams, limits)
    ((now_s, said_s),) = seen
    assert now_s == pytest.approx(said_s, abs=0.1)
    assert children() == before


def children() -> list[int]:
    """The guests of this process."""
    return [p.pid for p in processes.of(os.getpid()) if os.getsid(p.pid) == p.pid != os.getpid()]


OWNER = """
import os, sys
from pathlib import Path
from hoplab.host.machine import images, processes
from hoplab.host.machine.originals import Originals
from tests.emulation.test_originals import carried_out, standing
room = Path(sys.argv[1])
images.place = lambda *about: None
made = Originals(room)
standing(room, made)
import hoplab.host.machine.uml as uml, tests.emulation.test_originals as here
def on_line(line):
    print(*(p.pid for p in processes.of(os.getpid()) if p.pid != os.getpid()), flush=True)
(room / "own").mkdir()
(room / "own" / "script").write_text("import time\\nprint('on', flush=True); time.sleep(1e6)")
guest = here.SealedGuest(here.machine_at_hand(), room / "own")
streams = here.Streams(on_line=on_line, stands_by=True, originals=made)
uml.run_guest(guest, here.COMMAND, here.BOOT, streams)
"""


def test_nothing_outlives_the_process_that_started_originals(room: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(room)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(word) for word in owner.stdout.readline().split()]
        owner.kill()
    assert len(pids) >= 4  # two kernels, each with programs
    for pid in pids:
        ended(pid)


def test_where_there_is_no_room_or_no_landlock_a_guest_boots(
    room: Path, made: Originals, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing(room, made)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "refusal", lambda place, size_mb: "full")
        asked = made._originals.copy()
        (original,) = asked.values()
        guest = SealedGuest(machine_at_hand(), room)
        with closing(Core()) as core:
            assert original.ask(Wish(guest, COMMAND, BOOT, core)) is None
    monkeypatch.setattr(confined, "confinement", lambda: NAMESPACE)
    assert carried_out(room, "next", "print('booted')", made) == ["booted", "0"]
    assert [*made._originals.values()] == [original]  # it was not asked


HOSTILE = {
    "another word": (b"fork /", 0, b"refused: neither go, copy, whole nor image"),
    "nothing": (b" ", 0, b"refused: neither go, copy, whole nor image"),
    "a long word": (b"copy" * 100, 0, b"refused: too much of it"),
    "no descriptor": (b"copy", 0, b"refused: too few descriptors"),
    "three descriptors": (b"copy", 3, b"refused: too few descriptors"),
    "three for a whole one": (b"whole", 3, b"refused: too few descriptors"),
    "six descriptors": (b"copy", 6, b"refused: too much of it"),
    "fifty descriptors": (b"copy", 50, b"refused: too much of it"),
    "to go after copies": (b"go", 0, b"refused: go after copies, or with descriptors"),
}


def test_an_original_refuses_what_is_no_request_and_goes_on(room: Path, made: Originals) -> None:
    original = standing(room, made)
    line, place = original.line, os.open(room, os.O_PATH)
    before = descriptors(original)
    for word, count, answer in HOSTILE.values():
        socket.send_fds(line, [word], [place] * count)
        assert line.recv(100) == answer
    assert descriptors(original) == before
    # Descriptors of the wrong kinds: there is a copy, and it ends.
    for kind in (b"copy", b"whole"):
        socket.send_fds(line, [kind], [place] * 4)
        word, _, pid = line.recv(100).partition(b" ")
        assert word == b"copy"
        assert processes.reap(int(pid), 60) != 0
    os.close(place)
    assert carried_out(room, "next", "print('copied')", made) == ["copied", "0"]
    assert [*made._originals.values()] == [original]


def descriptors(original: originals.Original) -> list[str]:
    return sorted(os.listdir(f"/proc/{original.pid}/fd"))  # noqa: PTH208 - names alone


def test_a_guest_whose_host_has_gone_is_told_so(room: Path) -> None:
    """A program that asks a second time gets an error, and the run goes on."""
    script = (
        "try:\n    stand_by()\nexcept OSError as error:\n    print(error.strerror)\n"
        "print('goes on')"
    )
    assert carried_out(room, "own", script, None) == ["Broken pipe", "goes on", "0"]

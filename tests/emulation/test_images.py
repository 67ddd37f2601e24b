# SPDX-License-Identifier: Apache-2.0
"""Guests that start from an image are as if each had booted, and boot where it does not serve."""

import os
import shutil
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from hoplab.front.commands.options import scenario_of
from hoplab.host.machine import ahead, dumped, images, private, uml
from hoplab.host.machine.guests import SealedGuest
from hoplab.host.machine.uml import Streams
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from tests.emulation.test_originals import BOOT, COMMAND, machine_at_hand, pytestmark
from tests.proof.__main__ import SCENARIOS

__all__ = ["pytestmark"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where images are. There are none yet."""
    place = tmp_path / "images"
    monkeypatch.setattr(images, "folder", lambda: place)
    return place


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each guest has started from an image."""
    found: list[bool] = []
    start = images.start

    def noted(*about: object) -> object:
        process, is_from_image = start(*about)  # type: ignore[arg-type]
        found.append(is_from_image)
        return process, is_from_image

    monkeypatch.setattr(images, "start", noted)
    return found


def carried_out(out: Path, script: str, is_cold: bool = False) -> list[str]:
    """The lines that a script says in a guest with the folder as its /out."""
    out.mkdir(exist_ok=True)
    (out / "script").write_text(script)
    said: list[str] = []
    guest = SealedGuest(machine_at_hand(), out)
    streams = Streams(on_line=said.append, stands_by=True, is_cold=is_cold)
    result = uml.run_guest(guest, COMMAND, BOOT, streams)
    return [*said, str(result.exit_status)]


@pytest.mark.parametrize(
    "name",
    [
        "dsr-chain",
        *(pytest.param(n, marks=pytest.mark.nightly) for n in SCENARIOS if n != "dsr-chain"),
    ],
)
def test_a_run_from_an_image_has_the_digest_of_one_that_booted(
    name: str, tmp_path: Path, started: list[bool]
) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIOS[name])

    def digest(run: str, seed: int, is_cold: bool = False) -> str | None:
        scenario = scenario_of(tmp_path / "scenario.toml", None, seed)
        kind = Sealed(machine_at_hand(), is_cold=is_cold)
        return perform(RunRequest(scenario, kind, out=tmp_path / run)).digest

    booted = digest("booted", 1)
    assert digest("started", 1) == booted
    assert digest("seeded", 2) == digest("booted-seeded", 2, is_cold=True)
    assert started == [False, True, True, False]


def test_programs_files_and_errors_are_as_in_a_guest_that_booted(
    tmp_path: Path, started: list[bool], capfd: pytest.CaptureFixture[str]
) -> None:
    script = (
        "import os, subprocess, sys, threading, time\n"
        "def late(): time.sleep(0.5); print('thread', time.monotonic_ns())\n"
        "thread = threading.Thread(target=late); thread.start(); thread.join()\n"
        "sys.stdout.flush()\n"
        "subprocess.run(['sh', '-c', 'echo $PPID $$; sleep 1; ls /usr/lib | cksum'])\n"
        "path = '/usr/bin/iperf3'\n"
        "with open(path, 'r+b') as file: file.seek(8192); file.write(b'x' * 4096)\n"
        "print(sum(open(path, 'rb').read()), time.time_ns())\n"
        "print(sum(i * 0.1 for i in range(10**5)), os.listdir('/out'))\n"
        "print('to the terminal', file=sys.stderr, flush=True)\n"
    )
    booted = carried_out(tmp_path / "booted", script)
    assert [carried_out(tmp_path / str(n), script) for n in range(2)] == [booted, booted]
    assert started == [False, True, True]
    assert booted[-1] == "0"
    assert capfd.readouterr().err.count("to the terminal") == 3


def test_a_kernel_whose_last_page_has_no_room_for_the_c_library(
    tmp_path: Path, started: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The C library keeps its settings behind the program's data. Where they do not fit into the
    last page, it maps memory before anything else. Here they fit into none."""
    launcher = shutil.copytree(ahead.LAUNCHER, tmp_path / "launcher") / "__main__.py"
    settings = '"glibc.pthread.rseq=0",'
    program = launcher.read_text()
    assert settings in program
    # From 7.2 on, User-Mode Linux takes it that the last variable is in the stack's last page.
    more = f'":".join([{settings}] * 200), "LAST": "",'
    launcher.write_text(program.replace(settings, more))
    monkeypatch.setattr(ahead, "LAUNCH", (*ahead.LAUNCH[:-1], str(launcher)))
    booted = carried_out(tmp_path / "booted", "import os; print(os.listdir('/out'))")
    assert carried_out(tmp_path / "run", "import os; print(os.listdir('/out'))") == booted
    assert started == [False, True]


def cut(image: Path) -> None:
    os.truncate(image, image.stat().st_size - 4096)


def of_zeros(image: Path) -> None:
    image.write_bytes(bytes(8192))


def with_another(number: int, value: int) -> Callable[[Path], None]:
    """Let a number after the name in the image's last page be another one."""

    def write(image: Path) -> None:
        with image.open("r+b") as file:
            at = len(dumped.NAME.ljust(16)) + 8 * number
            file.seek(-4096 + at, os.SEEK_END)
            file.write(struct.pack("Q", value))

    return write


def without_its_end(image: Path) -> None:
    with image.open("r+b") as file:
        file.seek(-4096, os.SEEK_END)
        last = file.read()
        file.truncate(1 << 20)
        file.seek(0, os.SEEK_END)
        file.write(last)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        of_zeros,
        without_its_end,
        *(with_another(*pair) for pair in ((0, 4096), (1, 1 << 46), (2, 1 << 31), (3, 49))),
    ],
    ids=["cut", "zeros", "no-memory", "vdso", "heap", "descriptor", "parts"],
)
def test_where_an_image_does_not_serve_a_guest_boots_and_writes_another(
    damage: Callable[[Path], None], tmp_path: Path, folder: Path, started: list[bool]
) -> None:
    assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    (image,) = folder.iterdir()
    damage(image)
    for _ in range(2):
        assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    assert started == [False, False, True]
    assert [*folder.iterdir()] == [image]


def test_a_guest_runs_where_its_image_cannot_be_written(
    tmp_path: Path, folder: Path, started: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full, the cache is no folder, the kernel has a file that nobody knows, or random
    addresses."""
    with monkeypatch.context() as patch:
        patch.setattr(dumped, "ROOM", 1 << 40)
        assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    with monkeypatch.context() as patch:
        patch.setattr(dumped, "NULL", 0)
        assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    with monkeypatch.context() as patch:
        patch.setattr(dumped, "ADDR_NO_RANDOMIZE", 1 << 31)
        assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    assert not [*folder.iterdir()]
    folder.rmdir()
    folder.write_text("")
    assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    assert started == [False] * 4


def test_images_in_a_folder_that_others_may_write_are_left_alone(
    tmp_path: Path, folder: Path, started: list[bool]
) -> None:
    assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    folder.chmod(0o770)
    assert carried_out(tmp_path / "run", "print('here')") == ["here", "0"]
    assert started == [False, False]


def test_the_oldest_images_go(tmp_path: Path, folder: Path) -> None:
    """What another command writes stays, and what a killed one has left goes."""
    folder.mkdir(mode=0o700)
    own = private.lock(folder / "new-of-another")
    (folder / "new-left").touch()
    for n in range(images.MOST + 2):
        (folder / f"old-{n}").touch()
        os.utime(folder / f"old-{n}", (n, n))
    carried_out(tmp_path / "run", "print('here')")
    left = {path.name for path in folder.iterdir()}
    assert len(left) == images.MOST
    assert {name for name in left if "-" in name} == {
        "new-of-another",
        *(f"old-{n}" for n in range(4, images.MOST + 2)),
    }
    assert own is not None
    os.close(own)


def test_what_differs_in_its_boot_is_not_in_its_image(
    tmp_path: Path, started: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out(tmp_path / "run", "print('here')")
    monkeypatch.setattr(images, "_processor", lambda: "another processor")
    carried_out(tmp_path / "run", "print('here')")
    assert started == [False, False]


def test_a_guest_that_refuses_has_no_image(folder: Path) -> None:
    own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with own, other:
        other.send(b"refused: no image")
        images.keep(os.getpid(), own, folder / "image")
        assert other.recv(100) == images.IMAGE
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(100)
    assert not folder.exists()

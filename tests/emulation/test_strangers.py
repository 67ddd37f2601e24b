# SPDX-License-Identifier: Apache-2.0
"""Programs of strangers: what a sealed guest's root tries to read of the host, and does not get."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hoplab.host.machine import ahead, confined, select, uml
from hoplab.host.machine.guests import OpenGuest, SealedGuest
from hoplab.host.machine.launcher.confine import LANDLOCK, NAMESPACE
from hoplab.host.machine.uml import Streams
from tests.emulation.conftest import told_here

NOBODY = 65534
SECRET = "what nobody else may read"
MOUNT = "mkdir -p /tmp/host && mount -t hostfs -o {at} none /tmp/host\n"
ATTACKS = {
    "the folder itself": MOUNT.format(at="{home}") + "cat /tmp/host/secret; ls /tmp/host",
    "the host's root": MOUNT.format(at="/") + "cat /tmp/host{home}/secret; ls /tmp/host{home}",
    "a link in the run's folder": MOUNT.format(at="{out}") + "cat /out/link /tmp/host/link",
    "upwards from the run's folder": MOUNT.format(at="{out}/../home") + "cat /tmp/host/secret",
    "another process's root": MOUNT.format(at="/")
    + "cat /tmp/host/proc/{pid}/root{home}/secret /tmp/host/proc/{pid}/cwd{home}/secret",
    "its own process's root": MOUNT.format(at="/proc/self/root") + "cat /tmp/host{home}/secret",
    "another process's environment": MOUNT.format(at="/")
    + "cat /tmp/host/proc/{pid}/environ /tmp/host/proc/1/cmdline",
    "who the users are": MOUNT.format(at="/") + "cat /tmp/host/etc/passwd",
    "a hard link": MOUNT.format(at="/")
    + "ln /tmp/host{home}/secret /tmp/host{out}/hard && cat /out/hard",
    "a move": "mount -t hostfs -o / none /tmp && busybox mv /tmp{home} /out/taken\n"
    "cat /out/*/secret",
}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A user's folder with a secret, and a run's, with a link to it."""
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir()
    out.mkdir()
    (home / "secret").write_text(f"{SECRET}\n")
    (out / "link").symlink_to(home / "secret")
    return home, out


def said_by(guest: SealedGuest | OpenGuest, out: Path, script: str) -> str:
    """What a guest's root gets to see."""
    told = f"({script}) >/out/told; echo done >>/out/told"
    nothing = Streams(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    uml.run_guest(guest, ["sh", "-c", told], streams=nothing)
    return (out / "told").read_text()


@pytest.mark.parametrize("mode", [LANDLOCK, NAMESPACE])
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_sealed_guest_reads_its_own_alone(
    attack: str, mode: str, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "confinement", lambda: mode)
    home, out = places
    script = ATTACKS[attack].format(home=home, out=out, pid=os.getpid())
    assert said_by(SealedGuest(select.chosen(), out), out, script) == "done\n"
    assert (home / "secret").read_text() == f"{SECRET}\n"


def test_the_attack_works_where_nothing_confines(places: tuple[Path, Path]) -> None:
    """Else the tests above would show nothing: a guest that has this computer's files reads it."""
    home, out = places
    script = ATTACKS["the host's root"].format(home=home, out=out)
    assert said_by(OpenGuest(out), out, script) == f"{SECRET}\nsecret\ndone\n"


READER = r"""
#include <stdio.h>
#include <unistd.h>

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++)
        puts(fopen(paths[i], "r") ? "open" : "closed");
    printf("%d\n", getuid());
    return 0;
}
"""


@pytest.mark.parametrize("mode", [LANDLOCK, NAMESPACE])
def test_an_ordinary_users_guest_too(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """The launcher with a small program for a kernel, as nobody where the tests run as root."""
    program = shutil.copytree(ahead.LAUNCHER, open_folder / "launcher") / "__main__.py"
    (open_folder / "reader.c").write_text(READER)
    kernel = open_folder / "reader"
    subprocess.run(["cc", "-static", "-o", kernel, open_folder / "reader.c"], check=True)
    (open_folder / "own").mkdir()
    (open_folder / "own").chmod(0o777)
    for place in ("own/mine", "secret"):
        (open_folder / place).write_text("")
        (open_folder / place).chmod(0o666)
    paths = [str(open_folder / "own" / "mine"), str(open_folder / "secret"), "/etc/passwd"]
    wanted = told_here(mode, writable=[str(open_folder / "own")], readable=[str(kernel)])
    command = [str(kernel), *paths, f"/proc/{os.getpid()}/cmdline"]
    monkeypatch.setattr(ahead, "LAUNCH", ("/usr/bin/python3", "-I", "-S", str(program)))
    user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    done = subprocess.run(
        confined.launch(wanted, command),
        cwd=open_folder / "own",
        capture_output=True,
        text=True,
        extra_groups=[] if user else None,
        **user,  # type: ignore[call-overload]
    )
    own = str(NOBODY if user else os.getuid())
    assert done.stdout.split() == ["open", "closed", "closed", "closed", own], done.stderr

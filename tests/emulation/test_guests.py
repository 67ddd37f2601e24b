# SPDX-License-Identifier: Apache-2.0
"""A guest on its host: what it may touch, what it needs, when it is ended, what it leaves."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hoplab.host.machine import ahead, confined, cpio, guests, select, uml, watch
from hoplab.host.machine.cpio import Entry
from hoplab.host.machine.guests import OpenGuest, SealedGuest
from hoplab.host.machine.launcher.confine import LANDLOCK, NAMESPACE
from hoplab.host.machine.sealed import Machine
from hoplab.host.machine.uml import Streams
from hoplab.host.machine.watch import Limits
from hoplab.model.errors import GuestFailed
from tests.emulation.conftest import HOPLAB, Hoplab, chain, in_private_mounts, told_here

NOBODY = 65534
LIKE_A_CONTAINER = """
import ctypes, errno, os, struct, sys
def step(code, yes, no, k): return struct.pack("HBBI", code, yes, no, k)
# A filter of system calls, as Docker's: personality, unshare, mount, mount_setattr end in EPERM.
refused = (135, 272, 165, 442)
steps = [step(0x20, 0, 0, 0)]
steps += [step(0x15, len(refused) - n, 0, call) for n, call in enumerate(refused)]
steps += [step(0x06, 0, 0, 0x7FFF0000), step(0x06, 0, 0, 0x00050000 | errno.EPERM)]
program = b"".join(steps)
kept = ctypes.create_string_buffer(program, len(program))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
filter = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(kept))
assert libc.prctl(22, 2, filter, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
TODAY = """
cat /proc/sys/net/ipv4/tcp_available_congestion_control /proc/sys/net/mptcp/enabled
ip link add wg0 type wireguard
for kind in cake 'ets bands 2' fq_pie; do
    tc qdisc replace dev lo root $kind
    tc qdisc show dev lo
done
"""
HOSTILE = """
mkdir /tmp/home
mount -t hostfs -o {home} none /tmp/home || exit 9
cat /tmp/home/kept
(echo changed >/tmp/home/kept)
(echo new >/tmp/home/new)
mkdir /tmp/home/folder
rm /tmp/home/gone
echo mine >/out/mine
"""


@pytest.mark.parametrize("mode", [LANDLOCK, NAMESPACE])
def test_a_guest_writes_to_its_own_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(confined, "confinement", lambda: mode)
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir()
    out.mkdir()
    (home / "kept").write_text("as it was")
    (home / "gone").write_text("")
    script = HOSTILE.format(home=home)
    result = uml.run_guest(
        OpenGuest(out), ["sh", "-c", script], streams=Streams(stderr=subprocess.DEVNULL)
    )
    assert result.exit_status == 0
    assert {path.name for path in home.iterdir()} == {"kept", "gone"}
    assert (home / "kept").read_text() == "as it was"
    assert (out / "mine").read_text() == "mine\n"


@pytest.mark.parametrize("mode", [LANDLOCK, NAMESPACE])
def test_an_ordinary_user_is_confined_too(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """The launcher with a shell for a kernel, as nobody where the tests run as root."""
    program = shutil.copytree(ahead.LAUNCHER, open_folder / "launcher") / "__main__.py"
    for name in ("allowed", "other"):
        (open_folder / name).mkdir()
        (open_folder / name).chmod(0o777)
    script = f"echo a >{open_folder}/allowed/a; echo b >{open_folder}/other/b; id -u"
    wanted = told_here(mode, writable=[str(open_folder / "allowed")])
    command = ["/bin/sh", "-c", script]
    monkeypatch.setattr(ahead, "LAUNCH", ("/usr/bin/python3", "-I", "-S", str(program)))
    user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    done = subprocess.run(
        confined.launch(wanted, command),
        cwd=open_folder / "allowed",
        capture_output=True,
        text=True,
        extra_groups=[] if user else None,
        **user,  # type: ignore[call-overload]
    )
    assert (open_folder / "allowed" / "a").exists(), done.stderr
    assert not (open_folder / "other" / "b").exists()
    assert done.stdout.strip() == str(NOBODY if user else os.getuid())


def test_a_kernel_starts_without_random_addresses(tmp_path: Path) -> None:
    """Newer kernels start themselves anew otherwise."""
    wanted = told_here("none", writable=[])
    command = ["/bin/cat", "/proc/self/personality"]
    done = subprocess.run(
        confined.launch(wanted, command),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout, 16) & 0x0040000


EXCHANGED = """
import os, sys
for number, name in ((20, "image"), (3, "line")):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_descriptors_may_have_the_numbers_of_each_other(tmp_path: Path) -> None:
    wanted = told_here("none", writable=[], line=3, image=20)
    command = ["/bin/readlink", *(f"/proc/self/fd/{n}" for n in (3, 20, 21))]
    launcher = confined.launch(wanted, command)
    done = subprocess.run(
        [sys.executable, "-c", EXCHANGED, *launcher], cwd=tmp_path, capture_output=True, text=True
    )
    assert [Path(line).name for line in done.stdout.splitlines()] == [
        "console.log",
        "line",
        "image",
    ]


SOCKETS = """
import socket, sys
for family, kind in ((2, 2), (2, 1), (10, 2), (16, 3), (1, 1)):
    try:
        socket.socket(family, kind)
    except PermissionError:
        print("refused")
"""


@pytest.mark.parametrize("mode", [LANDLOCK, NAMESPACE])
def test_a_machines_kernel_makes_no_socket(tmp_path: Path, mode: str) -> None:
    """The launcher with Python for a kernel: UDP, TCP, IPv6, netlink, the file system's."""
    wanted = told_here(mode, writable=[str(tmp_path)])
    command = ["/usr/bin/python3", "-I", "-S", "-c", SOCKETS]
    done = subprocess.run(
        ["/usr/bin/python3", *confined.launch(wanted, command)[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["refused"] * 5, done.stderr


def test_a_manifest_says_what_confines_the_guest(tmp_path: Path, hoplab: Hoplab) -> None:
    """And names of the results folder that mount options cannot carry do no harm."""
    (tmp_path / "scenario.toml").write_text(chain(2).replace("duration_s = 10", "duration_s = 1"))
    out = os.fsencode(tmp_path) + b"/a,b \"c\" 'd'\n\\e\xff"
    done = subprocess.run(
        [str(HOPLAB), "run", str(tmp_path / "scenario.toml"), "--out", out],
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    manifest = json.loads((Path(os.fsdecode(out)) / "manifest.json").read_text())
    assert manifest["confinement"] == confined.confinement()


def test_a_command_in_a_folder_with_a_difficult_name(tmp_path: Path, hoplab: Hoplab) -> None:
    folder = tmp_path / "x,y \"z\" 'q'\nw"
    folder.mkdir()
    done = hoplab("exec", "--writable", "--", "sh", "-c", "echo here >made; pwd", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "made").read_text() == "here\n"


def test_without_a_home(tmp_path: Path, hoplab: Hoplab) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "HOME"}
    done = hoplab("exec", "--", "echo", "fine", env=environment)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize("options", ["size=64m", "noexec"])
def test_shared_memory_as_in_containers(tmp_path: Path, options: str) -> None:
    """Too small for a guest's memory, or not to be run from: another place serves."""
    script = f"mount -t tmpfs -o {options} none /dev/shm && {HOPLAB} exec -- echo fine"
    done = in_private_mounts(script, tmp_path)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_an_unprivileged_container(tmp_path: Path) -> None:
    """A small /dev/shm, no namespaces, random addresses: runs work there, and repeat."""
    (tmp_path / "inside.py").write_text(LIKE_A_CONTAINER)
    inside = f"{sys.executable} inside.py {HOPLAB}"
    small = "mount -t tmpfs -o size=64m none /dev/shm"
    (tmp_path / "scenario.toml").write_text(chain(2).replace("duration_s = 10", "duration_s = 1"))
    run = "run scenario.toml --json --out"
    script = f"{small}; {inside} exec -- echo fine; {inside} {run} a; {inside} doctor"
    done = in_private_mounts(script, tmp_path)
    assert done.stdout.startswith("fine\n"), done.stderr
    rows = {line.split("│")[2].strip(): line for line in done.stdout.splitlines() if "│" in line}
    assert "ok" in rows["guest"] and "ok" in rows["guest memory"]
    assert "/dev/shm" not in rows["guest memory"]
    assert done.returncode == 0
    outside = subprocess.run(
        [str(HOPLAB), *run.split(), "b"], capture_output=True, cwd=tmp_path, check=True
    )
    there = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert there["digest"] == json.loads(outside.stdout)["digest"]


@pytest.mark.parametrize(("body", "busiest"), [(":", "program"), ("/bin/true", "kernel")])
def test_a_guest_that_spins_is_ended(
    monkeypatch: pytest.MonkeyPatch, body: str, busiest: str
) -> None:
    """Also one whose loop moves the clock a little by reading it."""
    monkeypatch.setattr(watch, "CPU_LIMIT_S", 2.0)
    told = (
        r"hung: no virtual time.*; it computed in (sh|true) \(.*last line: begun; .*, "
        rf"the busiest: {busiest} \d+ \("
    )
    with pytest.raises(GuestFailed, match=told):
        uml.run_guest(
            OpenGuest(),
            ["sh", "-c", f"sleep 3; echo begun; while :; do {body}; done"],
            limits=Limits(progress=True),
            streams=Streams(on_line=lambda line: None),
        )


CLOCKS = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static long long of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long ticks(void) { struct tms t; return times(&t); }
static long long seconds(void) { return syscall(SYS_time, NULL); }
static long long coarse(void) { return of(CLOCK_MONOTONIC_COARSE); }
static long long coarse_real(void) { return of(CLOCK_REALTIME_COARSE); }

static void wait_for(long long (*read)(void))
{
	long long begin = of(CLOCK_MONOTONIC), first = read();

	while (read() == first) {}
	printf("%lld\n", of(CLOCK_MONOTONIC) - begin);
}

int main(void)
{
	wait_for(ticks);
	wait_for(coarse);
	wait_for(coarse_real);
	/* To 5 ms before the next second. */
	usleep((1995000000 - of(CLOCK_REALTIME) % 1000000000) / 1000 % 1000000);
	wait_for(seconds);
	return 0;
}
"""


def test_a_program_may_wait_for_a_tick_without_sleep(tmp_path: Path) -> None:
    """By clocks that show what the last tick of 4 ms left; times(2) counts hundredths."""
    (tmp_path / "clocks.c").write_text(CLOCKS)
    compiler = ["cc", "-O2", "-static", "-o", "clocks", "clocks.c"]
    subprocess.run(compiler, cwd=tmp_path, check=True)
    said: list[str] = []
    result = uml.run_guest(
        OpenGuest(cwd=str(tmp_path)),
        ["./clocks"],
        limits=Limits(progress=True),
        streams=Streams(on_line=said.append),
    )
    assert result.exit_status == 0
    ticks, coarse, coarse_real, seconds = (int(line) / 1e6 for line in said)
    assert 0 < ticks <= 12
    assert 0 < coarse <= 4.1 and 0 < coarse_real <= 4.1
    assert 0 < seconds <= 10


@pytest.mark.parametrize("guest", ["open", "sealed"])
def test_descriptors_have_their_names(guest: str) -> None:
    """Scripts write their log to /dev/stdout, as kselftest's runner does."""
    kind = OpenGuest() if guest == "open" else SealedGuest(select.chosen())
    said: list[str] = []
    command = "echo hello | cat /dev/stdin >/dev/stdout; readlink /dev/stderr"
    uml.run_guest(kind, ["sh", "-c", command], streams=Streams(on_line=said.append))
    assert said == ["hello", "/proc/self/fd/2"]


def test_a_guest_that_idles_for_ever_is_ended() -> None:
    with pytest.raises(GuestFailed, match="hung: no end within 50 s of virtual time"):
        uml.run_guest(
            OpenGuest(),
            ["sh", "-c", "while :; do sleep 1; done"],
            limits=Limits(progress=True, virtual_s=50),
        )


def test_long_quiet_virtual_time_is_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "CPU_LIMIT_S", 0.5)
    command = "i=0; while [ $i -lt 200 ]; do sleep 1000; i=$((i+1)); done"
    result = uml.run_guest(OpenGuest(), ["sh", "-c", command], limits=Limits(progress=True))
    assert result.exit_status == 0


def test_a_launcher_that_cannot_start_the_kernel_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guests.kernel, "path", lambda: tmp_path / "absent")
    with pytest.raises(GuestFailed, match=r"could not be started.*No such file"):
        uml.run_guest(OpenGuest(), ["true"])


def test_a_launcher_loads_little(tmp_path: Path) -> None:
    """Each guest waits for what it loads."""
    wanted = told_here(confined.confinement(), writable=[str(tmp_path)], readable=["/"])
    interpreter, *words = confined.launch(wanted, ["/bin/true"])
    done = subprocess.run(
        [interpreter, "-X", "importtime", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, (tmp_path / "console.log").read_text()
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"ctypes", "confine"} <= loaded
    assert not loaded & {"collections", "contextlib", "enum", "json", "pathlib", "re", "typing"}


def test_no_list_of_readable_files_is_empty() -> None:
    """It would be none, with which a guest reads everything."""
    for readable in ([], ()):
        with pytest.raises(ValueError, match="readable: an empty list"):
            confined.launch({"readable": readable}, ["/bin/true"])


def test_a_launcher_outlives_nobody(tmp_path: Path) -> None:
    """One whose starter has gone meanwhile ends before it becomes a guest."""
    wanted = {"parent": 1 << 22, "core": 0, "confinement": "none"}
    done = subprocess.run(confined.launch(wanted, []), cwd=tmp_path)
    assert done.returncode == 1
    assert "has gone" in (tmp_path / "console.log").read_text()


def test_a_guest_that_cannot_set_itself_up_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first process ends, instead of sleeping where nobody sees it."""
    init = tmp_path / "init"
    failing = guests.INIT.read_text().replace("mount -t sysfs sys", "mount -t nonesuch sys")
    init.write_text(failing)
    init.chmod(0o755)
    monkeypatch.setattr(guests, "INIT", init)
    with pytest.raises(GuestFailed, match=r"its first process ended: mount: .*/sys"):
        uml.run_guest(OpenGuest(), ["true"], limits=Limits(wall_s=60))

    machine = select.chosen()
    folder = tmp_path / "machine"
    folder.mkdir()
    layer = cpio.dump({"usr/lib/modules/a.ko": Entry.file(b"no module")})
    (folder / "linux").symlink_to(machine.kernel)
    (folder / "root.cpio").write_bytes(machine.root.read_bytes() + layer)
    with pytest.raises(GuestFailed, match=r"its first process ended: init: .*/a.ko: "):
        uml.run_guest(
            SealedGuest(Machine(folder, machine.id, machine.description)),
            ["true"],
            limits=Limits(wall_s=60),
        )


def test_the_kernel_has_what_todays_work_needs(hoplab: Hoplab) -> None:
    done = hoplab("exec", "--radios", "0", "--", "sh", "-ec", TODAY)
    variants, mptcp, *disciplines = done.stdout.splitlines()
    assert {"bbr", "cdg", "dctcp", "hybla", "lp", "nv", "scalable"} <= set(variants.split())
    assert mptcp == "1", done.stderr
    assert [line.split()[1] for line in disciplines] == ["cake", "ets", "fq_pie"], done.stderr

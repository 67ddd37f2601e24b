# SPDX-License-Identifier: Apache-2.0
"""Run a command as root in a fresh User-Mode Linux guest, unprivileged, in virtual time.

The guest's kernel command line is constant but for the seed, because the kernel mixes it into
its entropy; what differs between runs travels in a `job` file beside the guest's first process.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hoplab.errors import GuestFailed, MissingTool
from hoplab.machine import kernel
from hoplab.machine.sealed import Machine
from hoplab.resources import PROJECT

INIT = Path(__file__).with_name("init")
START_NS = 1_700_000_000_000_000_000
"""Date of every virtual guest's boot, 2023-11-14: results must not tell when they were made."""
MEMORY_MB = 2048
ADDR_NO_RANDOMIZE = 0x0040000
CONSOLE_FD = 3
"""Kernel messages have a channel of their own, so that they mix with nobody's output."""
ENVIRONMENT = {
    "HOME": "/proc/self/cwd",
    "PATH": "/usr/bin:/bin",
    "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
}
"""Of the kernel's process, constant because its first stack holds it. The C library's restartable
sequences lie in memory that a guest's processes give up: the host would kill them for it."""
STOP_GRACE_S = 5.0


@dataclass(frozen=True)
class GuestResult:
    """How a guest's command ended: exit status as a shell gives it, wall time in s."""

    exit_status: int
    wall_s: float


def run_guest(
    argv: Sequence[str],
    *,
    sealed: Machine | None = None,
    writable: Path | None = None,
    seed: int = 1,
    virtual: bool = True,
    radios: int = 0,
    cwd: str = "/",
    writable_cwd: bool = False,
    wall_limit_s: float | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    on_line: Callable[[str], None] | None = None,
    terminal: bool = False,
) -> GuestResult:
    """Run ``argv`` in a guest and wait for it.

    With ``sealed`` the root is that machine's, and of the host the guest has only ``writable``,
    as /out. Without, it has the host's files too, the checkout as /hoplab, and what it writes
    outside ``writable`` vanishes. ``on_line`` receives each line of standard output as it comes.
    With ``terminal`` the caller's terminal is the command's: job control, Ctrl-C, its size. Raises
    `GuestFailed` when the kernel panics or runs past ``wall_limit_s`` of wall time.
    """
    binary = kernel.path() if sealed is None else sealed.kernel
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hoplab-guest-")))
        core = stack.enter_context(_own_core())
        size = stack.enter_context(_lent_terminal()) if terminal else ""
        if sealed is None:
            _write_job(folder, argv, writable, cwd, writable_cwd, size)
            root = ["rootfstype=hostfs", "root=/dev/root", "ro", "init=/proc/self/cwd/init"]
        else:
            _write_sealed_job(folder, argv, writable, sealed)
            root = ["rootfstype=ramfs", "initrd=root.cpio", "initramfs_async=0"]
        command = [
            str(binary),
            f"mem={MEMORY_MB}M",
            *root,
            f"mac80211_hwsim.radios={radios}",
            "con0=fd:0,fd:1",
            "con1=null,fd:2",
            f"con2=null,fd:{CONSOLE_FD}",
            "console=tty2",
            "quiet",
            "panic=-1",
        ]
        if virtual:
            command += ["time-travel=inf-cpu", f"time-travel-start={START_NS}"]
            command.append(f"entropy_seed={seed}")
        started = time.monotonic()
        console_log = folder / "console.log"
        messages = stack.enter_context(console_log.open("wb"))
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=ENVIRONMENT,
            stdin=stdin,
            stdout=subprocess.PIPE if on_line is not None else stdout,
            stderr=stderr,
            start_new_session=True,
            # Python's own descriptors close by themselves; pass_fds would want this process to have
            # CONSOLE_FD open, which is chance where threads start guests.
            close_fds=False,
            preexec_fn=_prepare(core, messages.fileno()),
        )
        try:
            _wait(process, on_line, wall_limit_s)
        finally:
            _kill_all(process)
        wall_s = time.monotonic() - started
        status = folder / "status"
        if not status.exists():
            raise GuestFailed(
                f"guest kernel: ended without a verdict after {wall_s:.1f} s: "
                + _cause(console_log.read_text(encoding="utf-8", errors="replace"))
            )
        return GuestResult(int(status.read_text().strip() or "1"), wall_s)


@contextlib.contextmanager
def _lent_terminal() -> Iterator[str]:
    """The terminal's size as ``rows columns``; its settings, which the guest changes, come back."""
    size = os.get_terminal_size(sys.stdin.fileno())
    settings = termios.tcgetattr(sys.stdin)
    try:
        yield f"{size.lines} {size.columns}"
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)


def _write_job(
    folder: Path,
    argv: Sequence[str],
    writable: Path | None,
    cwd: str,
    writable_cwd: bool,
    terminal: str,
) -> None:
    shutil.copy(INIT, folder / "init")
    values = {
        "project": str(PROJECT),
        "writable": "" if writable is None else str(writable.resolve()),
        "cwd": cwd,
        "writable_cwd": "1" if writable_cwd else "",
        "status_folder": str(folder),
        "terminal": terminal,
        "terminal_type": os.environ.get("TERM", "dumb"),
        "modules": " ".join(str(path) for path in kernel.modules()),
    }
    lines = [f"{key}={shlex.quote(value)}" for key, value in values.items()]
    lines.append("set -- " + " ".join(shlex.quote(argument) for argument in argv))
    (folder / "job").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_sealed_job(
    folder: Path, argv: Sequence[str], writable: Path | None, sealed: Machine
) -> None:
    """A sealed guest's own init finds all that it is told below its kernel's current folder."""
    (folder / "root.cpio").symlink_to(sealed.root.resolve())
    (folder / "out").symlink_to((writable or folder).resolve())
    job = "set -- " + " ".join(shlex.quote(argument) for argument in argv)
    (folder / "job").write_text(job + "\n", encoding="utf-8")


def _cause(console: str) -> str:
    """The line of the kernel's messages that says most."""
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    panics = [line for line in lines if "Kernel panic" in line]
    return (panics or lines or ["it was killed from outside"])[-1]


def _wait(
    process: subprocess.Popen[bytes],
    on_line: Callable[[str], None] | None,
    wall_limit_s: float | None,
) -> None:
    """Follow the guest to its end."""
    hung = threading.Event()

    def expire() -> None:
        hung.set()
        _kill_all(process)

    watchdog = None if wall_limit_s is None else threading.Timer(wall_limit_s, expire)
    if watchdog is not None:
        watchdog.daemon = True
        watchdog.start()
    try:
        if on_line is not None:
            assert process.stdout is not None
            for raw in process.stdout:
                on_line(raw.decode("utf-8", "replace").rstrip())
        process.wait()
    finally:
        if watchdog is not None:
            watchdog.cancel()
    if hung.is_set():
        raise GuestFailed(
            f"guest kernel: no end within {wall_limit_s:g} s of wall time, so it was stopped; "
            "raise the limit with --wall-limit SECONDS if the run really needs longer"
        )


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """End every host process of the guest: they share the session that was made for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_GRACE_S)


def _prepare(core: int, console: int) -> Callable[[], None]:
    def prepare() -> None:
        os.dup2(console, CONSOLE_FD)
        os.set_inheritable(CONSOLE_FD, True)  # it may have been the same one
        os.sched_setaffinity(0, {core})
        # The gap that randomised addresses leave is added to the guest's memory, and much in a
        # kernel is sized by its memory.
        ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    return prepare


@contextlib.contextmanager
def _own_core() -> Iterator[int]:
    """A processor core that no other guest of this user has, while there are enough.

    A guest's processes hand over to each other at every system call, which costs a third on one
    core of what it costs across two; two guests on one core share it.
    """
    cores = sorted(os.sched_getaffinity(0))
    locks = Path(tempfile.gettempdir()) / f"hoplab-cores-{os.getuid()}"
    locks.mkdir(mode=0o700, exist_ok=True)
    for core in cores:
        with (locks / str(core)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield core
            return
    yield cores[os.getpid() % len(cores)]


def require() -> None:
    """Raise `MissingTool` where this machine cannot run guests."""
    if os.uname().machine != "x86_64":
        raise MissingTool(f"guest kernel: needs an x86_64 machine, this is {os.uname().machine}")
    kernel.path()

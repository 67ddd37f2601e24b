# SPDX-License-Identifier: Apache-2.0
"""Run a command as root in a fresh User-Mode Linux guest, unprivileged, in virtual time.

The guest's kernel command line is constant but for the seed, because the kernel mixes it into
its entropy; what differs between runs travels in a `job` file beside the guest's first process.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

from hoplab.host.machine import kernel, memory, private, select
from hoplab.host.machine.clock import START_NS
from hoplab.host.machine.cores import Core
from hoplab.host.machine.pace import Pace, Pacer
from hoplab.host.machine.sealed import Machine
from hoplab.host.machine.watch import Limits, Watch, kill, last_message
from hoplab.model.errors import GuestFailed, MissingTool, ScenarioError
from hoplab.model.resources import IS_CHECKOUT, PROJECT

INIT = Path(__file__).with_name("init")
LAUNCHER = Path(__file__).with_name("launcher")
MEMORY_MB = 2048
MOST_RADIOS = 100
"""That mac80211_hwsim makes when it is loaded."""
LINE_FD = 20
"""The other end of the line to a session: a number that nothing else has."""
LINE = "/dev/tty3"
"""That line, inside."""
HERE = "/proc/self/cwd"
"""The guest's own folder, as its kernel names it. Paths of the host's are links there: commas and
quotes in mount options would end them, and the guest sees the same names wherever they lead."""
HOST_ROOT = ["rootfstype=hostfs", "root=/dev/root", "ro", f"init={HERE}/init"]
SEALED_ROOT = ["rootfstype=ramfs", "initrd=root.cpio", "initramfs_async=0"]
STOP_GRACE_S = 5.0
HELD_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


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
    memory_mb: int = MEMORY_MB,
    cwd: str = "/",
    writable_cwd: bool = False,
    folders: Sequence[Path] = (),
    limits: Limits | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    on_line: Callable[[str], None] | None = None,
    terminal: bool = False,
    pace: Pace | None = None,
    line: int | None = None,
) -> GuestResult:
    """Run ``argv`` in a guest and wait for it.

    With ``sealed`` the root is that machine's, and of the host the guest has only ``writable``,
    as /out. Without, it has the host's files too, the checkout as /hoplab, and what it writes
    outside ``writable`` vanishes; ``folders`` are there although a /tmp or /run of its own may
    hide them. ``on_line`` receives each line of standard output as it comes.
    With ``terminal`` the caller's terminal is the command's: job control, Ctrl-C, its size. A
    ``line`` is a socket that the command has as `LINE`, a terminal. With
    ``pace`` virtual time keeps to a multiple of real time. Raises `GuestFailed` when the kernel
    panics, hangs or exceeds the ``limits``.
    """
    if not 0 <= radios <= MOST_RADIOS:
        raise ScenarioError(f"radios: {radios}; expected 0 to {MOST_RADIOS}")
    command = guest_command(sealed, memory_mb, seed, virtual, radios)
    binary = Path(command[0])
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(private.guest_folder())
        memory.attach(folder, memory_mb)
        core = stack.enter_context(contextlib.closing(Core()))
        size = stack.enter_context(_lent_terminal()) if terminal else ""
        if sealed is None:
            _write_job(folder, argv, writable, cwd, writable_cwd, folders, size, virtual)
        else:
            _write_sealed_job(folder, argv, writable, sealed)
        may_write = [str(folder), os.path.realpath(folder / private.MEMORY)]
        may_write += [str(writable.resolve())] if writable is not None else []
        may_write += [os.path.realpath(cwd)] if writable_cwd else []
        started = time.monotonic()
        with _held_signals():
            process = subprocess.Popen(
                _launch(
                    core.number,
                    may_write,
                    [*command, *([] if line is None else [f"con3=fd:{LINE_FD},fd:{LINE_FD}"])],
                ),
                pass_fds=() if line is None else (_line(line, stack),),
                cwd=folder,
                stdin=stdin,
                stdout=subprocess.PIPE if on_line is not None else stdout,
                stderr=stderr,
                start_new_session=True,
            )
            stack.callback(_end, process)
        watch = stack.enter_context(
            contextlib.closing(Watch(process, binary, folder, core, limits or Limits()))
        )
        if pace is not None:
            hold = partial(setattr, watch, "held")
            stack.enter_context(contextlib.closing(Pacer(process, binary, pace, hold)))
        _follow(process, on_line, watch)
        watch.close()
        wall_s = time.monotonic() - started
        if watch.verdict is not None:
            raise GuestFailed(f"guest kernel: {watch.verdict}")
        status = _status(folder)
        if status is None:
            raise GuestFailed(
                f"guest kernel: ended without a verdict after {wall_s:.1f} s: "
                + (last_message(folder) or "it was killed from outside")
            )
        return GuestResult(status, wall_s)


def guest_command(
    sealed: Machine | None,
    memory_mb: int = MEMORY_MB,
    seed: int = 1,
    virtual: bool = True,
    radios: int = 0,
) -> list[str]:
    """A guest's kernel and its arguments; it runs with `environment`, in a folder of its own."""
    binary = open_kernel() if sealed is None else sealed.kernel
    root = HOST_ROOT if sealed is None else SEALED_ROOT
    return [str(binary), f"mem={memory_mb}M", *root, *_options(seed, virtual, radios)]


def _status(folder: Path) -> int | None:
    """What the guest's first process told of the command; None where it did not come to that."""
    try:
        return int((folder / "status").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def refuse_input() -> None:
    """Raise `ScenarioError` where somebody hands something over at standard input.

    In virtual time a guest does not wait for its host, so nothing would come of it: who reads
    sleeps for ever, and who polls (as Mininet's prompt does) computes for ever.
    """
    with contextlib.suppress(OSError):  # closed
        if not stat.S_ISCHR(os.fstat(0).st_mode):
            raise ScenarioError(
                "standard input: is a pipe or a file, which a guest in virtual time cannot read; "
                "use </dev/null, give the command a file by its name, or use --realtime"
            )


def require_terminal() -> None:
    """Raise `ScenarioError` where standard input is no terminal, so that nobody is at a prompt."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise ScenarioError(
            "standard input: is no terminal, which a prompt needs; start this in a terminal, "
            "use --live for a page, or run commands by 'hoplab exec --realtime'"
        )


@cache
def _facts() -> dict[str, Any]:
    answer = subprocess.run([*_launcher(), "--facts"], capture_output=True, text=True, check=False)
    try:
        facts: dict[str, Any] = json.loads(answer.stdout)
    except ValueError:
        last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MissingTool(f"guest launcher: {sys.executable} cannot run it: {last}") from None
    return facts


def confinement() -> str:
    """What keeps a guest from writing elsewhere on this host: see
    `hoplab.host.machine.launcher`."""
    return str(_facts()["confinement"])


def environment() -> dict[str, str]:
    """What every guest's kernel is started with, and nothing else."""
    return dict(_facts()["environment"])


def _launcher() -> list[str]:
    return [sys.executable, "-I", "-S", str(LAUNCHER)]


def _launch(core: int, writable: list[str], command: list[str]) -> list[str]:
    wanted = {
        "parent": os.getpid(),
        "core": core,
        "confinement": confinement(),
        "writable": writable,
        "command": command,
    }
    return [*_launcher(), json.dumps(wanted)]


def _line(line: int, stack: contextlib.ExitStack) -> int:
    """The descriptor as `LINE_FD`, until the guest has it."""
    os.dup2(line, LINE_FD)
    stack.callback(os.close, LINE_FD)
    return LINE_FD


def _options(seed: int, virtual: bool, radios: int) -> list[str]:
    options = [
        f"mac80211_hwsim.radios={radios}",
        "con0=fd:0,fd:1",
        "con1=null,fd:2",
        "con2=null,fd:3",  # the launcher's CONSOLE_FD
        "console=tty2",
        "quiet",
        "panic=-1",
    ]
    if virtual:
        options += ["time-travel=inf-cpu", f"time-travel-start={START_NS}"]
        options.append(f"entropy_seed={seed}")
    return options


@contextlib.contextmanager
def _held_signals() -> Iterator[None]:
    """What a signal interrupts here would leave a guest that nobody knows of."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
    folders: Sequence[Path],
    terminal: str,
    virtual: bool,
) -> None:
    shutil.copy(INIT, folder / "init")
    places = {"project": PROJECT, "cwd": Path(cwd), "modules": open_kernel().parent / "modules"}
    if writable is not None:
        places["out"] = writable
    shown = {f"shown{i}": place.absolute() for i, place in enumerate(folders)}
    for name, place in {**places, **shown}.items():
        (folder / name).symlink_to(place.resolve())
    values = {
        "project": str(PROJECT),
        "writable": "" if writable is None else "1",
        "cwd": cwd,
        "writable_cwd": "1" if writable_cwd else "",
        # Seen by an ordinary user's namespace, root's programs are nobody's.
        "nobody": "1" if confinement() == "namespace" and os.getuid() != 0 else "",
        "shown": " ".join(shown),
        **{f"{name}_at": str(place) for name, place in shown.items()},
        "terminal": terminal,
        "virtual": "1" if virtual else "",
        "terminal_type": os.environ.get("TERM", "dumb"),
    }
    lines = [f"{key}={shlex.quote(value)}" for key, value in values.items()]
    lines.append("set -- " + " ".join(shlex.quote(argument) for argument in argv))
    (folder / "job").write_bytes(os.fsencode("\n".join(lines) + "\n"))


def _write_sealed_job(
    folder: Path, argv: Sequence[str], writable: Path | None, sealed: Machine
) -> None:
    """A sealed guest's own init finds all that it is told below its kernel's current folder."""
    (folder / "root.cpio").symlink_to(sealed.root.resolve())
    (folder / "out").symlink_to((writable or folder).resolve())
    job = "set -- " + " ".join(shlex.quote(argument) for argument in argv)
    (folder / "job").write_bytes(os.fsencode(job + "\n"))


def _follow(
    process: subprocess.Popen[bytes], on_line: Callable[[str], None] | None, watch: Watch
) -> None:
    """Follow the guest to its end."""
    if on_line is not None:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            watch.heard(line)
            watch.busy_with_output = True
            on_line(line)
            watch.busy_with_output = False
    process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_GRACE_S)
    if process.stdout is not None:
        process.stdout.close()


def require() -> None:
    """Raise `MissingTool` where this machine cannot run guests."""
    if os.uname().machine != "x86_64":
        raise MissingTool(f"guest kernel: needs an x86_64 machine, this is {os.uname().machine}")
    open_kernel()


def open_kernel() -> Path:
    """The kernel of a guest that has the host's files, its modules beside it: the checkout's, or
    an installed package's machine's. Raises `MissingTool` where there is none."""
    return kernel.path() if IS_CHECKOUT else select.chosen().kernel

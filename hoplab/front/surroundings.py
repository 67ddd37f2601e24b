# SPDX-License-Identifier: Apache-2.0
"""What containers, sandboxes and settings of a kernel take from a guest, and what to change.

Each function tries one thing. It returns what it found, or raises `MissingTool` with a line that
ends with what to do. ``root`` is the file system whose ``/proc`` and ``/sys`` it reads.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

from hoplab.host.machine import memory
from hoplab.model import reading
from hoplab.model.errors import MissingTool

ROOT = Path("/")
OWN_MB = 170
"""Of Hoplab itself beside a guest: the demo takes 287 MB in all, of which its guest touches 120."""
ROOMY_MB = 2048
"""From here on, a limit is no matter for most scenarios."""
TRIAL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if not child:
    os._exit(ctypes.get_errno() if libc.ptrace(0, 0, None, None) else 0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""A child asks its parent to trace it (PTRACE_TRACEME), as a guest's processes do."""
CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number, arguments in ((435, (0, 0)), (439, (-100, b"/", 0, 0))):
    print(ctypes.get_errno() if libc.syscall(number, *arguments) else 0)
"""
"""clone3 without arguments, and faccessat2 of the root."""
YAMA = "proc/sys/kernel/yama/ptrace_scope"
FAKED = "#1 SMP Sun Jan 10 15:06:54 PST 2016"
"""What every gVisor calls the build of its kernel (pkg/sentry/kernel, version.go)."""
MORE = "give more (docker: --memory=1g; systemd: MemoryMax=1G)"
UNCONFINED = "run the container with --security-opt seccomp=unconfined, or update its runtime"


def tracing(root: Path = ROOT) -> str:
    """Return how processes are traced. A guest's kernel traces its own processes."""
    (failure,) = _tried(TRIAL)
    if not failure:
        return "ptrace works"
    scope = _text(root / YAMA)
    if scope in ("2", "3"):
        lasting = " (3 lasts until the next boot)" if scope == "3" else ""
        raise MissingTool(
            f"ptrace: Yama forbids it, kernel.yama.ptrace_scope is {scope}{lasting}; "
            "set it to 1 with sysctl and boot again"
        )
    raise MissingTool(f"ptrace: {os.strerror(failure)}; {UNCONFINED}")


def profile() -> str:
    """Return whether a seccomp profile answers new system calls as the C library expects.

    A profile that is older than a call has to answer ENOSYS, so that an older call is taken. Those
    before Docker 20.10.10 answer EPERM, and then no thread starts.
    """
    refused = [
        name
        for name, answer in zip(("clone3", "faccessat2"), _tried(CALLS), strict=True)
        if answer == errno.EPERM
    ]
    if refused:
        raise MissingTool(f"seccomp: an old profile refuses {', '.join(refused)}; {UNCONFINED}")
    return "new system calls are allowed, or unknown as they should be"


def sandbox(root: Path = ROOT) -> str:
    """Return the kernel's name. On gVisor's, which answers system calls itself, no guest was ever
    tried."""
    version = _text(root / "proc/version") or ""
    if FAKED in version or "gVisor" in version:
        raise MissingTool(
            "kernel: gVisor's, where no guest was tried; where 'guest' below fails, take another "
            "runtime (docker: --runtime=runc)"
        )
    return (version.split(" (", 1)[0])[:60] or "unknown"


def memory_limit(root: Path = ROOT) -> str:
    """Return the smallest limit of memory of this process's groups (cgroups of version 2 or 1)."""
    limits = [found for path in _groups(root) if (found := _number(_text(path))) is not None]
    least = memory.SMALLEST_MB + OWN_MB
    if not limits:
        return "no limit"
    limit_mb = min(limits) >> 20
    if limit_mb < least:
        raise MissingTool(
            f"cgroup: {limit_mb} MB; the smallest guest with Hoplab takes up to {least} MB; {MORE}"
        )
    advice = "" if limit_mb >= ROOMY_MB else f"; for larger scenarios {MORE}"
    return f"at most {limit_mb} MB, so guests of up to {limit_mb - OWN_MB} MB{advice}"


def shared_memory(root: Path = ROOT) -> str:
    """Return the room in ``/dev/shm``. A guest's memory lies elsewhere without it, on a disk
    maybe."""
    place = root / "dev/shm"
    if not place.is_dir():
        raise MissingTool(f"{place}: is not there; mount a tmpfs (guests take /tmp until then)")
    why = memory.refusal(str(place), memory.SMALLEST_MB)
    if why is not None:
        raise MissingTool(
            f"{place}: {why}; mount -o remount,exec,size=1g {place}, docker: --shm-size=1g "
            "(guests take /tmp until then)"
        )
    return "roomy, and programs may run there"


def user_namespaces(root: Path = ROOT) -> str | None:
    """Return which setting forbids user namespaces, and its remedy; None if none does."""
    for path, off in (
        ("user/max_user_namespaces", "0"),
        ("kernel/unprivileged_userns_clone", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        if _text(root / "proc/sys" / path) == off:
            on = {"0": "1", "1": "0"}[off] if path != "user/max_user_namespaces" else "10000"
            return f"sysctl {path.replace('/', '.')}={on}"
    return None


def _groups(root: Path) -> list[Path]:
    """Return the files with limits of this process's groups, and of those above it."""
    found = []
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, place = rest.partition(":")
        if controllers in ("", "memory"):
            base = root / "sys/fs/cgroup" / controllers
            name = "memory.max" if controllers == "" else "memory.limit_in_bytes"
            here = Path(place.strip("/"))
            found += [base / above / name for above in (here, *here.parents)]
    return found


def _text(path: Path) -> str | None:
    try:
        return reading.content(path, 1 << 16).decode(errors="replace").strip()
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and int(text) < 1 << 60 else None


def _tried(code: str) -> list[int]:
    """Return what a fresh interpreter prints. A trial would bind this process."""
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return [int(word) for word in done.stdout.split()] or [errno.EPERM]
    except ValueError:
        return [errno.EPERM]

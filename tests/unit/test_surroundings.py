# SPDX-License-Identifier: Apache-2.0
"""``hoplab doctor`` knows places that take something from a guest. Each is made here where that can
be undone; files of another root stand for what cannot (Yama, gVisor)."""

import errno
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from hoplab.front import surroundings
from hoplab.model.errors import MissingTool
from hoplab.model.resources import PROJECT

PTRACE, CLONE3, FACCESSAT2 = 101, 435, 439
"""Numbers of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl)."""
ASKED = """
from hoplab.front import surroundings
from hoplab.model.errors import MissingTool
try:
    print("fine:", surroundings.{check}())
except MissingTool as error:
    print("lacks:", error)
"""
DENIED = "from tests.emulation import container\ncontainer.confine(container.denying({calls}))\n"
V1 = "sys__fs__cgroup__memory"
OWN_MOUNTS = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def _said(*command: str) -> str:
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def told(check: str, calls: dict[int, int] | None = None, before: str = "") -> str:
    """What a check says in a new process, where these system calls fail."""
    script = ("" if calls is None else DENIED.format(calls=calls)) + before
    return _said(sys.executable, "-c", script + ASKED.format(check=check))


def test_ptrace_that_a_profile_forbids() -> None:
    said = told("tracing", {PTRACE: errno.EPERM})
    assert said.startswith("lacks: ptrace: Operation not permitted; run the container with")
    assert told("tracing") == "fine: ptrace works"


@pytest.mark.parametrize(
    ("calls", "refused"),
    [
        ({CLONE3: errno.EPERM}, "clone3"),
        ({FACCESSAT2: errno.EPERM}, "faccessat2"),
        ({CLONE3: errno.EPERM, FACCESSAT2: errno.EPERM}, "clone3, faccessat2"),
    ],
)
def test_a_profile_that_is_older_than_system_calls(calls: dict[int, int], refused: str) -> None:
    assert f"an old profile refuses {refused}; run the container with" in told("profile", calls)


def test_a_profile_that_says_that_a_call_is_unknown_is_fine() -> None:
    assert told("profile", {CLONE3: errno.ENOSYS}).startswith("fine:")
    assert told("profile").startswith("fine:")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("noexec,size=1g", "programs may not run there (noexec)"),
        ("size=64m", "64 MB free"),
    ],
)
def test_shared_memory_that_no_guest_can_have(options: str, why: str) -> None:
    script = ASKED.format(check="shared_memory")
    mounted = f'mount -t tmpfs -o {options} none /dev/shm && exec "$@"'
    said = _said(*OWN_MOUNTS, "sh", "-c", mounted, "sh", sys.executable, "-c", script)
    assert said.startswith(f"lacks: /dev/shm: {why}; mount -o remount,exec,size=1g /dev/shm")


def test_user_namespaces_that_are_off() -> None:
    """In a namespace of its own, whose limit is its root's to set."""
    script = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
    asked = "from hoplab.front import surroundings as s; print(s.user_namespaces())"
    words = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    assert _said(*words, sys.executable, "-c", asked) == "sysctl user.max_user_namespaces=10000"


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A group of 512 MB, of either version of cgroups."""
    for base, limit in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ):
        group = Path(base) / f"hoplab-test-{uuid.uuid4().hex[:8]}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(512 << 20))
        except OSError:
            group.rmdir()
            continue
        yield group
        group.rmdir()
        return
    pytest.skip("no group of memory can be made here; files of another root stand for it below")


def test_a_group_of_512_mb(small_group: Path) -> None:
    joined = f"open({str(small_group / 'cgroup.procs')!r}, 'w').write('0')\n"
    said = told("memory_limit", before=joined)
    more = "for larger scenarios give more (docker: --memory=1g; systemd: MemoryMax=1G)"
    assert said == f"fine: at most 512 MB, so guests of up to 342 MB; {more}"


def _root(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"proc__self__cgroup": "0::/a/b\n", "sys__fs__cgroup__a__memory.max": "419430400\n"}, 400),
        (
            {
                "proc__self__cgroup": "4:memory:/a\n",
                "sys__fs__cgroup__memory__memory.limit_in_bytes": "1",
            },
            0,
        ),
        ({"proc__self__cgroup": "0::/a\n", "sys__fs__cgroup__a__memory.max": "max\n"}, None),
        ({"proc__self__cgroup": "0::/a\n", "sys__fs__cgroup__a__memory.max": "9" * 30}, None),
        ({"proc__self__cgroup": "damaged"}, None),
        ({}, None),
    ],
)
def test_a_limit_of_a_group_or_of_one_above(
    files: dict[str, str], limit: int | None, tmp_path: Path
) -> None:
    root = _root(tmp_path, **files)
    if limit is None:
        assert surroundings.memory_limit(root) == "no limit"
        return
    with pytest.raises(MissingTool, match=rf"cgroup: {limit} MB; .*docker: --memory=1g"):
        surroundings.memory_limit(root)


@pytest.mark.parametrize("scope", ["2", "3"])
def test_what_yama_forbids(scope: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scope 3 lasts until the next boot, so it is not made here."""
    monkeypatch.setattr(surroundings, "_tried", lambda code: [errno.EPERM])
    root = _root(tmp_path, proc__sys__kernel__yama__ptrace_scope=f"{scope}\n")
    with pytest.raises(MissingTool, match=rf"ptrace_scope is {scope}.*set it to 1 with sysctl"):
        surroundings.tracing(root)


def test_gvisors_kernel_is_named(tmp_path: Path) -> None:
    root = _root(tmp_path, proc__version=f"Linux version 4.4.0 {surroundings.FAKED}\n")
    with pytest.raises(MissingTool, match=r"gVisor's.*--runtime=runc"):
        surroundings.sandbox(root)
    assert surroundings.sandbox(_root(tmp_path, proc__version="Linux version 6.1.0 (x) #1")) == (
        "Linux version 6.1.0"
    )


def test_a_trial_that_prints_nothing_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "TRIAL", "raise SystemExit(1)")
    with pytest.raises(MissingTool, match="ptrace: Operation not permitted"):
        surroundings.tracing(Path("/nonexistent"))

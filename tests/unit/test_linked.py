# SPDX-License-Identifier: Apache-2.0
"""What is linked into the guest's kernel: it computes the same everywhere, and may be there."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hoplab.model.resources import BINARIES, PROJECT

MEDIUM, DSR = (BINARIES / f"hoplab_{name}_kernel.part" for name in ("medium", "dsr"))
PACKAGES = ("hoplab-medium-kernel", "hoplab-dsr-kernel")
GUEST = "hoplab_resident_call_"
"""A system call of the guest's, by what was a function of the C library."""
TRACE = {"getcwd", "readlink", "realpath"}
"""The host's files, as a panic's trace names them."""
FILES = {
    *("close", "fstat64", "lseek64", "mkdir", "open64", "read", "stat64", "statx", "write"),
    *("writev", *TRACE),
}
OF_MEDIUM = {"hoplab_medium_deliver", "hoplab_medium_died", "hoplab_medium_status", *FILES}
OF_DSR = {
    *("hoplab_resident_died", "hoplab_resident_own", "hoplab_resident_ring"),
    *("hoplab_resident_stopped", *TRACE),
}
"""The daemon has the guest's files, by the guest's calls, and none of the host's."""
MEMORY = {
    "bcmp",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "mmap",
    "mmap64",
    "mremap",
    "munmap",
    "strlen",
}
THREAD = {
    "__cxa_thread_atexit_impl",
    "__errno_location",
    "__tls_get_addr",
    "gettid",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_setspecific",
    "syscall",
}
"""Of the one thread that there is: its own variables, and locks that nobody contends for."""
PANIC = {
    "__dso_handle",
    "__xpg_strerror_r",
    "abort",
    "dl_iterate_phdr",
    "free",
    "getenv",
    "malloc",
    "realloc",
    "rust_eh_personality",
}
"""What Rust's library says of a panic, which ends the guest."""
UNWINDING = "_Unwind_"
ALLOWED = MEMORY | THREAD | PANIC
"""No clock, no randomness, no thread is started, and no mathematics: the C library's choose their
code by the processor."""
COMPATIBLE = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "0BSD", "CC0-1.0"}
"""Licences whose code may be part of a program under GPL-2.0-only."""


def called(part: Path) -> set[str]:
    """What the engine or the DSR daemon takes from elsewhere, and uses."""
    relocated = subprocess.run(
        ["readelf", "--relocs", "--wide", str(part)], capture_output=True, text=True, check=True
    )
    used = {fields[4] for line in relocated.stdout.splitlines() if len(fields := line.split()) > 4}
    symbols = subprocess.run(
        ["readelf", "--syms", "--wide", str(part)], capture_output=True, text=True, check=True
    )
    undefined = {
        fields[7]
        for line in symbols.stdout.splitlines()
        if len(fields := line.split()) == 8 and fields[6] == "UND"
    }
    return used & undefined


@pytest.mark.parametrize(
    ("part", "own", "used"),
    [
        (MEDIUM, OF_MEDIUM, {"write", "hoplab_medium_deliver"}),
        (DSR, OF_DSR, {f"{GUEST}write", "hoplab_resident_ring"}),
    ],
    ids=["medium", "dsr"],
)
def test_a_part_of_the_kernel_depends_on_no_processor_clock_or_chance(
    part: Path, own: set[str], used: set[str]
) -> None:
    found = called(part)
    assert used <= found
    known = (UNWINDING, GUEST) if part == DSR else (UNWINDING,)
    other = {name for name in found - ALLOWED - own if not name.startswith(known)}
    assert not other, f"linked into the kernel, and not known: {sorted(other)}"


def linked() -> list[dict[str, Any]]:
    """Every crate that the engine and the DSR daemon are made of."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    command += ["--filter-platform=x86_64-unknown-linux-gnu", "--all-features"]
    done = subprocess.run(
        [*command, f"--manifest-path={PROJECT / 'daemons' / 'Cargo.toml'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    metadata = json.loads(done.stdout)
    # What only runs in the compiler is not linked.
    packages = {
        package["id"]: package
        for package in metadata["packages"]
        if not any("proc-macro" in target["kind"] for target in package["targets"])
    }
    needs = {
        node["id"]: [
            dep["pkg"]
            for dep in node["deps"]
            if any(kind["kind"] is None for kind in dep["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    todo = [key for key, package in packages.items() if package["name"] in PACKAGES]
    reached: set[str] = set()
    while todo:
        key = todo.pop()
        if key in packages and key not in reached:
            reached.add(key)
            todo += needs[key]
    return [packages[key] for key in reached]


def may_be_linked(expression: str) -> bool:
    """Whether an SPDX expression of choices, and of sets that hold together, has a way that is
    compatible with GPL-2.0-only."""
    ways = expression.replace("/", " OR ").replace("(", "").replace(")", "").split(" OR ")
    return any(all(part.strip() in COMPATIBLE for part in way.split(" AND ")) for way in ways)


def test_every_linked_crate_may_be_linked_into_the_kernel() -> None:
    crates = linked()
    names = {crate["name"] for crate in crates}
    assert {
        "hoplab-medium-core",
        "hoplab-channel",
        "hoplab-dsr-core",
        "serde_json",
        "dlmalloc",
    } <= names
    wrong = {c["name"]: c["license"] for c in crates if not may_be_linked(c["license"] or "")}
    assert not wrong


def test_licences_are_judged() -> None:
    assert may_be_linked("Apache-2.0 OR MIT") and may_be_linked("MIT/Apache-2.0")
    assert not may_be_linked("Apache-2.0") and not may_be_linked("MIT AND Apache-2.0")

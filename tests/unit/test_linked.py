# SPDX-License-Identifier: Apache-2.0
"""What is linked into the guest's kernel: it computes the same everywhere, and may be there."""

import json
import subprocess
from typing import Any

from hoplab.model.resources import BINARIES, PROJECT

ENGINE = BINARIES / "hoplab-engine.o"
PACKAGES = ("hoplab-medium-kernel", "hoplab-dsr-kernel")
FROM_C = {
    "hoplab_medium_deliver",
    "hoplab_medium_died",
    "hoplab_medium_status",
    "hoplab_resident_died",
    "hoplab_resident_own",
    "hoplab_resident_ring",
    "hoplab_resident_stopped",
}
GUEST = "hoplab_resident_call_"
"""A system call of the guest's, by what was a function of the C library."""
FILES = {
    "close",
    "fstat64",
    "getcwd",
    "lseek64",
    "mkdir",
    "open64",
    "read",
    "readlink",
    "realpath",
    "stat64",
    "statx",
    "write",
    "writev",
}
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
ALLOWED = FROM_C | FILES | MEMORY | THREAD | PANIC
"""No clock, no randomness, no thread is started, and no mathematics: the C library's choose their
code by the processor."""
COMPATIBLE = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "0BSD", "CC0-1.0"}
"""Licences whose code may be part of a program under GPL-2.0-only."""


def called() -> set[str]:
    """What the engine and the DSR daemon take from elsewhere, and use."""
    relocated = subprocess.run(
        ["readelf", "--relocs", "--wide", str(ENGINE)], capture_output=True, text=True, check=True
    )
    used = {fields[4] for line in relocated.stdout.splitlines() if len(fields := line.split()) > 4}
    symbols = subprocess.run(
        ["readelf", "--syms", "--wide", str(ENGINE)], capture_output=True, text=True, check=True
    )
    undefined = {
        fields[7]
        for line in symbols.stdout.splitlines()
        if len(fields := line.split()) == 8 and fields[6] == "UND"
    }
    return used & undefined


def test_the_engine_depends_on_no_processor_clock_or_chance() -> None:
    found = called()
    assert {"write", "hoplab_medium_deliver", f"{GUEST}write"} <= found
    other = {name for name in found - ALLOWED if not name.startswith((UNWINDING, GUEST))}
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

# SPDX-License-Identifier: GPL-2.0-only
"""Configure and compile a kernel's tree. The kernel's hash covers this file."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from building import GUEST, Failed, Refused, locks
from building.log import first_error

ENVIRONMENT = {
    "ARCH": "um",
    "KBUILD_BUILD_USER": "hoplab",
    "KBUILD_BUILD_HOST": "hoplab",
    "KBUILD_BUILD_VERSION": "1",
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC",
    "LC_ALL": "C",
}
SOURCES = "drivers/net/wireless/virtual/hoplab"
"""Where the C files go that are compiled by themselves, beside hwsim."""
HEADERS = "include/hoplab"
"""Where those go that the hooks include."""
COMPILER = Path(__file__).with_name("cc")
COMMON = COMPILER.with_name("common.h")
OWN_COMPILER = "./scripts/hoplab-cc"
"""The compiler's copy in a kernel's tree, where no path of the host's can have spaces."""
COMMON_WITH = "lib/ctype.o"
"""The object with which `COMPILER` makes its precompiled header."""
SET = re.compile(r"(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set")


def own_files() -> dict[str, Path]:
    """Return the C files beside the hooks, by their place in a kernel's tree."""
    paths = sorted([*(GUEST / "c").iterdir(), GUEST / "abi.h"])
    return {f"{HEADERS if path.suffix == '.h' else SOURCES}/{path.name}": path for path in paths}


def environment() -> dict[str, str]:
    """Return the environment of the kernel's make, which no other make around it leads."""
    outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    return {k: v for k, v in os.environ.items() if k not in outer} | ENVIRONMENT


def make(tree: Path, *arguments: str, log: Path | None = None) -> int:
    """Run make in a tree. Returns its exit status."""
    command = ["make", *arguments]
    with (log or Path(os.devnull)).open("ab") as file:
        return subprocess.run(
            command,
            cwd=tree,
            env=environment(),
            stdout=file,
            stderr=subprocess.STDOUT,
            pass_fds=locks,
        ).returncode


def settings(text: str) -> dict[str, str]:
    """Return the options of a configuration; "n" for one that is not set."""
    found = {}
    for line in text.splitlines():
        if named := SET.fullmatch(line.strip()):
            found[named[1] or named[3]] = named[2] if named[1] else "n"
    return found


def configure(tree: Path, fragments: Sequence[Path], own: Sequence[Path]) -> None:
    """Make the tree's ``.config`` of the fragments, then of a user's own.

    Raises `Refused` for an option that another one or the kernel takes back.
    """
    parts = [path.read_text(encoding="utf-8", errors="replace") for path in (*fragments, *own)]
    log = tree / "config.log"
    log.unlink(missing_ok=True)
    (tree / "hoplab.config").write_text("".join(parts), encoding="utf-8")
    merge = ["scripts/kconfig/merge_config.sh", "-m", ".config", "hoplab.config"]
    failed = make(tree, "tinyconfig", log=log)
    if not failed:
        with log.open("ab") as file:
            failed = subprocess.run(
                merge, cwd=tree, env=environment(), stdout=file, stderr=file
            ).returncode
    if failed or make(tree, "olddefconfig", log=log):
        raise Failed(f"configuring the kernel failed: {first_error(log)}")
    now = settings((tree / ".config").read_text(encoding="utf-8"))
    for path, text in zip((*fragments, *own), parts, strict=True):
        wanted = settings(text)
        lost = [f"{key}={value}" for key, value in wanted.items() if now.get(key, "n") != value]
        if not lost:
            continue
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        what = ", ".join(lost[:3]) + more
        if path in own:
            raise Refused(f"--config: {path}: the kernel refused {what}; what do they depend on?")
        by = f"; {own[0]} takes that away" if own else ""
        raise Refused(f"the kernel's configuration lost {what}, which Hoplab needs{by}")


def compile_kernel(tree: Path, log: Path) -> None:
    """Compile the kernel. Raises `Failed` with the first error; ``log`` has all."""
    log.unlink(missing_ok=True)
    # The same sources give the same kernel in whatever folder.
    flags = f"KCFLAGS=-fmacro-prefix-map={tree}/="
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    for place, path in ((OWN_COMPILER, COMPILER), (f"{HEADERS}/{COMMON.name}", COMMON)):
        shutil.copy2(path, tree / place)
    all_of_it = (jobs, flags, f"CC={OWN_COMPILER}")
    with _common_header(tree):
        if not (tree / "vmlinux.o").exists():
            make(tree, *all_of_it, COMMON_WITH, log=log)
        if make(tree, *all_of_it, "linux", "modules", log=log):
            raise Failed(f"compiling the kernel failed: {first_error(log)}")


@contextlib.contextmanager
def _common_header(tree: Path) -> Iterator[None]:
    """Have no precompiled header from before, which may be of other sources, and leave none."""
    header = tree / HEADERS / f"{COMMON.name}.gch"
    header.unlink(missing_ok=True)
    try:
        yield
    finally:
        header.unlink(missing_ok=True)


def drop_objects(tree: Path) -> None:
    """Remove what neither another link nor modules out of the tree need: three quarters of a
    gigabyte."""
    kept = {tree / "vmlinux.o", tree / ".vmlinux.export.o", tree / "init/version-timestamp.o"}
    for parent, _, names in os.walk(tree):
        inside = os.path.relpath(parent, tree).split("/")[0]
        if inside in ("scripts", "tools"):
            continue
        for name in names:
            path = Path(parent, name)
            if path.suffix in (".o", ".a", ".cmd", ".names") and path not in kept:
                path.unlink()

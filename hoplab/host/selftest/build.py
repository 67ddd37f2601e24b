# SPDX-License-Identifier: Apache-2.0
"""Compile a collection of tests, and bring together what kselftest's ``make install`` does.

The programs are linked statically: the root of a guest has its own C library.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hoplab.host.machine import cpio
from hoplab.host.machine.cpio import Entry
from hoplab.host.selftest.tree import SELFTESTS
from hoplab.model.errors import MissingTool, ScenarioError

LIST = "kselftest-list.txt"
"""The list of tests that kselftest's install writes: COLLECTION:TEST, a line for each."""
SETTINGS = "settings"
DEFAULT_TIMEOUT_S = 45
"""kselftest_default_timeout of kselftest/runner.sh."""
RSYNC = """#!/bin/sh
# The two calls of kselftest's lib.mk.
case $1 in
-aR) shift && exec cp -rLp --parents "$@" ;;
-a) shift 2 && exec cp -rLp "$@" ;;
esac
exit 1
"""
ERROR = re.compile(r"^(\S+?):\d+(:\d+)?: (fatal )?error: .*|^.*undefined reference.*", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """Tests that can run: ``tests`` as COLLECTION:TEST, and the files with kselftest's runner.
    ``timeout_s`` has the virtual time that a test of each collection may take, in s; 0: no
    limit."""

    tests: tuple[str, ...]
    files: dict[str, Entry]
    timeout_s: dict[str, int]
    complaint: str = ""
    """The compiler's first error, if a program could not be compiled."""


def build(copy: Path, collection: str) -> Suite:
    """Compile a collection in the copy of a tree. What cannot be compiled is left out.

    Raises `MissingTool` without a compiler, and `ScenarioError` for a collection without tests.
    """
    for tool, package in (("cc", "gcc"), ("gcc", "gcc"), ("make", "make")):
        if shutil.which(tool) is None:
            raise MissingTool(
                f"{tool} is missing, and tests have programs to compile; install it with "
                f"'apt-get install {package}'"
            )
    with tempfile.TemporaryDirectory(prefix="hoplab-selftest-") as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        (folder / "bin" / "rsync").write_text(RSYNC, encoding="ascii")
        (folder / "bin" / "rsync").chmod(0o755)
        log = folder / "log"
        _make(copy, folder, log, "headers")
        installed = folder / "installed"
        _make(
            *(copy, folder, log, "-k", "-i", "-C", str(SELFTESTS), f"TARGETS={collection}"),
            *("USERLDFLAGS=-static", f"KSFT_INSTALL_PATH={installed}", "install"),
        )
        said = log.read_text(encoding="utf-8", errors="replace")
        listed = _listed(installed)
        if not listed:
            last = (said.strip().splitlines() or ["make said nothing"])[-1]
            raise ScenarioError(
                f"COLLECTION: {collection} has no tests, or they cannot be installed: {last}"
            )
        error = ERROR.search(said)
        timeouts = {}
        for one in {test.partition(":")[0] for test in listed}:
            settings = installed / one / SETTINGS
            text = settings.read_text(encoding="utf-8") if settings.is_file() else ""
            timeouts[one] = timeout_s(text)
        return Suite(listed, cpio.from_tree(installed), timeouts, error[0].strip() if error else "")


def timeout_s(settings: str) -> int:
    """Return the seconds that a test has by its collection's file ``settings``."""
    found = DEFAULT_TIMEOUT_S
    for line in settings.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "timeout" and value.strip().isdecimal():
            found = int(value)
    return found


def _listed(installed: Path) -> tuple[str, ...]:
    path = installed / LIST
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return tuple(dict.fromkeys(line for line in lines if ":" in line))


def _make(copy: Path, folder: Path, log: Path, *arguments: str) -> None:
    outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KBUILD_OUTPUT", "O", "CFLAGS", "LDFLAGS")
    environment = {k: v for k, v in os.environ.items() if k not in outer}
    environment |= {"LC_ALL": "C", "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    with log.open("ab") as file:
        subprocess.run(
            ["make", "-s", jobs, "ARCH=x86", *arguments],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )

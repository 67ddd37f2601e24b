# SPDX-License-Identifier: Apache-2.0
"""The compiler of a kernel that is compiled whole: with its precompiled header an object means what
it means without."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hoplab.model.resources import KERNEL_BUILD

COMPILER = KERNEL_BUILD.parent / "building" / "cc"
COMMON = """
#define pr_fmt(fmt) "hoplab-another-file" fmt
#define dev_fmt(fmt) "hoplab-another-file" fmt
#define KBUILD_MODNAME "hoplab-another-file"
#include "thing.h"
#undef KBUILD_MODNAME
#undef dev_fmt
#undef pr_fmt
"""
THING = """
#ifndef THING
#define THING
#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif
#ifndef LIMIT
#define LIMIT 1
#endif
static inline const char *said(void) { return pr_fmt("said"); }
static inline const char *module(void) { return KBUILD_MODNAME ".module"; }
#endif
"""
FIRST = "#ifdef FIRST\n#error twice\n#endif\n#define FIRST 5\n"
"""What the build itself includes, once."""
PROGRAM = """%s
#include "thing.h"
int puts(const char *);
int main(void) { return puts(%s) < 0 ? FIRST : LIMIT; }
"""
"""With what it defines first, and what it says."""
PREFIX = '#define pr_fmt(fmt) "own: " fmt'
ALWAYS = ("-O1", "-Wall", "-Iinclude", "-include", "include/first.h")
NAMES = tuple(
    f"-D{name}={value}"
    for name, value in (
        ("KBUILD_MODFILE", '"lib/own"'),
        ("KBUILD_BASENAME", '"own"'),
        ("KBUILD_MODNAME", '"own"'),
        ("__KBUILD_MODNAME", "kmod_own"),
    )
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree whose precompiled header is made."""
    for folder in ("include/hoplab", "lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "include/hoplab/common.h").write_text(COMMON)
    (tmp_path / "include/thing.h").write_text(THING)
    (tmp_path / "include/first.h").write_text(FIRST)
    compiled(tmp_path, "ctype", "int nothing;\n")
    assert (tmp_path / "include/hoplab/common.h.gch").exists()
    return tmp_path


def compiled(tree: Path, name: str, source: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile a file of the folder ``lib``."""
    (tree / f"lib/{name}.c").write_text(source)
    files = ("-c", "-o", f"lib/{name}.o", f"lib/{name}.c")
    dependencies = f"-Wp,-MMD,lib/.{name}.d"
    command = (COMPILER, dependencies, *ALWAYS, *flags, *NAMES, *files)
    return subprocess.run(command, cwd=tree, capture_output=True, text=True)


def outcome(tree: Path, source: str, *flags: str) -> tuple[str, int, bool]:
    """Return what a program says, its status, and whether it was compiled with the header."""
    done = compiled(tree, "own", source, *flags)
    assert done.returncode == 0 and not done.stderr, done.stderr
    subprocess.run(["gcc", "-o", "own", "lib/own.o"], cwd=tree, check=True)
    ran = subprocess.run(["./own"], cwd=tree, capture_output=True, text=True)
    has_header = ".own.o.names" in (tree / "lib/.own.d").read_text()
    return ran.stdout.strip(), ran.returncode, has_header


@pytest.mark.parametrize(
    ("first", "says", "flag", "expected"),
    [
        pytest.param("", '"x"', None, ("x", 1, True), id="as-it-is"),
        pytest.param(PREFIX, 'pr_fmt("x")', None, ("own: x", 1, True), id="own-prefix"),
        pytest.param("", "KBUILD_MODNAME", None, ("own", 1, True), id="own-name"),
        pytest.param(PREFIX, "said()", None, ("own: said", 1, False), id="prefix-in-the-header"),
        pytest.param("", "module()", None, ("own.module", 1, False), id="name-in-the-header"),
        pytest.param("#define LIMIT 2", '"x"', None, ("x", 2, False), id="defined"),
        pytest.param("", '"x"', "-DLIMIT=3", ("x", 3, False), id="by-a-flag"),
        pytest.param("", '"x"', "-O2", ("x", 1, False), id="other-flags"),
    ],
)
def test_an_object_means_what_it_means_without_the_header(
    tree: Path, first: str, says: str, flag: str | None, expected: tuple[str, int, bool]
) -> None:
    source, flags = PROGRAM % (first, says), [flag] if flag else []
    with_it = outcome(tree, source, *flags)
    (tree / "include/hoplab/common.h.gch").unlink()
    without = outcome(tree, source, *flags)
    assert with_it == expected
    assert without[:2] == expected[:2] and not without[2]


def test_an_error_is_the_one_without_the_header(tree: Path) -> None:
    wrong = '#include "thing.h"\nint said;\nint main(void) { return missing; }\n'
    with_it = compiled(tree, "own", wrong)
    (tree / "include/hoplab/common.h.gch").unlink()
    without = compiled(tree, "own", wrong)
    assert with_it.returncode == without.returncode == 1
    assert "missing" in with_it.stderr and with_it.stderr == without.stderr


def test_an_object_depends_on_what_the_header_has(tree: Path) -> None:
    outcome(tree, PROGRAM % ("", '"x"'))
    assert "include/thing.h" in (tree / "lib/.own.d").read_text()

# SPDX-License-Identifier: Apache-2.0
"""What several languages or tools must know alike agrees, and what a comment names is there."""

import re
import subprocess
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from hoplab.host.machine import assemble, dumped
from hoplab.host.machine.launcher.descriptors import IMAGE_FD, LINE_FD
from hoplab.model.keys.declare import LEAST_DBM, MAX_COORDINATE_M, MOST_DBM
from hoplab.model.keys.radio import NO_RTS
from hoplab.model.resources import PROJECT
from tests.unit.test_linked import linked

ENGINE = "medium-core"
"""Its own tests keep its levels."""
REQUEST = "daemons/channel/src/request.rs"
IMAGE = "kernel-modules/guest/c/image_on_host.h"
A_PATH = re.compile(
    r"(?<![\w./-])(?:hoplab|daemons|docs|kernel-modules|tests|scripts|experiments)/[\w./-]+"
    r"\.(?:py|rs|c|h|md|toml|json|lds)\b"
)
ELSEWHERE = {
    "docs/hooks.py",
    "experiments/NAME/analysis.py",
    "docs/studies/STUDY.md",
    "docs/x.md",
    "hoplab/PID.json",
}
"""Examples, and files that a run or the documentation makes."""
CRATES = sorted(
    path.parent.name for path in (PROJECT / "daemons").glob("*/src") if path.parent.name != ENGINE
)
USED = re.compile(r"^ *(?:pub )?use crate::(?:\{)?(\w+)", re.MULTILINE)
KERNELS_HEADERS = "hoplab/"
"""Where a guest's kernel has its headers: kernel-modules/guest/c."""


@pytest.mark.parametrize(
    ("value", "file", "named"),
    [
        (MAX_COORDINATE_M, REQUEST, "FARTHEST_M: f64 ="),
        (LEAST_DBM, REQUEST, "LEAST_DBM: f64 ="),
        (MOST_DBM, REQUEST, "MOST_DBM: f64 ="),
        (NO_RTS, "daemons/channel/src/config.rs", "NO_RTS: usize ="),
        (LINE_FD, "kernel-modules/guest/c/host.c", "#define HOST_DESCRIPTOR"),
        (IMAGE_FD, IMAGE, "#define IMAGE_DESCRIPTOR"),
        (dumped.MOST_PARTS, IMAGE, "#define MOST_PARTS"),
        (dumped.MOST_FILES, IMAGE, "#define MOST_FILES"),
    ],
)
def test_other_languages_have_the_same_number(value: float, file: str, named: str) -> None:
    text = (PROJECT / file).read_text(encoding="utf-8")
    (found,) = re.findall(rf"{re.escape(named)} (-?[\d._e]+)", text)
    assert float(found) == value


def test_the_oldest_python_and_rust_are_the_same_everywhere() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    python = project["project"]["requires-python"].removeprefix(">=")
    assert project["tool"]["mypy"]["python_version"] == python
    assert project["tool"]["ruff"]["target-version"] == f"py{python.replace('.', '')}"
    assert f"--python-version {python} " in (PROJECT / "scripts/lock").read_text(encoding="utf-8")
    workspace = tomllib.loads((PROJECT / "daemons/Cargo.toml").read_text(encoding="utf-8"))
    rust = workspace["workspace"]["package"]["rust-version"]
    setup = (PROJECT / "scripts/setup").read_text(encoding="utf-8")
    assert set(re.findall(r"(?:\\n|= |rustc-)(1\.\d+)\b", setup)) == {rust}


def test_the_kernels_hash_has_every_crate_that_it_is_linked_with() -> None:
    own = {
        Path(package["manifest_path"]).parent.name
        for package in linked()
        if package["source"] is None
    }
    assert own == set(assemble.LINKED)


def test_paths_in_code_and_comments_lead_somewhere() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.rs", "*.c", "*.h", "Makefile", "scripts"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    dead = set()
    for name in listed.stdout.splitlines():
        for path in A_PATH.findall((PROJECT / name).read_text(encoding="utf-8")):
            header = path.startswith(KERNELS_HEADERS) and path.endswith(".h")
            # A crate's file may name another by its path in the crate.
            places = (PROJECT / folder / path for folder in Path(name).parents)
            if not header and path not in ELSEWHERE and not any(p.exists() for p in places):
                dead.add(f"{name}: {path}")
    assert not dead


@pytest.mark.parametrize("crate", CRATES)
def test_files_of_a_crate_use_each_other_one_way(crate: str) -> None:
    source = PROJECT / "daemons" / crate / "src"
    uses: dict[str, set[str]] = {}
    for path in source.rglob("*.rs"):
        own = path.relative_to(source).parts[0].removesuffix(".rs")
        uses.setdefault(own, set()).update(USED.findall(path.read_text(encoding="utf-8")))
    TopologicalSorter({own: found - {own} for own, found in uses.items()}).prepare()

# SPDX-License-Identifier: Apache-2.0
"""What is linked into the guest's kernel: it computes the same everywhere, and may be there."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hoplab.model.resources import BINARIES, PROJECT

PARTS = {name: BINARIES / f"hoplab_{name}_kernel.part" for name in ("medium", "dsr")}
PACKAGES = ("hoplab-medium-kernel", "hoplab-dsr-kernel")
CHECK = PROJECT / "scripts" / "linked"
LED = "hoplab_resident_call_write"
COMPATIBLE = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "0BSD", "CC0-1.0"}
"""Licences whose code may be part of a program under GPL-2.0-only."""


def check(kind: str, part: Path) -> str:
    """What the daemons' build says of a part."""
    done = subprocess.run([CHECK, kind, part], capture_output=True, text=True)
    assert (done.returncode != 0) == bool(done.stderr)
    return done.stderr


@pytest.mark.parametrize(("kind", "part"), PARTS.items(), ids=[*PARTS])
def test_a_part_of_the_kernel_depends_on_no_processor_clock_or_chance(
    kind: str, part: Path
) -> None:
    assert check(kind, part) == ""


@pytest.mark.parametrize(
    ("kind", "calls", "said"),
    [
        ("dsr", ("ftruncate",), "takes ftruncate from the C library"),
        ("dsr", ("write", "close"), "takes close, write from the C library"),
        ("dsr", (LED, "memcpy"), ""),
        ("medium", ("write",), ""),
        ("medium", ("clock_gettime", LED), f"takes clock_gettime, {LED} from the C library"),
    ],
    ids=["not led", "led in another part", "led", "host's file", "clock"],
)
def test_a_call_that_would_be_the_hosts_is_refused_by_name(
    tmp_path: Path, kind: str, calls: tuple[str, ...], said: str
) -> None:
    source, part = tmp_path / "part.c", tmp_path / "part.o"
    body = "".join(f"extern long {name}(void); total += {name}();" for name in calls)
    # What is declared and not called, is not taken.
    text = f"extern long fork(void); long run(void) {{ long total = 0; {body} return total; }}"
    source.write_text(text)
    subprocess.run(["gcc", "-fno-builtin", "-c", "-o", part, source], check=True)
    complaint = check(kind, part)
    assert said in complaint and bool(said) == bool(complaint)
    assert complaint.count("\n") == bool(said)


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

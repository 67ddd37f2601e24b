# SPDX-License-Identifier: Apache-2.0
"""Files of Rust's tests: most crates compile theirs as one program."""

import re

from hoplab.model.resources import PROJECT

MODULE = re.compile(r"^mod (\w+);$", re.MULTILINE)


def test_every_file_is_part_of_its_crates_program() -> None:
    """Cargo says nothing of a file that the program does not name."""
    programs = sorted(PROJECT.glob("daemons/*/tests/all.rs"))
    assert programs
    for program in programs:
        files = {path.stem for path in program.parent.glob("*.rs")} - {program.stem}
        assert files <= set(MODULE.findall(program.read_text(encoding="utf-8"))), program


def test_only_a_crate_with_such_a_program_looks_for_no_others() -> None:
    manifests = sorted(PROJECT.glob("daemons/*/Cargo.toml"))
    closed = [path for path in manifests if "autotests = false" in path.read_text("utf-8")]
    assert closed == [path for path in manifests if (path.parent / "tests" / "all.rs").exists()]

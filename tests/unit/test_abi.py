# SPDX-License-Identifier: Apache-2.0
"""What C and Rust share in the guest's kernel has one declaration."""

import re

import pytest

from hoplab.front.pages import abi
from hoplab.model.resources import PROJECT

SMALL = """\
#define HOPLAB_ROWS 4
/* A row. */
struct hoplab_row {
	const u8 *bytes;
	/* So many. */
	u16 counts[HOPLAB_ROWS];
};
static_assert(sizeof(struct hoplab_row) == 16);
/*
 * In Rust: somebody.
 */
s32 hoplab_take(const struct hoplab_row *row,
		size_t size);
/*
 * In C: another one.
 */
/* Ends. */
void __noreturn hoplab_end(const u8 address[6]);
bool hoplab_ready(void);
"""


def test_the_rust_side_is_made_from_the_header() -> None:
    made = abi.rust(abi.HEADER.read_text())
    assert abi.RUST.read_text() == made, "run 'python -m hoplab.front.pages.abi'"


def test_every_function_of_the_rust_side_has_its_declared_type() -> None:
    crates = (PROJECT / "daemons").glob("*-kernel/src/*.rs")
    named = set(
        re.findall(r"const _: rust::(\w+) = hoplab_", "".join(p.read_text() for p in crates))
    )
    assert named == set(re.findall(r"pub type (\w+)", abi.RUST.read_text()))


def test_each_structure_has_its_size_on_both_sides() -> None:
    header = abi.HEADER.read_text()
    named = re.findall(r"^struct hoplab_(\w+) \{", header, re.MULTILINE)
    assert named and named == re.findall(r"sizeof\(struct hoplab_(\w+)\)", header)
    assert abi.RUST.read_text().count("const _: () = assert!(size_of") == len(named)


def test_a_header_and_its_rust_side() -> None:
    made = abi.rust(SMALL)
    assert (
        made
        == abi.HEAD
        + """
pub const ROWS: usize = 4;

/// A row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub bytes: *const u8,
    /// So many.
    pub counts: [u16; ROWS],
}

const _: () = assert!(size_of::<Row>() == 16);

// Of the C side.
unsafe extern "C" {
    /// Ends.
    pub fn hoplab_end(address: *const [u8; 6]) -> !;
    pub safe fn hoplab_ready() -> bool;
}

/// Types of the functions of the Rust side, by their names.
pub mod rust {
    use super::*;
    pub type Take = unsafe extern "C" fn(row: *const Row, size: usize) -> i32;
}
"""
    )


@pytest.mark.parametrize("line", ["int hoplab_x(void);", "typedef u8 x;", "struct x { u8 y; };"])
def test_a_statement_that_has_no_rust_side(line: str) -> None:
    with pytest.raises(ValueError, match="has no Rust side"):
        abi.rust(f"{SMALL}{line}\n")

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All tests of this crate as one program, which is compiled and linked once.

#[path = "../../split-core/tests/support/ends.rs"]
mod ends;
mod split;
#[path = "../../dsr-core/tests/support/mod.rs"]
mod support;
mod trace;

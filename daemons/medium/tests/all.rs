// SPDX-License-Identifier: Apache-2.0
//! All tests of this crate as one program, which is compiled and linked once.

mod control;
mod document;
mod hammer;
mod server;

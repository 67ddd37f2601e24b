// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All tests of this crate as one program, which is compiled and linked once.

mod flow;
mod pings;

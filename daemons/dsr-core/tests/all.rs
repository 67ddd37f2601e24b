// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All tests of this crate as one program, which is compiled and linked once.

mod hammer;
mod histories;
mod levels;
mod neighbours;
mod netsim;
mod parts;
mod poison;
mod support;
mod wire;

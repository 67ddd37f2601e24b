// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All tests of this crate as one program, which is compiled and linked once.

mod added;
mod aggregation;
mod agreements;
mod channels;
mod common;
mod contention;
mod delay;
mod doze;
mod emlsr;
mod interference;
mod levels;
mod links;
mod mimo;
mod ns2;
mod ofdma;
mod physics;
mod properties;
mod replay;
mod retries;
mod snapshot;
mod terminals;
mod theory;
mod unequal;
mod widths;

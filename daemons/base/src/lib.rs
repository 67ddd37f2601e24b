// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every other crate counts time and draws random numbers with: instants and durations in
//! integer nanoseconds, and random streams. A stream follows from the scenario's seed and a name.
//!
//! Nothing here reads a clock or asks the system for randomness.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod counters;
mod stream;
mod time;

#[doc(hidden)]
pub use alloc::vec::Vec; // what `counters!` expands to
pub use stream::Stream;
pub use time::{Duration, Instant};

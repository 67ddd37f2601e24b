// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What routing protocols of ad hoc networks share, pure: sequence numbers that roll over, memories
//! that hostile packets cannot fill, and rate limits. Also here: packets that wait for a route,
//! neighbours, and ICMP about packets without a route.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod icmp;
mod neighbours;
mod rate;
mod recent;
mod sequence;
mod summary;
mod waiting;

pub use neighbours::Neighbours;
pub use rate::RateLimit;
pub use recent::Recent;
pub use sequence::Sequence;
pub use summary::{Joined, Segment, Summary};
pub use waiting::{Held, Waiting};

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What routing protocols of ad hoc networks share, pure. The first is what a protocol is to its
//! driver. Then come sequence numbers that roll over, memories that hostile packets cannot fill, and
//! rate limits. Also here: packets that wait for a route, neighbours, ICMP about packets without a
//! route, and what TCP may learn of a broken one.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod expiring;
pub mod icmp;
mod lost;
mod neighbours;
mod outbox;
mod protocol;
mod rate;
mod recent;
mod sequence;
mod summary;
mod waiting;

pub use expiring::Expiring;
pub use lost::{Failure, Fate, LostSegment, RECORD_LEN};
pub use neighbours::Neighbours;
pub use outbox::{Outbox, MOST_NEIGHBOURS};
pub use protocol::{Event, Hop, Output, Protocol, Resolution};
pub use rate::RateLimit;
pub use recent::Recent;
pub use sequence::{Sequence, Sequence16};
pub use summary::{Joined, Segment, Summary};
pub use waiting::{Held, Waiting};

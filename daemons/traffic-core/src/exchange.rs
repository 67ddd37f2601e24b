// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a flow has a row of: an echo with its reply, or a request with its response.

use hoplab_base::{Duration, Instant};

/// One that left, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// From 1.
    pub number: u64,
    /// When it left, by the driver's clock.
    pub sent: Instant,
    /// Its payload's octets.
    pub octets: u64,
    pub end: End,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The answer had so many octets of payload, and came after `rtt`.
    Answered { rtt: Duration, octets: u64 },
    /// Nothing is awaited from then on.
    GivenUp { at: Instant },
}

impl Exchange {
    /// When the answer had come, or was awaited no more.
    pub fn at(&self) -> Instant {
        match self.end {
            End::Answered { rtt, .. } => self.sent + rtt,
            End::GivenUp { at } => at,
        }
    }
}

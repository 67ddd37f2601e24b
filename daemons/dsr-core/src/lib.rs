// SPDX-License-Identifier: Apache-2.0
//! Dynamic Source Routing (RFC 4728, without the optional flow state extension) as a pure
//! state machine: bytes and a time go in, bytes, events and the next deadline come out.
//!
//! The driving contract stands on [`Dsr`]. Nothing here opens a socket, reads a clock or draws
//! from global randomness; `no_std` makes that a compile error rather than a promise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod arp;
pub mod cache;
pub mod event;
pub mod node;
pub mod queue;
pub mod rng;
pub mod settings;
pub mod tables;
pub mod time;
pub mod wire;

pub use event::{DropCause, Event, Summary};
pub use node::{Class, Dsr, LinkDestination, Output, Stats, Token};
pub use settings::Settings;
pub use time::{Duration, Instant};

/// A 48-bit link-layer address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    pub const BROADCAST: Mac = Mac([0xff; 6]);

    /// True for group addresses (broadcast included).
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl core::fmt::Display for Mac {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let m = self.0;
        write!(
            f,
            "{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}",
            m[0], m[1], m[2], m[3], m[4], m[5]
        )
    }
}

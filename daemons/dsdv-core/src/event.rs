// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the protocol did and why, for the structured log: one value for each occurrence.

use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;
use hoplab_routing_core::{Joined, Summary};

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// No update, or no IPv4.
    Malformed,
    /// The buffer was full: the oldest packet left it.
    SendBufferFull,
    /// The packet waited too long.
    SendBufferTimeout,
    NoRoute,
    /// The next hop did not get it, and it does not wait.
    LinkBroken,
    /// Multicast or broadcast, which has no route.
    Multicast,
}

impl DropCause {
    pub fn as_str(self) -> &'static str {
        match self {
            DropCause::Malformed => "malformed",
            DropCause::SendBufferFull => "send-buffer-full",
            DropCause::SendBufferTimeout => "send-buffer-timeout",
            DropCause::NoRoute => "no-route",
            DropCause::LinkBroken => "link-broken",
            DropCause::Multicast => "multicast",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The link to a neighbour is gone, and with it the routes by it.
    LinkFailure {
        next_hop: Ipv4Addr,
        why: &'static str,
    },
    /// A neighbour says that routes by it are broken.
    Broken {
        from: Ipv4Addr,
        unreachable: Vec<Ipv4Addr>,
    },
    Drop {
        cause: DropCause,
        packet: Option<Summary>,
    },
}

impl hoplab_routing_core::Event for Event {
    fn kind(&self) -> &'static str {
        match self {
            Event::LinkFailure { .. } => "link-failure",
            Event::Broken { .. } => "broken",
            Event::Drop { .. } => "drop",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::LinkFailure { next_hop, why } => write!(f, "next_hop={next_hop} why={why}"),
            Event::Broken { from, unreachable } => {
                write!(f, "from={from} unreachable={}", Joined(unreachable, ','))
            }
            Event::Drop { cause, packet } => {
                write!(f, "cause={}", cause.as_str())?;
                packet.map_or(Ok(()), |packet| write!(f, " {packet}"))
            }
        }
    }
}

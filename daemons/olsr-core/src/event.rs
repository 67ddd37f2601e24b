// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the protocol did and why, for the structured log: one value for each occurrence.

use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;
use hoplab_routing_core::{Joined, Summary};

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// No packet of OLSR, or no IPv4.
    Malformed,
    NoRoute,
    /// The next hop did not get it, and there is no other.
    LinkBroken,
    /// Multicast or broadcast, which has no route.
    Multicast,
}

impl DropCause {
    pub fn as_str(self) -> &'static str {
        match self {
            DropCause::Malformed => "malformed",
            DropCause::NoRoute => "no-route",
            DropCause::LinkBroken => "link-broken",
            DropCause::Multicast => "multicast",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A symmetric neighbour is new.
    Neighbour { address: Ipv4Addr },
    /// One is gone.
    LinkFailure {
        next_hop: Ipv4Addr,
        why: &'static str,
    },
    /// The station chose other multipoint relays.
    Relays { addresses: Vec<Ipv4Addr> },
    Drop {
        cause: DropCause,
        packet: Option<Summary>,
    },
}

impl hoplab_routing_core::Event for Event {
    fn kind(&self) -> &'static str {
        match self {
            Event::Neighbour { .. } => "neighbour",
            Event::LinkFailure { .. } => "link-failure",
            Event::Relays { .. } => "relays",
            Event::Drop { .. } => "drop",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Neighbour { address } => write!(f, "address={address}"),
            Event::LinkFailure { next_hop, why } => write!(f, "next_hop={next_hop} why={why}"),
            Event::Relays { addresses } => write!(f, "addresses={}", Joined(addresses, ',')),
            Event::Drop { cause, packet } => {
                write!(f, "cause={}", cause.as_str())?;
                packet.map_or(Ok(()), |packet| write!(f, " {packet}"))
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the protocol did and why, for the structured log: one value for each occurrence.

use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;
use hoplab_routing_core::{Joined, Sequence, Summary};

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// No message of AODV, or no IPv4.
    Malformed,
    /// The buffer was full: the oldest packet left it.
    SendBufferFull,
    /// The packet waited too long.
    SendBufferTimeout,
    /// RREQ_RETRIES requests went unanswered (§6.3), or a relay has no route (§6.11).
    NoRoute,
    /// The link to the next hop broke, and nothing mended it.
    LinkBroken,
    /// Multicast or broadcast, which has no route.
    Multicast,
    /// The station waits after a reboot (§6.13).
    Rebooting,
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
            DropCause::Rebooting => "rebooting",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Discovery {
        target: Ipv4Addr,
        id: u32,
        ttl: u8,
        attempt: u32,
        /// The station mends a route of others.
        repair: bool,
    },
    ReplySent {
        to: Ipv4Addr,
        destination: Ipv4Addr,
        hops: u8,
        sequence: Sequence,
        why: &'static str,
    },
    /// A reply came that this station asked for.
    ReplyReceived {
        destination: Ipv4Addr,
        next_hop: Ipv4Addr,
        hops: u8,
        sequence: Sequence,
    },
    ErrorSent {
        /// `None`: to all neighbours.
        to: Option<Ipv4Addr>,
        unreachable: Vec<Ipv4Addr>,
        no_delete: bool,
    },
    ErrorReceived {
        from: Ipv4Addr,
        unreachable: Vec<Ipv4Addr>,
        no_delete: bool,
    },
    LinkFailure {
        next_hop: Ipv4Addr,
        why: &'static str,
    },
    Blacklist {
        node: Ipv4Addr,
    },
    Drop {
        cause: DropCause,
        packet: Option<Summary>,
    },
}

impl hoplab_routing_core::Event for Event {
    fn kind(&self) -> &'static str {
        match self {
            Event::Discovery { .. } => "discovery",
            Event::ReplySent { .. } => "reply-sent",
            Event::ReplyReceived { .. } => "reply",
            Event::ErrorSent { .. } => "error-sent",
            Event::ErrorReceived { .. } => "error",
            Event::LinkFailure { .. } => "link-failure",
            Event::Blacklist { .. } => "blacklist",
            Event::Drop { .. } => "drop",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = |no_delete: &bool| if *no_delete { " kept" } else { "" };
        match self {
            Event::Discovery {
                target,
                id,
                ttl,
                attempt,
                repair,
            } => {
                let why = if *repair { " repair" } else { "" };
                write!(
                    f,
                    "target={target} id={id} ttl={ttl} attempt={attempt}{why}"
                )
            }
            Event::ReplySent {
                to,
                destination,
                hops,
                sequence,
                why,
            } => write!(
                f,
                "to={to} destination={destination} hops={hops} sequence={} why={why}",
                sequence.0
            ),
            Event::ReplyReceived {
                destination,
                next_hop,
                hops,
                sequence,
            } => write!(
                f,
                "destination={destination} next_hop={next_hop} hops={hops} sequence={}",
                sequence.0
            ),
            Event::ErrorSent {
                to,
                unreachable,
                no_delete,
            } => {
                match to {
                    Some(to) => write!(f, "to={to}")?,
                    None => write!(f, "to=all")?,
                }
                write!(
                    f,
                    " unreachable={}{}",
                    Joined(unreachable, ','),
                    kept(no_delete)
                )
            }
            Event::ErrorReceived {
                from,
                unreachable,
                no_delete,
            } => write!(
                f,
                "from={from} unreachable={}{}",
                Joined(unreachable, ','),
                kept(no_delete)
            ),
            Event::LinkFailure { next_hop, why } => write!(f, "next_hop={next_hop} why={why}"),
            Event::Blacklist { node } => write!(f, "address={node}"),
            Event::Drop {
                cause,
                packet: Some(p),
            } => write!(f, "cause={} {p}", cause.as_str()),
            Event::Drop {
                cause,
                packet: None,
            } => write!(f, "cause={}", cause.as_str()),
        }
    }
}

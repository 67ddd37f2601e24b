// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the protocol did and why, for the structured log: one value for each occurrence. Only a log
//! that wants it has it formatted.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;
use core::net::Ipv4Addr;
use hoplab_routing_core::{Joined, Summary};

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// Not a packet that this node can parse.
    Malformed,
    /// An unknown option whose type demands it (RFC 4728 §8.1.6).
    UnknownOption,
    TtlExpired,
    /// The packet came back, or its source route names this node twice.
    Loop,
    /// The send buffer was full: the oldest packet left it (§4.2).
    SendBufferFull,
    /// SendBufferTimeout passed without a route (§4.2).
    SendBufferTimeout,
    /// MaxRequestRexmt requests went unanswered.
    NoRoute,
    QueueFull,
    /// The next hop is unreachable and no other route is known.
    LinkBroken,
    /// Salvaged MAX_SALVAGE_COUNT times already.
    SalvageLimit,
    /// The address of the next hop could not be resolved, or its queue was full.
    Arp,
    /// Longer than the link's MTU with its source route. This node fragments nothing (§8.5).
    TooBig,
    /// Multicast or broadcast, which DSR does not route (§8.1.5).
    Multicast,
    /// For another node, without a source route.
    NotForUs,
}

impl DropCause {
    /// Whether there was no way to the destination, rather than no room or a wrong packet.
    pub fn is_of_the_route(self) -> bool {
        use DropCause::{LinkBroken, NoRoute, SalvageLimit, SendBufferFull, SendBufferTimeout};
        matches!(
            self,
            LinkBroken | NoRoute | SalvageLimit | SendBufferFull | SendBufferTimeout
        )
    }

    pub fn as_str(self) -> &'static str {
        match self {
            DropCause::Malformed => "malformed",
            DropCause::UnknownOption => "unknown-option",
            DropCause::TtlExpired => "ttl",
            DropCause::Loop => "loop",
            DropCause::SendBufferFull => "send-buffer-full",
            DropCause::SendBufferTimeout => "send-buffer-timeout",
            DropCause::NoRoute => "no-route",
            DropCause::QueueFull => "queue-full",
            DropCause::LinkBroken => "link-broken",
            DropCause::SalvageLimit => "salvage-limit",
            DropCause::Arp => "arp",
            DropCause::TooBig => "too-big",
            DropCause::Multicast => "multicast",
            DropCause::NotForUs => "not-for-us",
        }
    }
}

/// What showed that a next hop is unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The link layer got no acknowledgement (RFC 4728 §8.3.1).
    NotAcknowledged,
    /// The link layer gave no status: it does not know the station.
    NoStatus,
    /// No passive or network-layer acknowledgement came (§8.3.2, §8.3.3).
    NoAnswer,
    /// Its link-layer address could not be resolved.
    NoAddress,
}

impl Evidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Evidence::NotAcknowledged => "not-acknowledged",
            Evidence::NoStatus => "no-status",
            Evidence::NoAnswer => "no-answer",
            Evidence::NoAddress => "no-address",
        }
    }
}

/// `E`: what a layer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<E = Infallible> {
    Discovery {
        target: Ipv4Addr,
        identification: u16,
        ttl: u8,
        attempt: u32,
    },
    ReplySent {
        to: Ipv4Addr,
        route: Vec<Ipv4Addr>,
        why: &'static str,
    },
    ReplyReceived {
        from: Ipv4Addr,
        route: Vec<Ipv4Addr>,
    },
    /// A reply was not sent: somebody answered as well or better (§8.2.5).
    ReplySuppressed {
        to: Ipv4Addr,
        target: Ipv4Addr,
    },
    ErrorSent {
        to: Ipv4Addr,
        unreachable: Ipv4Addr,
        told: Vec<E>,
    },
    ErrorReceived {
        from: Ipv4Addr,
        unreachable: Ipv4Addr,
        told: Vec<E>,
    },
    Salvage {
        packet: Summary,
        route: Vec<Ipv4Addr>,
    },
    Drop {
        cause: DropCause,
        packet: Option<Summary>,
    },
    LinkFailure {
        next_hop: Ipv4Addr,
        packet: Summary,
        why: Evidence,
    },
    Blacklist {
        node: Ipv4Addr,
        state: &'static str,
    },
}

impl<E> Event<E> {
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Discovery { .. } => "discovery",
            Event::ReplySent { .. } => "reply-sent",
            Event::ReplyReceived { .. } => "reply",
            Event::ReplySuppressed { .. } => "reply-suppressed",
            Event::ErrorSent { .. } => "error-sent",
            Event::ErrorReceived { .. } => "error",
            Event::Salvage { .. } => "salvage",
            Event::Drop { .. } => "drop",
            Event::LinkFailure { .. } => "link-failure",
            Event::Blacklist { .. } => "blacklist",
        }
    }
}

impl<E: fmt::Display> fmt::Display for Event<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Discovery {
                target,
                identification,
                ttl,
                attempt,
            } => {
                write!(
                    f,
                    "target={target} id={identification} ttl={ttl} attempt={attempt}"
                )
            }
            Event::ReplySent { to, route, why } => {
                write!(f, "to={to} route={} why={why}", Joined(route, '>'))
            }
            Event::ReplyReceived { from, route } => {
                write!(f, "from={from} route={}", Joined(route, '>'))
            }
            Event::ReplySuppressed { to, target } => write!(f, "to={to} target={target}"),
            Event::ErrorSent {
                to,
                unreachable,
                told,
            } => {
                write!(f, "to={to} unreachable={unreachable}")?;
                told.iter().try_for_each(|said| write!(f, " {said}"))
            }
            Event::ErrorReceived {
                from,
                unreachable,
                told,
            } => {
                write!(f, "from={from} unreachable={unreachable}")?;
                told.iter().try_for_each(|said| write!(f, " {said}"))
            }
            Event::Salvage { packet, route } => write!(f, "{packet} route={}", Joined(route, '>')),
            Event::Drop {
                cause,
                packet: Some(p),
            } => write!(f, "cause={} {p}", cause.as_str()),
            Event::Drop {
                cause,
                packet: None,
            } => write!(f, "cause={}", cause.as_str()),
            Event::LinkFailure {
                next_hop,
                packet,
                why,
            } => write!(f, "next_hop={next_hop} {packet} why={}", why.as_str()),
            Event::Blacklist { node, state } => write!(f, "address={node} state={state}"),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The messages of RFC 3561 §5 and their extensions (§9), UDP payloads:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |   Type = 1    |J|R|G|D|U|   Reserved          |   Hop Count   |  RREQ: then RREQ ID,
//!      destination, its sequence number, originator, its sequence number
//! |   Type = 2    |R|A|    Reserved     |Prefix Sz|   Hop Count   |  RREP: then
//!      destination, its sequence number, originator, lifetime in ms
//! |   Type = 3    |N|          Reserved           |   DestCount   |  RERR: then
//!      DestCount times an unreachable destination and its sequence number
//! |   Type = 4    |   Reserved    |                                  RREP-ACK
//! |     Type      |    Length     |     type-specific data ...       an extension
//! ```

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Duration;
use hoplab_routing_core::Sequence;

const RREQ: u8 = 1;
const RREP: u8 = 2;
const RERR: u8 = 3;
const RREP_ACK: u8 = 4;
const GRATUITOUS: u8 = 0x20;
const DESTINATION_ONLY: u8 = 0x10;
const UNKNOWN: u8 = 0x08;
const ACKNOWLEDGE: u8 = 0x40;
const NO_DELETE: u8 = 0x80;
/// Type of the Hello Interval extension (§9.1).
const HELLO_INTERVAL: u8 = 1;
/// Extensions of this type and above may not be skipped (§9).
const MANDATORY: u8 = 128;
/// Most destinations of a Route Error: its counter has an octet.
pub const MOST_UNREACHABLE: usize = 255;

/// Why octets are no message of AODV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Fewer octets than the message or an extension promises.
    Truncated,
    /// No message has this type.
    UnknownType,
    /// An extension that may not be skipped is unknown.
    UnknownExtension,
    /// A Route Error without a destination (§5.3: at least one).
    Empty,
}

/// A Route Request (§5.1). The flags J and R, of multicast, are neither read nor sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub gratuitous: bool,
    pub destination_only: bool,
    pub hops: u8,
    pub id: u32,
    pub destination: Ipv4Addr,
    /// The freshest that the originator knows; `None` with the flag U.
    pub sequence: Option<Sequence>,
    pub originator: Ipv4Addr,
    pub originator_sequence: Sequence,
    /// Extensions, which are sent on as they came.
    pub extensions: Vec<u8>,
}

/// A Route Reply (§5.2), or a Hello (§6.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub acknowledge: bool,
    /// Of a subnet leader (§7), which no station here is; 0 for a station.
    pub prefix: u8,
    pub hops: u8,
    pub destination: Ipv4Addr,
    pub sequence: Sequence,
    pub originator: Ipv4Addr,
    pub lifetime: Duration,
    pub extensions: Vec<u8>,
}

impl Reply {
    /// A Hello names its sender twice: it answers nobody.
    pub fn is_hello(&self) -> bool {
        self.destination == self.originator && self.hops == 0
    }

    /// The time between the sender's Hellos, if it says so (§9.1).
    pub fn hello_interval(&self) -> Option<Duration> {
        extensions(&self.extensions).find_map(|(kind, data)| match (kind, data) {
            (HELLO_INTERVAL, &[a, b, c, d]) => Some(Duration::from_millis(
                u32::from_be_bytes([a, b, c, d]).into(),
            )),
            _ => None,
        })
    }
}

/// A Route Error (§5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError {
    /// The link is mended already: nobody is to delete the route (§6.12).
    pub no_delete: bool,
    pub unreachable: Vec<(Ipv4Addr, Sequence)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Request(Request),
    Reply(Reply),
    Error(RouteError),
    ReplyAck,
}

/// The Hello Interval extension (§9.1).
pub fn hello_interval(interval: Duration) -> Vec<u8> {
    let ms = milliseconds(interval);
    [&[HELLO_INTERVAL, 4][..], &ms.to_be_bytes()].concat()
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / 1_000_000).unwrap_or(u32::MAX)
}

fn word(bytes: &[u8], at: usize) -> Result<u32, ParseError> {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    four.map(|four| u32::from_be_bytes(*four))
        .ok_or(ParseError::Truncated)
}

fn address(bytes: &[u8], at: usize) -> Result<Ipv4Addr, ParseError> {
    word(bytes, at).map(Ipv4Addr::from)
}

/// Type and data of each extension; a cut one ends them.
fn extensions(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let (&[kind, length], data) = rest.split_first_chunk()?;
        let (data, behind) = data.split_at_checked(usize::from(length))?;
        rest = behind;
        Some((kind, data))
    })
}

/// The octets behind a message, when they are extensions that a station may skip.
fn skippable(bytes: &[u8]) -> Result<Vec<u8>, ParseError> {
    let whole: usize = extensions(bytes).map(|(_, data)| data.len() + 2).sum();
    if whole != bytes.len() {
        return Err(ParseError::Truncated);
    }
    match extensions(bytes).any(|(kind, _)| kind >= MANDATORY) {
        true => Err(ParseError::UnknownExtension),
        false => Ok(bytes.to_vec()),
    }
}

impl Message {
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let kind = *bytes.first().ok_or(ParseError::Truncated)?;
        if kind == RREP_ACK {
            let rest = bytes.get(2..).ok_or(ParseError::Truncated)?;
            return skippable(rest).map(|_| Message::ReplyAck);
        }
        let head = word(bytes, 0)?.to_be_bytes();
        let [_, flags, _, last] = head;
        match kind {
            RREQ => Ok(Message::Request(Request {
                gratuitous: flags & GRATUITOUS != 0,
                destination_only: flags & DESTINATION_ONLY != 0,
                hops: last,
                id: word(bytes, 4)?,
                destination: address(bytes, 8)?,
                sequence: (flags & UNKNOWN == 0).then_some(Sequence(word(bytes, 12)?)),
                originator: address(bytes, 16)?,
                originator_sequence: Sequence(word(bytes, 20)?),
                extensions: skippable(&bytes[24..])?,
            })),
            RREP => Ok(Message::Reply(Reply {
                acknowledge: flags & ACKNOWLEDGE != 0,
                prefix: head[2] & 0x1f,
                hops: last,
                destination: address(bytes, 4)?,
                sequence: Sequence(word(bytes, 8)?),
                originator: address(bytes, 12)?,
                lifetime: Duration::from_millis(word(bytes, 16)?.into()),
                extensions: skippable(&bytes[20..])?,
            })),
            RERR => {
                let end = 4 + 8 * usize::from(last);
                let list = bytes.get(4..end).ok_or(ParseError::Truncated)?;
                skippable(&bytes[end..])?;
                let unreachable: Result<Vec<_>, _> = list
                    .chunks(8)
                    .map(|one| Ok((address(one, 0)?, Sequence(word(one, 4)?))))
                    .collect();
                match last {
                    0 => Err(ParseError::Empty),
                    _ => Ok(Message::Error(RouteError {
                        no_delete: flags & NO_DELETE != 0,
                        unreachable: unreachable?,
                    })),
                }
            }
            _ => Err(ParseError::UnknownType),
        }
    }

    /// The message's octets. A Route Error has at most [`MOST_UNREACHABLE`] destinations.
    pub fn emit(&self) -> Vec<u8> {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let mut out = Vec::with_capacity(24);
        match self {
            Message::Request(r) => {
                let flags = flag(r.gratuitous, GRATUITOUS)
                    | flag(r.destination_only, DESTINATION_ONLY)
                    | flag(r.sequence.is_none(), UNKNOWN);
                out.extend([RREQ, flags, 0, r.hops]);
                out.extend(r.id.to_be_bytes());
                out.extend(r.destination.octets());
                out.extend(r.sequence.unwrap_or_default().0.to_be_bytes());
                out.extend(r.originator.octets());
                out.extend(r.originator_sequence.0.to_be_bytes());
                out.extend(&r.extensions);
            }
            Message::Reply(r) => {
                out.extend([RREP, flag(r.acknowledge, ACKNOWLEDGE), r.prefix, r.hops]);
                out.extend(r.destination.octets());
                out.extend(r.sequence.0.to_be_bytes());
                out.extend(r.originator.octets());
                out.extend(milliseconds(r.lifetime).to_be_bytes());
                out.extend(&r.extensions);
            }
            Message::Error(e) => {
                let count = e.unreachable.len().min(MOST_UNREACHABLE);
                out.extend([RERR, flag(e.no_delete, NO_DELETE), 0, count as u8]);
                for (destination, sequence) in &e.unreachable[..count] {
                    out.extend(destination.octets());
                    out.extend(sequence.0.to_be_bytes());
                }
            }
            Message::ReplyAck => out.extend([RREP_ACK, 0]),
        }
        out
    }
}

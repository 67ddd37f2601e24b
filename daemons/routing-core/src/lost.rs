// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which transport segment met a broken link, and what a routing daemon tells TCP of it
//! (kernel-modules/elfn). In a Route Error of DSR a segment is the lost-segment extension. RFC 4728
//! §6.4 lets octets follow the type-specific information; nodes that do not know them skip them by
//! Opt Data Len. One record is
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! | Ext Type 0x54 |  Length = 18  |     Fate      |   Protocol    |
//! |                        IP Source Address                      |
//! |                     IP Destination Address                    |
//! |          Source Port          |        Destination Port       |
//! |                   TCP Sequence Number                         |
//! ```
//!
//! the last two rows being the first eight octets of the TCP header. Several may follow each
//! other; unknown extension types are skipped by their length.

use crate::summary::Summary;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;
use hoplab_wire::PROTOCOL_TCP;

const TYPE: u8 = 0x54;
const LEN: usize = 18;
/// Octets of one record.
pub const RECORD_LEN: usize = LEN + 2;

/// What became of a segment that met a broken link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Dropped,
    /// Salvaged: it still travels, on another route.
    Salvaged,
    /// It waits at its origin for a route. Not for the wire.
    Held,
}

impl Fate {
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Dropped => "dropped",
            Fate::Salvaged => "salvaged",
            Fate::Held => "held",
        }
    }

    fn code(self) -> u8 {
        match self {
            Fate::Dropped => 1,
            Fate::Salvaged => 2,
            Fate::Held => 3,
        }
    }

    fn of_code(code: u8) -> Self {
        match code {
            2 => Fate::Salvaged,
            3 => Fate::Held,
            _ => Fate::Dropped,
        }
    }
}

/// What a station's TCP may learn of a route that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The routes to these destinations are gone.
    Routes(Vec<Ipv4Addr>),
    /// What became of a segment of this station.
    Segment(LostSegment),
}

/// A TCP segment that a broken link stopped or sent on another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    pub fate: Fate,
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
}

impl LostSegment {
    /// The segment in a packet; `None` unless that starts a TCP header.
    pub fn of(packet: &Summary, fate: Fate) -> Option<Self> {
        let segment = packet.segment?;
        Some(LostSegment {
            fate,
            source: packet.source,
            destination: packet.destination,
            source_port: segment.source_port,
            destination_port: segment.destination_port,
            sequence: segment.sequence,
        })
    }

    pub fn same_connection(&self, other: &Self) -> bool {
        let ends = |s: &Self| (s.source, s.source_port, s.destination, s.destination_port);
        ends(self) == ends(other)
    }

    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[TYPE, LEN as u8, self.fate.code(), PROTOCOL_TCP]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
    }

    /// All records in a Route Error's extension; stops at the first malformed one.
    pub fn parse_all(mut bytes: &[u8]) -> Vec<Self> {
        let mut found = Vec::new();
        while let [kind, len, rest @ ..] = bytes {
            let Some(data) = rest.get(..usize::from(*len)) else {
                break;
            };
            bytes = &rest[usize::from(*len)..];
            if *kind == TYPE && data.len() >= LEN && data[1] == PROTOCOL_TCP {
                found.push(LostSegment {
                    fate: Fate::of_code(data[0]),
                    source: Ipv4Addr::new(data[2], data[3], data[4], data[5]),
                    destination: Ipv4Addr::new(data[6], data[7], data[8], data[9]),
                    source_port: u16::from_be_bytes([data[10], data[11]]),
                    destination_port: u16::from_be_bytes([data[12], data[13]]),
                    sequence: u32::from_be_bytes([data[14], data[15], data[16], data[17]]),
                });
            }
        }
        found
    }
}

impl fmt::Display for LostSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tcp={}:{}>{}:{} seq={} fate={}",
            self.source,
            self.source_port,
            self.destination,
            self.destination_port,
            self.sequence,
            self.fate.as_str()
        )
    }
}

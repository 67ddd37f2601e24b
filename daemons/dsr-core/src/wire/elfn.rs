// SPDX-License-Identifier: Apache-2.0
//! The lost-segment extension of a Route Error: which transport segment met the broken link.
//!
//! RFC 4728 §6.4 lets octets follow the type-specific information; nodes that do not know them
//! skip them by Opt Data Len. One record is
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

use super::{Packet, PROTOCOL_TCP};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

const TYPE: u8 = 0x54;
const LEN: usize = 18;
/// Octets of one record.
pub const RECORD_LEN: usize = LEN + 2;

/// A TCP segment that a broken link stopped or sent on another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// True: salvaged and still travelling; false: dropped.
    pub salvaged: bool,
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
}

impl LostSegment {
    /// The segment in `packet`; `None` unless it starts a TCP header.
    pub fn of(packet: &Packet, salvaged: bool) -> Option<Self> {
        if packet.ip.protocol != PROTOCOL_TCP || !packet.ip.starts_payload() {
            return None;
        }
        let h: &[u8; 8] = packet.payload.first_chunk()?;
        Some(LostSegment {
            salvaged,
            source: packet.ip.source,
            destination: packet.ip.destination,
            source_port: u16::from_be_bytes([h[0], h[1]]),
            destination_port: u16::from_be_bytes([h[2], h[3]]),
            sequence: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
        })
    }

    pub fn emit(&self, out: &mut Vec<u8>) {
        let fate = if self.salvaged { 2 } else { 1 };
        out.extend_from_slice(&[TYPE, LEN as u8, fate, PROTOCOL_TCP]);
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
                    salvaged: data[0] == 2,
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

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The TCP header (RFC 9293 §3.1) and the options of a data transfer:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |          Source Port          |       Destination Port        |
//! |                        Sequence Number                        |
//! |                    Acknowledgement Number                     |
//! | Offset| Reserved  |   Flags   |            Window             |
//! |           Checksum            |         Urgent Pointer        |
//! |                    Options (multiple of 4)                    |
//! ```

use crate::ipv4::checksum_of;
use crate::{be16, be32, ParseError, PROTOCOL_TCP};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// Length of a header without options, octets.
pub const HEADER_LEN: usize = 20;
/// Most octets that options can take.
pub const MAX_OPTIONS_LEN: usize = 40;

/// The flags of the header's fourth row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    pub const FIN: Flags = Flags(0x01);
    pub const SYN: Flags = Flags(0x02);
    pub const RST: Flags = Flags(0x04);
    pub const PSH: Flags = Flags(0x08);
    pub const ACK: Flags = Flags(0x10);
    pub const URG: Flags = Flags(0x20);
    pub const ECE: Flags = Flags(0x40);
    pub const CWR: Flags = Flags(0x80);

    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether all of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    NoOperation,
    /// Octets (RFC 9293 §3.7.1).
    MaximumSegmentSize(u16),
    /// Power of two (RFC 7323 §2).
    WindowScale(u8),
    SackPermitted,
    /// Left and right edge of each block (RFC 2018 §3).
    Sack(Vec<(u32, u32)>),
    /// RFC 7323 §3.
    Timestamps {
        value: u32,
        echo: u32,
    },
    /// An option that is not known here, or whose length is not that of its kind.
    Other {
        kind: u8,
        data: Vec<u8>,
    },
}

impl TcpOption {
    fn of(kind: u8, data: &[u8]) -> Self {
        let word = |at| be32(data, at).unwrap_or(0);
        match (kind, data) {
            (2, [high, low]) => TcpOption::MaximumSegmentSize(u16::from_be_bytes([*high, *low])),
            (3, [shift]) => TcpOption::WindowScale(*shift),
            (4, []) => TcpOption::SackPermitted,
            (5, _) if data.len() % 8 == 0 => {
                let blocks = (0..data.len()).step_by(8);
                TcpOption::Sack(blocks.map(|at| (word(at), word(at + 4))).collect())
            }
            (8, _) if data.len() == 8 => TcpOption::Timestamps {
                value: word(0),
                echo: word(4),
            },
            _ => TcpOption::Other {
                kind,
                data: data.to_vec(),
            },
        }
    }

    fn kind(&self) -> u8 {
        match self {
            TcpOption::NoOperation => 1,
            TcpOption::MaximumSegmentSize(_) => 2,
            TcpOption::WindowScale(_) => 3,
            TcpOption::SackPermitted => 4,
            TcpOption::Sack(_) => 5,
            TcpOption::Timestamps { .. } => 8,
            TcpOption::Other { kind, .. } => *kind,
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(self.kind());
        if *self == TcpOption::NoOperation {
            return;
        }
        out.push(0);
        match self {
            TcpOption::NoOperation | TcpOption::SackPermitted => {}
            TcpOption::MaximumSegmentSize(size) => out.extend_from_slice(&size.to_be_bytes()),
            TcpOption::WindowScale(shift) => out.push(*shift),
            TcpOption::Sack(blocks) => {
                for edge in blocks.iter().flat_map(|(left, right)| [left, right]) {
                    out.extend_from_slice(&edge.to_be_bytes());
                }
            }
            TcpOption::Timestamps { value, echo } => {
                out.extend_from_slice(&value.to_be_bytes());
                out.extend_from_slice(&echo.to_be_bytes());
            }
            TcpOption::Other { data, .. } => out.extend_from_slice(data),
        }
        out[start + 1] = (out.len() - start) as u8;
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: Flags,
    /// As it stands in the header, not scaled.
    pub window: u16,
    pub urgent: u16,
    /// Without the end of the list and what follows it.
    pub options: Vec<TcpOption>,
}

impl Header {
    /// Parses the header of a segment that came in a packet between these addresses; returns it
    /// and the payload.
    pub fn parse(
        segment: &[u8],
        source: Ipv4Addr,
        destination: Ipv4Addr,
    ) -> Result<(Self, &[u8]), ParseError> {
        let fixed: &[u8; HEADER_LEN] = segment.first_chunk().ok_or(ParseError::Truncated)?;
        let length = usize::from(fixed[12] >> 4) * 4;
        if length < HEADER_LEN {
            return Err(ParseError::Unexpected);
        }
        let (header, payload) = segment
            .split_at_checked(length)
            .ok_or(ParseError::Truncated)?;
        if checksum(segment, source, destination) != 0 {
            return Err(ParseError::BadChecksum);
        }
        let word = |at| be16(fixed, at).ok_or(ParseError::Truncated);
        let number = |at| be32(fixed, at).ok_or(ParseError::Truncated);
        let header = Header {
            source_port: word(0)?,
            destination_port: word(2)?,
            sequence: number(4)?,
            acknowledgement: number(8)?,
            flags: Flags(fixed[13]),
            window: word(14)?,
            urgent: word(18)?,
            options: options(&header[HEADER_LEN..])?,
        };
        Ok((header, payload))
    }

    /// Appends the segment, checksum included. Options beyond [`MAX_OPTIONS_LEN`] are left out.
    pub fn emit(&self, payload: &[u8], source: Ipv4Addr, destination: Ipv4Addr, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.acknowledgement.to_be_bytes());
        out.extend_from_slice(&[0, self.flags.0]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.urgent.to_be_bytes());
        for option in &self.options {
            let before = out.len();
            option.emit(out);
            if out.len() - start > HEADER_LEN + MAX_OPTIONS_LEN {
                out.truncate(before);
                break;
            }
        }
        // Zero is the end of the list.
        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
        out[start + 12] = (((out.len() - start) / 4) << 4) as u8;
        out.extend_from_slice(payload);
        let sum = checksum(&out[start..], source, destination);
        out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
    }
}

fn options(mut bytes: &[u8]) -> Result<Vec<TcpOption>, ParseError> {
    let mut found = Vec::new();
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => break,
            1 => {
                found.push(TcpOption::NoOperation);
                bytes = rest;
            }
            _ => {
                let length = usize::from(*rest.first().ok_or(ParseError::Truncated)?);
                if length < 2 {
                    return Err(ParseError::Unexpected);
                }
                let (option, next) = bytes
                    .split_at_checked(length)
                    .ok_or(ParseError::Truncated)?;
                found.push(TcpOption::of(*kind, &option[2..]));
                bytes = next;
            }
        }
    }
    Ok(found)
}

/// Over the pseudo header (RFC 9293 §3.1) and the segment; zero where it carries a right one.
fn checksum(segment: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> u16 {
    let length = (segment.len() as u32).to_be_bytes();
    let protocol = [0, 0, 0, PROTOCOL_TCP];
    checksum_of(&[
        &source.octets(),
        &destination.octets(),
        &length,
        &protocol,
        segment,
    ])
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The IPv4 header (RFC 791):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |Version|  IHL  |Type of Service|          Total Length         |
//! |         Identification        |Flags|      Fragment Offset    |
//! |  Time to Live |    Protocol   |         Header Checksum       |
//! |                       Source Address                          |
//! |                    Destination Address                        |
//! |                    Options (multiple of 4)                    |
//! ```

use crate::{be16, octets, ParseError};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// Length of a header without options, octets.
pub const HEADER_LEN: usize = 20;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// A packet whose header is whole; its checksum is not looked at, and it may have been cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    header: &'a [u8],
    rest: &'a [u8],
}

impl<'a> View<'a> {
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let first = *bytes.first()?;
        let length = usize::from(first & 0x0f) * 4;
        if first >> 4 != 4 || length < HEADER_LEN {
            return None;
        }
        let (header, rest) = bytes.split_at_checked(length)?;
        Some(View { header, rest })
    }

    /// Octets, with options.
    pub fn header_len(&self) -> usize {
        self.header.len()
    }

    pub fn identification(&self) -> u16 {
        be16(self.header, 4).unwrap_or(0)
    }

    pub fn ttl(&self) -> u8 {
        self.header[8]
    }

    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    pub fn source(&self) -> Ipv4Addr {
        self.address(12)
    }

    pub fn destination(&self) -> Ipv4Addr {
        self.address(16)
    }

    /// Unless this is a fragment other than the first, the payload starts with the header of
    /// [`View::protocol`].
    pub fn starts_payload(&self) -> bool {
        be16(self.header, 6).is_some_and(|word| word & OFFSET == 0)
    }

    /// Octets behind the header as the total length has them, whether they are there or not.
    pub fn payload_len(&self) -> usize {
        be16(self.header, 2).map_or(0, |total| {
            usize::from(total).saturating_sub(self.header.len())
        })
    }

    /// What follows the header, up to the total length.
    pub fn payload(&self) -> &'a [u8] {
        self.rest.get(..self.payload_len()).unwrap_or(self.rest)
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        octets::<4>(self.header, at).map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from)
    }
}

/// The header as a plain value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub tos: u8,
    pub identification: u16,
    /// Flags (3 bits) and fragment offset (13 bits, units of 8 octets).
    pub flags_fragment: u16,
    pub ttl: u8,
    pub protocol: u8,
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    /// IP options, a multiple of 4 octets.
    pub options: Vec<u8>,
}

impl Header {
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, ttl: u8) -> Self {
        Header {
            tos: 0,
            identification: 0,
            flags_fragment: 0,
            ttl,
            protocol,
            source,
            destination,
            options: Vec::new(),
        }
    }

    pub fn dont_fragment(&self) -> bool {
        self.flags_fragment & DONT_FRAGMENT != 0
    }

    /// True unless this is a fragment other than the first.
    pub fn starts_payload(&self) -> bool {
        self.flags_fragment & OFFSET == 0
    }

    pub fn is_fragment(&self) -> bool {
        self.flags_fragment & (MORE_FRAGMENTS | OFFSET) != 0
    }

    /// Octets of the header.
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Parses a header; returns it and the payload that its total length names.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let fixed: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(ParseError::Truncated)?;
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        if fixed[0] >> 4 != 4 || header_len < HEADER_LEN {
            return Err(ParseError::Unexpected);
        }
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if total < header_len || bytes.len() < total {
            return Err(ParseError::Truncated);
        }
        if checksum(&bytes[..header_len]) != 0 {
            return Err(ParseError::BadChecksum);
        }
        let header = Header {
            tos: fixed[1],
            identification: u16::from_be_bytes([fixed[4], fixed[5]]),
            flags_fragment: u16::from_be_bytes([fixed[6], fixed[7]]),
            ttl: fixed[8],
            protocol: fixed[9],
            source: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]),
            destination: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]),
            options: bytes[HEADER_LEN..header_len].to_vec(),
        };
        Ok((header, &bytes[header_len..total]))
    }

    /// Appends the header for a payload of `payload_len` octets, checksum included.
    pub fn emit(&self, payload_len: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let total = (self.header_len() + payload_len).min(usize::from(u16::MAX)) as u16;
        out.push(0x40 | (self.header_len() / 4) as u8);
        out.push(self.tos);
        out.extend_from_slice(&total.to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&self.flags_fragment.to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol, 0, 0]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
        out.extend_from_slice(&self.options);
        let sum = checksum(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The Internet checksum (RFC 1071); zero over data that carries a right one.
pub fn checksum(bytes: &[u8]) -> u16 {
    checksum_of(&[bytes])
}

/// The checksum of parts as if they stood one behind the other; all but the last have an even
/// length.
pub(crate) fn checksum_of(parts: &[&[u8]]) -> u16 {
    let mut sum: u32 = 0;
    for pair in parts.iter().flat_map(|part| part.chunks(2)) {
        sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

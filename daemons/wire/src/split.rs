// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two formats of Split-TCP.
//!
//! The **stamp** says who is responsible for a segment (its custodian), and how that custodian
//! numbered this transmission of it. It is an option of the segment's IP header, so TCP's octets
//! are unchanged. RFC 4727 §2.3 leaves its type to experiments (158: copied, number 30). So a
//! station that does not know it forwards it:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |  Type = 158   |  Length = 16  |     Round     |W|L| Transfers |
//! |                       Custodian's Address                     |
//! |                      Transmission Number                      |
//! |                     Acknowledged Sequence                     |
//! ```
//!
//! *Round*: how often the source has sent the segment into the network anew. It does so when its
//! TCP asks for the segment although a proxy had answered for it. *Transfers*: how many proxies
//! have taken it in this round. *W*: the source waits: it has nothing to send until an end-to-end
//! acknowledgement comes. *L*: the custodian waits: its congestion window is used up until a LACK
//! comes. *Transmission Number*: one more with each transmission of the custodian in this
//! connection, retransmissions too. *Acknowledged Sequence*: the destination has acknowledged
//! everything before it end to end, as far as the custodian knows. It frees proxies that the ACKs
//! do not pass.
//!
//! The **LACK** (local acknowledgement) goes from who took segments to their custodian. It is an
//! IP packet of protocol 253 (RFC 3692 §2.1: experiments):
//!
//! ```text
//! |   Type = 1    |   Reserved    |            Checksum           |
//! |                   Source Address of the Segments              |
//! |                 Destination Address of the Segments           |
//! |          Source Port          |        Destination Port       |
//! |                       Cumulative Number                       |
//! |              Run              |            Reserved           |
//! |                             Bitmap                            |
//! ```
//!
//! The *Run* numbers that end with the *Cumulative Number* have been taken, and each that a one in
//! the *Bitmap* stands for. The most significant bit is for the cumulative number + 1, and is never
//! set. The next is for + 2, the last for + 32. A LACK says nothing of other numbers. The checksum
//! is IP's (RFC 1071), over these 28 octets.

use crate::ipv4::{checksum, Header as Ipv4Header};
use crate::{be16, be32, octets, ParseError};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// IP protocol of a LACK.
pub const PROTOCOL_LACK: u8 = 253;
/// Octets of a LACK behind its IP header.
pub const LACK_LEN: usize = 28;
/// Octets by which a stamp makes a packet longer.
pub const STAMP_LEN: usize = 16;
/// Numbers that the bitmap stands for.
pub const BITMAP_BITS: u32 = u32::BITS;

const OPTION: u8 = 158;
const LACK: u8 = 1;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
/// Octets of options that an IP header can have.
const MAX_OPTIONS_LEN: usize = 40;

/// Who is responsible for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub round: u8,
    /// At most [`Stamp::MOST_TRANSFERS`].
    pub transfers: u8,
    pub source_waits: bool,
    pub custodian_waits: bool,
    pub custodian: Ipv4Addr,
    pub number: u32,
    pub acknowledged: u32,
}

impl Stamp {
    pub const MOST_TRANSFERS: u8 = 0x3f;

    /// The stamp in `header`, if it has one.
    pub fn of(header: &Ipv4Header) -> Option<Self> {
        let (at, length) = find(&header.options)?;
        Self::parse(header.options.get(at..at + length)?)
    }

    /// The option alone.
    pub fn parse(option: &[u8]) -> Option<Self> {
        if option.len() != STAMP_LEN || option[0] != OPTION || usize::from(option[1]) != STAMP_LEN {
            return None;
        }
        Some(Stamp {
            round: option[2],
            transfers: option[3] & Self::MOST_TRANSFERS,
            source_waits: option[3] & 0x80 != 0,
            custodian_waits: option[3] & 0x40 != 0,
            custodian: octets::<4>(option, 4)?.into(),
            number: be32(option, 8)?,
            acknowledged: be32(option, 12)?,
        })
    }

    pub fn emit(&self, out: &mut Vec<u8>) {
        let waits = u8::from(self.source_waits) << 7 | u8::from(self.custodian_waits) << 6;
        out.extend_from_slice(&[OPTION, STAMP_LEN as u8, self.round]);
        out.push(waits | self.transfers & Self::MOST_TRANSFERS);
        out.extend_from_slice(&self.custodian.octets());
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.acknowledged.to_be_bytes());
    }

    /// Takes the stamp out of `header`, which its receiver's TCP has no use for.
    pub fn take(header: &mut Ipv4Header) -> Option<Self> {
        let (at, length) = find(&header.options)?;
        let stamp = Self::parse(header.options.get(at..at + length)?)?;
        header.options.drain(at..at + length);
        Some(stamp)
    }

    /// Puts the stamp into `header` in the place of one that is there; `false`, and nothing done,
    /// where the header has no room.
    #[must_use]
    pub fn put(&self, header: &mut Ipv4Header) -> bool {
        let mut stamp = Vec::with_capacity(STAMP_LEN);
        self.emit(&mut stamp);
        match find(&header.options) {
            Some((at, length)) if length == STAMP_LEN => {
                header.options[at..at + length].copy_from_slice(&stamp);
            }
            Some(_) => return false,
            None if header.options.len() + STAMP_LEN > MAX_OPTIONS_LEN => return false,
            // Before the others, which may end with the mark of their end.
            None => drop(header.options.splice(0..0, stamp)),
        }
        true
    }
}

/// Place and length of the stamp among IP options.
fn find(options: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    loop {
        match *options.get(at)? {
            END_OF_OPTIONS => return None,
            NO_OPERATION => at += 1,
            kind => {
                let length = usize::from(*options.get(at + 1)?);
                if length < 2 || at + length > options.len() {
                    return None;
                }
                if kind == OPTION {
                    return Some((at, length));
                }
                at += length;
            }
        }
    }
}

/// Segments that their next custodian has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub source_port: u16,
    pub destination_port: u16,
    pub cumulative: u32,
    /// At least 1.
    pub run: u16,
    pub bitmap: u32,
}

impl Lack {
    /// Parses what follows the IP header.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let bytes: &[u8; LACK_LEN] = bytes.first_chunk().ok_or(ParseError::Truncated)?;
        if checksum(bytes) != 0 {
            return Err(ParseError::BadChecksum);
        }
        let word = |at| be32(bytes, at).ok_or(ParseError::Truncated);
        let half = |at| be16(bytes, at).ok_or(ParseError::Truncated);
        let lack = Lack {
            source: word(4)?.into(),
            destination: word(8)?.into(),
            source_port: half(12)?,
            destination_port: half(14)?,
            cumulative: word(16)?,
            run: half(20)?,
            bitmap: word(24)?,
        };
        if bytes[0] != LACK || lack.run == 0 || lack.bitmap & 1 << 31 != 0 {
            return Err(ParseError::Unexpected);
        }
        Ok(lack)
    }

    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[LACK, 0, 0, 0]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.cumulative.to_be_bytes());
        out.extend_from_slice(&self.run.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.bitmap.to_be_bytes());
        let sum = checksum(&out[start..]);
        out[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
    }

    /// Whether it says that `number` was taken.
    pub fn covers(&self, number: u32) -> bool {
        let ahead = number.wrapping_sub(self.cumulative);
        let behind = self.cumulative.wrapping_sub(number);
        behind < u32::from(self.run)
            || (1..=BITMAP_BITS).contains(&ahead) && self.bitmap << (ahead - 1) & 1 << 31 != 0
    }

    /// The largest number that it covers.
    pub fn largest(&self) -> u32 {
        match self.bitmap {
            0 => self.cumulative,
            bits => self
                .cumulative
                .wrapping_add(BITMAP_BITS - bits.trailing_zeros()),
        }
    }
}

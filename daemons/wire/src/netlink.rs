// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages of generic netlink (linux/netlink.h, linux/genetlink.h), in the host's byte order:
//!
//! ```text
//! | length (4) | type (2) | flags (2) | sequence (4) | port (4) |    every message
//! | command (1) | version (1) | reserved (2) | attributes ...       of a generic family
//! | length (2) | type (2) | value, padded to 4 ...                  an attribute
//! ```

use crate::octets;
use alloc::vec::Vec;

/// Type of an acknowledgement or error.
pub const ERROR: u16 = 2;
pub const FLAG_REQUEST: u16 = 1;
pub const FLAG_ACK: u16 = 4;

/// The family that knows the others' numbers.
pub const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const ATTRIBUTE_FAMILY_ID: u16 = 1;
const ATTRIBUTE_FAMILY_NAME: u16 = 2;

const HEADER_LEN: usize = 16;
const GENERIC_LEN: usize = 4;
/// Bits of an attribute's type that say something else (nested, byte order).
const TYPE_MASK: u16 = 0x3fff;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    octets(bytes, at).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    octets(bytes, at).map(u32::from_ne_bytes)
}

/// A message of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Of a generic family.
    Generic {
        family: u16,
        sequence: u32,
        command: u8,
        attributes: Attributes<'a>,
    },
    /// The answer to a request: 0 is success, else a negative errno. It has the request's sequence
    /// number, and its attributes, which the kernel repeats with an error.
    Ack {
        code: i32,
        sequence: u32,
        request: Attributes<'a>,
    },
    /// Cut, or with a length that cannot be.
    Malformed,
}

/// The messages of a datagram. A malformed one ends them.
#[derive(Clone, Debug)]
pub struct Messages<'a>(&'a [u8]);

impl<'a> Messages<'a> {
    pub fn new(datagram: &'a [u8]) -> Self {
        Messages(datagram)
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let bytes = self.0;
        if bytes.len() < HEADER_LEN {
            return None;
        }
        let length = u32_at(bytes, 0)? as usize;
        if length < HEADER_LEN || length > bytes.len() {
            self.0 = &[];
            return Some(Message::Malformed);
        }
        self.0 = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(message(&bytes[..length]).unwrap_or(Message::Malformed))
    }
}

fn message(bytes: &[u8]) -> Option<Message<'_>> {
    let family = u16_at(bytes, 4)?;
    let payload = bytes.get(HEADER_LEN..)?;
    if family == ERROR {
        return Some(Message::Ack {
            code: octets(payload, 0).map(i32::from_ne_bytes)?,
            // The request's header follows the code.
            sequence: u32_at(payload, 12).unwrap_or(0),
            request: Attributes(payload.get(4 + HEADER_LEN + GENERIC_LEN..).unwrap_or(&[])),
        });
    }
    Some(Message::Generic {
        family,
        sequence: u32_at(bytes, 8)?,
        command: *payload.first()?,
        attributes: Attributes(payload.get(GENERIC_LEN..)?),
    })
}

/// Attributes one behind the other, or nested in one. A malformed one ends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Attributes(bytes)
    }

    /// The value of the first of this type.
    pub fn find(self, wanted: u16) -> Option<&'a [u8]> {
        let mut all = self;
        all.find_map(|(kind, value)| (kind == wanted).then_some(value))
    }

    /// The first octets of the value of the first of this type.
    pub fn get<const N: usize>(self, wanted: u16) -> Option<[u8; N]> {
        octets(self.find(wanted)?, 0)
    }

    pub fn u16(self, wanted: u16) -> Option<u16> {
        self.get(wanted).map(u16::from_ne_bytes)
    }

    pub fn u32(self, wanted: u16) -> Option<u32> {
        self.get(wanted).map(u32::from_ne_bytes)
    }

    pub fn u64(self, wanted: u16) -> Option<u64> {
        self.get(wanted).map(u64::from_ne_bytes)
    }
}

/// Type and value of each.
impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let bytes = self.0;
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE_MASK;
        let value = bytes.get(4..length);
        self.0 = match value {
            Some(_) => bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]),
            None => &[],
        };
        Some((kind, value?))
    }
}

/// The number of a family, from the controller's answer to [`Batch::get_family`].
pub fn family_id(answer: &[u8]) -> Option<u16> {
    Messages::new(answer).find_map(|message| match message {
        Message::Generic {
            family: CONTROLLER,
            attributes,
            ..
        } => attributes.u16(ATTRIBUTE_FAMILY_ID),
        _ => None,
    })
}

/// Several messages for one send.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    start: usize,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Octets so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.bytes)
    }

    /// Starts a request; attributes follow, then [`Batch::end`].
    pub fn begin(&mut self, family: u16, flags: u16, command: u8, version: u8, sequence: u32) {
        self.begin_with(family, flags, sequence, [command, version, 0, 0]);
    }

    /// Starts a request whose second header is not that of a generic family.
    pub fn begin_with(&mut self, kind: u16, flags: u16, sequence: u32, head: [u8; 4]) {
        self.start = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend((FLAG_REQUEST | flags).to_ne_bytes());
        self.bytes.extend(sequence.to_ne_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(head);
    }

    /// More of a second header that is longer than four octets.
    pub fn head(&mut self, more: &[u8]) {
        self.bytes.extend(more);
    }

    pub fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend((value.len() as u16 + 4).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub fn end(&mut self) {
        let length = (self.bytes.len() - self.start) as u32;
        self.bytes[self.start..self.start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Asks for the number of a family; `name` ends with a NUL.
    pub fn get_family(&mut self, name: &[u8]) {
        self.begin(CONTROLLER, 0, GET_FAMILY, 1, 0);
        self.attribute(ATTRIBUTE_FAMILY_NAME, name);
        self.end();
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Formats on the wire and towards the kernel. A view (`Frame`, `Packet`, `Segment`) is bytes whose
//! lengths have been checked once. A plain value (`Header`, `Control`) is what they say, with
//! `parse` and `emit`. No function panics, whatever the bytes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod arp;
pub mod ethernet;
pub mod ieee80211;
pub mod ipv4;
mod mac;
pub mod netlink;
pub mod nfqueue;
pub mod radiotap;
pub mod sounding;
pub mod split;
pub mod tcp;
pub mod trigger;
pub mod udp;

pub use mac::Mac;

/// EtherTypes and IP protocol numbers (IANA).
pub const ETHERTYPE_IPV4: u16 = 0x0800;
pub const ETHERTYPE_ARP: u16 = 0x0806;
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
pub const PROTOCOL_ICMP: u8 = 1;
pub const PROTOCOL_TCP: u8 = 6;
pub const PROTOCOL_UDP: u8 = 17;
/// The DSR Options header (RFC 4728 §13).
pub const PROTOCOL_DSR: u8 = 48;
/// What that header names where no packet follows (RFC 4728 §6.1).
pub const NO_NEXT_HEADER: u8 = 59;

/// Why bytes are not what they were taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Fewer bytes than the header or a length field promises.
    Truncated,
    /// Another version, type or length than this format has.
    Unexpected,
    BadChecksum,
}

/// The `N` octets at `at`, if they are there.
fn octets<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    octets(bytes, at).map(u16::from_be_bytes)
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    octets(bytes, at).map(u32::from_be_bytes)
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    octets(bytes, at).map(u16::from_le_bytes)
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    octets(bytes, at).map(u32::from_le_bytes)
}

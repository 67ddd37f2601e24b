// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ARP for IPv4 over Ethernet (RFC 826):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |      Hardware type = 1        |    Protocol type = 0x0800     |
//! | Hw length = 6 | Pr length = 4 |           Operation           |
//! |     Sender hardware address (6), sender protocol address (4)  |
//! |     Target hardware address (6), target protocol address (4)  |
//! ```

use crate::{octets, Mac};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// Octets.
pub const PACKET_LEN: usize = 28;
const ETHERNET_IPV4: [u8; 6] = [0, 1, 8, 0, 6, 4];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Request = 1,
    Reply = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub operation: Operation,
    pub sender_mac: Mac,
    pub sender: Ipv4Addr,
    /// All zero in a request.
    pub target_mac: Mac,
    pub target: Ipv4Addr,
}

impl Packet {
    /// `None` for another protocol, hardware or operation; what follows the packet is padding.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let packet = bytes.first_chunk::<PACKET_LEN>()?;
        let (kind, rest) = packet.split_first_chunk::<6>()?;
        if *kind != ETHERNET_IPV4 {
            return None;
        }
        Some(Packet {
            operation: match octets(rest, 0).map(u16::from_be_bytes)? {
                1 => Operation::Request,
                2 => Operation::Reply,
                _ => return None,
            },
            sender_mac: Mac(octets(rest, 2)?),
            sender: Ipv4Addr::from(octets::<4>(rest, 8)?),
            target_mac: Mac(octets(rest, 12)?),
            target: Ipv4Addr::from(octets::<4>(rest, 18)?),
        })
    }

    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PACKET_LEN);
        out.extend_from_slice(&ETHERNET_IPV4);
        out.extend_from_slice(&(self.operation as u16).to_be_bytes());
        out.extend_from_slice(&self.sender_mac.0);
        out.extend_from_slice(&self.sender.octets());
        out.extend_from_slice(&self.target_mac.0);
        out.extend_from_slice(&self.target.octets());
        out
    }
}

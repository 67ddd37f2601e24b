// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Ethernet header (IEEE 802.3), which a wireless interface shows to packet sockets:
//!
//! ```text
//! | destination (6) | source (6) | EtherType (2) | payload ...
//! ```

use crate::Mac;
use alloc::vec::Vec;

/// Octets.
pub const HEADER_LEN: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub destination: Mac,
    pub source: Mac,
    pub ethertype: u16,
}

impl Header {
    /// The header and what follows it.
    pub fn parse(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (head, payload) = frame.split_first_chunk::<HEADER_LEN>()?;
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, e0, e1] = *head;
        let header = Header {
            destination: Mac([d0, d1, d2, d3, d4, d5]),
            source: Mac([s0, s1, s2, s3, s4, s5]),
            ethertype: u16::from_be_bytes([e0, e1]),
        };
        Some((header, payload))
    }

    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.destination.0);
        out.extend_from_slice(&self.source.0);
        out.extend_from_slice(&self.ethertype.to_be_bytes());
    }
}

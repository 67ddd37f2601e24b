// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Echo requests and replies of ICMP (RFC 792) and ICMPv6 (RFC 4443 4.1, 4.2).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! |     type      |     code      |           checksum            |
//! +---------------+---------------+-------------------------------+
//! |          identifier           |        sequence number        |
//! +-------------------------------+-------------------------------+
//! |     payload ...
//! ```

use alloc::vec;
use alloc::vec::Vec;
use hoplab_wire::ipv4::checksum;

/// Octets of the header.
pub const ECHO_HEADER_LEN: usize = 8;

/// The version of IP below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V4,
    V6,
}

impl Version {
    const fn request(self) -> u8 {
        match self {
            Version::V4 => 8,
            Version::V6 => 128,
        }
    }

    /// The type of a reply.
    pub const fn reply(self) -> u8 {
        match self {
            Version::V4 => 0,
            Version::V6 => 129,
        }
    }
}

/// What tells an echo from others. Numbers are in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    pub identifier: u16,
    pub sequence: u16,
}

impl Echo {
    /// The message of a request with `octets` of payload, zeros. The kernel itself computes the
    /// checksum of ICMPv6 (RFC 3542 3.1).
    pub fn request(self, version: Version, octets: usize) -> Vec<u8> {
        let mut message = vec![0; ECHO_HEADER_LEN + octets];
        message[0] = version.request();
        message[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        message[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        if version == Version::V4 {
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        message
    }

    /// Reads a reply as a raw socket shows it: in IPv4 behind its header (raw(7)). None of anything
    /// else. Also returns its payload's length, octets.
    pub fn reply(version: Version, packet: &[u8]) -> Option<(Self, usize)> {
        let before = match version {
            Version::V4 => usize::from(packet.first()? & 15) * 4,
            Version::V6 => 0,
        };
        let (header, payload) = packet
            .get(before..)?
            .split_first_chunk::<ECHO_HEADER_LEN>()?;
        let [kind, _, _, _, i, j, s, t] = *header;
        let echo = Echo {
            identifier: u16::from_be_bytes([i, j]),
            sequence: u16::from_be_bytes([s, t]),
        };
        (kind == version.reply()).then_some((echo, payload.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: Echo = Echo {
        identifier: 0x4e21,
        sequence: 0x0102,
    };

    #[test]
    fn a_request_is_written() {
        // 0x0800 + 0x4e21 + 0x0102 is 0x5723, whose complement is 0xa8dc.
        let octets = [8, 0, 0xa8, 0xdc, 0x4e, 0x21, 1, 2, 0, 0, 0];
        assert_eq!(ECHO.request(Version::V4, 3), octets);
        let octets = [128, 0, 0, 0, 0x4e, 0x21, 1, 2, 0];
        assert_eq!(ECHO.request(Version::V6, 1), octets);
    }

    #[test]
    fn a_reply_is_read() {
        let mut packet = vec![0x46; 24];
        packet.extend([0, 0, 0, 0, 0x4e, 0x21, 1, 2, 9, 9]);
        assert_eq!(Echo::reply(Version::V4, &packet), Some((ECHO, 2)));
        let mut packet = ECHO.request(Version::V6, 5);
        assert_eq!(Echo::reply(Version::V6, &packet), None);
        packet[0] = 129;
        assert_eq!(Echo::reply(Version::V6, &packet), Some((ECHO, 5)));
    }

    #[test]
    fn short_packets_are_no_replies() {
        for length in 0..32 {
            let packet = vec![0x4f; length];
            assert_eq!(Echo::reply(Version::V4, &packet), None);
        }
        assert_eq!(Echo::reply(Version::V6, &[129; 7]), None);
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The first octets of a datagram's payload. Its number stands where iperf3 has its own, so that
//! captures tell datagrams of either apart.
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------------------------------------------------------+
//! |                date of sending, ns since 1970                 |
//! |                                                               |
//! +---------------------------------------------------------------+
//! |                      number, from 1, mod 2^32                 |
//! +---------------------------------------------------------------+
//! ```

use hoplab_base::Instant;

/// Octets.
pub const HEADER_LEN: usize = 12;

/// What a datagram says of itself. Numbers are in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// CLOCK_REALTIME, which packets are stamped with.
    pub sent: Instant,
    pub number: u32,
}

impl Header {
    /// Reads the beginning of a payload; None of one that is too short.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let (sent, rest) = payload.split_first_chunk()?;
        let number = rest.first_chunk()?;
        Some(Header {
            sent: Instant(u64::from_be_bytes(*sent)),
            number: u32::from_be_bytes(*number),
        })
    }

    /// The octets to begin a payload with.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let mut octets = [0; HEADER_LEN];
        octets[..8].copy_from_slice(&self.sent.0.to_be_bytes());
        octets[8..].copy_from_slice(&self.number.to_be_bytes());
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OCTETS: [u8; 13] = [0, 0, 1, 2, 3, 4, 5, 6, 0xff, 0, 0, 7, 99];
    const HEADER: Header = Header {
        sent: Instant(0x0000_0102_0304_0506),
        number: 0xff00_0007,
    };

    #[test]
    fn a_header_is_read_and_written() {
        assert_eq!(Header::parse(&OCTETS), Some(HEADER));
        assert_eq!(HEADER.emit(), OCTETS[..HEADER_LEN]);
    }

    #[test]
    fn a_short_payload_has_none() {
        for length in 0..HEADER_LEN {
            assert_eq!(Header::parse(&OCTETS[..length]), None);
        }
    }
}

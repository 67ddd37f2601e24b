// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The UDP header (RFC 768), as far as it tells flows apart.

use crate::be16;

/// Octets.
pub const HEADER_LEN: usize = 8;

/// Source and destination port.
pub fn ports(datagram: &[u8]) -> Option<(u16, u16)> {
    let header = datagram.get(..HEADER_LEN)?;
    Some((be16(header, 0)?, be16(header, 2)?))
}

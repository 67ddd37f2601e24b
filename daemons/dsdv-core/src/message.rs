// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Updates. The paper leaves the format open; this is ns-3's, a row of twelve octets for each route:
//! destination, hops, sequence number.

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_routing_core::Sequence;

/// The hops of a route that is broken.
pub const INFINITE: u32 = u32::MAX;
/// Most rows of an update, so that it fits a frame. More routes take several updates.
pub const MOST_ROWS: usize = 116;
const ROW: usize = 12;

/// Octets are no update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub destination: Ipv4Addr,
    pub hops: u32,
    pub sequence: Sequence,
}

impl Row {
    pub fn is_broken(&self) -> bool {
        self.hops == INFINITE
    }
}

/// The rows of an update, at least one.
pub fn parse(bytes: &[u8]) -> Result<Vec<Row>, Malformed> {
    if bytes.is_empty() || bytes.len() % ROW != 0 {
        return Err(Malformed);
    }
    let row = |row: &[u8]| {
        let word = |at: usize| u32::from_be_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
        Row {
            destination: Ipv4Addr::from(word(0)),
            hops: word(4),
            sequence: Sequence(word(8)),
        }
    };
    Ok(bytes.chunks_exact(ROW).map(row).collect())
}

pub fn emit(rows: &[Row]) -> Vec<u8> {
    let mut out = Vec::with_capacity(ROW * rows.len());
    for row in rows {
        out.extend(row.destination.octets());
        out.extend(row.hops.to_be_bytes());
        out.extend(row.sequence.0.to_be_bytes());
    }
    out
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this machine has to know of an IP packet that carries TCP, and sequence numbers that do
//! not wrap.

use crate::stats::Ends;
use alloc::vec::Vec;
use hoplab_wire::ipv4::Header as Ipv4Header;
use hoplab_wire::split::Stamp;
use hoplab_wire::tcp::{self, Flags, TcpOption};
use hoplab_wire::PROTOCOL_TCP;

pub(crate) struct Segment<'a> {
    pub header: Ipv4Header,
    /// The TCP segment's octets.
    pub octets: &'a [u8],
    pub ends: Ends,
    pub tcp: tcp::Header,
    pub payload: usize,
    pub stamp: Option<Stamp>,
}

impl<'a> Segment<'a> {
    /// `None`: no whole, sound TCP segment.
    pub fn parse(packet: &'a [u8]) -> Option<Self> {
        let (header, octets) = Ipv4Header::parse(packet).ok()?;
        if header.protocol != PROTOCOL_TCP || header.is_fragment() {
            return None;
        }
        let (tcp, payload) = tcp::Header::parse(octets, header.source, header.destination).ok()?;
        let ends = Ends {
            source: header.source,
            source_port: tcp.source_port,
            destination: header.destination,
            destination_port: tcp.destination_port,
        };
        Some(Segment {
            stamp: Stamp::of(&header),
            payload: payload.len(),
            header,
            octets,
            ends,
            tcp,
        })
    }

    pub fn has(&self, flags: Flags) -> bool {
        self.tcp.flags.has(flags)
    }

    /// How much of the sequence space it takes (RFC 9293 §3.4), but for a SYN.
    pub fn length(&self) -> u64 {
        self.payload as u64 + u64::from(self.has(Flags::FIN))
    }

    /// Whether it acknowledges and does nothing else.
    pub fn is_pure_ack(&self) -> bool {
        let others = Flags::SYN.0 | Flags::RST.0 | Flags::FIN.0;
        self.has(Flags::ACK) && self.payload == 0 && self.tcp.flags.0 & others == 0
    }

    /// The blocks of its SACK option (RFC 2018); `None` without one.
    pub fn sack(&self) -> Option<&Vec<(u32, u32)>> {
        self.tcp.options.iter().find_map(|option| match option {
            TcpOption::Sack(blocks) => Some(blocks),
            _ => None,
        })
    }
}

/// Sequence numbers of one connection as positions that do not wrap.
#[derive(Clone, Copy)]
pub(crate) struct Space {
    /// The furthest position seen.
    top: u64,
}

impl Space {
    pub fn new(first: u32) -> Self {
        // Room below for what was sent before.
        Space {
            top: (1 << 32) + u64::from(first),
        }
    }

    /// The position nearest to those seen.
    pub fn position(&self, sequence: u32) -> u64 {
        let ahead = sequence.wrapping_sub(self.top as u32) as i32;
        self.top.saturating_add_signed(i64::from(ahead))
    }

    pub fn saw(&mut self, position: u64) {
        self.top = self.top.max(position);
    }
}

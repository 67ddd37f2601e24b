// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a log names a packet and a list of stations.

use core::fmt;
use core::net::Ipv4Addr;
use hoplab_wire::{ipv4, PROTOCOL_TCP};

/// What tells segments of TCP apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
}

impl Segment {
    /// Of a payload that starts a TCP header; `None` if that is cut.
    pub fn of(payload: &[u8]) -> Option<Self> {
        let h: &[u8; 8] = payload.first_chunk()?;
        Some(Segment {
            source_port: u16::from_be_bytes([h[0], h[1]]),
            destination_port: u16::from_be_bytes([h[2], h[3]]),
            sequence: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
        })
    }
}

/// Enough of a packet to recognise it in another record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub protocol: u8,
    pub identification: u16,
    pub length: usize,
    pub segment: Option<Segment>,
}

impl Summary {
    /// `None` for what is no IPv4.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let view = ipv4::View::new(packet)?;
        let tcp = view.protocol() == PROTOCOL_TCP && view.starts_payload();
        Some(Summary {
            source: view.source(),
            destination: view.destination(),
            protocol: view.protocol(),
            identification: view.identification(),
            length: view.header_len() + view.payload_len(),
            segment: tcp.then(|| Segment::of(view.payload())).flatten(),
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "src={} dst={} protocol={} id={} bytes={}",
            self.source, self.destination, self.protocol, self.identification, self.length
        )?;
        if let Some(s) = self.segment {
            write!(
                f,
                " ports={}>{} seq={}",
                s.source_port, s.destination_port, s.sequence
            )?;
        }
        Ok(())
    }
}

/// Addresses with a character between them.
pub struct Joined<'a>(pub &'a [Ipv4Addr], pub char);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut addresses = self.0.iter();
        if let Some(first) = addresses.next() {
            write!(f, "{first}")?;
        }
        addresses.try_for_each(|address| write!(f, "{}{address}", self.1))
    }
}

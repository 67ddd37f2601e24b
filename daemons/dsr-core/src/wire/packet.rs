// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An IPv4 packet with or without a DSR Options header (RFC 4728 §6.1):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |  Next Header  |F|  Reserved   |        Payload Length         |
//! |  options ...
//! ```

use super::options::{DsrOption, RouteRequest, SourceRoute};
use super::{Ipv4Header, ParseError, NO_NEXT_HEADER, PROTOCOL_DSR, PROTOCOL_TCP};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_routing_core::{Segment, Summary};

/// Length of the fixed part of the DSR Options header, octets.
pub const FIXED_LEN: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// `ip.protocol` is the protocol of the payload, not of DSR: adding and removing the options
    /// header (§8.1.2) is then only a matter of `options`.
    pub ip: Ipv4Header,
    /// `None`: no DSR Options header.
    pub options: Option<Vec<DsrOption>>,
    pub payload: Vec<u8>,
}

impl Packet {
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let (mut ip, rest) = Ipv4Header::parse(bytes)?;
        // A later fragment has no DSR header of its own: it starts in the middle of the payload.
        if ip.protocol != PROTOCOL_DSR || !ip.starts_payload() {
            return Ok(Packet {
                ip,
                options: None,
                payload: rest.to_vec(),
            });
        }
        let fixed: &[u8; FIXED_LEN] = rest.first_chunk().ok_or(ParseError::Truncated)?;
        if fixed[1] & 0x80 != 0 {
            return Err(ParseError::FlowState);
        }
        let len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let mut area = rest
            .get(FIXED_LEN..FIXED_LEN + len)
            .ok_or(ParseError::Truncated)?;
        let mut options = Vec::new();
        while !area.is_empty() {
            let (option, used) = DsrOption::parse(area)?;
            options.push(option);
            area = &area[used..];
        }
        ip.protocol = fixed[0];
        Ok(Packet {
            ip,
            options: Some(options),
            payload: rest[FIXED_LEN + len..].to_vec(),
        })
    }

    /// The packet's octets. Pads the options to a multiple of 4 octets when anything follows
    /// them, as §6.8 and §6.9 require.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.payload.len() + 96);
        let Some(options) = &self.options else {
            self.ip.emit(self.payload.len(), &mut out);
            out.extend_from_slice(&self.payload);
            return out;
        };
        let mut area = Vec::with_capacity(64);
        for option in options {
            option.emit(&mut area);
        }
        if !self.payload.is_empty() {
            match area.len() % 4 {
                0 => {}
                3 => DsrOption::Pad1.emit(&mut area),
                // Type and length of PadN are two octets, and its data fills the rest (§6.9).
                rest => DsrOption::PadN(2 - rest as u8).emit(&mut area),
            }
        }
        let mut ip = self.ip.clone();
        ip.protocol = PROTOCOL_DSR;
        ip.emit(FIXED_LEN + area.len() + self.payload.len(), &mut out);
        out.extend_from_slice(&[self.ip.protocol, 0]);
        out.extend_from_slice(&(area.len() as u16).to_be_bytes());
        out.extend_from_slice(&area);
        out.extend_from_slice(&self.payload);
        out
    }

    /// A packet that carries DSR options and nothing else.
    pub fn control(source: Ipv4Addr, destination: Ipv4Addr, options: Vec<DsrOption>) -> Self {
        Packet {
            ip: Ipv4Header::new(source, destination, NO_NEXT_HEADER, 255),
            options: Some(options),
            payload: Vec::new(),
        }
    }

    /// True when nothing but DSR options travels in this packet.
    pub fn is_control(&self) -> bool {
        self.ip.protocol == NO_NEXT_HEADER && self.options.is_some()
    }

    pub fn options(&self) -> &[DsrOption] {
        self.options.as_deref().unwrap_or(&[])
    }

    pub fn source_route(&self) -> Option<&SourceRoute> {
        self.options().iter().find_map(|o| match o {
            DsrOption::SourceRoute(s) => Some(s),
            _ => None,
        })
    }

    pub fn source_route_mut(&mut self) -> Option<&mut SourceRoute> {
        self.options.as_mut()?.iter_mut().find_map(|o| match o {
            DsrOption::SourceRoute(s) => Some(s),
            _ => None,
        })
    }

    pub fn route_request(&self) -> Option<&RouteRequest> {
        self.options().iter().find_map(|o| match o {
            DsrOption::RouteRequest(r) => Some(r),
            _ => None,
        })
    }

    /// Whether the packet carries an Acknowledgement. Such a packet asks for none in return: two
    /// neighbours would else acknowledge each other's acknowledgements without end.
    pub fn has_ack(&self) -> bool {
        self.options()
            .iter()
            .any(|o| matches!(o, DsrOption::Ack { .. }))
    }

    /// The nodes that a packet has visited on its way to this node, oldest first, without this node.
    /// The packet is about to leave: its source route already names the next hop as the receiver.
    pub fn travelled(&self) -> Vec<Ipv4Addr> {
        let mut nodes = Vec::new();
        if let Some(sr) = self.source_route() {
            // Salvaging took the first nodes out of the source route (§8.3.6). The Visited option has
            // them, and the source, which may head that list.
            nodes.push(self.ip.source);
            for option in self.options() {
                if let DsrOption::Visited(list) = option {
                    nodes.extend(list.iter().filter(|a| **a != self.ip.source));
                }
            }
            // The receiver stands at `position`, this node one before it.
            let own = sr.position().unwrap_or(0).saturating_sub(1);
            nodes.extend_from_slice(&sr.addresses[..own.min(sr.addresses.len())]);
        }
        nodes
    }

    pub fn has_route_reply(&self) -> bool {
        self.options()
            .iter()
            .any(|o| matches!(o, DsrOption::RouteReply { .. }))
    }

    /// Removes the options for which `remove` holds. A header that has only padding left goes too.
    pub fn remove_options(&mut self, remove: impl Fn(&DsrOption) -> bool) {
        if let Some(options) = &mut self.options {
            options.retain(|o| !remove(o));
            if options
                .iter()
                .all(|o| matches!(o, DsrOption::Pad1 | DsrOption::PadN(_)))
            {
                self.options = None;
            }
        }
    }

    /// The segment in it; `None` unless the payload starts a TCP header.
    pub fn segment(&self) -> Option<Segment> {
        if self.ip.protocol != PROTOCOL_TCP || !self.ip.starts_payload() {
            return None;
        }
        Segment::of(&self.payload)
    }

    /// What a log says of it.
    pub fn summary(&self) -> Summary {
        Summary {
            source: self.ip.source,
            destination: self.ip.destination,
            protocol: self.ip.protocol,
            identification: self.ip.identification,
            length: self.payload.len() + self.ip.header_len(),
            segment: self.segment(),
        }
    }

    /// Length on the wire, octets: always that of [`Packet::emit`].
    pub fn wire_len(&self) -> usize {
        let header: usize = match &self.options {
            None => 0,
            Some(options) => {
                let mut area = Vec::new();
                for option in options {
                    option.emit(&mut area);
                }
                FIXED_LEN
                    + if self.payload.is_empty() {
                        area.len()
                    } else {
                        area.len().next_multiple_of(4)
                    }
            }
        };
        self.ip.header_len() + header + self.payload.len()
    }
}

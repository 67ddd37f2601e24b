// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The options of a DSR Options header (RFC 4728 §6.2 to §6.9), each a plain value with parse
//! and emit. Unknown options are kept as bytes so that §8.1.6 can be applied to them.

use super::ParseError;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

pub const ROUTE_REQUEST: u8 = 1;
pub const ROUTE_REPLY: u8 = 2;
pub const ROUTE_ERROR: u8 = 3;
pub const ACK_REQUEST: u8 = 160;
pub const ACK: u8 = 32;
pub const SOURCE_ROUTE: u8 = 96;
pub const PAD1: u8 = 224;
pub const PADN: u8 = 0;
/// Not of the RFC: the stations that a salvaged packet has visited. The three high bits of the type
/// are zero, so nodes that do not know it skip it (§8.1.6).
pub const VISITED: u8 = 30;
/// Not of the RFC either, and skipped likewise: the signal of each hop on the route of a request or
/// reply. Each is a signed octet in dBm, [`UNKNOWN_SIGNAL`] where nobody measured it.
pub const SIGNALS: u8 = 29;
pub const UNKNOWN_SIGNAL: i8 = 127;

/// Most addresses that every kind of option can carry. A Route Request has the least room: six
/// octets of its 8-bit length are taken before the list begins.
pub const MAX_ADDRESSES: usize = 62;

/// Octets that fit a Route Error behind the 14 of a break (Opt Data Len is 8 bits wide).
pub const MAX_EXTENSION: usize = 255 - 14;

/// Route Request (§6.2). The initiator is the IP source and not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    pub identification: u16,
    pub target: Ipv4Addr,
    pub addresses: Vec<Ipv4Addr>,
}

/// What a Route Error reports (§6.4.1 to §6.4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    NodeUnreachable(Ipv4Addr),
    FlowStateNotSupported,
    OptionNotSupported(u8),
    /// An error type of a later specification: carried, not interpreted.
    Other(u8),
}

/// Route Error (§6.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError {
    pub kind: ErrorKind,
    /// 4 bits, copied from the packet that met the error.
    pub salvage: u8,
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    /// Octets after the type-specific information (§6.4, "Opt Data Len": extensions).
    pub extension: Vec<u8>,
}

/// DSR Source Route (§6.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRoute {
    pub first_hop_external: bool,
    pub last_hop_external: bool,
    /// 4 bits: how often the packet has been salvaged.
    pub salvage: u8,
    /// 6 bits: listed nodes still to be visited, the receiver of the frame included.
    pub segments_left: u8,
    pub addresses: Vec<Ipv4Addr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DsrOption {
    RouteRequest(RouteRequest),
    /// Route Reply (§6.3): the hops after the initiator, ending with the target.
    RouteReply {
        last_hop_external: bool,
        addresses: Vec<Ipv4Addr>,
    },
    RouteError(RouteError),
    /// Acknowledgement Request (§6.5).
    AckRequest {
        identification: u16,
    },
    /// Acknowledgement (§6.6).
    Ack {
        identification: u16,
        source: Ipv4Addr,
        destination: Ipv4Addr,
    },
    SourceRoute(SourceRoute),
    /// The stations before the salvaging one, which §8.3.6 removes from the source route.
    Visited(Vec<Ipv4Addr>),
    Signals(Vec<i8>),
    Pad1,
    /// PadN (§6.9) with this many zero octets of data.
    PadN(u8),
    Unknown {
        kind: u8,
        data: Vec<u8>,
    },
}

impl SourceRoute {
    /// The node that a frame with this option is meant for; `None` means the IP destination.
    /// By §6.7 "Segments Left" counts the nodes still to be visited, the receiver among them. The
    /// index arithmetic of §8.1.5, read literally, would visit the first node twice.
    pub fn receiver(&self) -> Option<Ipv4Addr> {
        let left = usize::from(self.segments_left);
        if left == 0 {
            return None;
        }
        self.addresses
            .get(self.addresses.len().checked_sub(left)?)
            .copied()
    }

    /// Index in `addresses` of the receiver; `addresses.len()` stands for the destination. `None`
    /// where a false header claims more segments than it lists.
    pub fn position(&self) -> Option<usize> {
        self.addresses
            .len()
            .checked_sub(usize::from(self.segments_left))
    }
}

fn addr(bytes: &[u8]) -> Ipv4Addr {
    Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])
}

fn addresses(bytes: &[u8]) -> Result<Vec<Ipv4Addr>, ParseError> {
    if bytes.len() % 4 != 0 {
        return Err(ParseError::BadOption);
    }
    Ok(bytes.chunks_exact(4).map(addr).collect())
}

impl DsrOption {
    /// Parses the option at the start of `bytes`; returns it and its whole length.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), ParseError> {
        let kind = *bytes.first().ok_or(ParseError::Truncated)?;
        // The only option without a length octet (§6.8).
        if kind == PAD1 {
            return Ok((DsrOption::Pad1, 1));
        }
        let len = usize::from(*bytes.get(1).ok_or(ParseError::Truncated)?);
        let data = bytes.get(2..2 + len).ok_or(ParseError::Truncated)?;
        let need = |n: usize| {
            if len < n {
                Err(ParseError::BadOption)
            } else {
                Ok(())
            }
        };
        let word = || u16::from_be_bytes([data[0], data[1]]);
        let option = match kind {
            PADN => DsrOption::PadN(len as u8),
            ROUTE_REQUEST => {
                need(6)?;
                DsrOption::RouteRequest(RouteRequest {
                    identification: word(),
                    target: addr(&data[2..6]),
                    addresses: addresses(&data[6..])?,
                })
            }
            ROUTE_REPLY => {
                need(5)?;
                DsrOption::RouteReply {
                    last_hop_external: data[0] & 0x80 != 0,
                    addresses: addresses(&data[1..])?,
                }
            }
            ROUTE_ERROR => DsrOption::RouteError(RouteError::parse(data)?),
            ACK_REQUEST => {
                // Longer ones carry the previous-hop extension of §7.4.1: skipped.
                need(2)?;
                DsrOption::AckRequest {
                    identification: word(),
                }
            }
            ACK => {
                need(10)?;
                DsrOption::Ack {
                    identification: word(),
                    source: addr(&data[2..6]),
                    destination: addr(&data[6..10]),
                }
            }
            SOURCE_ROUTE => {
                need(2)?;
                let bits = word();
                DsrOption::SourceRoute(SourceRoute {
                    first_hop_external: bits & 0x8000 != 0,
                    last_hop_external: bits & 0x4000 != 0,
                    salvage: (bits >> 6 & 0x0f) as u8,
                    segments_left: (bits & 0x3f) as u8,
                    addresses: addresses(&data[2..])?,
                })
            }
            VISITED => DsrOption::Visited(addresses(data)?),
            SIGNALS => DsrOption::Signals(data.iter().map(|b| *b as i8).collect()),
            _ => DsrOption::Unknown {
                kind,
                data: data.to_vec(),
            },
        };
        Ok((option, 2 + len))
    }

    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            DsrOption::RouteRequest(r) => {
                out.extend_from_slice(&[ROUTE_REQUEST, (6 + 4 * r.addresses.len()) as u8]);
                out.extend_from_slice(&r.identification.to_be_bytes());
                out.extend_from_slice(&r.target.octets());
                put(out, &r.addresses);
            }
            DsrOption::RouteReply {
                last_hop_external,
                addresses,
            } => {
                let bits = if *last_hop_external { 0x80 } else { 0 };
                out.extend_from_slice(&[ROUTE_REPLY, (1 + 4 * addresses.len()) as u8, bits]);
                put(out, addresses);
            }
            DsrOption::RouteError(e) => e.emit(out),
            DsrOption::AckRequest { identification } => {
                out.extend_from_slice(&[ACK_REQUEST, 2]);
                out.extend_from_slice(&identification.to_be_bytes());
            }
            DsrOption::Ack {
                identification,
                source,
                destination,
            } => {
                out.extend_from_slice(&[ACK, 10]);
                out.extend_from_slice(&identification.to_be_bytes());
                put(out, &[*source, *destination]);
            }
            DsrOption::SourceRoute(s) => {
                out.extend_from_slice(&[SOURCE_ROUTE, (2 + 4 * s.addresses.len()) as u8]);
                let bits = u16::from(s.first_hop_external) << 15
                    | u16::from(s.last_hop_external) << 14
                    | u16::from(s.salvage & 0x0f) << 6
                    | u16::from(s.segments_left & 0x3f);
                out.extend_from_slice(&bits.to_be_bytes());
                put(out, &s.addresses);
            }
            DsrOption::Visited(list) => {
                out.extend_from_slice(&[VISITED, (4 * list.len()) as u8]);
                put(out, list);
            }
            DsrOption::Signals(list) => {
                out.extend_from_slice(&[SIGNALS, list.len() as u8]);
                out.extend(list.iter().map(|s| *s as u8));
            }
            DsrOption::Pad1 => out.push(PAD1),
            DsrOption::PadN(n) => {
                out.extend_from_slice(&[PADN, *n]);
                out.resize(out.len() + usize::from(*n), 0);
            }
            DsrOption::Unknown { kind, data } => {
                out.extend_from_slice(&[*kind, data.len() as u8]);
                out.extend_from_slice(data);
            }
        }
    }
}

fn put(out: &mut Vec<u8>, addresses: &[Ipv4Addr]) {
    for a in addresses {
        out.extend_from_slice(&a.octets());
    }
}

impl RouteError {
    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        if data.len() < 10 {
            return Err(ParseError::BadOption);
        }
        let rest = &data[10..];
        let (kind, used) = match data[0] {
            1 if rest.len() >= 4 => (ErrorKind::NodeUnreachable(addr(rest)), 4),
            2 => (ErrorKind::FlowStateNotSupported, 0),
            3 if !rest.is_empty() => (ErrorKind::OptionNotSupported(rest[0]), 1),
            1 | 3 => return Err(ParseError::BadOption),
            other => (ErrorKind::Other(other), 0),
        };
        Ok(RouteError {
            kind,
            salvage: data[1] & 0x0f,
            source: addr(&data[2..6]),
            destination: addr(&data[6..10]),
            extension: rest[used..].to_vec(),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let code = match self.kind {
            ErrorKind::NodeUnreachable(_) => 1,
            ErrorKind::FlowStateNotSupported => 2,
            ErrorKind::OptionNotSupported(_) => 3,
            ErrorKind::Other(code) => code,
        };
        out.extend_from_slice(&[ROUTE_ERROR, 0, code, self.salvage & 0x0f]);
        put(out, &[self.source, self.destination]);
        match self.kind {
            ErrorKind::NodeUnreachable(node) => put(out, &[node]),
            ErrorKind::OptionNotSupported(option) => out.push(option),
            _ => {}
        }
        out.extend_from_slice(&self.extension);
        out[start + 1] = (out.len() - start - 2) as u8;
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The DSR Options header (RFC 4728 §6) and its options behind an IPv4 header.

pub mod icmp;
pub mod options;
pub mod packet;

pub use hoplab_wire::ipv4::{self, Header as Ipv4Header};
pub use hoplab_wire::{ETHERTYPE_ARP, ETHERTYPE_IPV4, NO_NEXT_HEADER, PROTOCOL_DSR, PROTOCOL_TCP};
pub use options::{DsrOption, ErrorKind, RouteError, RouteRequest, SourceRoute};
pub use packet::Packet;

/// Why bytes are not a packet of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Fewer bytes than the header or a length field promises.
    Truncated,
    /// Not IP version 4, or a header length below 20 octets.
    NotIpv4,
    BadChecksum,
    /// The F bit is set: a flow state header (RFC 4728 §7.1), which is not implemented.
    FlowState,
    /// An option whose length contradicts its type.
    BadOption,
}

impl From<hoplab_wire::ParseError> for ParseError {
    fn from(error: hoplab_wire::ParseError) -> Self {
        match error {
            hoplab_wire::ParseError::Truncated => ParseError::Truncated,
            hoplab_wire::ParseError::Unexpected => ParseError::NotIpv4,
            hoplab_wire::ParseError::BadChecksum => ParseError::BadChecksum,
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Wire formats: the IPv4 header, the DSR Options header (RFC 4728 §6) and its options.

pub mod elfn;
pub mod ipv4;
pub mod options;
pub mod packet;

pub use elfn::LostSegment;
pub use ipv4::Ipv4Header;
pub use options::{DsrOption, ErrorKind, RouteError, RouteRequest, SourceRoute};
pub use packet::Packet;

/// IP protocol number of DSR (IANA; RFC 4728 §13).
pub const PROTOCOL_DSR: u8 = 48;
/// "No Next Header" of the DSR Options header (RFC 4728 §6.1).
pub const NO_NEXT_HEADER: u8 = 59;
pub const PROTOCOL_TCP: u8 = 6;
pub const ETHERTYPE_IPV4: u16 = 0x0800;
pub const ETHERTYPE_ARP: u16 = 0x0806;

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

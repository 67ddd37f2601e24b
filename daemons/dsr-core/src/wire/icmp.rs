// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ICMP error messages (RFC 792) about packets that DSR carries.

use super::{ipv4, Ipv4Header, Packet};
use core::net::Ipv4Addr;
use hoplab_wire::PROTOCOL_ICMP;

/// Destination unreachable, fragmentation needed.
pub const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];
/// Destination unreachable, host unreachable.
pub const HOST_UNREACHABLE: [u8; 2] = [3, 1];
/// Octets that a message quotes after the IP header.
const QUOTED: usize = 8;
const DEFAULT_TTL: u8 = 64;

/// An error message of `kind` (type, code) about `packet`, from `from` to `to`. It quotes the packet
/// as its sender made it, without the DSR header, which no TCP would recognise as its own.
pub fn error(
    from: Ipv4Addr,
    to: Ipv4Addr,
    kind: [u8; 2],
    rest: [u8; 4],
    packet: &Packet,
) -> Packet {
    let bare = Packet {
        options: None,
        ..packet.clone()
    };
    let quoted = bare.emit();
    let mut message = [kind[0], kind[1], 0, 0].to_vec();
    message.extend_from_slice(&rest);
    message.extend_from_slice(&quoted[..quoted.len().min(bare.ip.header_len() + QUOTED)]);
    let sum = ipv4::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    Packet {
        ip: Ipv4Header::new(from, to, PROTOCOL_ICMP, DEFAULT_TTL),
        options: None,
        payload: message,
    }
}

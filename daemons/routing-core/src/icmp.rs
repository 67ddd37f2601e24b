// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ICMP error messages (RFC 792) for the local stack.

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_wire::{ipv4, PROTOCOL_ICMP, PROTOCOL_TCP};

/// Destination unreachable, host unreachable.
const HOST_UNREACHABLE: [u8; 2] = [3, 1];
const ECHO_REQUEST: u8 = 8;
const TCP_FLAGS: usize = 13;
const SYN: u8 = 2;
/// Octets that a message quotes after the IP header.
const QUOTED: usize = 8;
const DEFAULT_TTL: u8 = 64;

/// The IP packet from `own` to `own` by which a program learns that `packet` found no route. `None`
/// where no ICMP may be sent: `packet` is no IPv4, or ICMP but for an echo request (RFC 1122 §3.2.2). A SYN
/// has none, as it would end a connection whose route may soon be there (RFC 5461 §3).
pub fn host_unreachable(own: Ipv4Addr, packet: &[u8]) -> Option<Vec<u8>> {
    let view = ipv4::View::new(packet)?;
    let asks = view.protocol() != PROTOCOL_ICMP || view.payload().first() == Some(&ECHO_REQUEST);
    let begins = view.protocol() == PROTOCOL_TCP
        && view
            .payload()
            .get(TCP_FLAGS)
            .is_some_and(|flags| flags & SYN != 0);
    if !asks || begins || !view.starts_payload() {
        return None;
    }
    let [kind, code] = HOST_UNREACHABLE;
    let mut message = [kind, code, 0, 0, 0, 0, 0, 0].to_vec();
    message.extend_from_slice(&packet[..packet.len().min(view.header_len() + QUOTED)]);
    let sum = ipv4::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = Vec::new();
    let header = ipv4::Header::new(own, own, PROTOCOL_ICMP, DEFAULT_TTL);
    header.emit(message.len(), &mut bytes);
    bytes.extend(message);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_quotes_what_found_no_route() {
        let (own, far) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 9));
        let mut packet = Vec::new();
        ipv4::Header::new(own, far, 17, 64).emit(20, &mut packet);
        packet.extend(1..=20);
        let message = host_unreachable(own, &packet).unwrap();
        let (header, payload) = ipv4::Header::parse(&message).unwrap();
        assert_eq!((header.source, header.destination), (own, own));
        assert_eq!(&payload[..2], &[3, 1]);
        assert_eq!(ipv4::checksum(payload), 0);
        assert_eq!(&payload[8..], &packet[..28]);
        // The octet at the place of TCP's flags is 14, in which SYN is set.
        packet[9] = PROTOCOL_TCP;
        assert_eq!(host_unreachable(own, &packet), None);
        packet[9] = PROTOCOL_ICMP;
        assert_eq!(host_unreachable(own, &packet), None);
        assert_eq!(host_unreachable(own, &[]), None);
    }
}

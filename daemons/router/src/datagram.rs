// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A protocol's messages as UDP datagrams in IPv4 packets, from and to its port.

use hoplab_wire::{ipv4, udp, PROTOCOL_UDP};
use std::net::Ipv4Addr;

/// A message that came: its sender, its TTL and its octets.
#[derive(Debug, PartialEq, Eq)]
pub struct Received<'a> {
    pub from: Ipv4Addr,
    pub ttl: u8,
    pub message: &'a [u8],
}

/// The message in an IP packet to the port. `None` for a packet that is cut, or whose checksum is
/// wrong.
pub fn parse(packet: &[u8], port: u16) -> Option<Received<'_>> {
    let (header, datagram) = ipv4::Header::parse(packet).ok()?;
    let (_, to) = udp::ports(datagram)?;
    let length = usize::from(u16::from_be_bytes([*datagram.get(4)?, *datagram.get(5)?]));
    let datagram = datagram.get(..length)?;
    let unchecked = datagram.get(6..8)? == [0, 0];
    let right = unchecked || checksum(header.source, header.destination, datagram) == 0;
    if header.protocol != PROTOCOL_UDP || header.is_fragment() || to != port || !right {
        return None;
    }
    Some(Received {
        from: header.source,
        ttl: header.ttl,
        message: datagram.get(udp::HEADER_LEN..)?,
    })
}

/// The packet with a message.
pub fn emit(port: u16, own: Ipv4Addr, to: Ipv4Addr, ttl: u8, message: &[u8]) -> Vec<u8> {
    let length = udp::HEADER_LEN + message.len();
    let mut datagram = Vec::with_capacity(length);
    for half in [port, port, length as u16, 0] {
        datagram.extend(half.to_be_bytes());
    }
    datagram.extend(message);
    // Zero would mean that there is no checksum (RFC 768).
    let sum = match checksum(own, to, &datagram) {
        0 => 0xffff,
        sum => sum,
    };
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut packet = Vec::with_capacity(ipv4::HEADER_LEN + length);
    ipv4::Header::new(own, to, PROTOCOL_UDP, ttl).emit(length, &mut packet);
    packet.extend(datagram);
    packet
}

/// Over the pseudo header of RFC 768 and the datagram.
fn checksum(source: Ipv4Addr, destination: Ipv4Addr, datagram: &[u8]) -> u16 {
    let mut all = [source.octets(), destination.octets()].concat();
    all.extend([0, PROTOCOL_UDP]);
    all.extend((datagram.len() as u16).to_be_bytes());
    all.extend(datagram);
    ipv4::checksum(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_and_a_changed_one_does_not() {
        let (own, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::BROADCAST);
        let packet = emit(654, own, to, 7, &[4, 0]);
        let received = Received {
            from: own,
            ttl: 7,
            message: &[4, 0],
        };
        assert_eq!(parse(&packet, 654), Some(received));
        assert_eq!(parse(&packet, 655), None);
        for at in 0..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 0x11;
            assert_eq!(parse(&changed, 654), None, "{at}");
            assert_eq!(parse(&packet[..at], 654), None);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! 802.11 headers, as far as a medium looks into frames (IEEE 802.11-2020 9.2, 9.3).

use hoplab_medium_core::{AirKind, Class};

const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const BATMAN_ADV: u16 = 0x4305;
const UDP: u8 = 17;
/// DSR's protocol number, and what its header says where no packet follows (RFC 4728 6.1).
const DSR: u8 = 48;
const NO_NEXT_HEADER: u8 = 59;
const BATMAND_PORT: u16 = 4305;
const BABEL_PORT: u16 = 6696;

/// What a medium needs to know of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub class: Class,
    pub receiver: [u8; 6],
    /// A routing protocol's own message.
    pub routing: bool,
}

/// Read a frame without FCS; none for a control frame or a truncated one.
pub fn parse(frame: &[u8]) -> Option<Header> {
    let control = *frame.first_chunk::<2>()?;
    let class = match control[0] & 0x0c {
        0x00 if control[0] & 0xf0 == 0x80 => Class::Beacon,
        0x00 => Class::Management,
        0x08 => Class::Data,
        _ => return None,
    };
    // Addresses 1 to 3 and the sequence control are in all of these.
    if frame.len() < 24 {
        return None;
    }
    Some(Header {
        class,
        receiver: *frame.get(4..)?.first_chunk::<6>()?,
        routing: class == Class::Data && is_routing(control, frame).unwrap_or(false),
    })
}

/// A deauthentication (type management, subtype 1100), whoever it is for.
pub fn is_deauthentication(frame: &[u8]) -> bool {
    frame.first() == Some(&0xc0)
}

fn is_routing(control: [u8; 2], frame: &[u8]) -> Option<bool> {
    let four_addresses = control[1] & 3 == 3;
    let qos = control[0] & 0x80 != 0;
    let protected = control[1] & 0x40 != 0;
    if protected {
        return Some(false);
    }
    let header = 24 + 6 * usize::from(four_addresses) + 2 * usize::from(qos);
    let body = frame.get(header..)?.strip_prefix(&LLC_SNAP[..])?;
    let packet = body.get(2..)?;
    match u16::from_be_bytes(*body.first_chunk::<2>()?) {
        // The first byte is the kind of packet; 0x40 and above carry users' packets.
        BATMAN_ADV => Some(*packet.first()? < 0x40),
        IPV4 => {
            let length = usize::from(packet.first()? & 15) * 4;
            match *packet.get(9)? {
                UDP => routing_port(packet.get(length..)?),
                DSR => Some(*packet.get(length)? == NO_NEXT_HEADER),
                _ => Some(false),
            }
        }
        IPV6 if *packet.get(6)? == UDP => routing_port(packet.get(40..)?),
        _ => Some(false),
    }
}

fn routing_port(udp: &[u8]) -> Option<bool> {
    let port = u16::from_be_bytes(*udp.get(2..)?.first_chunk::<2>()?);
    Some([BATMAND_PORT, BABEL_PORT].contains(&port))
}

/// A control frame without FCS.
pub fn control(kind: AirKind, duration_us: u16, receiver: [u8; 6], sender: [u8; 6]) -> Vec<u8> {
    let subtype: u8 = match kind {
        AirKind::Rts => 0xb4,
        AirKind::Cts => 0xc4,
        _ => 0xd4,
    };
    let mut frame = vec![subtype, 0];
    frame.extend(duration_us.to_le_bytes());
    frame.extend(receiver);
    if kind == AirKind::Rts {
        frame.extend(sender);
    }
    frame
}

/// A host's frame as it goes on the air: retry bit and duration field are the radio's.
pub fn on_air(frame: &[u8], retry: bool, duration_us: u16) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if let Some(head) = frame.get_mut(..4) {
        head[1] = head[1] & !0x08 | if retry { 0x08 } else { 0 };
        head[2..].copy_from_slice(&duration_us.to_le_bytes());
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(ethertype: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![8, 0, 0, 0, 2, 0, 0, 0, 0, 7];
        frame.resize(24, 0);
        frame.extend(LLC_SNAP);
        frame.extend(ethertype.to_be_bytes());
        frame.extend(packet);
        frame
    }

    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45; 20];
        packet[9] = protocol;
        packet.extend(payload);
        packet
    }

    #[test]
    fn routing_messages_are_known() {
        let port = |port: u16| [&[0, 1], &port.to_be_bytes()[..], &[0; 4]].concat();
        let cases = [
            (data(IPV4, &ipv4(UDP, &port(4305))), true),
            (data(IPV4, &ipv4(UDP, &port(5001))), false),
            (data(IPV4, &ipv4(6, &port(4305))), false),
            (data(IPV4, &ipv4(DSR, &[59, 0, 0, 4])), true),
            (data(IPV4, &ipv4(DSR, &[6, 0, 0, 4])), false),
            (data(BATMAN_ADV, &[0]), true),
            (data(BATMAN_ADV, &[0x40]), false),
        ];
        for (frame, routing) in cases {
            let header = parse(&frame).expect("a data frame");
            assert_eq!(header.routing, routing, "{frame:?}");
            assert_eq!(header.receiver, [2, 0, 0, 0, 0, 7]);
            assert_eq!(header.class, Class::Data);
        }
        let mut babel = vec![0x60; 40];
        babel[6] = UDP;
        babel.extend(port(6696));
        assert!(parse(&data(IPV6, &babel)).is_some_and(|header| header.routing));
    }

    #[test]
    fn a_truncated_frame_is_none() {
        let frame = data(IPV4, &ipv4(UDP, &[0; 8]));
        for length in 0..frame.len() {
            let header = parse(&frame[..length]);
            assert_eq!(header.is_some(), length >= 24);
        }
    }
}

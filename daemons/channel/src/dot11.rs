// SPDX-License-Identifier: Apache-2.0 OR MIT
//! 802.11 headers, as far as a medium looks into frames (IEEE 802.11-2020 9.2, 9.3).

use hoplab_medium_core::Class;
use hoplab_wire::ieee80211::{Frame, Kind};
use hoplab_wire::{ipv4, udp, Mac};
use hoplab_wire::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, NO_NEXT_HEADER, PROTOCOL_DSR, PROTOCOL_UDP};

pub(crate) const ETHERTYPE_BATMAN_ADV: u16 = 0x4305;
/// Octets of an IPv6 header without extensions (RFC 8200 3), and where it names what follows.
pub(crate) const IPV6_HEADER: usize = 40;
pub(crate) const IPV6_NEXT_HEADER: usize = 6;
/// The first byte is the kind of packet; from here on they carry users' packets.
pub(crate) const BATMAN_ADV_UNICAST: u8 = 0x40;
pub(crate) const BATMAND_PORT: u16 = 4305;
pub(crate) const BABEL_PORT: u16 = 6696;
pub(crate) const AODV_PORT: u16 = 654;
pub(crate) const OLSR_PORT: u16 = 698;
pub(crate) const DSDV_PORT: u16 = 269;

/// What a medium needs to know of a frame. It is read once, when the frame comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub class: Class,
    pub receiver: Mac,
    /// None where the frame does not name it.
    pub transmitter: Option<Mac>,
    /// A deauthentication between stations of an IBSS, whose network is named after neither end.
    pub leaves_ibss: bool,
    /// A request for a block ack agreement between hosts.
    pub asks_for_block_ack: bool,
    /// A routing protocol's own message.
    pub routing: bool,
    /// Traffic identifier of a frame with a QoS header.
    pub tid: Option<u8>,
    pub sequence: Option<u16>,
    /// The station and the access point between which it carries a packet.
    pub cell: Option<(Mac, Mac)>,
    /// EtherType and place of the packet that it carries.
    packet: Option<(u16, usize)>,
}

impl Header {
    /// EtherType and packet of the frame that this is the header of.
    pub fn packet<'a>(&self, frame: &'a [u8]) -> Option<(u16, &'a [u8])> {
        let (ethertype, at) = self.packet?;
        Some((ethertype, frame.get(at..)?))
    }
}

/// Read a frame without FCS; none for a truncated one, and for a control frame that an exchange makes.
pub fn parse(bytes: &[u8]) -> Option<Header> {
    let frame = Frame::new(bytes)?;
    let class = match frame.kind() {
        Kind::Beacon if frame.is_of_access_point() => Class::ScheduledBeacon,
        Kind::Beacon => Class::Beacon,
        Kind::Deauthentication | Kind::Management => Class::Management,
        Kind::Data => Class::Data,
        // What a host itself sends of them (PS-Poll, block acknowledgement requests) is answered.
        Kind::Control if frame.is_request() => Class::Management,
        Kind::Control | Kind::Extension => return None,
    };
    let (receiver, transmitter, network) =
        (frame.receiver()?, frame.transmitter(), frame.network());
    let packet = frame.packet();
    let routes = packet.and_then(|(ethertype, packet)| is_routing(ethertype, packet));
    Some(Header {
        class,
        receiver,
        transmitter,
        leaves_ibss: frame.kind() == Kind::Deauthentication
            && network != Some(receiver)
            && network != transmitter,
        asks_for_block_ack: frame.asks_for_block_ack(),
        routing: frame.is_path_selection() || routes.unwrap_or(false),
        tid: frame.tid(),
        sequence: frame.sequence_control().map(|control| control >> 4),
        cell: frame.carries_packet_of(),
        packet: packet.map(|(ethertype, packet)| (ethertype, bytes.len() - packet.len())),
    })
}

fn is_routing(ethertype: u16, packet: &[u8]) -> Option<bool> {
    match ethertype {
        ETHERTYPE_BATMAN_ADV => Some(*packet.first()? < BATMAN_ADV_UNICAST),
        ETHERTYPE_IPV4 => {
            let packet = ipv4::View::new(packet)?;
            match packet.protocol() {
                PROTOCOL_UDP if packet.starts_payload() => routing_port(packet.payload()),
                // The options header begins with the protocol of what follows (RFC 4728 6.1).
                PROTOCOL_DSR => Some(*packet.payload().first()? == NO_NEXT_HEADER),
                _ => Some(false),
            }
        }
        ETHERTYPE_IPV6 if *packet.get(IPV6_NEXT_HEADER)? == PROTOCOL_UDP => {
            routing_port(packet.get(IPV6_HEADER..)?)
        }
        _ => Some(false),
    }
}

fn routing_port(datagram: &[u8]) -> Option<bool> {
    let (_, destination) = udp::ports(datagram)?;
    let ports = [AODV_PORT, OLSR_PORT, DSDV_PORT, BATMAND_PORT, BABEL_PORT];
    Some(ports.contains(&destination))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hoplab_wire::ieee80211::LLC_SNAP;
    use std::net::Ipv4Addr;

    pub fn data(ethertype: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![8, 0, 0, 0, 2, 0, 0, 0, 0, 7];
        frame.resize(24, 0);
        frame.extend(LLC_SNAP);
        frame.extend(ethertype.to_be_bytes());
        frame.extend(packet);
        frame
    }

    pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let [from, to] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
        let mut header = ipv4::Header::new(from, to, protocol, 64);
        header.identification = 77;
        header.emit(payload.len(), &mut packet);
        packet.extend(payload);
        packet
    }

    fn leaves_ibss(frame: &[u8]) -> bool {
        parse(frame).is_some_and(|header| header.leaves_ibss)
    }

    fn asks(frame: &[u8]) -> bool {
        parse(frame).is_some_and(|header| header.asks_for_block_ack)
    }

    #[test]
    fn routing_messages_are_known() {
        let port = |port: u16| [&[0, 1], &port.to_be_bytes()[..], &[0; 4]].concat();
        let cases = [
            (data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_UDP, &port(4305))), true),
            (
                data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_UDP, &port(5001))),
                false,
            ),
            (data(ETHERTYPE_IPV4, &ipv4(6, &port(4305))), false),
            (
                data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_DSR, &[59, 0, 0, 4])),
                true,
            ),
            (
                data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_DSR, &[6, 0, 0, 4])),
                false,
            ),
            (data(ETHERTYPE_BATMAN_ADV, &[0]), true),
            (data(ETHERTYPE_BATMAN_ADV, &[0x40]), false),
        ];
        for (frame, routing) in cases {
            let header = parse(&frame).expect("a data frame");
            assert_eq!(header.routing, routing, "{frame:?}");
            assert_eq!(header.receiver, Mac([2, 0, 0, 0, 0, 7]));
            assert_eq!(header.class, Class::Data);
        }
        let mut babel = vec![0x60; 40];
        babel[6] = PROTOCOL_UDP;
        babel.extend(port(6696));
        assert!(parse(&data(ETHERTYPE_IPV6, &babel)).is_some_and(|header| header.routing));
    }

    /// What stands where the first fragment has its ports is payload.
    #[test]
    fn a_later_fragment_names_no_port() {
        let mut packet = ipv4(PROTOCOL_UDP, &[0, 1, 0x10, 0xd1, 0, 0, 0, 0]);
        assert!(parse(&data(ETHERTYPE_IPV4, &packet)).is_some_and(|header| header.routing));
        packet[7] = 185;
        assert!(parse(&data(ETHERTYPE_IPV4, &packet)).is_some_and(|header| !header.routing));
    }

    #[test]
    fn beacons_of_access_points_are_told_from_those_of_ad_hoc_stations() {
        let mut beacon = vec![0x80, 0];
        beacon.resize(34, 0);
        for (capabilities, class) in [(1, Class::ScheduledBeacon), (2, Class::Beacon)] {
            beacon.truncate(34);
            beacon.extend([capabilities, 0]);
            assert_eq!(parse(&beacon).map(|header| header.class), Some(class));
        }
        assert_eq!(
            parse(&beacon[..34]).map(|header| header.class),
            Some(Class::Beacon)
        );
    }

    /// It is one of a cell, where the access point is one end.
    #[test]
    fn a_deauthentication_of_a_cell_goes_on_the_air() {
        let mut frame = vec![0xc0, 0, 0, 0];
        for address in [1, 2, 2] {
            frame.extend([2, 0, 0, 0, 0, address]);
        }
        frame.extend([0; 4]);
        assert!(!leaves_ibss(&frame));
        frame[21] = 1;
        assert!(!leaves_ibss(&frame));
        frame[21] = 9;
        assert!(leaves_ibss(&frame));
    }

    /// To the access point and from it the receiver is address 1 all the same (9.3.2.1).
    #[test]
    fn frames_of_a_cell_are_read_as_others_are() {
        let packet = ipv4(PROTOCOL_UDP, &[0, 1, 0x10, 0xd1, 0, 0, 0, 0]);
        for direction in [1, 2] {
            let mut frame = data(ETHERTYPE_IPV4, &packet);
            frame[1] = direction;
            let header = parse(&frame).expect("a data frame");
            assert_eq!(header.receiver, Mac([2, 0, 0, 0, 0, 7]));
            assert!(header.routing);
            // Protected, its packet cannot be read.
            frame[1] |= 0x40;
            assert!(parse(&frame).is_some_and(|header| !header.routing));
        }
    }

    /// 9.2.4.5: the first four bits after the sequence control field, or after address 4.
    #[test]
    fn the_traffic_identifier_is_read_where_there_is_one() {
        let mut frame = vec![0x88, 0, 0, 0];
        frame.resize(24, 0);
        assert_eq!(parse(&frame).map(|header| header.tid), Some(None));
        frame.extend([0x26, 0]);
        assert_eq!(parse(&frame).map(|header| header.tid), Some(Some(6)));
        frame[1] = 3;
        assert_eq!(parse(&frame).map(|header| header.tid), Some(None));
        frame.extend([0, 0, 0, 0, 5, 0]);
        assert_eq!(parse(&frame).map(|header| header.tid), Some(Some(5)));
        frame[0] = 8;
        assert_eq!(parse(&frame).map(|header| header.tid), Some(None));
    }

    #[test]
    fn only_a_readable_request_asks_for_a_block_ack() {
        let mut frame = vec![0xd0, 0, 0, 0];
        frame.resize(24, 0);
        frame.extend([3, 0]);
        assert!(asks(&frame));
        frame[25] = 1;
        assert!(!asks(&frame));
        frame[25] = 0;
        frame[1] = 0x40;
        assert!(!asks(&frame));
    }

    #[test]
    fn a_truncated_frame_is_none() {
        let frame = data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_UDP, &[0; 8]));
        for length in 0..frame.len() {
            let header = parse(&frame[..length]);
            assert_eq!(header.is_some(), length >= 24);
        }
    }
}

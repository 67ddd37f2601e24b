// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet in a frame, as far as records tell packets apart.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

use hoplab_wire::{ipv4, tcp, udp};
use hoplab_wire::{
    ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, NO_NEXT_HEADER, PROTOCOL_DSR, PROTOCOL_ICMP,
    PROTOCOL_TCP, PROTOCOL_UDP,
};

use crate::dot11::{
    AODV_PORT, BABEL_PORT, BATMAND_PORT, BATMAN_ADV_UNICAST, DSDV_PORT, ETHERTYPE_BATMAN_ADV,
    IPV6_HEADER, IPV6_NEXT_HEADER, OLSR_PORT,
};

/// Octets of a unicast packet's header (batadv_unicast_packet), which an Ethernet frame follows.
const BATMAN_ADV_UNICAST_HEADER: usize = 10;
const ETHERNET_HEADER: usize = 14;
/// Octets before DSR's options (RFC 4728 6.1), their length at its place in it.
const DSR_HEADER: usize = 4;
const DSR_LENGTH: usize = 2;

/// Places in IPv6's header (RFC 8200 section 3).
const IPV6_LENGTH: usize = 4;
const IPV6_HOP_LIMIT: usize = 7;
const IPV6_SOURCE: usize = 8;
const IPV6_DESTINATION: usize = 24;
const VERSION_6: u8 = 6;
/// Extension headers that a destination's packet may have (RFC 8200 section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
const FRAGMENT_HEADER: usize = 8;
/// No sender takes more; a stranger's frame must not make us walk for long.
const MOST_EXTENSIONS: usize = 8;
const PROTOCOL_ICMPV6: u8 = 58;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    pub protocol: &'static str,
    pub ip: Option<Ip>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// IANA's number; of what DSR or an extension header carries, its own.
    pub number: u8,
    /// IPv6 has none, which is 0 here.
    pub identification: u16,
    /// The hop limit of IPv6.
    pub ttl: u8,
    /// Header and all, without DSR's options and extension headers.
    pub bytes: usize,
    pub transport: Option<Transport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    pub source_port: u16,
    pub destination_port: u16,
    /// Sequence and acknowledgement number, of TCP.
    pub numbers: Option<(u32, u32)>,
    pub payload: usize,
}

/// What a frame's packet of this EtherType is.
pub fn carried(ethertype: u16, packet: &[u8]) -> Carried {
    let plain = |protocol| Carried { protocol, ip: None };
    match ethertype {
        ETHERTYPE_IPV4 => of_ipv4(packet).unwrap_or(plain("other")),
        ETHERTYPE_ARP => plain("arp"),
        ETHERTYPE_BATMAN_ADV => match packet.first() {
            Some(&BATMAN_ADV_UNICAST) => {
                of_ethernet(packet.get(BATMAN_ADV_UNICAST_HEADER..).unwrap_or_default())
            }
            Some(kind) if *kind > BATMAN_ADV_UNICAST => plain("other"),
            _ => plain("batman-adv"),
        },
        ETHERTYPE_IPV6 => of_ipv6(packet).unwrap_or(plain("other")),
        _ => plain("other"),
    }
}

fn of_ethernet(frame: &[u8]) -> Carried {
    match frame.get(ETHERNET_HEADER - 2..) {
        Some([high, low, packet @ ..]) => carried(u16::from_be_bytes([*high, *low]), packet),
        _ => Carried {
            protocol: "other",
            ip: None,
        },
    }
}

fn of_ipv4(packet: &[u8]) -> Option<Carried> {
    let view = ipv4::View::new(packet)?;
    let (mut number, mut payload) = (view.protocol(), view.payload());
    let mut length = view.payload_len();
    if number == PROTOCOL_DSR && view.starts_payload() {
        let options = DSR_HEADER
            + usize::from(u16::from_be_bytes(
                *payload.get(DSR_LENGTH..)?.first_chunk()?,
            ));
        if payload[0] != NO_NEXT_HEADER {
            number = payload[0];
            payload = payload.get(options..)?;
            length = length.saturating_sub(options);
        }
    }
    let transport = if view.starts_payload() {
        of_transport(number, payload, length)
    } else {
        None
    };
    let ip = Ip {
        source: view.source().into(),
        destination: view.destination().into(),
        number,
        identification: view.identification(),
        ttl: view.ttl(),
        bytes: view.header_len() + length,
        transport,
    };
    Some(named(ip))
}

fn of_ipv6(packet: &[u8]) -> Option<Carried> {
    let header: &[u8; IPV6_HEADER] = packet.first_chunk()?;
    if header[0] >> 4 != VERSION_6 {
        return None;
    }
    let address = |at: usize| -> IpAddr {
        let octets: [u8; 16] = core::array::from_fn(|i| header[at + i]);
        Ipv6Addr::from(octets).into()
    };
    let said = usize::from(u16::from_be_bytes([
        header[IPV6_LENGTH],
        header[IPV6_LENGTH + 1],
    ]));
    // Only its beginning may be here, but what is behind it is padding.
    let rest = &packet[IPV6_HEADER..];
    let content = rest.get(..said).unwrap_or(rest);
    let (number, payload) = behind_extensions(header[IPV6_NEXT_HEADER], content);
    let length = said - (content.len() - payload.map_or(0, <[u8]>::len));
    Some(named(Ip {
        source: address(IPV6_SOURCE),
        destination: address(IPV6_DESTINATION),
        number,
        identification: 0,
        ttl: header[IPV6_HOP_LIMIT],
        bytes: IPV6_HEADER + length,
        transport: payload.and_then(|bytes| of_transport(number, bytes, length)),
    }))
}

/// The number of what is behind IPv6's extension headers, and its octets. These are none if the
/// packet ends before, or is a fragment other than the first.
fn behind_extensions(first: u8, content: &[u8]) -> (u8, Option<&[u8]>) {
    let (mut number, mut rest) = (first, content);
    for _ in 0..MOST_EXTENSIONS {
        let size = match (number, rest) {
            (HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS, [_, units, ..]) => {
                (usize::from(*units) + 1) * 8
            }
            (FRAGMENT, [_, _, high, low, ..]) => {
                // The upper 13 bits are the fragment's place (RFC 8200 section 4.5).
                if u16::from_be_bytes([*high, *low]) >> 3 != 0 {
                    return (rest[0], None);
                }
                FRAGMENT_HEADER
            }
            (HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | FRAGMENT, _) => return (number, None),
            _ => return (number, Some(rest)),
        };
        number = rest[0];
        match rest.get(size..) {
            Some(behind) => rest = behind,
            None => return (number, None),
        }
    }
    (number, None)
}

fn named(ip: Ip) -> Carried {
    let protocol = match (ip.number, ip.transport.map(|ends| ends.destination_port)) {
        (PROTOCOL_UDP, Some(BATMAND_PORT)) => "batman",
        (PROTOCOL_UDP, Some(BABEL_PORT)) => "babel",
        (PROTOCOL_UDP, Some(AODV_PORT)) => "aodv",
        (PROTOCOL_UDP, Some(OLSR_PORT)) => "olsr",
        (PROTOCOL_UDP, Some(DSDV_PORT)) => "dsdv",
        (PROTOCOL_UDP, _) => "udp",
        (PROTOCOL_TCP, _) => "tcp",
        (PROTOCOL_ICMP | PROTOCOL_ICMPV6, _) => "icmp",
        (PROTOCOL_DSR, _) => "dsr",
        _ => "other",
    };
    Carried {
        protocol,
        ip: Some(ip),
    }
}

fn of_transport(number: u8, bytes: &[u8], length: usize) -> Option<Transport> {
    let (source_port, destination_port) = match number {
        PROTOCOL_TCP | PROTOCOL_UDP => udp::ports(bytes)?,
        _ => return None,
    };
    let (numbers, header) = if number == PROTOCOL_TCP {
        let fixed: &[u8; tcp::HEADER_LEN] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| fixed[at + i]));
        (Some((word(4), word(8))), usize::from(fixed[12] >> 4) * 4)
    } else {
        (None, udp::HEADER_LEN)
    };
    Some(Transport {
        source_port,
        destination_port,
        numbers,
        payload: length.saturating_sub(header),
    })
}

/// As `hoplab-dsr` writes a packet into the table `events`.
impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "src={} dst={} protocol={}",
            self.source, self.destination, self.number
        )?;
        if self.source.is_ipv4() {
            write!(f, " id={}", self.identification)?;
        }
        write!(f, " bytes={}", self.bytes)?;
        if let Some(ends) = self.transport {
            write!(f, " ports={}>{}", ends.source_port, ends.destination_port)?;
            if let Some((sequence, _)) = ends.numbers {
                write!(f, " seq={sequence}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot11::{
        self,
        tests::{data, ipv4},
    };

    fn carried(frame: &[u8]) -> Option<Carried> {
        let (ethertype, packet) = dot11::parse(frame)?.packet(frame)?;
        Some(super::carried(ethertype, packet))
    }

    fn ipv6(next: u8, content: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend((content.len() as u16).to_be_bytes());
        packet.extend([next, 63]);
        for host in [1, 2] {
            packet.extend(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host).octets());
        }
        packet.extend(content);
        packet
    }

    /// Ports 20001 and 5201, sequence number 1000, acknowledgement 2000, 5 octets of payload.
    fn segment() -> Vec<u8> {
        let mut segment = vec![0x4e, 0x21, 0x14, 0x51, 0, 0, 3, 232, 0, 0, 7, 208, 0x60];
        segment.resize(24 + 5, 0);
        segment
    }

    #[test]
    fn a_segment_is_the_same_with_and_without_dsr() {
        let plain = carried(&data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_TCP, &segment())));
        let options = [&[PROTOCOL_TCP, 0, 0, 4, 1, 2, 0, 0][..], &segment()].concat();
        let routed = carried(&data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_DSR, &options)));
        assert_eq!(plain, routed);
        let found = plain.expect("a packet");
        assert_eq!(found.protocol, "tcp");
        let ip = found.ip.expect("IPv4");
        assert_eq!(
            ip.to_string(),
            "src=10.0.0.1 dst=10.0.0.2 protocol=6 id=77 bytes=49 ports=20001>5201 seq=1000"
        );
        let ends = ip.transport.expect("TCP");
        assert_eq!((ends.numbers, ends.payload), (Some((1000, 2000)), 5));
    }

    #[test]
    fn a_segment_in_a_batman_adv_packet_is_seen() {
        let mut packet = vec![BATMAN_ADV_UNICAST; 10];
        packet.resize(22, 0);
        packet.extend(ETHERTYPE_IPV4.to_be_bytes());
        packet.extend(ipv4(PROTOCOL_TCP, &segment()));
        let found = carried(&data(ETHERTYPE_BATMAN_ADV, &packet));
        assert_eq!(
            found,
            carried(&data(ETHERTYPE_IPV4, &ipv4(PROTOCOL_TCP, &segment())))
        );
    }

    #[test]
    fn a_segment_of_ipv6_has_addresses_ports_and_length() {
        let found = carried(&data(ETHERTYPE_IPV6, &ipv6(PROTOCOL_TCP, &segment()))).expect("one");
        let ip = found.ip.expect("IPv6");
        assert_eq!((found.protocol, ip.ttl, ip.bytes), ("tcp", 63, 40 + 29));
        assert_eq!(
            ip.to_string(),
            "src=fd00::1 dst=fd00::2 protocol=6 bytes=69 ports=20001>5201 seq=1000"
        );
        let ends = ip.transport.expect("TCP");
        assert_eq!((ends.numbers, ends.payload), (Some((1000, 2000)), 5));
        // What fills the frame up behind it is not its payload.
        let padded = [ipv6(PROTOCOL_TCP, &segment()), vec![0; 9]].concat();
        assert_eq!(carried(&data(ETHERTYPE_IPV6, &padded)), Some(found));
    }

    #[test]
    fn what_is_behind_extension_headers_is_found() {
        let plain = carried(&data(ETHERTYPE_IPV6, &ipv6(PROTOCOL_TCP, &segment())));
        for (first, header) in [
            (HOP_BY_HOP, &[PROTOCOL_TCP, 0, 1, 4, 0, 0, 0, 0][..]),
            (
                ROUTING,
                &[PROTOCOL_TCP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            ),
            (FRAGMENT, &[PROTOCOL_TCP, 0, 0, 1, 0, 0, 0, 7]),
            (
                HOP_BY_HOP,
                &[
                    FRAGMENT,
                    0,
                    1,
                    4,
                    0,
                    0,
                    0,
                    0,
                    PROTOCOL_TCP,
                    0,
                    0,
                    1,
                    0,
                    0,
                    0,
                    7,
                ],
            ),
        ] {
            let packet = ipv6(first, &[header, &segment()].concat());
            assert_eq!(carried(&data(ETHERTYPE_IPV6, &packet)), plain);
        }
        // A later fragment begins somewhere within the segment.
        let later = [&[PROTOCOL_TCP, 0, 0, 8, 0, 0, 0, 7][..], &segment()].concat();
        let found = carried(&data(ETHERTYPE_IPV6, &ipv6(FRAGMENT, &later))).expect("one");
        assert_eq!(
            (found.protocol, found.ip.expect("IPv6").transport),
            ("tcp", None)
        );
        // One header after the other without an end.
        let endless = [HOP_BY_HOP, 0, 0, 0, 0, 0, 0, 0].repeat(100);
        let found = carried(&data(ETHERTYPE_IPV6, &ipv6(HOP_BY_HOP, &endless))).expect("one");
        assert_eq!(
            (found.protocol, found.ip.expect("IPv6").transport),
            ("other", None)
        );
    }

    #[test]
    fn protocols_have_their_names() {
        let to = |port: u16| [&[0, 1], &port.to_be_bytes()[..], &[0; 4]].concat();
        let cases = [
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_UDP, &to(5201)), "udp"),
            (
                ETHERTYPE_IPV4,
                ipv4(PROTOCOL_UDP, &to(BATMAND_PORT)),
                "batman",
            ),
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_UDP, &to(AODV_PORT)), "aodv"),
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_UDP, &to(OLSR_PORT)), "olsr"),
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_UDP, &to(DSDV_PORT)), "dsdv"),
            (
                ETHERTYPE_IPV4,
                ipv4(PROTOCOL_DSR, &[NO_NEXT_HEADER, 0, 0, 0]),
                "dsr",
            ),
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_ICMP, &[8, 0]), "icmp"),
            (ETHERTYPE_IPV4, vec![0; 20], "other"),
            (ETHERTYPE_ARP, vec![0; 28], "arp"),
            (ETHERTYPE_BATMAN_ADV, vec![0], "batman-adv"),
            (ETHERTYPE_IPV6, ipv6(PROTOCOL_UDP, &to(BABEL_PORT)), "babel"),
            (ETHERTYPE_IPV6, ipv6(PROTOCOL_UDP, &to(5201)), "udp"),
            (ETHERTYPE_IPV6, ipv6(PROTOCOL_ICMPV6, &[128, 0]), "icmp"),
            (ETHERTYPE_IPV6, ipv6(NO_NEXT_HEADER, &[]), "other"),
            (ETHERTYPE_IPV6, vec![0x60; 39], "other"),
            (ETHERTYPE_IPV6, vec![0x40; 40], "other"),
        ];
        for (ethertype, packet, name) in cases {
            let found = carried(&data(ethertype, &packet)).expect("a packet");
            assert_eq!(found.protocol, name);
        }
    }

    #[test]
    fn no_length_is_too_short() {
        let options = [&[PROTOCOL_TCP, 0, 0, 4, 1, 2, 0, 0][..], &segment()].concat();
        let extended = [
            &[FRAGMENT, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 1, 0, 0, 0, 7][..],
            &segment(),
        ];
        for (ethertype, packet) in [
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_DSR, &options)),
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_TCP, &segment())),
            (ETHERTYPE_IPV6, ipv6(PROTOCOL_TCP, &segment())),
            (ETHERTYPE_IPV6, ipv6(HOP_BY_HOP, &extended.concat())),
        ] {
            let frame = data(ethertype, &packet);
            for length in 0..frame.len() {
                let _ = carried(&frame[..length]);
            }
        }
    }
}

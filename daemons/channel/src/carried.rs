// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet in a frame, as far as records tell packets apart.

use core::fmt;
use core::net::Ipv4Addr;

use hoplab_wire::ieee80211::Frame;
use hoplab_wire::{ipv4, tcp, udp};
use hoplab_wire::{
    ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, NO_NEXT_HEADER, PROTOCOL_DSR, PROTOCOL_ICMP,
    PROTOCOL_TCP, PROTOCOL_UDP,
};

use crate::dot11::{
    BABEL_PORT, BATMAND_PORT, BATMAN_ADV_UNICAST, ETHERTYPE_BATMAN_ADV, IPV6_HEADER,
    IPV6_NEXT_HEADER,
};

/// Octets of a unicast packet's header (batadv_unicast_packet), which an Ethernet frame follows.
const BATMAN_ADV_UNICAST_HEADER: usize = 10;
const ETHERNET_HEADER: usize = 14;
/// Octets before DSR's options (RFC 4728 6.1), their length at its place in it.
const DSR_HEADER: usize = 4;
const DSR_LENGTH: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    pub protocol: &'static str,
    pub ip: Option<Ip>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    /// IANA's number; of what DSR carries, its own.
    pub number: u8,
    pub identification: u16,
    pub ttl: u8,
    /// Header and all, without DSR's options.
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

/// What a frame without FCS carries; none where that is no packet or cannot be read.
pub fn carried(frame: &[u8]) -> Option<Carried> {
    let (ethertype, packet) = Frame::new(frame)?.packet()?;
    Some(of_ethertype(ethertype, packet))
}

fn of_ethertype(ethertype: u16, packet: &[u8]) -> Carried {
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
        ETHERTYPE_IPV6 => {
            let babel = packet.get(IPV6_NEXT_HEADER) == Some(&PROTOCOL_UDP)
                && packet
                    .get(IPV6_HEADER..)
                    .and_then(udp::ports)
                    .map(|ports| ports.1)
                    == Some(BABEL_PORT);
            plain(if babel { "babel" } else { "other" })
        }
        _ => plain("other"),
    }
}

fn of_ethernet(frame: &[u8]) -> Carried {
    match frame.get(ETHERNET_HEADER - 2..) {
        Some([high, low, packet @ ..]) => of_ethertype(u16::from_be_bytes([*high, *low]), packet),
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
        source: view.source(),
        destination: view.destination(),
        number,
        identification: view.identification(),
        ttl: view.ttl(),
        bytes: view.header_len() + length,
        transport,
    };
    let protocol = match (number, transport.map(|ends| ends.destination_port)) {
        (PROTOCOL_UDP, Some(BATMAND_PORT)) => "batman",
        (PROTOCOL_UDP, Some(BABEL_PORT)) => "babel",
        (PROTOCOL_UDP, _) => "udp",
        (PROTOCOL_TCP, _) => "tcp",
        (PROTOCOL_ICMP, _) => "icmp",
        (PROTOCOL_DSR, _) => "dsr",
        _ => "other",
    };
    Some(Carried {
        protocol,
        ip: Some(ip),
    })
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
            "src={} dst={} protocol={} id={} bytes={}",
            self.source, self.destination, self.number, self.identification, self.bytes
        )?;
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
    use hoplab_wire::ieee80211::LLC_SNAP;

    fn data(ethertype: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![8, 0, 0, 0, 2, 0, 0, 0, 0, 7];
        frame.resize(24, 0);
        frame.extend(LLC_SNAP);
        frame.extend(ethertype.to_be_bytes());
        frame.extend(packet);
        frame
    }

    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let [from, to] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
        let mut header = ipv4::Header::new(from, to, protocol, 64);
        header.identification = 77;
        header.emit(payload.len(), &mut packet);
        packet.extend(payload);
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
    fn protocols_have_their_names() {
        let to = |port: u16| [&[0, 1], &port.to_be_bytes()[..], &[0; 4]].concat();
        let mut ipv6 = vec![0x60; 40];
        ipv6[6] = PROTOCOL_UDP;
        ipv6.extend(to(BABEL_PORT));
        let cases = [
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_UDP, &to(5201)), "udp"),
            (
                ETHERTYPE_IPV4,
                ipv4(PROTOCOL_UDP, &to(BATMAND_PORT)),
                "batman",
            ),
            (
                ETHERTYPE_IPV4,
                ipv4(PROTOCOL_DSR, &[NO_NEXT_HEADER, 0, 0, 0]),
                "dsr",
            ),
            (ETHERTYPE_IPV4, ipv4(PROTOCOL_ICMP, &[8, 0]), "icmp"),
            (ETHERTYPE_IPV4, vec![0; 20], "other"),
            (ETHERTYPE_ARP, vec![0; 28], "arp"),
            (ETHERTYPE_BATMAN_ADV, vec![0], "batman-adv"),
            (ETHERTYPE_IPV6, ipv6, "babel"),
        ];
        for (ethertype, packet, name) in cases {
            let found = carried(&data(ethertype, &packet)).expect("a packet");
            assert_eq!(found.protocol, name);
        }
    }

    #[test]
    fn no_length_is_too_short() {
        let options = [&[PROTOCOL_TCP, 0, 0, 4, 1, 2, 0, 0][..], &segment()].concat();
        for packet in [ipv4(PROTOCOL_DSR, &options), ipv4(PROTOCOL_TCP, &segment())] {
            let frame = data(ETHERTYPE_IPV4, &packet);
            for length in 0..frame.len() {
                let _ = carried(&frame[..length]);
            }
        }
    }
}

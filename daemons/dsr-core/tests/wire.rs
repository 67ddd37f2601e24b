// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wire formats: hand-written vectors from the figures of RFC 4728 §6, both ways, and
//! properties over arbitrary values and arbitrary bytes.

use crate::support::settings;
use hoplab_dsr_core::wire::{
    options::DsrOption, ErrorKind, Ipv4Header, Packet, ParseError, RouteError, RouteRequest,
    SourceRoute,
};
use hoplab_dsr_core::{Dsr, Instant, Mac, Stream};
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|p| (p[0] * 16 + p[1]) as u8).collect()
}

fn a(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn both_ways(option: DsrOption, text: &str) {
    let bytes = hex(text);
    let mut out = Vec::new();
    option.emit(&mut out);
    assert_eq!(out, bytes, "emit {option:?}");
    assert_eq!(DsrOption::parse(&bytes), Ok((option, bytes.len())));
}

#[test]
fn route_request() {
    let empty = RouteRequest {
        identification: 0x1234,
        target: a(4),
        addresses: vec![],
    };
    both_ways(DsrOption::RouteRequest(empty), "01 06 1234 0a000004");
    let two = RouteRequest {
        identification: 7,
        target: a(9),
        addresses: vec![a(2), a(3)],
    };
    both_ways(
        DsrOption::RouteRequest(two),
        "01 0e 0007 0a000009 0a000002 0a000003",
    );
}

#[test]
fn route_reply() {
    let addresses = vec![a(2), a(4)];
    let reply = DsrOption::RouteReply {
        last_hop_external: false,
        addresses: addresses.clone(),
    };
    both_ways(reply, "02 09 00 0a000002 0a000004");
    let external = DsrOption::RouteReply {
        last_hop_external: true,
        addresses,
    };
    both_ways(external, "02 09 80 0a000002 0a000004");
}

#[test]
fn route_errors() {
    let error = |kind, salvage, extension| {
        DsrOption::RouteError(RouteError {
            kind,
            salvage,
            source: a(2),
            destination: a(1),
            extension,
        })
    };
    both_ways(
        error(ErrorKind::NodeUnreachable(a(3)), 5, vec![]),
        "03 0e 01 05 0a000002 0a000001 0a000003",
    );
    both_ways(
        error(ErrorKind::FlowStateNotSupported, 0, vec![]),
        "03 0a 02 00 0a000002 0a000001",
    );
    both_ways(
        error(ErrorKind::OptionNotSupported(0xa1), 0, vec![]),
        "03 0b 03 00 0a000002 0a000001 a1",
    );
    both_ways(
        error(ErrorKind::NodeUnreachable(a(3)), 0, vec![0x54, 1, 9]),
        "03 11 01 00 0a000002 0a000001 0a000003 54 01 09",
    );
}

#[test]
fn acknowledgements() {
    both_ways(
        DsrOption::AckRequest {
            identification: 0xabcd,
        },
        "a0 02 abcd",
    );
    let ack = DsrOption::Ack {
        identification: 0xabcd,
        source: a(2),
        destination: a(1),
    };
    both_ways(ack, "20 0a abcd 0a000002 0a000001");
}

#[test]
fn source_route() {
    let route = |first, last, salvage, segments_left| {
        DsrOption::SourceRoute(SourceRoute {
            first_hop_external: first,
            last_hop_external: last,
            salvage,
            segments_left,
            addresses: vec![a(2), a(3)],
        })
    };
    both_ways(route(false, false, 0, 2), "60 0a 0002 0a000002 0a000003");
    both_ways(route(true, false, 15, 63), "60 0a 83ff 0a000002 0a000003");
    both_ways(route(false, true, 1, 0), "60 0a 4040 0a000002 0a000003");
}

#[test]
fn padding_and_the_rest() {
    both_ways(DsrOption::Pad1, "e0");
    both_ways(DsrOption::PadN(0), "00 00");
    both_ways(DsrOption::PadN(3), "00 03 000000");
    both_ways(
        DsrOption::Unknown {
            kind: 0x45,
            data: vec![1, 2],
        },
        "45 02 0102",
    );
    both_ways(DsrOption::Visited(vec![a(1)]), "1e 04 0a000001");
    both_ways(DsrOption::Signals(vec![-70, 127]), "1d 02 ba7f");
}

/// A whole packet: TCP's first octets behind a source route of one hop and a request for an
/// acknowledgement. IP total length, DSR payload length and checksum are worked out by hand.
#[test]
fn a_whole_packet() {
    let text = "45 00 0030 0001 4000 40 30 26 94 0a000001 0a000003 \
                06 00 000c 60 06 0001 0a000002 a0 02 0005 \
                1451c000 deadbeef 0000";
    let mut bytes = hex(text);
    bytes.truncate(46);
    bytes[3] = 46;
    bytes[10..12].copy_from_slice(&[0, 0]);
    let sum = hoplab_dsr_core::wire::ipv4::checksum(&bytes[..20]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!(packet.ip.protocol, 6);
    assert_eq!(packet.source_route().unwrap().receiver(), Some(a(2)));
    assert_eq!(packet.payload, hex("1451c000 deadbeef 0000"));
    assert_eq!(packet.emit(), bytes);
}

#[test]
fn options_are_padded_before_a_payload() {
    let mut packet = Packet::control(
        a(1),
        a(3),
        vec![DsrOption::RouteReply {
            last_hop_external: false,
            addresses: vec![a(3)],
        }],
    );
    assert_eq!(packet.emit().len(), 20 + 4 + 7);
    packet.payload = vec![9; 5];
    packet.ip.protocol = 17;
    let bytes = packet.emit();
    assert_eq!(bytes.len(), 20 + 4 + 8 + 5);
    assert_eq!(bytes.len(), packet.wire_len());
    assert_eq!(Packet::parse(&bytes).unwrap().payload, packet.payload);
}

#[test]
fn malformed_input_is_named() {
    assert_eq!(Packet::parse(&[]), Err(ParseError::Truncated));
    let mut bytes = Packet::control(a(1), a(2), vec![DsrOption::PadN(2)]).emit();
    bytes[21] |= 0x80;
    assert_eq!(Packet::parse(&bytes), Err(ParseError::FlowState));
    bytes[8] ^= 1;
    assert_eq!(Packet::parse(&bytes), Err(ParseError::BadChecksum));
    assert_eq!(
        DsrOption::parse(&hex("01 07 0001 0a000004 00")),
        Err(ParseError::BadOption)
    );
    assert_eq!(
        DsrOption::parse(&hex("60 0a 0002 0a")),
        Err(ParseError::Truncated)
    );
}

/// An unknown option, each action of §8.1.6, through a whole station.
#[test]
fn unknown_options_are_treated_as_their_type_demands() {
    for (kind, delivered, error) in [
        (0x05u8, true, false),
        (0x25, true, false),
        (0x45, true, false),
        (0x65, false, false),
        (0x85, true, true),
        (0xe5, false, true),
    ] {
        let mut node = Dsr::new(
            a(2),
            Mac([2, 0, 0, 0, 0, 2]),
            settings(),
            Stream::new(1, "dsr/n2"),
        );
        let packet = Packet {
            ip: Ipv4Header::new(a(1), a(2), 17, 64),
            options: Some(vec![DsrOption::Unknown {
                kind,
                data: vec![1, 2],
            }]),
            payload: vec![0; 12],
        };
        let (from, to) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        node.handle_frame(Instant(1), from, to, &packet.emit(), None, false);
        assert_eq!(node.stats().delivered == 1, delivered, "option {kind:#x}");
        assert_eq!(node.stats().errors_sent == 1, error, "option {kind:#x}");
    }
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

fn option() -> impl Strategy<Value = DsrOption> {
    let list = || prop::collection::vec(address(), 0..20);
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        (any::<u16>(), address(), list()).prop_map(|(identification, target, addresses)| {
            DsrOption::RouteRequest(RouteRequest {
                identification,
                target,
                addresses,
            })
        }),
        (any::<bool>(), prop::collection::vec(address(), 1..20)).prop_map(
            |(last_hop_external, addresses)| DsrOption::RouteReply {
                last_hop_external,
                addresses
            }
        ),
        (address(), address(), address(), 0u8..16, bytes()).prop_map(
            |(source, destination, node, salvage, extension)| {
                let kind = ErrorKind::NodeUnreachable(node);
                DsrOption::RouteError(RouteError {
                    kind,
                    salvage,
                    source,
                    destination,
                    extension,
                })
            }
        ),
        any::<u16>().prop_map(|identification| DsrOption::AckRequest { identification }),
        (any::<u16>(), address(), address()).prop_map(|(identification, source, destination)| {
            DsrOption::Ack {
                identification,
                source,
                destination,
            }
        }),
        (any::<bool>(), any::<bool>(), 0u8..16, 0u8..64, list()).prop_map(
            |(first_hop_external, last_hop_external, salvage, segments_left, addresses)| {
                DsrOption::SourceRoute(SourceRoute {
                    first_hop_external,
                    last_hop_external,
                    salvage,
                    segments_left,
                    addresses,
                })
            }
        ),
        Just(DsrOption::Pad1),
        (0u8..9).prop_map(DsrOption::PadN),
        (0x21u8..0x5f, bytes()).prop_map(|(kind, data)| DsrOption::Unknown { kind, data }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn packets_survive_the_round_trip(
        options in prop::collection::vec(option(), 1..6),
        (source, destination) in (address(), address()),
        identification: u16,
    ) {
        let mut packet = Packet::control(source, destination, options);
        packet.ip.identification = identification;
        prop_assert_eq!(Packet::parse(&packet.emit()), Ok(packet));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Packet::parse(&bytes);
        let _ = DsrOption::parse(&bytes);
    }

    /// Any well-formed header with any options: the station must neither panic nor send a
    /// packet longer than the link carries.
    #[test]
    fn a_station_survives_any_packet(
        packets in prop::collection::vec((
            prop::collection::vec(option(), 0..4), 0u8..5, 0u8..5, any::<bool>(), 0u8..5,
        ), 1..10),
    ) {
        let own = Mac([2, 0, 0, 0, 0, 2]);
        let mut node = Dsr::new(a(2), own, settings(), Stream::new(1, "dsr/n2"));
        let mut now = Instant(0);
        for (options, source, destination, promiscuous, from) in packets {
            let mut packet = Packet::control(a(source), a(destination), options);
            packet.ip.protocol = 17;
            packet.payload = vec![0; 20];
            let from = Mac([2, 0, 0, 0, 0, from]);
            node.handle_frame(now, from, own, &packet.emit(), Some(-60), promiscuous);
            while let Some(output) = node.poll_output() {
                if let hoplab_dsr_core::Output::Transmit { bytes, .. } = output {
                    prop_assert!(bytes.len() <= 2272);
                }
            }
            now = node.next_deadline().unwrap_or(now).max(now);
            node.handle_timeout(now);
        }
    }
}

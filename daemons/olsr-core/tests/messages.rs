// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets as octets (RFC 3626 §3.3, §6.1, §9.1, §18.3).

use hoplab_olsr_core::message::{
    self, Body, CodedTime, Hello, LinkType, Listed, Message, NeighbourType, Qualities, Tc,
};
use hoplab_olsr_core::{Duration, Sequence16};
use std::net::Ipv4Addr;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

#[test]
fn times_are_those_of_18_3() {
    let seconds = |s: f64| CodedTime::of(Duration::from_secs_f64(s));
    // The codes of 2, 5, 6, 15 and 30 s, each a multiple of a sixteenth.
    let codes = [0x05, 0x46, 0x86, 0xe7, 0xe8];
    assert_eq!([2.0, 5.0, 6.0, 15.0, 30.0].map(|s| seconds(s).0), codes);
    assert_eq!(CodedTime(0xe8).time(), Duration::from_secs(30));
    assert_eq!(seconds(0.0).0, 0);
    // Between two codes the longer time holds.
    assert_eq!(seconds(2.01).time(), Duration::from_secs_f64(2.125));
    assert_eq!(seconds(9e9).0, 0xff);
    for code in 0..=255 {
        let time = CodedTime(code).time();
        assert_eq!(CodedTime::of(time).time(), time);
    }
}

fn envelope(kind: u8, body: Vec<u8>) -> Message {
    Message {
        kind,
        validity: CodedTime(0x86),
        originator: A,
        ttl: 1,
        hops: 0,
        sequence: Sequence16(0x0102),
        body,
    }
}

#[test]
fn a_hello_is_that_of_6_1() {
    let listed = |link, neighbour, address| Listed {
        link,
        neighbour,
        address,
        qualities: Qualities::default(),
    };
    let hello = Hello {
        interval: CodedTime(0x05),
        willingness: 3,
        neighbours: vec![
            listed(LinkType::Asymmetric, NeighbourType::Not, A),
            listed(LinkType::Symmetric, NeighbourType::Relay, B),
        ],
        with_qualities: false,
    };
    let (kind, body) = hello.emit();
    let expected = [
        [0, 0, 5, 3, 1, 0, 0, 8, 10, 0, 0, 1],
        [0x0a, 0, 0, 8, 10, 0, 0, 2, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!((kind, &body[..]), (1, &expected[..20]));
    let message = envelope(kind, body);
    assert_eq!(message.parsed(), Ok(Body::Hello(hello)));
    let octets = message::emit(Sequence16(7), &[message.emit()]);
    assert_eq!(octets[..8], [0, 36, 0, 7, 1, 0x86, 0, 32]);
    assert_eq!(octets[8..16], [10, 0, 0, 1, 1, 0, 1, 2]);
    assert_eq!(message::parse(&octets), Ok((Sequence16(7), vec![message])));
}

#[test]
fn a_tc_with_qualities_is_olsrds() {
    let qualities = Qualities {
        here: 255,
        there: 128,
    };
    let tc = Tc {
        sequence: Sequence16(0x0304),
        advertised: vec![(B, qualities)],
        with_qualities: true,
    };
    let (kind, body) = tc.emit();
    assert_eq!(body, [3, 4, 0, 0, 10, 0, 0, 2, 255, 128, 0, 0]);
    assert_eq!(envelope(kind, body).parsed(), Ok(Body::Tc(tc)));
    assert_eq!(kind, 202);
}

#[test]
fn what_is_cut_or_contradicts_itself_is_no_message() {
    let whole = envelope(2, vec![0, 1, 0, 0, 10, 0, 0, 2]);
    assert!(whole.parsed().is_ok());
    assert!(envelope(2, vec![0, 1, 0]).parsed().is_err());
    assert!(envelope(2, vec![0, 1, 0, 0, 10]).parsed().is_err());
    // A link message that is longer than the HELLO, or shorter than its own header.
    for size in [0, 3, 9] {
        let body = vec![0, 0, 5, 3, 6, 0, 0, size, 10, 0, 0, 2];
        assert!(envelope(1, body).parsed().is_err(), "{size}");
    }
    // Codes without a sense are skipped (§6.1.1): symmetric and no neighbour, and unknown ones.
    for code in [0x02, 0x0e, 0xf1] {
        let body = vec![0, 0, 5, 3, code, 0, 0, 8, 10, 0, 0, 2];
        let parsed = envelope(1, body).parsed();
        assert!(matches!(parsed, Ok(Body::Hello(h)) if h.neighbours.is_empty()));
    }
    // A packet is as long as it says; a message that is cut ends it (§3.4).
    let octets = message::emit(Sequence16(1), &[whole.emit(), whole.emit()]);
    assert_eq!(
        message::parse(&octets[..octets.len() - 1]),
        Err(message::Malformed)
    );
    let mut shorter = octets.clone();
    shorter[1] -= 1;
    assert_eq!(message::parse(&shorter).map(|(_, all)| all.len()), Ok(1));
    assert_eq!(message::parse(&[0, 3, 0]), Err(message::Malformed));
    // Kinds that nobody knows are carried.
    assert_eq!(envelope(99, vec![1]).parsed(), Ok(Body::Other));
}

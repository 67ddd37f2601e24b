// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The formats of RFC 3561 §5 and §9, as octets both ways.

use hoplab_aodv_core::message::{hello_interval, ParseError, Reply, Request, RouteError};
use hoplab_aodv_core::{Duration, Message, Sequence};
use std::net::Ipv4Addr;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

fn both_ways(message: &Message, octets: &[u8]) {
    assert_eq!(message.emit(), octets);
    assert_eq!(Message::parse(octets).as_ref(), Ok(message));
    for length in 0..octets.len() {
        assert_eq!(
            Message::parse(&octets[..length]),
            Err(ParseError::Truncated)
        );
    }
}

#[test]
fn a_route_request_is_that_of_5_1() {
    let request = Request {
        gratuitous: true,
        destination_only: false,
        hops: 3,
        id: 0x0102_0304,
        destination: B,
        sequence: None,
        originator: A,
        originator_sequence: Sequence(0xffff_fffe),
        extensions: Vec::new(),
    };
    let octets = [
        1, 0x28, 0, 3, 1, 2, 3, 4, 10, 0, 0, 9, 0, 0, 0, 0, 10, 0, 0, 1, 255, 255, 255, 254,
    ];
    both_ways(&Message::Request(request.clone()), &octets);
    let known = Request {
        gratuitous: false,
        destination_only: true,
        sequence: Some(Sequence(7)),
        ..request
    };
    let octets = [
        1, 0x10, 0, 3, 1, 2, 3, 4, 10, 0, 0, 9, 0, 0, 0, 7, 10, 0, 0, 1, 255, 255, 255, 254,
    ];
    both_ways(&Message::Request(known), &octets);
}

fn reply(extensions: Vec<u8>) -> Reply {
    Reply {
        acknowledge: true,
        prefix: 0,
        hops: 2,
        destination: B,
        sequence: Sequence(7),
        originator: A,
        lifetime: Duration::from_millis(6000),
        extensions,
    }
}

#[test]
fn a_route_reply_is_that_of_5_2() {
    let octets = [
        2, 0x40, 0, 2, 10, 0, 0, 9, 0, 0, 0, 7, 10, 0, 0, 1, 0, 0, 0x17, 0x70,
    ];
    both_ways(&Message::Reply(reply(Vec::new())), &octets);
}

#[test]
fn route_errors_and_acknowledgements_are_those_of_5_3_and_5_4() {
    let error = RouteError {
        no_delete: true,
        unreachable: vec![(B, Sequence(8)), (A, Sequence(1))],
    };
    let octets = [
        3, 0x80, 0, 2, 10, 0, 0, 9, 0, 0, 0, 8, 10, 0, 0, 1, 0, 0, 0, 1,
    ];
    both_ways(&Message::Error(error), &octets);
    both_ways(&Message::ReplyAck, &[4, 0]);
    assert_eq!(Message::parse(&[3, 0, 0, 0]), Err(ParseError::Empty));
    assert_eq!(Message::parse(&[9, 0, 0, 0]), Err(ParseError::UnknownType));
}

#[test]
fn extensions_are_skipped_up_to_127_and_refused_beyond() {
    let interval = hello_interval(Duration::from_secs(2));
    assert_eq!(interval, [1, 4, 0, 0, 7, 0xd0]);
    let with = Message::Reply(reply([&[77, 1, 5][..], &interval].concat()));
    let parsed = Message::parse(&with.emit());
    assert_eq!(parsed, Ok(with));
    let found = reply([&[77, 1, 5][..], &interval].concat()).hello_interval();
    assert_eq!(found, Some(Duration::from_secs(2)));
    let octets = |tail: &[u8]| [&Message::ReplyAck.emit()[..], tail].concat();
    assert_eq!(Message::parse(&octets(&[127, 0])), Ok(Message::ReplyAck));
    let refused = Err(ParseError::UnknownExtension);
    assert_eq!(Message::parse(&octets(&[128, 0])), refused);
    let cut = Err(ParseError::Truncated);
    assert_eq!(Message::parse(&octets(&[5, 1])), cut);
    assert_eq!(Message::parse(&octets(&[5])), cut);
}

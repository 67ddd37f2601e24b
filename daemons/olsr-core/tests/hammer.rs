// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many mutated packets against the parser and a station, without a fuzzing compiler.
//! `HOPLAB_FUZZ_INPUTS` sets how many (default 100 000).

use crate::support::{hop, ip, mac, packet, settings};
use hoplab_olsr_core::message::{
    self, Body, CodedTime, Hello, LinkType, Listed, Message, NeighbourType, Qualities, Tc,
};
use hoplab_olsr_core::{Duration, Instant, Metric, Olsr, Protocol, Sequence16, Settings, Stream};

fn below(random: &mut Stream, bound: u32) -> usize {
    random.below(bound) as usize
}

fn body(random: &mut Stream) -> (u8, Vec<u8>) {
    let with_qualities = random.below(2) == 0;
    let qualities = |random: &mut Stream| Qualities {
        here: random.bits() as u8,
        there: random.bits() as u8,
    };
    let count = below(random, 6);
    if random.below(2) == 0 {
        let links = [LinkType::Asymmetric, LinkType::Symmetric, LinkType::Lost];
        let kinds = [
            NeighbourType::Not,
            NeighbourType::Symmetric,
            NeighbourType::Relay,
        ];
        let mut neighbours: Vec<_> = (0..count)
            .map(|_| Listed {
                link: links[below(random, 3)],
                neighbour: kinds[below(random, 3)],
                address: ip(below(random, 6)),
                qualities: qualities(random),
            })
            .collect();
        neighbours.sort_by_key(|one| (one.link, one.neighbour));
        let hello = Hello {
            interval: CodedTime(random.bits() as u8),
            willingness: random.bits() as u8,
            neighbours,
            with_qualities,
        };
        return hello.emit();
    }
    let advertised = (0..count).map(|_| (ip(below(random, 40)), qualities(random)));
    let tc = Tc {
        advertised: advertised.collect(),
        sequence: Sequence16(random.bits() as u16),
        with_qualities,
    };
    tc.emit()
}

fn octets(random: &mut Stream, from: usize) -> Vec<u8> {
    let messages: Vec<_> = (0..random.below(3))
        .map(|_| {
            let (kind, body) = body(random);
            let message = Message {
                kind,
                validity: CodedTime(random.bits() as u8),
                originator: ip([from, below(random, 6)][below(random, 2)]),
                ttl: random.bits() as u8,
                hops: random.bits() as u8,
                sequence: Sequence16(random.bits() as u16 % 64),
                body,
            };
            message.emit()
        })
        .collect();
    let mut bytes = message::emit(Sequence16(random.bits() as u16), &messages);
    for _ in 0..random.below(3) {
        let at = below(random, bytes.len() as u32);
        bytes[at] = random.bits() as u8;
    }
    bytes
}

fn station(number: u64) -> Olsr {
    let s = Settings {
        topology_table_size: 32,
        duplicate_table_size: 32,
        hysteresis: number % 2 == 0,
        triggered_tc: number % 3 == 0,
        link_layer_feedback: number % 5 == 0,
        tc_redundancy: (number % 3) as u8,
        mpr_coverage: 1 + (number % 2) as usize,
        metric: [Metric::Hops, Metric::Etx][(number % 2) as usize],
        ..settings()
    };
    Olsr::new(Instant::ZERO, ip(0), s, Stream::new(number, "hammer"))
}

#[test]
fn the_parser_and_a_station_survive() {
    let inputs = std::env::var("HOPLAB_FUZZ_INPUTS").unwrap_or_else(|_| "100000".into());
    let inputs: u64 = inputs
        .parse()
        .expect("HOPLAB_FUZZ_INPUTS: expected a number");
    let mut random = Stream::new(3626, "hammer");
    let (mut node, mut now, mut parsed) = (station(0), Instant::ZERO, 0);
    for round in 0..inputs {
        if round % 2000 == 0 {
            (node, now) = (station(round / 2000), Instant::ZERO);
        }
        let other = below(&mut random, 40);
        let bytes = octets(&mut random, other);
        if let Ok((number, messages)) = message::parse(&bytes) {
            let again: Vec<_> = messages.iter().map(Message::emit).collect();
            assert_eq!(
                message::parse(&message::emit(number, &again)),
                Ok((number, messages.clone()))
            );
            for one in messages {
                match one.parsed() {
                    Ok(Body::Hello(hello)) => {
                        let (kind, body) = hello.emit();
                        assert_eq!(
                            Message { kind, body, ..one }.parsed(),
                            Ok(Body::Hello(hello))
                        );
                        parsed += 1;
                    }
                    Ok(Body::Tc(tc)) => assert_eq!(tc.emit().1.len(), one.body.len()),
                    _ => {}
                }
            }
        }
        match random.below(8) {
            0 => node.handle_packet(now, packet(other % 6, (round % 6) as usize, 9, 0)),
            1 => node.handle_failure(now, mac(other), &packet(other % 6, 3, 9, 0)),
            _ => node.handle_message(now, hop(other), 1, &bytes),
        }
        now += Duration(random.bits() % 400_000_000);
        node.handle_timeout(now);
        while node.poll_output().is_some() {}
        let [links, two_hop, topology] = node.sizes();
        assert!(links <= 256 && two_hop <= 4096 && topology <= 32);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
    assert!(parsed > inputs / 5, "{parsed}");
}

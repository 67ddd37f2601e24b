// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many mutated updates against the parser and a station, without a fuzzing compiler.
//! `HOPLAB_FUZZ_INPUTS` sets how many (default 100 000).

use crate::support::{hop, ip, mac, packet, settings};
use hoplab_dsdv_core::message::{emit, parse, Row, INFINITE};
use hoplab_dsdv_core::{Dsdv, Duration, Instant, Protocol, Sequence, Settings, Stream};

const ROUTES: usize = 16;

fn octets(random: &mut Stream) -> Vec<u8> {
    let row = |random: &mut Stream| Row {
        destination: ip(random.below(40) as usize),
        hops: [random.below(6), INFINITE, random.bits() as u32][random.below(3) as usize],
        sequence: Sequence([random.below(9), random.bits() as u32][random.below(2) as usize]),
    };
    let rows: Vec<_> = (0..random.below(5)).map(|_| row(random)).collect();
    let mut bytes = emit(&rows);
    for _ in 0..random.below(3).min(bytes.len() as u32) {
        let at = random.below(bytes.len() as u32) as usize;
        bytes[at] = random.bits() as u8;
    }
    if random.below(9) == 0 {
        bytes.pop();
    }
    bytes
}

fn station(number: u64) -> Dsdv {
    let s = Settings {
        route_table_size: ROUTES,
        damp_times: 2 * (number % 2),
        damp_shorter: number % 7 == 0,
        triggered_by_sequence: number % 3 == 0,
        breaks_of_next_hop: number % 5 == 0,
        queue_packets: (number % 4) as usize,
        ..settings()
    };
    Dsdv::new(Instant::ZERO, ip(0), s, Stream::new(number, "hammer"))
}

#[test]
fn the_parser_and_a_station_survive() {
    let inputs = std::env::var("HOPLAB_FUZZ_INPUTS").unwrap_or_else(|_| "100000".into());
    let inputs: u64 = inputs
        .parse()
        .expect("HOPLAB_FUZZ_INPUTS: expected a number");
    let mut random = Stream::new(1994, "hammer");
    let (mut node, mut now, mut parsed) = (station(0), Instant::ZERO, 0);
    for round in 0..inputs {
        if round % 2000 == 0 {
            (node, now) = (station(round / 2000), Instant::ZERO);
        }
        let bytes = octets(&mut random);
        if let Ok(rows) = parse(&bytes) {
            parsed += 1;
            assert_eq!(emit(&rows), bytes);
        }
        let other = random.below(40) as usize;
        match random.below(8) {
            0 => node.handle_packet(now, packet(other % 6, (round % 6) as usize, 9, 0)),
            1 => node.handle_failure(now, mac(other), &packet(other % 6, 3, 9, 0)),
            _ => node.handle_message(now, hop(other), 1, &bytes),
        }
        now += Duration(random.bits() % 400_000_000);
        node.handle_timeout(now);
        while node.poll_output().is_some() {}
        assert!(node.table().len() <= ROUTES);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
    assert!(parsed > inputs / 2, "{parsed}");
}

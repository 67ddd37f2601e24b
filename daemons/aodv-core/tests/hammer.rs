// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many mutated messages and packets against the parser and a station, without a fuzzing compiler.
//! `HOPLAB_FUZZ_INPUTS` sets how many (default 100 000).

use crate::support::{hop, ip, mac, message, packet, segment, settings};
use hoplab_aodv_core::{Aodv, Duration, Instant, Message, Protocol, Settings, Stream};

fn octets(random: &mut Stream) -> Vec<u8> {
    let kind = [1, 1, 2, 2, 3, 4, 9][(random.bits() % 7) as usize];
    let length = match kind {
        1 => 24,
        2 => 20,
        3 => 4 + 8 * (random.bits() % 4) as usize,
        _ => 2,
    };
    let mut bytes = vec![0; length.max(4)];
    bytes[0] = kind;
    bytes[1] = random.bits() as u8;
    bytes[3] = match kind {
        3 => (length.saturating_sub(4) / 8) as u8,
        _ => (random.bits() % 5) as u8,
    };
    for at in (4..bytes.len().saturating_sub(3)).step_by(4) {
        let word = match random.bits() % 3 {
            0 => (random.bits() % 5) as u32,
            1 => u32::from(ip((random.bits() % 6) as usize)),
            _ => random.bits() as u32,
        };
        bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }
    for _ in 0..random.bits() % 3 {
        let at = (random.bits() % bytes.len() as u64) as usize;
        bytes[at] = random.bits() as u8;
    }
    bytes.truncate(bytes.len() - (random.bits() % 2) as usize * (random.bits() % 3) as usize);
    bytes
}

fn station(number: u64) -> Aodv {
    let s = Settings {
        route_table_size: 32,
        request_table_size: 32,
        hello: number % 2 == 0,
        rrep_ack: number % 3 == 0,
        gratuitous_rrep: number % 5 == 0,
        after_reboot: number % 7 == 0,
        ..settings()
    };
    let mut node = Aodv::new(Instant::ZERO, ip(0), s, Stream::new(number, "hammer"));
    if number % 2 == 1 {
        node.report_failures();
    }
    node
}

#[test]
fn the_parser_and_a_station_survive() {
    let inputs = std::env::var("HOPLAB_FUZZ_INPUTS").unwrap_or_else(|_| "100000".into());
    let inputs: u64 = inputs
        .parse()
        .expect("HOPLAB_FUZZ_INPUTS: expected a number");
    let mut random = Stream::new(3561, "hammer");
    let (mut node, mut now, mut parsed) = (station(0), Instant::ZERO, 0);
    for round in 0..inputs {
        if round % 5000 == 0 {
            (node, now) = (station(round / 5000), Instant::ZERO);
        }
        let bytes = octets(&mut random);
        if let Ok(message) = Message::parse(&bytes) {
            parsed += 1;
            assert_eq!(Message::parse(&message.emit()), Ok(message));
        }
        let other = (random.bits() % 40) as usize;
        match random.bits() % 8 {
            0 => node.handle_packet(now, packet(other % 6, (round % 6) as usize, 9, 0)),
            1 => node.handle_failure(now, mac(other), &message(0, other, &bytes)),
            2 => node.handle_failure(now, mac(other), &segment(other % 6, 3, round as u32 % 4)),
            3 => node.handle_received(now, mac(other), ip(other), ip((round % 6) as usize)),
            _ => node.handle_message(now, hop(other), (round % 9) as u8, &bytes),
        }
        now += Duration(random.bits() % 50_000_000);
        node.handle_timeout(now);
        while node.poll_output().is_some() {}
        assert!(node.table().len() <= 32);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
    assert!(parsed > inputs / 3, "{parsed}");
}

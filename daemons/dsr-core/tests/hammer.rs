// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many mutated packets against the parser and against a station, without a fuzzing compiler.
//! `HOPLAB_FUZZ_INPUTS` sets how many (default 200 000).

use crate::support::settings;
use hoplab_dsr_core::settings::Learning;
use hoplab_dsr_core::wire::{options::DsrOption, Ipv4Header, Packet, PROTOCOL_DSR};
use hoplab_dsr_core::{Dsr, Duration, Instant, Mac, Output, Settings, Stream, Token};
use std::net::Ipv4Addr;

fn inputs() -> u64 {
    let text = std::env::var("HOPLAB_FUZZ_INPUTS").unwrap_or_else(|_| "200000".into());
    text.parse()
        .expect("HOPLAB_FUZZ_INPUTS: expected a number of inputs")
}

/// Options whose types, lengths and addresses are plausible more often than chance allows.
fn options(random: &mut Stream) -> Vec<u8> {
    const KINDS: [u8; 11] = [1, 2, 3, 32, 96, 96, 160, 224, 0, 30, 29];
    let mut area = Vec::new();
    for _ in 0..1 + random.bits() % 4 {
        let kind = KINDS[(random.bits() % 11) as usize];
        let addresses = random.bits() % 6;
        let fixed = match kind {
            1 => 6,
            2 => 1,
            3 | 32 => 10,
            160 | 96 => 2,
            _ => 0,
        };
        let len = fixed + 4 * addresses as u8;
        area.push(kind);
        if kind == 224 {
            continue;
        }
        area.push(len);
        for i in 0..len {
            let inner = i.wrapping_sub(fixed) % 4;
            area.push(if i < fixed {
                (random.bits() % 8) as u8
            } else {
                [10, 0, 0, (random.bits() % 6) as u8][usize::from(inner)]
            });
        }
    }
    for _ in 0..random.bits() % 3 {
        let at = (random.bits() % area.len() as u64) as usize;
        area[at] = random.bits() as u8;
    }
    area
}

fn packet(random: &mut Stream) -> Vec<u8> {
    let area = options(random);
    let mut address = || Ipv4Addr::new(10, 0, 0, (random.bits() % 6) as u8);
    let ip = Ipv4Header::new(address(), address(), PROTOCOL_DSR, 5);
    let mut bytes = Vec::new();
    ip.emit(area.len() + 4, &mut bytes);
    bytes.extend_from_slice(&[17, 0, 0, area.len() as u8]);
    bytes.extend_from_slice(&area);
    bytes
}

/// By turns with the RFC's settings and with those that do what the RFC does not ask for.
fn station(own: Mac, number: u64) -> Dsr {
    let s = match number % 2 {
        0 => settings(),
        _ => Settings {
            learning: Learning::Onward,
            salvage_discovery: true,
            visited_option: false,
            nonpropagating_every_time: true,
            overhear_every_hop: false,
            signal_threshold_dbm: Some(-70),
            ..settings()
        },
    };
    Dsr::new(
        Ipv4Addr::new(10, 0, 0, 2),
        own,
        s,
        Stream::new(number, "hammer"),
    )
}

#[test]
fn the_parser_and_a_station_survive() {
    let own = Mac([2, 0, 0, 0, 0, 2]);
    let mut random = Stream::new(4728, "hammer");
    let mut parsed = 0u64;
    let mut node = station(own, 0);
    let mut now = Instant(0);
    let mut tokens: Vec<Token> = Vec::new();
    for round in 0..inputs() {
        if round % 5000 == 0 {
            node = station(own, round / 5000);
        }
        let bytes = packet(&mut random);
        if let Ok(packet) = Packet::parse(&bytes) {
            parsed += 1;
            assert_eq!(Packet::parse(&packet.emit()).as_ref(), Ok(&packet));
        }
        let _ = DsrOption::parse(&bytes[24..]);
        let from = Mac([2, 0, 0, 0, 0, (random.bits() % 6) as u8]);
        node.handle_frame(now, from, own, &bytes, Some(-70), random.bits() % 2 == 0);
        if let Some(token) = tokens.pop() {
            node.handle_tx_status(now, token, random.bits() % 2 == 0);
        }
        while let Some(output) = node.poll_output() {
            if let Output::Transmit { bytes, token, .. } = output {
                assert!(bytes.len() <= 2272);
                tokens.push(token);
            }
        }
        tokens.truncate(64);
        now += Duration(random.bits() % 5_000_000);
        node.handle_timeout(now);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
    assert!(parsed * 3 > inputs(), "only {parsed} inputs were packets");
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A station fed with arbitrary packets, failures and time: no panic, tables within their bounds, no
//! deadline in the past after a timeout.
#![no_main]

use hoplab_olsr_core::{Duration, Hop, Instant, Mac, Metric, Olsr, Protocol, Settings, Stream};
use hoplab_wire::ipv4::Header;
use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;
use std::sync::OnceLock;

const LINKS: usize = 16;
/// What every input's station begins with, read and hashed once.
static BEGINNING: OnceLock<(Settings, Stream)> = OnceLock::new();

fn beginning() -> (Settings, Stream) {
    let text = include_str!("../../tests/settings.json");
    let settings: Settings = serde_json::from_str(text).expect("a document of settings");
    (settings, Stream::new(1, "olsr/n0"))
}

fn address(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n % 24)
}

fn packet(source: u8, destination: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header::new(address(source), address(destination), 17, 9).emit(body.len(), &mut bytes);
    bytes.extend_from_slice(body);
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let (settings, random) = BEGINNING.get_or_init(beginning).clone();
    let flags = bytes.first().copied().unwrap_or(0);
    let settings = Settings {
        topology_table_size: LINKS,
        duplicate_table_size: LINKS,
        hysteresis: flags & 1 != 0,
        triggered_tc: flags & 2 != 0,
        link_layer_feedback: flags & 4 != 0,
        metric: if flags & 8 != 0 {
            Metric::Etx
        } else {
            Metric::Hops
        },
        tc_redundancy: flags >> 4 & 3,
        ..settings
    };
    let mut now = Instant(0);
    let mut node = Olsr::new(now, address(0), settings, random);
    for chunk in bytes.split(|b| *b == 0xff) {
        let [kind, from, to, rest @ ..] = chunk else {
            continue;
        };
        let mac = Mac([2, 0, 0, 0, 0, *from % 24]);
        let hop = Hop {
            address: address(*from),
            mac,
        };
        match kind % 4 {
            0 | 1 => {
                // The packet's length and its message's are right, so that the rest is looked at.
                let size = (rest.len() + 4) as u16;
                let mut all = [&size.to_be_bytes()[..], &[0, *to], rest].concat();
                if let (Some(length), true) = (all.get_mut(6..8), kind & 4 != 0) {
                    length.copy_from_slice(&(size - 4).to_be_bytes());
                }
                node.handle_message(now, hop, 1, &all);
            }
            2 => node.handle_packet(now, packet(*from, *to, rest)),
            _ => node.handle_failure(now, mac, &packet(*from, *to, rest)),
        }
        while node.poll_output().is_some() {}
        now += Duration(u64::from(*to) << (kind >> 3));
        node.handle_timeout(now);
        while node.poll_output().is_some() {}
        let [links, two_hop, topology] = node.sizes();
        assert!(links <= 24 && two_hop <= 4096 && topology <= LINKS);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
});

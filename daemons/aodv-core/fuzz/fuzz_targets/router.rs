// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A station fed with arbitrary messages, packets, failures and time: no panic, tables within their
//! bounds, no deadline in the past after a timeout.
#![no_main]

use hoplab_aodv_core::{Aodv, Duration, Hop, Instant, Mac, Protocol, Settings, Stream};
use hoplab_wire::ipv4::Header;
use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;
use std::sync::OnceLock;

const ROUTES: usize = 16;
/// What every input's station begins with, read and hashed once.
static BEGINNING: OnceLock<(Settings, Stream)> = OnceLock::new();

fn beginning() -> (Settings, Stream) {
    let text = include_str!("../../tests/settings.json");
    let settings: Settings = serde_json::from_str(text).expect("a document of settings");
    (settings, Stream::new(1, "aodv/n0"))
}

fn address(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n % 24)
}

fn packet(source: u8, destination: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // UDP, or TCP.
    let protocol = if body.len() % 2 == 0 { 17 } else { 6 };
    Header::new(address(source), address(destination), protocol, 9).emit(body.len(), &mut bytes);
    bytes.extend_from_slice(body);
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let (settings, random) = BEGINNING.get_or_init(beginning).clone();
    let flags = bytes.first().copied().unwrap_or(0);
    let settings = Settings {
        route_table_size: ROUTES,
        request_table_size: ROUTES,
        hello: flags & 1 != 0,
        rrep_ack: flags & 2 != 0,
        gratuitous_rrep: flags & 4 != 0,
        after_reboot: flags & 8 != 0,
        ..settings
    };
    let mut now = Instant(0);
    let mut node = Aodv::new(now, address(0), settings, random);
    if flags & 16 != 0 {
        node.report_failures();
    }
    for chunk in bytes.split(|b| *b == 0xff) {
        let [kind, from, to, rest @ ..] = chunk else {
            continue;
        };
        let mac = Mac([2, 0, 0, 0, 0, *from % 24]);
        let hop = Hop {
            address: address(*from),
            mac,
        };
        match kind % 8 {
            0..=3 => node.handle_message(now, hop, *to, rest),
            4 => node.handle_packet(now, packet(*from, *to, rest)),
            5 => node.handle_failure(now, mac, &packet(*from, *to, rest)),
            6 => node.handle_received(now, mac, address(*to), address(*from)),
            _ => node.handle_sent(now, mac, address(*to)),
        }
        while node.poll_output().is_some() {}
        now += Duration(u64::from(*to) << (kind >> 3));
        node.handle_timeout(now);
        while node.poll_output().is_some() {}
        assert!(node.table().len() <= ROUTES);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
});

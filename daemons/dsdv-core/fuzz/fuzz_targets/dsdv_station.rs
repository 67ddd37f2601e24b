// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A station fed with arbitrary updates, packets, failures and time: no panic, its table within its
//! bound, no deadline in the past after a timeout.
#![no_main]

use hoplab_dsdv_core::{Dsdv, Duration, Hop, Instant, Mac, Protocol, Settings, Stream};
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
    (settings, Stream::new(1, "dsdv/n0"))
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
        route_table_size: ROUTES,
        damp_times: u64::from(flags & 1) * 2,
        damp_shorter: flags & 8 != 0,
        triggered_by_sequence: flags & 2 != 0,
        breaks_of_next_hop: flags & 4 != 0,
        queue_packets: usize::from(flags >> 4),
        ..settings
    };
    let mut now = Instant(0);
    let mut node = Dsdv::new(now, address(0), settings, random);
    // Rows have octets of 0xff where they are broken, so inputs are cut by another one.
    for chunk in bytes.split(|b| *b == 0xee) {
        let [kind, from, to, rest @ ..] = chunk else {
            continue;
        };
        let mac = Mac([2, 0, 0, 0, 0, *from % 24]);
        let hop = Hop {
            address: address(*from),
            mac,
        };
        match kind % 4 {
            0 | 1 => node.handle_message(now, hop, 1, rest),
            2 => node.handle_packet(now, packet(*from, *to, rest)),
            _ => node.handle_failure(now, mac, &packet(*from, *to, rest)),
        }
        while node.poll_output().is_some() {}
        now += Duration(u64::from(*to) << (kind >> 3));
        node.handle_timeout(now);
        while node.poll_output().is_some() {}
        assert!(node.table().len() <= ROUTES);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
});

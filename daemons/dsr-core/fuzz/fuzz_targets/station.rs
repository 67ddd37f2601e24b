// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A station fed with arbitrary options in well-formed packets, statuses and time. It does not
//! panic, and sends no frame longer than the link. After a timeout no deadline is in the past.
#![no_main]

use hoplab_dsr_core::wire::{Ipv4Header, PROTOCOL_DSR};
use hoplab_dsr_core::{Dsr, Duration, Instant, Mac, Output, Stream, Token};
use hoplab_dsr_elfn::{Carriage, Notices, Settings};
#[path = "../../tests/support/settings.rs"]
mod settings;

use libfuzzer_sys::fuzz_target;
use settings::settings;
use std::net::Ipv4Addr;
use std::sync::OnceLock;

/// The stream of every input's station, hashed once.
static RANDOM: OnceLock<Stream> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let own = Mac([2, 0, 0, 0, 0, 2]);
    let random = RANDOM.get_or_init(|| Stream::new(1, "dsr/n2")).clone();
    let ip = Ipv4Addr::new(10, 0, 0, 2);
    let notices = Settings {
        lost_segment_extension: true,
        carriage: match bytes.first() {
            Some(128..) => Carriage::Icmp,
            _ => Carriage::RouteError,
        },
    };
    let layer = Notices::new(ip, notices, true);
    let mut node = Dsr::with_layer(ip, own, settings(), random, layer);
    let mut now = Instant(0);
    let mut packet = Vec::new();
    for chunk in bytes.split(|b| *b == 0xff) {
        let [kind, source, destination, options @ ..] = chunk else {
            continue;
        };
        let address = |n: u8| Ipv4Addr::new(10, 0, 0, n % 6);
        match kind % 4 {
            0 | 1 => {
                let ip = Ipv4Header::new(address(*source), address(*destination), PROTOCOL_DSR, 9);
                packet.clear();
                ip.emit(options.len() + 4, &mut packet);
                packet.extend_from_slice(&[17, 0, 0, options.len() as u8]);
                packet.extend_from_slice(options);
                let from = Mac([2, 0, 0, 0, 0, *source]);
                node.handle_frame(now, from, own, &packet, None, kind & 4 != 0);
            }
            2 => {
                let ip = Ipv4Header::new(address(2), address(*destination), 17, 64);
                packet.clear();
                ip.emit(options.len(), &mut packet);
                packet.extend_from_slice(options);
                node.handle_ip_packet(now, &packet);
            }
            _ => node.handle_tx_status(now, Token(u64::from(*source)), destination & 1 == 1),
        }
        while let Some(output) = node.poll_output() {
            if let Output::Transmit { bytes, .. } = output {
                assert!(bytes.len() <= 2272);
            }
        }
        now = now + Duration::from_millis(u64::from(*kind));
        node.handle_timeout(now);
        assert!(node.next_deadline().is_none_or(|at| at > now));
    }
});

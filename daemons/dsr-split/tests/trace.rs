// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All that stations put out in random networks, as one number for each: what they send, deliver
//! and log, and in which order. When they next want to be called belongs to it. A change of the
//! code's shape leaves the numbers unchanged. `HOPLAB_TRACE=FOLDER` writes the lines behind them,
//! to compare.

use crate::ends::{ip, Sink, Source, MSS};
use crate::support::{segment, settings, Net, Step};
use hoplab_dsr_core::layer::Either;
use hoplab_dsr_core::settings::{Acknowledgement, CacheKind, CacheTimeout, Learning, Resolution};
use hoplab_dsr_core::{Duration, Instant, Output, Settings, Stream};
use hoplab_dsr_elfn::{Carriage, Notice, Notices};
use hoplab_dsr_split::Splitting;
use hoplab_split_core::{Config, Connection, Event};
use hoplab_wire::{ipv4, tcp};
use std::fmt::Write;

const STATIONS: usize = 8;

/// FNV-1a of each history's lines.
const EXPECTED: [u64; 24] = [
    0x8898bcc076a0b103,
    0x9eb670264479a913,
    0xc53169280e00b4e1,
    0x9267c74b509cdee8,
    0xd0ee73c0002f61b5,
    0x1f5212ff37ab8fcf,
    0x06a91130f8082eb4,
    0x0f70e423ef4000a6,
    0xb15dec0d084d5a8d,
    0x4d2028ac7001ca1d,
    0xc515afa9c551436d,
    0x786889b0ba3d56f1,
    0xaf2440f0d5340c3a,
    0x45d7eed8da96acdc,
    0x13c7db279b84e609,
    0xe60a1c2145ec0dab,
    0xc122bd626ce9ede6,
    0xcc296a8a5ec371f7,
    0xfa7152495af438b2,
    0x75b7d6371d1c938a,
    0xcc11d389363c16e3,
    0xa4cb2a11bef2b19a,
    0x5c7b1748b9cc66fb,
    0xedaeeae8f859c546,
];

type Told = Either<Notice, Event>;

fn line(out: &mut String, output: &Output<Told>) {
    let _ = match output {
        Output::Deliver(bytes) => write!(out, "deliver {bytes:02x?}"),
        Output::Transmit {
            to,
            ethertype,
            bytes,
            token,
            class,
        } => write!(
            out,
            "transmit {to:?} {ethertype:x} {bytes:02x?} {token:?} {class:?}"
        ),
        Output::Event(event) => write!(out, "{} {event}", event.kind()),
        Output::Layer(Either::Second(event)) => write!(out, "split {} {event}", event.kind()),
        Output::Layer(Either::First(Notice(segments))) => {
            let mut records = Vec::new();
            for segment in segments {
                segment.emit(&mut records);
            }
            write!(out, "notice {records:02x?}")
        }
    };
    out.push('\n');
}

fn text(steps: &[Step<Told>]) -> String {
    let mut out = String::new();
    for step in steps {
        let _ = writeln!(out, "{:?} {} {:?}", step.at, step.node, step.deadline);
        for output in &step.outputs {
            line(&mut out, output);
        }
    }
    out
}

fn network(random: &mut Stream) -> Net<(Notices, Splitting)> {
    let mut one_in = |n: u32| random.below(n) == 0;
    let notices = hoplab_dsr_elfn::Settings {
        carriage: if one_in(3) {
            Carriage::Icmp
        } else {
            Carriage::RouteError
        },
        lost_segment_extension: !one_in(5),
    };
    let settings = Settings {
        acknowledgement: match (one_in(3), one_in(3)) {
            (true, _) => Acknowledgement::Passive,
            (_, true) => Acknowledgement::Network,
            _ => Acknowledgement::Link,
        },
        cache: if one_in(2) {
            CacheKind::Link
        } else {
            CacheKind::Path
        },
        cache_timeout: if one_in(3) {
            CacheTimeout::Adaptive
        } else {
            CacheTimeout::Unused
        },
        learning: if one_in(3) {
            Learning::Onward
        } else {
            Learning::Full
        },
        resolution: if one_in(4) {
            Resolution::Arp
        } else {
            Resolution::Learned
        },
        salvage_discovery: one_in(2),
        visited_option: !one_in(4),
        overhear_every_hop: !one_in(3),
        nonpropagating_every_time: one_in(4),
        negative_cache_ns: Duration::from_millis(if one_in(3) { 500 } else { 0 }),
        signal_threshold_dbm: one_in(4).then_some(-70),
        max_salvage_count: if one_in(3) { 1 } else { 15 },
        // Small, so that packets are pushed out.
        send_buffer_packets: if one_in(2) { 8 } else { 64 },
        queue_packets: if one_in(2) { 8 } else { 50 },
        link_mtu: if one_in(3) { 1050 } else { 2272 },
        ..settings()
    };
    let renews = one_in(2);
    let connection = Connection {
        name: None,
        source: Some(ip(0)),
        source_port: None,
        destination: None,
        destination_port: None,
        every_hops: one_in(2).then_some(2),
        buffer_packets: 16,
        ack_every: 2,
        proxies: vec![ip(2), ip(5)],
        window: 8,
    };
    let config = Config {
        connection: if one_in(4) { vec![] } else { vec![connection] },
        ..Config::default()
    };
    let layer = |i| {
        (
            Notices::new(ip(i), notices.clone(), renews),
            Splitting::new(ip(i), config.clone(), settings.link_mtu),
        )
    };
    let mut net = Net::layered(STATIONS, &settings, layer);
    net.steps = Some(Vec::new());
    net
}

/// A history of 20 s at most: two transfers, of which one may be split, and single packets. Links
/// come and go, some in one direction only.
fn history(seed: u64) -> String {
    let mut random = Stream::new(seed, "trace");
    let mut net = network(&mut random);
    net.mishaps = Some(Stream::new(seed, "trace/mishaps"));
    for a in 0..STATIONS {
        for b in 0..a {
            let dbm = -55 - random.below(25) as i16;
            net.signals.insert((a, b), dbm);
            net.signals.insert((b, a), dbm - random.below(3) as i16);
            if a - b == 1 || random.below(100) < 25 {
                net.link(a, b, true);
            }
        }
    }
    for id in 1..=60 {
        let (a, b) = (random.below(8) as usize, random.below(8) as usize);
        let at = Instant(u64::from(random.below(12_000)) * 1_000_000);
        net.send_at(at, a, b, id);
    }
    let mut transfers = [(0, 7), (6, 1)].map(|ends| {
        let total = 40 * MSS as u64;
        (
            ends,
            Source::new(ends, 1000, total, 8),
            Sink::new(ends, 1000),
        )
    });
    for (ends, source, _) in &mut transfers {
        for packet in source.fill(net.now) {
            net.send_packet(ends.0, &packet);
        }
    }
    for _ in 0..1000 {
        // Some settings let stations ask without end.
        if net.steps.as_ref().is_some_and(|steps| steps.len() > 20_000) {
            break;
        }
        if random.below(25) == 0 {
            let (a, b) = (random.below(8) as usize, random.below(8) as usize);
            let up = random.below(2) == 0;
            match random.below(4) {
                _ if a == b => {}
                0 => net.one_way(a, b, up),
                _ => net.link(a, b, up),
            }
        }
        if random.below(30) == 0 {
            let (a, b) = (random.below(8) as usize, random.below(8) as usize);
            net.send_packet(a, &segment(a, b, random.below(4)));
        }
        net.run_s(0.02);
        let now = net.now;
        let arrived = std::mem::take(&mut net.delivered_tcp);
        for ((from, to), source, sink) in &mut transfers {
            let mut out = Vec::new();
            for (node, packet) in &arrived {
                let (header, bytes) = ipv4::Header::parse(packet).expect("a packet");
                let ends = (header.source, header.destination);
                // Those of `segment` have no checksum.
                let Ok((tcp, payload)) = tcp::Header::parse(bytes, ends.0, ends.1) else {
                    continue;
                };
                if *node == *to && ends == (ip(*from), ip(*to)) {
                    net.send_packet(*to, &sink.on_segment(&tcp, payload));
                } else if *node == *from && ends == (ip(*to), ip(*from)) {
                    out.extend(source.on_ack(now, tcp.acknowledgement));
                }
            }
            if source.timer.is_some_and(|at| at <= now) {
                out.extend(source.on_time(now));
            }
            for packet in out {
                net.send_packet(*from, &packet);
            }
        }
    }
    let mut lines = text(&net.steps.take().unwrap_or_default());
    for node in &net.nodes {
        let _ = writeln!(lines, "{:?} {:?}", node.stats(), node.routes(net.now));
    }
    lines
}

fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn stations_put_out_what_they_did() {
    let mut digests = [0; EXPECTED.len()];
    let mut all = String::new();
    for (seed, digest) in digests.iter_mut().enumerate() {
        let lines = history(seed as u64);
        *digest = self::digest(&lines);
        if let Ok(folder) = std::env::var("HOPLAB_TRACE") {
            std::fs::write(format!("{folder}/{seed}"), &lines).expect("a folder to write to");
        }
        all += &lines;
    }
    // The histories must exercise what they are about.
    for kind in [
        "notice",
        "salvage",
        "error-sent",
        "split",
        "blacklist",
        "reply-suppressed",
        "why=shorter",
        "cause=send-buffer-full",
        "cause=queue-full",
        "cause=too-big",
        "cause=salvage-limit",
        "fate=salvaged",
        "fate=dropped",
        "why=no-answer",
        "why=no-status",
        "why=no-address",
    ] {
        assert!(all.contains(kind), "no {kind}");
    }
    assert_eq!(digests, EXPECTED, "{digests:#018x?}");
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Split-TCP over DSR: proxies by name and by distance, breaks before and behind them, and every way
//! of confirming next hops. (`Sink` compares each octet as it comes.)

use crate::ends::{ip, Sink, Source, MSS};
use crate::support::{settings, Net};
use hoplab_dsr_core::settings::{Acknowledgement, Learning};
use hoplab_dsr_core::{Duration, Settings};
use hoplab_dsr_elfn::{Carriage, Notices};
use hoplab_dsr_split::Splitting;
use hoplab_split_core::{Config, Connection, Role, Row};
use hoplab_wire::{ipv4, tcp};
use proptest::prelude::*;

const STEP_S: f64 = 0.002;

/// Custodians learn from the extension of Route Errors which segments a break stopped.
type Layers = (Notices, Splitting);

struct Transfer {
    net: Net<Layers>,
    source: Source,
    sink: Sink,
    last: usize,
}

fn connection(proxies: &[usize]) -> Connection {
    Connection {
        name: None,
        source: None,
        source_port: None,
        destination: None,
        destination_port: None,
        every_hops: None,
        buffer_packets: 64,
        ack_every: 1,
        proxies: proxies.iter().map(|p| ip(*p)).collect(),
        window: 16,
    }
}

fn stations(count: usize, settings: &Settings, connection: &Connection) -> Net<Layers> {
    let config = Config {
        connection: vec![connection.clone()],
        ..Config::default()
    };
    let notices = hoplab_dsr_elfn::Settings {
        lost_segment_extension: true,
        carriage: Carriage::RouteError,
    };
    let layer = |i| {
        (
            Notices::new(ip(i), notices.clone(), false),
            Splitting::new(ip(i), config.clone(), settings.link_mtu),
        )
    };
    Net::layered(count, settings, layer)
}

impl Transfer {
    fn new(net: Net<Layers>, last: usize, segments: u64) -> Self {
        let total = segments * MSS as u64;
        Transfer {
            net,
            source: Source::new((0, last), 1000, total, 16),
            sink: Sink::new((0, last), 1000),
            last,
        }
    }

    fn step(&mut self) {
        self.net.run_s(STEP_S);
        let now = self.net.now;
        let mut out = Vec::new();
        for (node, packet) in std::mem::take(&mut self.net.delivered_tcp) {
            let (ip, segment) = ipv4::Header::parse(&packet).unwrap();
            assert!(ip.options.is_empty(), "TCP sees no stamp");
            let (header, payload) = tcp::Header::parse(segment, ip.source, ip.destination).unwrap();
            if node == 0 {
                assert!(self.sink.stands_by(header.acknowledgement));
                out.extend(self.source.on_ack(now, header.acknowledgement));
            } else {
                let ack = self.sink.on_segment(&header, payload);
                self.net.send_packet(self.last, &ack);
            }
        }
        if self.source.timer.is_some_and(|at| at <= now) {
            out.extend(self.source.on_time(now));
        }
        for packet in out {
            self.net.send_packet(0, &packet);
        }
    }

    fn begin(&mut self) {
        for packet in self.source.fill(self.net.now) {
            self.net.send_packet(0, &packet);
        }
    }

    /// Until all octets before this one have come.
    fn reach(&mut self, octet: u64) {
        while self.sink.next < octet {
            self.step();
        }
    }

    /// Until everything has come and the source knows; how long it took.
    fn finish(&mut self, longest_s: f64) -> f64 {
        let begin = self.net.now;
        while !self.source.is_done() {
            let took = self.net.now.since(begin).as_secs_f64();
            assert!(
                took < longest_s,
                "{} of {}",
                self.sink.next,
                self.source.end()
            );
            self.step();
        }
        self.net.now.since(begin).as_secs_f64()
    }

    fn row(&self, node: usize) -> Option<Row> {
        self.net.nodes[node].layer().1.rows().pop()
    }

    fn proxies(&self) -> Vec<usize> {
        let is_proxy = |i: &usize| self.row(*i).is_some_and(|row| row.role == Role::Proxy);
        (0..self.net.nodes.len()).filter(is_proxy).collect()
    }
}

fn chain(count: usize, connection: Connection) -> Transfer {
    let net = stations(count, &settings(), &connection).chained();
    Transfer::new(net, count - 1, 60)
}

#[test]
fn a_proxy_takes_what_passes_and_answers_for_it() {
    let mut t = chain(6, connection(&[3]));
    t.begin();
    t.finish(20.0);
    let (source, proxy) = (t.row(0).unwrap(), t.row(3).unwrap());
    assert_eq!((source.role, proxy.role), (Role::Source, Role::Proxy));
    assert_eq!((source.totals.taken, proxy.totals.taken), (60, 60));
    assert_eq!(source.totals.lacked + source.totals.delivered, 60);
    assert_eq!(proxy.totals.lacks_sent, source.totals.lacks_received);
    assert!((15..60).contains(&proxy.totals.lacks_sent));
    assert_eq!((proxy.totals.delivered, proxy.buffered), (60, 0));
    assert_eq!(
        (source.totals.retransmitted, proxy.totals.retransmitted),
        (0, 0)
    );
    assert_eq!(t.sink.came, 60);
}

#[test]
fn proxies_are_every_so_many_hops_along_the_route() {
    for (every, proxies) in [
        (1, vec![1, 2, 3, 4, 5]),
        (2, vec![2, 4]),
        (3, vec![3]),
        (6, vec![]),
    ] {
        let by_distance = Connection {
            every_hops: Some(every),
            ..connection(&[])
        };
        let mut t = chain(7, by_distance);
        t.begin();
        t.finish(20.0);
        assert_eq!(t.proxies(), proxies, "every {every} hops");
        assert_eq!(t.sink.came, 60);
    }
}

#[test]
fn a_break_behind_a_proxy_costs_the_source_nothing() {
    let links = [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 5),
        (2, 6),
        (6, 7),
        (7, 4),
    ];
    for broken in [(2, 3), (3, 4)] {
        let net = stations(8, &settings(), &connection(&[2])).linked(&links);
        let mut t = Transfer::new(net, 5, 60);
        t.begin();
        t.reach(20_000);
        t.net.link(broken.0, broken.1, false);
        t.finish(20.0);
        // Its TCP sees segments overtake others, and no more than that.
        assert_eq!(t.source.timeouts, 0);
        let (source, proxy) = (t.row(0).unwrap().totals, t.row(2).unwrap().totals);
        assert_eq!((source.retransmitted, source.reissued), (0, 0));
        assert!(proxy.retransmitted > 0);
    }
}

#[test]
fn segments_wait_at_the_proxy_while_there_is_no_route() {
    let mut t = chain(6, connection(&[3]));
    t.begin();
    t.reach(20_000);
    t.net.link(4, 5, false);
    let begin = t.net.now;
    while t.net.now.since(begin) < Duration::from_secs(12) {
        t.step();
        // A transmission that waits for a route makes room for a later one of the same segment.
        assert!(
            t.net.nodes[3].pending() <= 16 + 2,
            "{}",
            t.net.nodes[3].pending()
        );
    }
    t.net.link(4, 5, true);
    t.finish(30.0);
    let proxy = t.row(3).unwrap();
    assert!(proxy.totals.timeouts > 0);
    assert_eq!((proxy.totals.given_up, proxy.buffered), (0, 0));
}

#[test]
fn every_way_of_confirming_next_hops_lets_proxies_hold_segments() {
    for acknowledgement in [Acknowledgement::Passive, Acknowledgement::Network] {
        for learning in [Learning::Full, Learning::Onward] {
            let settings = Settings {
                acknowledgement,
                learning,
                ..settings()
            };
            let net = stations(6, &settings, &connection(&[2, 4])).chained();
            let mut t = Transfer::new(net, 5, 60);
            t.begin();
            t.finish(60.0);
            assert_eq!(t.proxies(), [2, 4]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Links of a ladder come and go; then all are there.
    #[test]
    fn the_stream_arrives_whole(
        proxies in prop::collection::vec(1usize..9, 0..5),
        every in any::<Option<bool>>(),
        (buffer_packets, ack_every) in (1usize..12, 1usize..4),
        changes in prop::collection::vec((0usize..13, any::<bool>(), 0u64..900), 0..25),
    ) {
        const LADDER: [(usize, usize); 13] = [
            (0, 2), (2, 4), (4, 6), (6, 8), (1, 3), (3, 5), (5, 7), (7, 9), (0, 1), (2, 3),
            (4, 5), (6, 7), (8, 9),
        ];
        let connection = Connection {
            every_hops: every.map(|two| if two { 2 } else { 1 }),
            buffer_packets,
            ack_every,
            ..connection(&proxies)
        };
        let net = stations(10, &settings(), &connection).linked(&LADDER);
        let mut t = Transfer::new(net, 9, 40);
        t.begin();
        for (link, up, after_ms) in changes {
            let until = t.net.now + Duration::from_millis(after_ms);
            while t.net.now < until && !t.source.is_done() {
                t.step();
            }
            t.net.link(LADDER[link].0, LADDER[link].1, up);
        }
        for (a, b) in LADDER {
            t.net.link(a, b, true);
        }
        t.finish(300.0);
    }
}

/// 3 holds segments as 3-4 breaks. The only other way, 2-6-7-5, leads back over 2.
#[test]
fn a_proxy_whose_only_route_leads_back_warns_the_source_and_asks_by_its_back_off() {
    let links = [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 5),
        (2, 6),
        (6, 7),
        (7, 5),
    ];
    let net = stations(8, &settings(), &connection(&[3])).linked(&links);
    let mut t = Transfer::new(net, 5, 60);
    t.begin();
    t.reach(20_000);
    t.net.link(3, 4, false);
    // The source sends the other way, and repeats what 3 keeps.
    t.finish(10.0);
    // A request a doubling of the back-off, from 0.5 s on, and some of neighbours.
    let stats = t.net.nodes[3].stats();
    assert!(stats.requests_sent <= 10, "{stats:?}");
}

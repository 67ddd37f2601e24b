// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stations in a row without a kernel, and at the ends a TCP. Links lose, delay, repeat and
//! overtake, proxies die and come back, and routes change.
#![allow(dead_code)]

pub mod ends;

use hoplab_base::Stream;
use hoplab_split_core::{
    hops_by_ttl, Config, Connection, Duration, Event, Instant, Output, Place, Role, Row, Split,
    Tuning, Verdict,
};
use hoplab_wire::ipv4;
use hoplab_wire::split::{Stamp, PROTOCOL_LACK};
use hoplab_wire::tcp::Header;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

pub use ends::{ip, Sink, Source, MSS};

pub const GIVE_UP: Duration = Duration::from_secs(20);

pub fn station(ip: Ipv4Addr) -> usize {
    usize::from(ip.octets()[3]) - 1
}

/// What a link does to a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    pub loss: f64,
    pub duplicate: f64,
    /// A packet may take so much longer, and so be overtaken.
    pub jitter: Duration,
    /// Each packet keeps the link busy for so long.
    pub busy: Duration,
    /// Packets that wait for a busy link; those beyond are lost.
    pub queue: usize,
}

enum Act {
    Arrive { at: usize, packet: Vec<u8> },
    Die(usize),
    Begin(usize),
    Route(Vec<usize>),
    Calm(Link),
}

pub struct Net {
    pub now: Instant,
    pub stations: Vec<Option<Split>>,
    /// From the source to the destination.
    pub route: Vec<usize>,
    /// Of the way back, where it is another.
    pub back: Option<Vec<usize>>,
    pub link: Link,
    pub source: Source,
    pub sink: Sink,
    pub events: Vec<(Instant, usize, Event)>,
    /// Packets on links: segments with data, ACKs, LACKs.
    pub hops: [u64; 3],
    config: Config,
    random: Stream,
    busy: BTreeMap<(usize, usize), (Instant, VecDeque<Instant>)>,
    agenda: BTreeMap<(Instant, u64), Act>,
    order: u64,
}

pub fn connection(proxies: &[usize]) -> Connection {
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

impl Net {
    pub fn new(count: usize, connection: Connection, link: Link, segments: u64, seed: u64) -> Self {
        let mut random = Stream::new(seed, "net");
        let first = random.bits() as u32;
        let window = connection.window as u64;
        let config = Config {
            connection: vec![connection],
            tuning: Tuning {
                give_up: GIVE_UP,
                ..Tuning::default()
            },
        };
        let total = segments * MSS as u64 - 300;
        let last = count - 1;
        Net {
            now: Instant(1_000_000_000),
            stations: (0..count)
                .map(|i| Some(Split::new(ip(i), config.clone())))
                .collect(),
            route: (0..count).collect(),
            back: None,
            link,
            source: Source::new((0, last), first, total, window),
            sink: Sink::new((0, last), first),
            events: vec![],
            hops: [0; 3],
            config,
            random,
            busy: BTreeMap::new(),
            agenda: BTreeMap::new(),
            order: 0,
        }
    }

    fn at(&mut self, after: Duration, act: Act) {
        self.order += 1;
        self.agenda.insert((self.now + after, self.order), act);
    }

    pub fn die_at(&mut self, after: Duration, station: usize) {
        self.at(after, Act::Die(station));
    }

    pub fn begin_at(&mut self, after: Duration, station: usize) {
        self.at(after, Act::Begin(station));
    }

    pub fn route_at(&mut self, after: Duration, route: Vec<usize>) {
        self.at(after, Act::Route(route));
    }

    pub fn calm_at(&mut self, after: Duration, link: Link) {
        self.at(after, Act::Calm(link));
    }

    /// Whether everything has come and the source knows.
    pub fn done(&self) -> bool {
        self.source.is_done()
    }

    /// Runs until everything has come and the source knows, or for so long. Seconds taken.
    pub fn run(&mut self, longest: Duration) -> f64 {
        let (begin, end) = (self.now, self.now + longest);
        let first = self.source.fill(self.now);
        self.leave_source(first);
        while !self.done() && self.now < end {
            self.step();
        }
        self.now.since(begin).as_secs_f64()
    }

    fn step(&mut self) {
        let act = self.agenda.keys().next().map(|key| key.0);
        let timers = self
            .stations
            .iter()
            .flatten()
            .filter_map(Split::next_deadline)
            .min();
        let next = [act, timers, self.source.timer].into_iter().flatten().min();
        self.now = self
            .now
            .max(next.expect("a source that is not done has a timer"));
        let now = self.now;
        if act.is_some_and(|at| at <= now) {
            let (_, act) = self.agenda.pop_first().expect("seen above");
            return self.act(act);
        }
        if self.source.timer.is_some_and(|at| at <= now) {
            let again = self.source.on_time(now);
            return self.leave_source(again);
        }
        for i in 0..self.stations.len() {
            let Some(split) = &mut self.stations[i] else {
                continue;
            };
            if split.next_deadline().is_some_and(|at| at <= now) {
                split.handle_timeout(now);
                let again = split.next_deadline();
                assert!(
                    again.is_none_or(|at| at > now),
                    "station {i} asks for the past"
                );
                self.drain(i);
            }
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Arrive { at, packet } => self.arrive(at, packet),
            Act::Die(station) => self.stations[station] = None,
            Act::Begin(station) => {
                self.stations[station] = Some(Split::new(ip(station), self.config.clone()));
            }
            Act::Route(route) => self.route = route,
            Act::Calm(link) => self.link = link,
        }
    }

    fn leave_source(&mut self, packets: Vec<Vec<u8>>) {
        for packet in packets {
            self.show(0, Place::Leaving, packet);
        }
    }

    /// Shows a packet to the station's machine and does what that decides.
    fn show(&mut self, i: usize, place: Place, packet: Vec<u8>) {
        let now = self.now;
        let verdict = match &mut self.stations[i] {
            Some(split) => split.handle_packet(now, place, &packet, ()),
            None => Verdict::Pass,
        };
        if verdict == Verdict::Pass {
            match place {
                Place::Arriving => self.up(i, &packet),
                _ => self.forward(i, packet),
            }
        }
        self.drain(i);
    }

    fn drain(&mut self, i: usize) {
        while let Some(output) = self.stations[i].as_mut().and_then(Split::poll_output) {
            match output {
                Output::Send { packet, .. } => self.forward(i, packet),
                Output::Event(event) => self.events.push((self.now, i, event)),
            }
        }
    }

    fn up(&mut self, i: usize, packet: &[u8]) {
        let (ip, segment) = ipv4::Header::parse(packet).expect("nobody breaks packets");
        if ip.protocol == PROTOCOL_LACK {
            return;
        }
        let (tcp, payload) = Header::parse(segment, ip.source, ip.destination).expect("sound");
        if i == 0 {
            assert!(
                self.sink.stands_by(tcp.acknowledgement),
                "the source sees an ACK for what the destination has not"
            );
            let more = self.source.on_ack(self.now, tcp.acknowledgement);
            self.leave_source(more);
        } else {
            let ack = self.sink.on_segment(&tcp, payload);
            self.show(i, Place::Leaving, ack);
        }
    }

    /// Where station `i` sends what is for `to`.
    fn next_hop(&self, i: usize, to: usize) -> usize {
        let back = self.back.as_ref().filter(|_| to == 0);
        let route = back.unwrap_or(&self.route);
        let here = route.iter().position(|s| *s == i);
        let there = route.iter().position(|s| *s == to);
        match (here, there) {
            (Some(here), Some(there)) if here < there => route[here + 1],
            (Some(here), Some(there)) if here > there => route[here - 1],
            // Off the route, or for a station that is: all are neighbours then.
            _ => to,
        }
    }

    fn forward(&mut self, i: usize, packet: Vec<u8>) {
        let (mut header, body) = ipv4::Header::parse(&packet).expect("nobody breaks packets");
        let to = station(header.destination);
        let next = self.next_hop(i, to);
        if header.ttl <= 1 {
            return;
        }
        let kind = match (header.protocol, body.len()) {
            (PROTOCOL_LACK, _) => 2,
            (_, 20) => 1,
            _ => 0,
        };
        self.hops[kind] += 1;
        header.ttl -= 1;
        let mut sent = Vec::new();
        header.emit(body.len(), &mut sent);
        sent.extend_from_slice(body);
        let link = self.link;
        let copies = if self.random.unit() < link.duplicate {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let lost = self.random.unit() < link.loss;
            let Some(leaves) = self.enqueue((i, next)) else {
                continue;
            };
            let jitter = Duration((link.jitter.0 as f64 * self.random.unit()) as u64);
            if !lost {
                let after = leaves.since(self.now) + jitter + Duration::from_micros(100);
                let packet = sent.clone();
                self.at(after, Act::Arrive { at: next, packet });
            }
        }
    }

    /// When a packet has left on this link; `None` where its queue is full.
    fn enqueue(&mut self, link: (usize, usize)) -> Option<Instant> {
        let now = self.now;
        let (free, waiting) = self.busy.entry(link).or_default();
        while waiting.front().is_some_and(|at| *at <= now) {
            waiting.pop_front();
        }
        if self.link.queue > 0 && waiting.len() >= self.link.queue {
            return None;
        }
        *free = (*free).max(now) + self.link.busy;
        waiting.push_back(*free);
        Some(*free)
    }

    fn arrive(&mut self, i: usize, packet: Vec<u8>) {
        let (header, _) = ipv4::Header::parse(&packet).expect("nobody breaks packets");
        let place = match station(header.destination) == i {
            true => Place::Arriving,
            false => Place::Passing {
                hops: hops_by_ttl(header.ttl),
            },
        };
        self.show(i, place, packet);
    }

    pub fn row(&self, i: usize) -> Option<Row> {
        self.stations[i].as_ref()?.rows().pop()
    }

    pub fn role(&self, i: usize) -> Option<Role> {
        self.row(i).map(|row| row.role)
    }
}

/// The stamp of a packet.
pub fn stamp(packet: &[u8]) -> Option<Stamp> {
    Stamp::of(&ipv4::Header::parse(packet).ok()?.0)
}

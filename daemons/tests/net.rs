// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network of stations in one process: frames take a millisecond, links are a set, kernels have
//! the routes that their stations install. Tests of each protocol's core use it.
#![allow(dead_code)]

use hoplab_base::{Duration, Instant, Stream};
use hoplab_routing_core::{Event, Failure, Hop, Output, Protocol};
use hoplab_wire::Mac;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

pub fn ip(n: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n as u8 + 1)
}

pub fn mac(n: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, n as u8 + 1])
}

pub fn hop(n: usize) -> Hop {
    Hop {
        address: ip(n),
        mac: mac(n),
    }
}

pub fn station(address: Ipv4Addr) -> usize {
    usize::from(address.octets()[3]) - 1
}

pub const MS: Duration = Duration::from_millis(1);

/// UDP datagram of 12 octets, whose last four are `name`.
pub fn packet(from: usize, to: usize, ttl: u8, name: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = hoplab_wire::ipv4::Header::new(ip(from), ip(to), 17, ttl);
    header.emit(12, &mut bytes);
    bytes.extend([0, 9, 0, 9, 0, 12, 0, 0]);
    bytes.extend(name.to_be_bytes());
    bytes
}

/// Segment of TCP without data.
pub fn segment(from: usize, to: usize, sequence: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = hoplab_wire::ipv4::Header::new(ip(from), ip(to), 6, 64);
    header.emit(20, &mut bytes);
    bytes.extend([0x4e, 0x21, 0x14, 0x51]);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0; 12]);
    bytes
}

/// The frame of a message as the link layer gives it back.
pub fn message(port: u16, from: usize, to: usize, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = hoplab_wire::ipv4::Header::new(ip(from), ip(to), 17, 1);
    header.emit(8 + payload.len(), &mut bytes);
    bytes.extend(port.to_be_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

pub struct Node<P: Protocol> {
    pub core: P,
    /// The kernel's routes.
    pub routes: BTreeMap<Ipv4Addr, Ipv4Addr>,
    pub delivered: Vec<u32>,
    /// Packets of ICMP that the station got from its own daemon.
    pub told: usize,
    /// What its TCP learned of routes that failed.
    pub failures: Vec<Failure>,
    pub events: Vec<P::Event>,
}

enum Frame {
    Message { ttl: u8, bytes: Vec<u8> },
    Packet(Vec<u8>),
}

struct Arrival {
    from: usize,
    to: usize,
    frame: Frame,
}

pub struct Net<P: Protocol> {
    pub now: Instant,
    pub nodes: Vec<Node<P>>,
    pub links: BTreeSet<(usize, usize)>,
    arrivals: BTreeMap<(Instant, u64), Arrival>,
    number: u64,
    /// How many of 100 messages to all, and to one, are lost though the link is there.
    pub loss: u64,
    random: Stream,
    /// Messages that went out, by the sender.
    pub sent: Vec<(usize, Vec<u8>)>,
    pub check: fn(&Net<P>),
}

impl<P: Protocol> Net<P> {
    pub fn new(count: usize, settings: &P::Settings, seed: u64) -> Self {
        let node = |n: usize| Node {
            core: P::new(
                Instant::ZERO,
                ip(n),
                settings.clone(),
                Stream::new(seed, &format!("{}/{n}", P::NAME)),
            ),
            routes: BTreeMap::new(),
            delivered: Vec::new(),
            told: 0,
            failures: Vec::new(),
            events: Vec::new(),
        };
        Net {
            now: Instant::ZERO,
            nodes: (0..count).map(node).collect(),
            links: BTreeSet::new(),
            arrivals: BTreeMap::new(),
            number: 0,
            loss: 0,
            random: Stream::new(seed, "net"),
            sent: Vec::new(),
            check: |_| (),
        }
    }

    /// Stations in a line.
    pub fn chain(count: usize, settings: &P::Settings) -> Self {
        let mut net = Net::new(count, settings, 1);
        (1..count).for_each(|n| net.link(n - 1, n, true));
        net
    }

    pub fn link(&mut self, a: usize, b: usize, on: bool) {
        for link in [(a, b), (b, a)] {
            match on {
                true => self.links.insert(link),
                false => self.links.remove(&link),
            };
        }
    }

    /// The kernel of `n` has a packet to send on.
    pub fn transmit(&mut self, n: usize, packet: Vec<u8>) {
        let view = hoplab_wire::ipv4::View::new(&packet).expect("a packet");
        match self.nodes[n].routes.get(&view.destination()) {
            Some(next) => self.offer(n, station(*next), packet),
            None => {
                self.nodes[n].core.handle_packet(self.now, packet);
                self.carry_out(n);
            }
        }
    }

    fn offer(&mut self, from: usize, to: usize, packet: Vec<u8>) {
        let view = hoplab_wire::ipv4::View::new(&packet).expect("a packet");
        let destination = view.destination();
        if !self.links.contains(&(from, to)) {
            self.nodes[from]
                .core
                .handle_failure(self.now, mac(to), &packet);
        } else {
            self.nodes[from]
                .core
                .handle_sent(self.now, mac(to), destination);
            self.arrive(from, to, Frame::Packet(packet));
        }
        self.carry_out(from);
    }

    fn arrive(&mut self, from: usize, to: usize, frame: Frame) {
        self.number += 1;
        let arrival = Arrival { from, to, frame };
        self.arrivals.insert((self.now + MS, self.number), arrival);
    }

    pub fn carry_out(&mut self, n: usize) {
        while let Some(output) = self.nodes[n].core.poll_output() {
            match output {
                Output::Deliver(_) => self.nodes[n].told += 1,
                Output::Send { to, ttl, message } => self.send(n, to, ttl, message),
                Output::Forward { to, packet } => self.offer(n, station(to.address), packet),
                Output::Install {
                    destination,
                    next_hop,
                } => {
                    self.nodes[n].routes.insert(destination, next_hop);
                }
                Output::Remove { destination } => {
                    self.nodes[n].routes.remove(&destination);
                }
                Output::Neighbour(_) => {}
                Output::Failure(failure) => self.nodes[n].failures.push(failure),
                Output::Event(event) => self.nodes[n].events.push(event),
            }
        }
        (self.check)(self);
    }

    fn send(&mut self, n: usize, to: Option<Hop>, ttl: u8, bytes: Vec<u8>) {
        self.sent.push((n, bytes.clone()));
        let all = 0..self.nodes.len();
        let one = to.map(|hop| station(hop.address));
        for other in all.filter(|other| one.is_none_or(|one| one == *other)) {
            let lost = self.random.bits() % 100 < self.loss;
            if self.links.contains(&(n, other)) && !lost {
                let bytes = bytes.clone();
                self.arrive(n, other, Frame::Message { ttl, bytes });
            } else if one.is_some() && !self.links.contains(&(n, other)) {
                let frame = message(P::PORT, n, other, &bytes);
                self.nodes[n]
                    .core
                    .handle_failure(self.now, mac(other), &frame);
            }
        }
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let deadline = |(n, node): (usize, &Node<P>)| Some((node.core.next_deadline()?, n));
            let due = self.nodes.iter().enumerate().filter_map(deadline).min();
            let frame = self.arrivals.first_key_value().map(|((at, _), _)| *at);
            let next = due.map(|(at, _)| at).into_iter().chain(frame).min();
            let Some(at) = next.filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            if frame == Some(at) {
                let (_, arrival) = self.arrivals.pop_first().expect("it was there");
                self.receive(arrival);
            } else if let Some((_, n)) = due {
                self.nodes[n].core.handle_timeout(self.now);
                self.carry_out(n);
            }
        }
        self.now = end;
    }

    fn receive(&mut self, arrival: Arrival) {
        let Arrival { from, to, frame } = arrival;
        let now = self.now;
        let node = &mut self.nodes[to];
        match frame {
            Frame::Message { ttl, bytes } => {
                node.core.handle_message(now, hop(from), ttl, &bytes);
                self.carry_out(to);
            }
            Frame::Packet(mut packet) => {
                let view = hoplab_wire::ipv4::View::new(&packet).expect("a packet");
                let (source, destination) = (view.source(), view.destination());
                node.core
                    .handle_received(now, mac(from), source, destination);
                if destination == ip(to) {
                    let name = packet.last_chunk().expect("a name");
                    node.delivered.push(u32::from_be_bytes(*name));
                } else if view.ttl() > 1 {
                    packet[8] -= 1;
                    self.transmit(to, packet);
                }
                self.carry_out(to);
            }
        }
    }

    pub fn kinds(&self, n: usize, kind: &str) -> usize {
        let of = |event: &&P::Event| event.kind() == kind;
        self.nodes[n].events.iter().filter(of).count()
    }
}

/// By the kernels' routes no packet comes back, wherever it starts.
pub fn no_loop<P: Protocol>(net: &Net<P>) {
    for destination in 0..net.nodes.len() {
        for start in 0..net.nodes.len() {
            let (mut at, mut steps) = (start, 0);
            while at != destination {
                let route = net.nodes[at].routes.get(&ip(destination));
                let Some(next) = route else { break };
                at = station(*next);
                steps += 1;
                assert!(
                    steps <= net.nodes.len(),
                    "a loop from {start} to {destination} at {}",
                    net.now.as_secs_f64()
                );
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network of cores without a kernel. Links are ideal while they exist, and frames take a
//! millisecond. The way and the fate of every packet are recorded.
#![allow(dead_code)]

mod settings;

use hoplab_dsr_core::layer::{Alone, Layer};
use hoplab_dsr_core::wire::{Ipv4Header, Packet, ETHERTYPE_IPV4};
use hoplab_dsr_core::{
    Class, Dsr, Duration, Event, Instant, LinkDestination, Mac, Output, Settings, Stream, Token,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

pub use settings::settings;

pub const FRAME_TIME: Duration = Duration::from_millis(1);
/// Seven attempts of a frame that nobody acknowledges.
pub const RETRY_TIME: Duration = Duration::from_millis(8);
const UDP: u8 = 17;
const ICMP: u8 = 1;
const TCP: u8 = 6;

pub fn ip(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, node as u8 + 1)
}

fn mac(node: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, node as u8])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Delivered(usize),
    Dropped(usize, &'static str),
}

enum Act {
    Arrive {
        from: usize,
        to: LinkDestination,
        bytes: Vec<u8>,
        token: Token,
    },
    Link(usize, usize, bool),
    Send {
        from: usize,
        to: usize,
        id: u16,
    },
}

/// What a station answered to one input.
pub struct Step<E> {
    pub at: Instant,
    pub node: usize,
    pub outputs: Vec<Output<E>>,
    pub deadline: Option<Instant>,
}

pub struct Net<L: Layer = Alone> {
    pub now: Instant,
    pub nodes: Vec<Dsr<L>>,
    pub links: BTreeSet<(usize, usize)>,
    /// How strong (from, to) is heard, dBm, where anybody measures it.
    pub signals: BTreeMap<(usize, usize), i16>,
    pub events: Vec<(Instant, usize, Event<L::Event>)>,
    /// What the stations' layers did.
    pub told: Vec<(usize, L::Event)>,
    /// ICMP messages that reached a local stack.
    pub delivered_icmp: Vec<(usize, Vec<u8>)>,
    /// TCP segments that reached a local stack.
    pub delivered_tcp: Vec<(usize, Vec<u8>)>,
    pub fates: BTreeMap<u16, Vec<Fate>>,
    /// Stations that each data packet has been at, in order.
    pub visits: BTreeMap<u16, Vec<usize>>,
    pub sent: Vec<u16>,
    pub frames: u64,
    pub routing_frames: u64,
    pub arp_frames: u64,
    /// Every step of every station, where a test asks for them.
    pub steps: Option<Vec<Step<L::Event>>>,
    /// What befalls unicast frames is drawn from here. `None`: nothing.
    pub mishaps: Option<Stream>,
    agenda: BTreeMap<(Instant, u64), Act>,
    order: u64,
}

impl Net {
    pub fn new(count: usize, settings: &Settings) -> Self {
        Net::layered(count, settings, |_| Alone)
    }

    pub fn with(count: usize, links: &[(usize, usize)], settings: &Settings) -> Self {
        Net::new(count, settings).linked(links)
    }

    pub fn chain(count: usize, settings: &Settings) -> Self {
        Net::new(count, settings).chained()
    }
}

impl<L: Layer> Net<L> {
    /// Stations with a layer each.
    pub fn layered(count: usize, settings: &Settings, layer: impl Fn(usize) -> L) -> Self {
        let node = |i| {
            Dsr::with_layer(
                ip(i),
                mac(i),
                settings.clone(),
                Stream::new(1, &format!("dsr/n{i}")),
                layer(i),
            )
        };
        Net {
            now: Instant(0),
            nodes: (0..count).map(node).collect(),
            links: BTreeSet::new(),
            signals: BTreeMap::new(),
            events: vec![],
            told: vec![],
            delivered_icmp: vec![],
            delivered_tcp: vec![],
            fates: BTreeMap::new(),
            visits: BTreeMap::new(),
            sent: vec![],
            frames: 0,
            routing_frames: 0,
            arp_frames: 0,
            steps: None,
            mishaps: None,
            agenda: BTreeMap::new(),
            order: 0,
        }
    }

    pub fn linked(mut self, links: &[(usize, usize)]) -> Self {
        for (a, b) in links {
            self.link(*a, *b, true);
        }
        self
    }

    pub fn chained(mut self) -> Self {
        for i in 1..self.nodes.len() {
            self.link(i - 1, i, true);
        }
        self
    }

    /// Makes or breaks the link in both directions, now.
    pub fn link(&mut self, a: usize, b: usize, up: bool) {
        self.one_way(a, b, up);
        self.one_way(b, a, up);
    }

    pub fn one_way(&mut self, from: usize, to: usize, up: bool) {
        if up {
            self.links.insert((from, to));
        } else {
            self.links.remove(&(from, to));
        }
    }

    fn plan(&mut self, at: Instant, act: Act) {
        self.order += 1;
        self.agenda.insert((at, self.order), act);
    }

    pub fn link_at(&mut self, at: Instant, a: usize, b: usize, up: bool) {
        self.plan(at, Act::Link(a, b, up));
    }

    pub fn send_at(&mut self, at: Instant, from: usize, to: usize, id: u16) {
        self.plan(at, Act::Send { from, to, id });
    }

    pub fn send(&mut self, from: usize, to: usize, id: u16) {
        let packet = data(from, to, id);
        self.sent.push(id);
        self.visits.insert(id, vec![from]);
        self.nodes[from].handle_ip_packet(self.now, &packet);
        self.collect(from);
    }

    /// A packet of the local stack whose fate is not followed.
    pub fn send_packet(&mut self, from: usize, packet: &[u8]) {
        self.nodes[from].handle_ip_packet(self.now, packet);
        self.collect(from);
    }

    /// A frame that some other program on station `from` sends, to one station or to all.
    pub fn inject(&mut self, from: usize, to: Option<usize>, bytes: Vec<u8>) {
        let to = to.map_or(LinkDestination::Broadcast, |n| {
            LinkDestination::Unicast(mac(n))
        });
        let token = Token(u64::MAX);
        self.plan(
            self.now + FRAME_TIME,
            Act::Arrive {
                from,
                to,
                bytes,
                token,
            },
        );
    }

    fn collect(&mut self, node: usize) {
        let station = &mut self.nodes[node];
        let outputs: Vec<_> = std::iter::from_fn(|| station.poll_output()).collect();
        if let Some(steps) = &mut self.steps {
            steps.push(Step {
                at: self.now,
                node,
                outputs: outputs.clone(),
                deadline: station.next_deadline(),
            });
        }
        for output in outputs {
            match output {
                Output::Deliver(bytes) => {
                    let p = Packet::parse(&bytes).expect("what is delivered is a packet");
                    assert_eq!(p.ip.destination, ip(node));
                    if p.ip.protocol == UDP {
                        self.fate(p.ip.identification, Fate::Delivered(node));
                    }
                    if p.ip.protocol == ICMP {
                        self.delivered_icmp.push((node, p.payload));
                    }
                    if p.ip.protocol == TCP {
                        self.delivered_tcp.push((node, bytes));
                    }
                }
                Output::Layer(event) => self.told.push((node, event)),
                Output::Event(event) => {
                    if let Event::Drop {
                        cause,
                        packet: Some(p),
                    } = &event
                    {
                        if p.protocol == UDP {
                            self.fate(p.identification, Fate::Dropped(node, cause.as_str()));
                        }
                    }
                    self.events.push((self.now, node, event));
                }
                Output::Transmit {
                    to,
                    ethertype,
                    bytes,
                    token,
                    class,
                } => {
                    self.frames += 1;
                    self.routing_frames += u64::from(class == Class::Routing);
                    assert!(bytes.len() <= 2272);
                    let reached = match to {
                        LinkDestination::Unicast(m) => self.acked(node, usize::from(m.0[5])),
                        LinkDestination::Broadcast => true,
                    };
                    let wait = if reached { FRAME_TIME } else { RETRY_TIME };
                    self.arp_frames += u64::from(ethertype != ETHERTYPE_IPV4);
                    self.plan(
                        self.now + wait,
                        Act::Arrive {
                            from: node,
                            to,
                            bytes,
                            token,
                        },
                    );
                }
            }
        }
    }

    fn fate(&mut self, id: u16, fate: Fate) {
        self.fates.entry(id).or_default().push(fate);
    }

    fn acked(&self, a: usize, b: usize) -> bool {
        self.links.contains(&(a, b)) && self.links.contains(&(b, a))
    }

    fn arrive(&mut self, from: usize, to: LinkDestination, bytes: &[u8], token: Token) {
        let target = match to {
            LinkDestination::Unicast(m) => Some(usize::from(m.0[5])),
            LinkDestination::Broadcast => None,
        };
        let mishap = self.mishaps.as_mut().map_or(u32::MAX, |m| m.below(40));
        let reached = mishap > 3 && target.is_some_and(|t| self.acked(from, t));
        let address = match to {
            LinkDestination::Unicast(m) => m,
            LinkDestination::Broadcast => Mac::BROADCAST,
        };
        let hearers: Vec<_> = self
            .links
            .iter()
            .filter(|l| l.0 == from)
            .map(|l| l.1)
            .collect();
        for n in hearers {
            let mine = target.is_none() || target == Some(n);
            if target == Some(n) && !reached {
                continue;
            }
            if target == Some(n) {
                self.visit(n, bytes);
            }
            let signal = self.signals.get(&(from, n)).copied();
            self.nodes[n].handle_frame(self.now, mac(from), address, bytes, signal, !mine);
            self.collect(n);
        }
        if target.is_some() {
            match mishap {
                // Its status gets lost.
                0 => {}
                1 => self.nodes[from].handle_refusal(self.now, token),
                _ => self.nodes[from].handle_tx_status(self.now, token, reached),
            }
            self.collect(from);
        }
    }

    fn visit(&mut self, node: usize, bytes: &[u8]) {
        if let Ok(p) = Packet::parse(bytes) {
            if p.ip.protocol == UDP {
                self.visits
                    .entry(p.ip.identification)
                    .or_default()
                    .push(node);
            }
        }
    }

    /// Runs until `end`.
    pub fn run(&mut self, end: Instant) {
        loop {
            let act = self.agenda.keys().next().map(|k| k.0);
            let timer = self.nodes.iter().filter_map(Dsr::next_deadline).min();
            let next = [act, timer].into_iter().flatten().min();
            let Some(at) = next.filter(|t| *t <= end) else {
                break;
            };
            self.now = self.now.max(at);
            if act == Some(at) {
                let (_, act) = self.agenda.pop_first().expect("seen above");
                match act {
                    Act::Arrive {
                        from,
                        to,
                        bytes,
                        token,
                    } => {
                        self.arrive(from, to, &bytes, token);
                    }
                    Act::Link(a, b, up) => self.link(a, b, up),
                    Act::Send { from, to, id } => self.send(from, to, id),
                }
                continue;
            }
            for i in 0..self.nodes.len() {
                if self.nodes[i].next_deadline().is_some_and(|d| d <= self.now) {
                    self.nodes[i].handle_timeout(self.now);
                    self.collect(i);
                    let again = self.nodes[i].next_deadline();
                    assert!(
                        again.is_none_or(|d| d > self.now),
                        "node {i} asks for the past"
                    );
                }
            }
        }
        self.now = self.now.max(end);
    }

    pub fn run_s(&mut self, seconds: f64) {
        self.run(self.now + Duration::from_secs_f64(seconds));
    }

    pub fn delivered(&self, id: u16) -> bool {
        let fates = self.fates.get(&id);
        fates.is_some_and(|f| f.iter().any(|f| matches!(f, Fate::Delivered(_))))
    }

    pub fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|e| e.2.kind() == kind).count()
    }

    pub fn count_at(&self, node: usize, kind: &str) -> usize {
        self.events
            .iter()
            .filter(|e| e.1 == node && e.2.kind() == kind)
            .count()
    }

    /// Every packet has exactly one fate, and none has been at a station twice.
    pub fn check(&self) {
        for id in &self.sent {
            let fates = self.fates.get(id).map_or(&[][..], Vec::as_slice);
            assert_eq!(
                fates.len(),
                1,
                "packet {id}: fates {fates:?}, way {:?}",
                self.visits[id]
            );
            let way = &self.visits[id];
            let distinct: BTreeSet<_> = way.iter().collect();
            assert_eq!(distinct.len(), way.len(), "packet {id} came back: {way:?}");
        }
    }
}

/// A UDP packet of 64 octets of payload whose IP identification is `id`.
pub fn data(from: usize, to: usize, id: u16) -> Vec<u8> {
    let mut header = Ipv4Header::new(ip(from), ip(to), UDP, 64);
    header.identification = id;
    let payload = [id.to_be_bytes().as_slice(), &[0; 62]].concat();
    Packet {
        ip: header,
        options: None,
        payload,
    }
    .emit()
}

/// A TCP segment without data, numbered `sequence`.
pub fn segment(from: usize, to: usize, sequence: u32) -> Vec<u8> {
    let mut tcp = vec![0x4e, 0x21, 0x14, 0x51];
    tcp.extend_from_slice(&sequence.to_be_bytes());
    tcp.resize(20, 0);
    let mut ip = Ipv4Header::new(ip(from), ip(to), 6, 64);
    ip.identification = sequence as u16;
    Packet {
        ip,
        options: None,
        payload: tcp,
    }
    .emit()
}

/// A packet of `length` octets, of a protocol that nobody follows.
pub fn sized(from: usize, to: usize, length: usize) -> Vec<u8> {
    let header = Ipv4Header::new(ip(from), ip(to), 6, 64);
    Packet {
        payload: vec![0; length - header.header_len()],
        ip: header,
        options: None,
    }
    .emit()
}

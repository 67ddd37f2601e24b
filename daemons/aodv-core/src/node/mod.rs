// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The station's protocol state machine: inputs and outputs here, the rules in the files beside it.

mod discover;
mod maintain;
mod receive;

use crate::event::{DropCause, Event};
use crate::message::Message;
use crate::settings::Settings;
use crate::table::{Offer, Table, Taken};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use discover::Discovery;
use hoplab_base::{Duration, Instant, Stream};
use hoplab_routing_core::{icmp, Neighbours, RateLimit, Recent, Sequence, Summary, Waiting};
use hoplab_wire::{ipv4, Mac};

/// Most neighbours that a station remembers.
const MOST_NEIGHBOURS: usize = 1024;
/// Most messages and packets that wait for their time. A flood fills no more.
const MOST_DELAYED: usize = 1024;
/// mac80211 takes frames for a new IBSS neighbour about so long after its first frame.
const SETTLING: Duration = Duration::from_millis(1);

/// A neighbour to which something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub address: Ipv4Addr,
    pub mac: Mac,
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// An IP packet for the local stack.
    Deliver(Vec<u8>),
    /// A message to a neighbour, or to all.
    Send {
        to: Option<Hop>,
        ttl: u8,
        message: Vec<u8>,
    },
    /// An IP packet that waited for its route.
    Forward {
        to: Hop,
        packet: Vec<u8>,
    },
    /// The kernel's packets for the destination go to this neighbour from now on.
    Install {
        destination: Ipv4Addr,
        next_hop: Ipv4Addr,
    },
    /// The kernel's packets for the destination come to the driver from now on.
    Remove {
        destination: Ipv4Addr,
    },
    /// This is the neighbour's link-layer address.
    Neighbour(Hop),
    Event(Event),
}

hoplab_base::counters! {
    /// Counters since the start.
    Stats {
        /// Packets that the kernel had no route for.
        caught,
        dropped,
        requests_sent,
        requests_forwarded,
        replies_sent,
        /// Of those, the ones of a station that is not the destination.
        intermediate_replies_sent,
        gratuitous_replies_sent,
        replies_forwarded,
        reply_acks_sent,
        hellos_sent,
        errors_sent,
        link_failures,
        repairs_tried,
        repairs_done,
        /// Frames handed to the link that carry AODV's messages, each hop counted.
        routing_frames,
    }
}

/// One station running AODV.
///
/// The driver feeds input through the `handle_` functions with a time that never goes back. After
/// each it drains [`poll_output`](Aodv::poll_output) until `None`. Then it waits for input or for
/// [`next_deadline`](Aodv::next_deadline), whichever comes first. The same inputs, times and stream
/// give the same outputs.
///
/// The kernel forwards what has a route. The driver hands packets without one to
/// [`handle_packet`](Aodv::handle_packet), and tells of each passing packet by
/// [`handle_received`](Aodv::handle_received) and [`handle_sent`](Aodv::handle_sent), which keep its
/// route alive.
pub struct Aodv {
    settings: Settings,
    own: Ipv4Addr,
    random: Stream,
    sequence: Sequence,
    request_id: u32,
    table: Table,
    neighbours: Neighbours,
    /// Originator and identifier of requests that were handled (§6.5).
    handled: Recent<(Ipv4Addr, u32)>,
    /// Neighbours that did not get a reply (§6.8).
    blacklist: Recent<Ipv4Addr>,
    /// Until when a RREP-ACK of a neighbour is due.
    unacknowledged: BTreeMap<Ipv4Addr, Instant>,
    /// Until when a neighbour's next Hello is due (§6.9).
    hellos: BTreeMap<Ipv4Addr, Instant>,
    waiting: Waiting<Vec<u8>>,
    discoveries: BTreeMap<Ipv4Addr, Discovery>,
    requests: RateLimit,
    errors: RateLimit,
    /// What waits for its time, in its order.
    delayed: BTreeMap<(Instant, u64), Output>,
    next_delayed: u64,
    next_hello: Instant,
    last_broadcast: Instant,
    /// The end of the wait after a reboot (§6.13).
    silent_until: Instant,
    outputs: VecDeque<Output>,
    stats: Stats,
}

impl Aodv {
    /// A station that starts at `now`, and draws from its own stream `random`.
    pub fn new(now: Instant, own: Ipv4Addr, settings: Settings, random: Stream) -> Self {
        let s = &settings;
        let silent_until = match s.after_reboot {
            true => now + s.delete_period_ns,
            false => now,
        };
        Aodv {
            own,
            random,
            sequence: Sequence(0),
            request_id: 0,
            table: Table::new(s.route_table_size),
            neighbours: Neighbours::new(MOST_NEIGHBOURS, s.neighbour_timeout_ns, SETTLING),
            handled: Recent::new(s.request_table_size),
            blacklist: Recent::new(MOST_NEIGHBOURS),
            unacknowledged: BTreeMap::new(),
            hellos: BTreeMap::new(),
            waiting: Waiting::new(s.queue_packets, s.queue_timeout_ns),
            discoveries: BTreeMap::new(),
            requests: RateLimit::per_second(s.rreq_ratelimit),
            errors: RateLimit::per_second(s.rerr_ratelimit),
            delayed: BTreeMap::new(),
            next_delayed: 0,
            next_hello: now + s.hello_interval_ns,
            last_broadcast: Instant::ZERO,
            silent_until,
            outputs: VecDeque::new(),
            stats: Stats::default(),
            settings,
        }
    }

    /// The kernel had no route for this IP packet, of the local stack or of another station. The
    /// kernel has counted its TTL down.
    pub fn handle_packet(&mut self, now: Instant, packet: Vec<u8>) {
        self.stats.caught += 1;
        let Some(view) = ipv4::View::new(&packet) else {
            return self.drop(DropCause::Malformed, &packet);
        };
        let (source, destination) = (view.source(), view.destination());
        let one = !destination.is_multicast() && !destination.is_broadcast();
        if !one || destination == self.own {
            return self.drop(DropCause::Multicast, &packet);
        }
        self.route(now, source, destination, packet);
    }

    /// Sends a packet on by its route, or lets it wait for one.
    fn route(&mut self, now: Instant, source: Ipv4Addr, destination: Ipv4Addr, packet: Vec<u8>) {
        if let Some(next_hop) = self.table.valid(destination).map(|r| r.next_hop) {
            return self.forward(now, next_hop, packet);
        }
        if source == self.own {
            self.hold(now, destination, packet);
            self.discover(now, destination);
        } else if self.discoveries.contains_key(&destination) && now >= self.silent_until {
            self.hold(now, destination, packet);
        } else {
            self.refuse(now, destination, &packet);
        }
    }

    fn hold(&mut self, now: Instant, destination: Ipv4Addr, packet: Vec<u8>) {
        if let Some(oldest) = self.waiting.push(now, destination, packet) {
            self.drop(DropCause::SendBufferFull, &oldest.packet);
        }
    }

    fn forward(&mut self, now: Instant, next_hop: Ipv4Addr, packet: Vec<u8>) {
        let Some(mac) = self.neighbours.mac(next_hop) else {
            return self.drop(DropCause::LinkBroken, &packet);
        };
        let to = Hop {
            address: next_hop,
            mac,
        };
        let at = now.max(self.neighbours.usable(next_hop));
        self.later(now, at, Output::Forward { to, packet });
    }

    /// A UDP payload came from port [`PORT`](crate::PORT) of a neighbour, with this TTL.
    pub fn handle_message(&mut self, now: Instant, from: Hop, ttl: u8, bytes: &[u8]) {
        if from.address == self.own || from.address.is_unspecified() || from.mac.is_group() {
            return;
        }
        let Ok(message) = Message::parse(bytes) else {
            self.stats.dropped += 1;
            let (cause, packet) = (DropCause::Malformed, None);
            return self.tell(Event::Drop { cause, packet });
        };
        if self.neighbours.heard(now, from.address, from.mac) {
            self.outputs.push_back(Output::Neighbour(from));
        }
        let from = from.address;
        match message {
            Message::Request(request) => self.handle_request(now, from, ttl, request),
            Message::Reply(reply) if reply.is_hello() => self.handle_hello(now, from, &reply),
            Message::Reply(reply) => self.handle_reply(now, from, reply),
            Message::Error(error) => self.handle_error(now, from, &error),
            Message::ReplyAck => drop(self.unacknowledged.remove(&from)),
        }
    }

    /// An IP packet came from a neighbour, for this station or to be sent on.
    pub fn handle_received(&mut self, now: Instant, from: Mac, source: Ipv4Addr, to: Ipv4Addr) {
        self.neighbours.seen(now, from);
        let until = now + self.settings.active_route_timeout_ns;
        // Routes are taken to be symmetric, so the way back lives as well (§6.2).
        self.table.used(source, until);
        if let Some(previous) = self.neighbours.address(from) {
            self.table.used(previous, until);
        }
        // The way on lives by acknowledgements. Where the link layer reports none, sending must do.
        if !self.settings.link_layer_feedback {
            self.keep_alive(to, until);
        }
    }

    /// A neighbour acknowledged a packet of this station, or one that it sent on.
    pub fn handle_sent(&mut self, now: Instant, to: Mac, destination: Ipv4Addr) {
        self.neighbours.seen(now, to);
        self.keep_alive(destination, now + self.settings.active_route_timeout_ns);
    }

    fn keep_alive(&mut self, destination: Ipv4Addr, until: Instant) {
        if let Some(next_hop) = self.table.valid(destination).map(|r| r.next_hop) {
            self.table.used(destination, until);
            self.table.used(next_hop, until);
        }
    }

    /// Time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.release(now);
        for packet in self.waiting.expired(now) {
            self.unreachable(DropCause::SendBufferTimeout, &packet);
        }
        while let Some((destination, valid)) = self.table.expired(now) {
            if valid {
                self.invalidate(now, destination, None);
            }
        }
        self.discoveries_due(now);
        self.silent_neighbours(now);
        self.hello(now);
        self.release(now);
    }

    /// When [`handle_timeout`](Aodv::handle_timeout) must be called at the latest.
    pub fn next_deadline(&self) -> Option<Instant> {
        [
            self.delayed.first_key_value().map(|((at, _), _)| *at),
            self.waiting.next_deadline(),
            self.table.next_deadline(),
            self.discoveries.values().map(|d| d.due).min(),
            self.unacknowledged.values().min().copied(),
            self.hellos.values().min().copied(),
            self.settings.hello.then_some(self.next_hello),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The next thing to do; `None` when nothing is left.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Does it at `at`, in the order of times and calls.
    fn later(&mut self, now: Instant, at: Instant, output: Output) {
        if at <= now {
            return self.give(output);
        }
        if self.delayed.len() >= MOST_DELAYED {
            if let Output::Forward { packet, .. } = &output {
                self.drop(DropCause::SendBufferFull, packet);
            }
            return;
        }
        self.next_delayed += 1;
        self.delayed.insert((at, self.next_delayed), output);
    }

    fn release(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry() {
            if first.key().0 > now {
                break;
            }
            let output = first.remove();
            self.give(output);
        }
    }

    fn give(&mut self, output: Output) {
        if matches!(output, Output::Send { .. }) {
            self.stats.routing_frames += 1;
        }
        self.outputs.push_back(output);
    }

    fn broadcast(&mut self, now: Instant, ttl: u8, message: &Message) {
        self.last_broadcast = now;
        let wait = self.random.up_to(self.settings.broadcast_jitter_ns);
        let message = message.emit();
        let to = None;
        self.later(now, now + wait, Output::Send { to, ttl, message });
    }

    /// Sends a message to a neighbour; whether its address is known.
    fn unicast(&mut self, now: Instant, address: Ipv4Addr, message: &Message) -> bool {
        let Some(mac) = self.neighbours.mac(address) else {
            return false;
        };
        let at = now.max(self.neighbours.usable(address));
        let message = message.emit();
        let to = Some(Hop { address, mac });
        // To the neighbour and no further.
        self.later(
            now,
            at,
            Output::Send {
                to,
                ttl: 1,
                message,
            },
        );
        true
    }

    /// News of a route. Packets that waited for it go, whatever it was that brought it.
    fn offer(&mut self, now: Instant, destination: Ipv4Addr, offer: Offer) -> Taken {
        if destination == self.own || destination.is_unspecified() || destination.is_multicast() {
            return Taken::No;
        }
        let next_hop = offer.next_hop;
        let (taken, left) = self.table.offer(destination, offer);
        if let Some(destination) = left {
            self.outputs.push_back(Output::Remove { destination });
        }
        if taken == Taken::Changed {
            self.outputs.push_back(Output::Install {
                destination,
                next_hop,
            });
        }
        if taken != Taken::No {
            self.found(now, destination);
        }
        taken
    }

    /// The sender of a message is a neighbour (§6.2).
    fn neighbour(&mut self, now: Instant, address: Ipv4Addr, lifetime: Duration) {
        let offer = Offer {
            sequence: None,
            hops: 1,
            next_hop: address,
            until: now + lifetime,
        };
        self.offer(now, address, offer);
    }

    /// The route ends: its sequence number guards against old news for DELETE_PERIOD (§6.11).
    fn invalidate(&mut self, now: Instant, destination: Ipv4Addr, heard: Option<Sequence>) {
        let keep = self.settings.delete_period_ns;
        self.table.invalidate(now, destination, heard, keep);
        self.outputs.push_back(Output::Remove { destination });
    }

    fn tell(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn drop(&mut self, cause: DropCause, packet: &[u8]) {
        self.stats.dropped += 1;
        let packet = Summary::of(packet);
        self.tell(Event::Drop { cause, packet });
    }

    /// Drops a packet for want of a route, and tells the program that sent it (§6.3).
    fn unreachable(&mut self, cause: DropCause, packet: &[u8]) {
        self.drop(cause, packet);
        let mine = ipv4::View::new(packet).is_some_and(|view| view.source() == self.own);
        if let Some(message) = icmp::host_unreachable(self.own, packet).filter(|_| mine) {
            self.outputs.push_back(Output::Deliver(message));
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Whether packets wait here.
    pub fn holds(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Forgets all routes, whose sequence numbers stay.
    pub fn flush(&mut self, now: Instant) {
        let valid = self.table.all().filter(|(_, route)| route.is_valid());
        let valid: Vec<_> = valid.map(|(to, _)| to).collect();
        for destination in valid {
            self.invalidate(now, destination, None);
        }
    }
}

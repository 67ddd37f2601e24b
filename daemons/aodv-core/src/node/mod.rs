// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The station's protocol state machine: inputs and outputs here, the rules in the files beside it.

mod discover;
mod maintain;
mod receive;

use crate::event::{DropCause, Event};
use crate::message::Message;
use crate::settings::Settings;
use crate::table::{Offer, Route, State, Table, Taken};
use crate::{Output, PORT};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use discover::Discovery;
use hoplab_base::{Duration, Instant, Stream};
use hoplab_routing_core::MOST_NEIGHBOURS;
use hoplab_routing_core::{icmp, Failure, Fate, Hop, Joined, LostSegment, Outbox, Protocol};
use hoplab_routing_core::{RateLimit, Recent, Resolution, Sequence, Summary, Waiting};
use hoplab_wire::{ipv4, Mac};

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
    }
}

/// One station running AODV. Passing packets keep their routes alive.
pub struct Aodv {
    settings: Settings,
    own: Ipv4Addr,
    random: Stream,
    sequence: Sequence,
    request_id: u32,
    table: Table,
    outbox: Outbox<Event>,
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
    next_hello: Instant,
    last_broadcast: Instant,
    /// Whether the local TCP learns of routes that fail.
    reports: bool,
    /// The end of the wait after a reboot (§6.13).
    silent_until: Instant,
    stats: Stats,
}

impl Protocol for Aodv {
    const NAME: &'static str = "aodv";
    const TITLE: &'static str = "Ad hoc On-Demand Distance Vector routing (RFC 3561)";
    const PORT: u16 = PORT;
    const FOLLOWS_TRAFFIC: bool = true;
    type Settings = Settings;
    type Event = Event;

    fn new(now: Instant, own: Ipv4Addr, settings: Settings, random: Stream) -> Self {
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
            outbox: Outbox::new(s.neighbour_timeout_ns),
            handled: Recent::new(s.request_table_size),
            blacklist: Recent::new(MOST_NEIGHBOURS),
            unacknowledged: BTreeMap::new(),
            hellos: BTreeMap::new(),
            waiting: Waiting::new(s.queue_packets, s.queue_timeout_ns),
            discoveries: BTreeMap::new(),
            requests: RateLimit::per_second(s.rreq_ratelimit),
            errors: RateLimit::per_second(s.rerr_ratelimit),
            next_hello: now + s.hello_interval_ns,
            last_broadcast: Instant::ZERO,
            reports: false,
            silent_until,
            stats: Stats::default(),
            settings,
        }
    }

    fn report_failures(&mut self) {
        self.reports = true;
    }

    fn handle_packet(&mut self, now: Instant, packet: Vec<u8>) {
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

    fn handle_message(&mut self, now: Instant, from: Hop, ttl: u8, bytes: &[u8]) {
        if from.address == self.own || from.address.is_unspecified() || from.mac.is_group() {
            return;
        }
        let Ok(message) = Message::parse(bytes) else {
            self.stats.dropped += 1;
            let (cause, packet) = (DropCause::Malformed, None);
            return self.tell(Event::Drop { cause, packet });
        };
        self.outbox.heard(now, from);
        let from = from.address;
        match message {
            Message::Request(request) => self.handle_request(now, from, ttl, request),
            Message::Reply(reply) if reply.is_hello() => self.handle_hello(now, from, &reply),
            Message::Reply(reply) => self.handle_reply(now, from, reply),
            Message::Error(error) => self.handle_error(now, from, &error),
            Message::ReplyAck => drop(self.unacknowledged.remove(&from)),
        }
    }

    fn handle_received(&mut self, now: Instant, from: Mac, source: Ipv4Addr, to: Ipv4Addr) {
        self.outbox.seen(now, from);
        let until = now + self.settings.active_route_timeout_ns;
        // Routes are taken to be symmetric, so the way back lives as well (§6.2).
        self.table.used(source, until);
        if let Some(previous) = self.outbox.neighbours().address(from) {
            self.table.used(previous, until);
        }
        // The way on lives by acknowledgements. Where the link layer reports none, sending must do.
        if !self.settings.link_layer_feedback {
            self.keep_alive(to, until);
        }
    }

    fn handle_sent(&mut self, now: Instant, to: Mac, destination: Ipv4Addr) {
        self.outbox.seen(now, to);
        self.keep_alive(destination, now + self.settings.active_route_timeout_ns);
    }

    fn handle_failure(&mut self, now: Instant, to: Mac, packet: &[u8]) {
        self.failed(now, to, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.outbox.release(now);
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
        self.outbox.release(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        [
            self.outbox.next_deadline(),
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

    fn poll_output(&mut self) -> Option<Output> {
        self.outbox.poll()
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn resolution(settings: &Settings) -> Resolution {
        settings.resolution
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.stats.counters();
        all.push(("routing_frames", self.outbox.frames()));
        all
    }

    /// Destination, state, hops, next hop, sequence number, seconds left, precursors.
    fn routes(&self, now: Instant) -> String {
        self.table.all().map(|one| line(now, one)).collect()
    }

    fn flush(&mut self, now: Instant) {
        let valid = self.table.all().filter(|(_, route)| route.is_valid());
        let valid: Vec<_> = valid.map(|(to, _)| to).collect();
        for destination in valid {
            self.invalidate(now, destination, None);
        }
    }
}

fn line(now: Instant, (to, route): (Ipv4Addr, &Route)) -> String {
    let state = match route.state {
        State::Valid => "valid",
        State::Invalid => "invalid",
        State::Repairing => "repairing",
    };
    let number = route
        .sequence
        .map_or_else(|| "-".into(), |s| s.0.to_string());
    let precursors: Vec<_> = route.precursors.iter().copied().collect();
    format!(
        "{to} {state} hops={} via={} sequence={number} left_s={:.3} precursors={}\n",
        route.hops,
        route.next_hop,
        route.until.since(now).as_secs_f64(),
        Joined(&precursors, ',')
    )
}

/// The segment of TCP in a packet.
fn lost(packet: &[u8], fate: Fate) -> Option<LostSegment> {
    LostSegment::of(&Summary::of(packet)?, fate)
}

impl Aodv {
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

    fn hold(&mut self, now: Instant, destination: Ipv4Addr, mut packet: Vec<u8>) {
        if let Some(held) = self.note(&packet, Fate::Held) {
            let length = packet.len();
            // A bare acknowledgement takes no data's place.
            let same = |old: &Vec<u8>| old.len() <= length && lost(old, Fate::Held) == Some(held);
            match self.waiting.renew(packet, same) {
                Some(other) => packet = other,
                None => return,
            }
        }
        if let Some(oldest) = self.waiting.push(now, destination, packet) {
            self.drop(DropCause::SendBufferFull, &oldest.packet);
        }
    }

    /// Tells the local TCP what became of its segment, if the packet is one; which it is.
    fn note(&mut self, packet: &[u8], fate: Fate) -> Option<LostSegment> {
        if !self.reports {
            return None;
        }
        let segment = lost(packet, fate).filter(|segment| segment.source == self.own)?;
        self.outbox.give(Output::Failure(Failure::Segment(segment)));
        Some(segment)
    }

    /// Tells the local TCP that these routes are gone.
    fn unroute(&mut self, destinations: &[Ipv4Addr]) {
        if self.reports {
            let gone = Failure::Routes(destinations.to_vec());
            self.outbox.give(Output::Failure(gone));
        }
    }

    fn forward(&mut self, now: Instant, next_hop: Ipv4Addr, packet: Vec<u8>) {
        let known = self.outbox.neighbours().mac(next_hop).is_some();
        if let Some(packet) = self.outbox.forward(now, next_hop, packet) {
            let cause = match known {
                true => DropCause::SendBufferFull,
                false => DropCause::LinkBroken,
            };
            self.drop(cause, &packet);
        }
    }

    fn keep_alive(&mut self, destination: Ipv4Addr, until: Instant) {
        if let Some(next_hop) = self.table.valid(destination).map(|r| r.next_hop) {
            self.table.used(destination, until);
            self.table.used(next_hop, until);
        }
    }

    fn broadcast(&mut self, now: Instant, ttl: u8, message: &Message) {
        self.last_broadcast = now;
        let wait = self.random.up_to(self.settings.broadcast_jitter_ns);
        let message = message.emit();
        let to = None;
        let output = Output::Send { to, ttl, message };
        // Where a flood fills the queue, a message is lost as on the air.
        drop(self.outbox.later(now, now + wait, output));
    }

    /// Sends a message to a neighbour; whether its address is known.
    fn unicast(&mut self, now: Instant, address: Ipv4Addr, message: &Message) -> bool {
        self.outbox.unicast(now, address, message.emit())
    }

    /// News of a route. Packets that waited for it go, whatever it was that brought it.
    fn offer(&mut self, now: Instant, destination: Ipv4Addr, offer: Offer) -> Taken {
        if destination == self.own || destination.is_unspecified() || destination.is_multicast() {
            return Taken::No;
        }
        let next_hop = offer.next_hop;
        let (taken, left) = self.table.offer(destination, offer);
        if let Some(destination) = left {
            self.outbox.give(Output::Remove { destination });
        }
        if taken == Taken::Changed {
            self.outbox.give(Output::Install {
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
        self.outbox.give(Output::Remove { destination });
    }

    fn tell(&mut self, event: Event) {
        self.outbox.tell(event);
    }

    fn drop(&mut self, cause: DropCause, packet: &[u8]) {
        self.stats.dropped += 1;
        self.note(packet, Fate::Dropped);
        let packet = Summary::of(packet);
        self.tell(Event::Drop { cause, packet });
    }

    /// Drops a packet for want of a route, and tells the program that sent it (§6.3).
    fn unreachable(&mut self, cause: DropCause, packet: &[u8]) {
        self.drop(cause, packet);
        let mine = ipv4::View::new(packet).is_some_and(|view| view.source() == self.own);
        if let Some(message) = icmp::host_unreachable(self.own, packet).filter(|_| mine) {
            self.outbox.give(Output::Deliver(message));
        }
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
}

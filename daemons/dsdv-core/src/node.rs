// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The station's protocol state machine.

use crate::event::{DropCause, Event};
use crate::message::{self, Row, INFINITE, MOST_ROWS};
use crate::settings::Settings;
use crate::table::{hold, Route};
use crate::{Output, PORT};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Instant, Stream};
use hoplab_routing_core::{icmp, Hop, Outbox, Protocol, Resolution, Sequence, Summary, Waiting};
use hoplab_wire::{ipv4, Mac};

/// The hops that a station has to itself.
const OWN_HOPS: u32 = 0;
/// Updates go to the neighbours and no further.
const ONE_HOP: u8 = 1;

hoplab_base::counters! {
    /// Counters since the start.
    Stats {
        /// Packets that the kernel had no route for.
        caught,
        dropped,
        full_updates_sent,
        triggered_updates_sent,
        link_failures,
    }
}

/// One station running DSDV.
pub struct Dsdv {
    settings: Settings,
    own: Ipv4Addr,
    random: Stream,
    outbox: Outbox<Event>,
    /// Even: only others that lost this station give out odd ones.
    sequence: Sequence,
    routes: BTreeMap<Ipv4Addr, Route>,
    /// Until when a neighbour's next update is due.
    neighbours: BTreeMap<Ipv4Addr, Instant>,
    waiting: Waiting<Vec<u8>>,
    next_full: Instant,
    /// Before that, no triggered update but one of a break.
    next_triggered: Instant,
    /// A break, or a lie about this station, needs an update at once.
    urgent: bool,
    stats: Stats,
}

impl Protocol for Dsdv {
    const NAME: &'static str = "dsdv";
    const TITLE: &'static str =
        "Destination-Sequenced Distance Vector routing (Perkins, Bhagwat 1994)";
    const PORT: u16 = PORT;
    const FOLLOWS_TRAFFIC: bool = false;
    type Settings = Settings;
    type Event = Event;

    fn new(now: Instant, own: Ipv4Addr, settings: Settings, mut random: Stream) -> Self {
        let s = &settings;
        // Stations that start together do not speak together; they soon know their neighbours.
        let next_full = now + random.up_to(s.triggered_interval_ns.min(s.update_interval_ns));
        Dsdv {
            own,
            random,
            outbox: Outbox::new(s.neighbour_timeout_ns),
            sequence: Sequence(0),
            routes: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            waiting: Waiting::new(s.queue_packets, s.queue_timeout_ns),
            next_full,
            next_triggered: now,
            urgent: false,
            stats: Stats::default(),
            settings,
        }
    }

    fn handle_packet(&mut self, now: Instant, packet: Vec<u8>) {
        self.stats.caught += 1;
        let Some(view) = ipv4::View::new(&packet) else {
            return self.drop(DropCause::Malformed, Some(&packet));
        };
        let to = view.destination();
        if to.is_multicast() || to.is_broadcast() || to == self.own {
            return self.drop(DropCause::Multicast, Some(&packet));
        }
        self.send_on(now, to, packet);
    }

    fn handle_message(&mut self, now: Instant, from: Hop, _ttl: u8, bytes: &[u8]) {
        if from.address == self.own || from.address.is_unspecified() || from.mac.is_group() {
            return;
        }
        let Ok(rows) = message::parse(bytes) else {
            return self.drop(DropCause::Malformed, None);
        };
        self.outbox.heard(now, from);
        let known = self.neighbours.contains_key(&from.address);
        if known || self.neighbours.len() < self.settings.route_table_size {
            self.neighbours
                .insert(from.address, now + hold(&self.settings));
        }
        let mut lost = Vec::new();
        for row in &rows {
            self.learn(now, from.address, row, &mut lost);
        }
        if !lost.is_empty() {
            let (from, unreachable) = (from.address, lost);
            self.outbox.tell(Event::Broken { from, unreachable });
        }
        self.tell(now);
    }

    fn handle_failure(&mut self, now: Instant, to: Mac, packet: &[u8]) {
        let neighbour = self.outbox.neighbours().address(to);
        let view = ipv4::View::new(packet);
        let destination = view.map(|view| view.destination());
        let feedback = self.settings.link_layer_feedback;
        if let Some(neighbour) = neighbour.filter(|_| feedback) {
            self.broken(now, neighbour, "not-acknowledged");
            self.tell(now);
            if let Some(to) = destination.filter(|_| self.settings.keep_failed_packets) {
                return self.send_on(now, to, packet.to_vec());
            }
        }
        self.drop(DropCause::LinkBroken, Some(packet));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.outbox.release(now);
        for packet in self.waiting.expired(now) {
            self.unreachable(DropCause::SendBufferTimeout, &packet);
        }
        let silent = self.neighbours.iter().filter(|(_, until)| **until <= now);
        let silent: Vec<_> = silent.map(|(address, _)| *address).collect();
        for neighbour in silent {
            self.broken(now, neighbour, "no-update");
        }
        let over = self.routes.iter().filter(|(_, route)| route.until <= now);
        let over: Vec<_> = over.map(|(to, _)| *to).collect();
        for destination in over {
            self.expire(now, destination);
        }
        if self.next_full <= now {
            self.full(now);
        }
        self.tell(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let told = self.routes.values().filter_map(|route| route.tell_at);
        [
            self.outbox.next_deadline(),
            self.waiting.next_deadline(),
            self.neighbours.values().min().copied(),
            self.routes.values().map(|route| route.until).min(),
            told.min().map(|at| at.max(self.next_triggered)),
            Some(self.next_full),
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

    /// Destination, next hop, hops, sequence number, seconds left.
    fn routes(&self, now: Instant) -> String {
        let line = |(to, route): (&Ipv4Addr, &Route)| {
            let hops = match route.hops {
                INFINITE => "broken".to_string(),
                hops => hops.to_string(),
            };
            format!(
                "{to} via={} hops={hops} sequence={} left_s={:.3}\n",
                route.next_hop,
                route.sequence.0,
                route.until.since(now).as_secs_f64()
            )
        };
        self.routes.iter().map(line).collect()
    }

    fn flush(&mut self, _now: Instant) {
        let all: Vec<_> = self.routes.keys().copied().collect();
        all.into_iter()
            .for_each(|destination| self.forget(destination));
        self.neighbours.clear();
    }
}

impl Dsdv {
    /// A row of a neighbour's update. Destinations that it no longer reaches join `lost`.
    fn learn(&mut self, now: Instant, from: Ipv4Addr, row: &Row, lost: &mut Vec<Ipv4Addr>) {
        let destination = row.destination;
        if destination == self.own {
            if row.sequence.is_newer_than(self.sequence) {
                // Somebody lost this station, which alone can give out a newer number.
                let next = row.sequence.next().0;
                self.sequence = Sequence(next.wrapping_add(next & 1));
                self.urgent = true;
            }
            return;
        }
        if destination.is_unspecified() || destination.is_multicast() || destination.is_broadcast()
        {
            return;
        }
        let Some(route) = self.routes.get_mut(&destination) else {
            if !row.is_broken() && (self.routes.len() < self.settings.route_table_size) {
                let route = Route::new(now, from, row, &self.settings);
                self.routes.insert(destination, route);
                self.install(now, destination, from);
            }
            return;
        };
        let before = *route;
        if !route.take(now, from, row, &self.settings) {
            // A neighbour lost what this station reaches, by fresher news (§2: important news).
            if row.is_broken() && route.is_valid() && from != route.next_hop {
                route.tell_at = Some(now);
                self.urgent = true;
            }
            return;
        }
        if !row.is_broken() {
            if !before.is_valid() || before.next_hop != from {
                self.install(now, destination, from);
            }
        } else if before.is_valid() {
            lost.push(destination);
            self.urgent = true;
            self.outbox.give(Output::Remove { destination });
        }
    }

    fn install(&mut self, now: Instant, destination: Ipv4Addr, next_hop: Ipv4Addr) {
        self.outbox.give(Output::Install {
            destination,
            next_hop,
        });
        for packet in self.waiting.take(destination) {
            self.forward(now, next_hop, packet);
        }
    }

    /// The link to a neighbour is gone.
    fn broken(&mut self, now: Instant, next_hop: Ipv4Addr, why: &'static str) {
        self.neighbours.remove(&next_hop);
        let mut any = false;
        for (&destination, route) in &mut self.routes {
            if route.is_valid() && route.next_hop == next_hop {
                route.break_here(now, &self.settings);
                self.outbox.give(Output::Remove { destination });
                any = true;
            }
        }
        if any {
            self.stats.link_failures += 1;
            self.urgent = true;
            self.outbox.tell(Event::LinkFailure { next_hop, why });
        }
    }

    /// The route's number is too old. A valid one first breaks: who forgets a number believes old news.
    fn expire(&mut self, now: Instant, destination: Ipv4Addr) {
        // The break of another may have broken it a moment ago.
        let route = self.routes.get_mut(&destination);
        let Some(route) = route.filter(|route| route.until <= now) else {
            return;
        };
        if !route.is_valid() {
            self.routes.remove(&destination);
        } else if route.next_hop == destination {
            self.broken(now, destination, "no-update");
        } else {
            route.break_here(now, &self.settings);
            self.outbox.give(Output::Remove { destination });
        }
    }

    fn forget(&mut self, destination: Ipv4Addr) {
        let route = self.routes.remove(&destination);
        if route.is_some_and(|route| route.is_valid()) {
            self.outbox.give(Output::Remove { destination });
        }
    }

    /// The update with all routes, and a new number.
    fn full(&mut self, now: Instant) {
        let interval = self.settings.update_interval_ns;
        // Within a tenth, so that stations do not speak in step.
        let jitter = self.random.up_to(interval / 10);
        self.next_full = now + interval - jitter;
        self.sequence = self.sequence.next().next();
        let mut rows = Vec::with_capacity(self.routes.len() + 1);
        rows.push(self.own_row());
        for (to, route) in &mut self.routes {
            // What may become better still waits (§3).
            if route.tell_at.is_none_or(|at| at <= now) {
                route.tell_at = None;
                rows.push(route.row(*to));
            }
        }
        self.stats.full_updates_sent += 1;
        self.send(now, &rows);
    }

    /// The update with what changed, if anything did and it is time.
    fn tell(&mut self, now: Instant) {
        let due = |route: &Route| route.tell_at.is_some_and(|at| at <= now);
        let timely = self.next_triggered <= now && self.routes.values().any(due);
        if !core::mem::take(&mut self.urgent) && !timely {
            return;
        }
        self.next_triggered = now + self.settings.triggered_interval_ns;
        let mut rows = [self.own_row()].to_vec();
        for (to, route) in self.routes.iter_mut().filter(|(_, route)| due(route)) {
            route.tell_at = None;
            rows.push(route.row(*to));
        }
        self.stats.triggered_updates_sent += 1;
        self.send(now, &rows);
    }

    fn own_row(&self) -> Row {
        Row {
            destination: self.own,
            hops: OWN_HOPS,
            sequence: self.sequence,
        }
    }

    fn send(&mut self, now: Instant, rows: &[Row]) {
        for part in rows.chunks(MOST_ROWS) {
            let wait = self.random.up_to(self.settings.broadcast_jitter_ns);
            let output = Output::Send {
                to: None,
                ttl: ONE_HOP,
                message: message::emit(part),
            };
            // Where a flood fills the queue, an update is lost as on the air.
            drop(self.outbox.later(now, now + wait, output));
        }
    }

    /// Sends a packet by its route, or lets it wait for one.
    fn send_on(&mut self, now: Instant, to: Ipv4Addr, packet: Vec<u8>) {
        let route = self.routes.get(&to).filter(|route| route.is_valid());
        if let Some(next_hop) = route.map(|route| route.next_hop) {
            self.forward(now, next_hop, packet);
        } else if self.settings.queue_packets == 0 {
            self.unreachable(DropCause::NoRoute, &packet);
        } else if let Some(oldest) = self.waiting.push(now, to, packet) {
            self.drop(DropCause::SendBufferFull, Some(&oldest.packet));
        }
    }

    fn forward(&mut self, now: Instant, next_hop: Ipv4Addr, packet: Vec<u8>) {
        if let Some(packet) = self.outbox.forward(now, next_hop, packet) {
            self.drop(DropCause::LinkBroken, Some(&packet));
        }
    }

    fn drop(&mut self, cause: DropCause, packet: Option<&[u8]>) {
        self.stats.dropped += 1;
        let packet = packet.and_then(Summary::of);
        self.outbox.tell(Event::Drop { cause, packet });
    }

    /// Drops a packet for want of a route, and tells the program that sent it.
    fn unreachable(&mut self, cause: DropCause, packet: &[u8]) {
        self.drop(cause, Some(packet));
        let mine = ipv4::View::new(packet).is_some_and(|view| view.source() == self.own);
        if let Some(told) = icmp::host_unreachable(self.own, packet).filter(|_| mine) {
            self.outbox.give(Output::Deliver(told));
        }
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    pub fn table(&self) -> &BTreeMap<Ipv4Addr, Route> {
        &self.routes
    }

    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Whether packets wait here.
    pub fn holds(&self) -> bool {
        !self.waiting.is_empty()
    }
}

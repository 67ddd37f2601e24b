// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The station's protocol state machine: inputs and outputs here, the rules in the files beside it.

mod flood;
mod hello;
mod routes;
mod topology;

use crate::event::{DropCause, Event};
use crate::link::Link;
use crate::message::{self, Qualities};
use crate::settings::{Metric, Settings};
use crate::{Output, PORT};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Instant, Stream};
use hoplab_routing_core::{icmp, Expiring, Hop, Outbox, Protocol, Recent};
use hoplab_routing_core::{Resolution, Sequence16, Summary};
use hoplab_wire::{ipv4, Mac};

/// Most links of a station. More neighbours than a channel can bear fill no more.
pub const MOST_LINKS: usize = 256;
/// Most links of neighbours, to stations two hops away.
const MOST_TWO_HOP: usize = 4096;

hoplab_base::counters! {
    /// Counters since the start.
    Stats {
        /// Packets that the kernel had no route for.
        caught,
        dropped,
        hellos_sent,
        tcs_sent,
        /// Messages of others, sent on as a multipoint relay.
        messages_forwarded,
        link_failures,
    }
}

/// The link of a topology tuple (§4.4): an advertised neighbour and who advertises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    pub sequence: Sequence16,
    pub qualities: Qualities,
}

/// One station running OLSR.
pub struct Olsr {
    settings: Settings,
    own: Ipv4Addr,
    random: Stream,
    outbox: Outbox<Event>,
    links: BTreeMap<Ipv4Addr, Link>,
    /// Neighbours as they were after the last input (§8.1).
    symmetric: BTreeSet<Ipv4Addr>,
    /// Neighbour and whom it reaches (§8.2).
    two_hop: Expiring<(Ipv4Addr, Ipv4Addr), Qualities>,
    relays: BTreeSet<Ipv4Addr>,
    /// By the station that advertises, and whom.
    topology: Expiring<(Ipv4Addr, Ipv4Addr), Advertised>,
    /// Messages that were processed, and that were judged for sending on (§3.4).
    processed: Recent<(Ipv4Addr, u16)>,
    judged: Recent<(Ipv4Addr, u16)>,
    /// What this station's TC has, its number, and until when an empty one is sent (§9.3).
    advertised: BTreeSet<Ipv4Addr>,
    advertised_number: Sequence16,
    empty_until: Instant,
    /// Whether relays, and routes, may be others than before.
    moved: bool,
    stale: bool,
    /// The time of the last input.
    settled: Instant,
    installed: BTreeMap<Ipv4Addr, routes::Route>,
    /// Messages that wait for their time, as octets.
    waiting: BTreeMap<(Instant, u64), Vec<u8>>,
    next_waiting: u64,
    packet_number: Sequence16,
    message_number: Sequence16,
    next_hello: Instant,
    next_tc: Instant,
    last_tc: Instant,
    stats: Stats,
}

impl Protocol for Olsr {
    const NAME: &'static str = "olsr";
    const TITLE: &'static str = "Optimized Link State Routing (RFC 3626)";
    const PORT: u16 = PORT;
    const FOLLOWS_TRAFFIC: bool = false;
    type Settings = Settings;
    type Event = Event;

    fn new(now: Instant, own: Ipv4Addr, settings: Settings, mut random: Stream) -> Self {
        let s = &settings;
        // Stations that start together do not speak together.
        let next_hello = now + random.up_to(s.hello_interval_ns);
        let next_tc = now + random.up_to(s.tc_interval_ns);
        Olsr {
            own,
            random,
            outbox: Outbox::new(s.neighbour_timeout_ns),
            links: BTreeMap::new(),
            symmetric: BTreeSet::new(),
            two_hop: Expiring::new(MOST_TWO_HOP),
            relays: BTreeSet::new(),
            topology: Expiring::new(s.topology_table_size),
            processed: Recent::new(s.duplicate_table_size),
            judged: Recent::new(s.duplicate_table_size),
            advertised: BTreeSet::new(),
            advertised_number: Sequence16(0),
            empty_until: now,
            moved: false,
            stale: false,
            settled: now,
            installed: BTreeMap::new(),
            waiting: BTreeMap::new(),
            next_waiting: 0,
            packet_number: Sequence16(0),
            message_number: Sequence16(0),
            next_hello,
            next_tc,
            last_tc: Instant::ZERO,
            stats: Stats::default(),
            settings,
        }
    }

    fn handle_packet(&mut self, now: Instant, packet: Vec<u8>) {
        self.stats.caught += 1;
        let Some(view) = ipv4::View::new(&packet) else {
            return self.drop(DropCause::Malformed, Some(&packet));
        };
        let (source, to) = (view.source(), view.destination());
        if to.is_multicast() || to.is_broadcast() || to == self.own {
            return self.drop(DropCause::Multicast, Some(&packet));
        }
        if let Some(packet) = self.send_on(now, to, packet) {
            self.drop(DropCause::NoRoute, Some(&packet));
            let mine = source == self.own;
            if let Some(told) = icmp::host_unreachable(self.own, &packet).filter(|_| mine) {
                self.outbox.give(Output::Deliver(told));
            }
        }
    }

    fn handle_message(&mut self, now: Instant, from: Hop, _ttl: u8, bytes: &[u8]) {
        if from.address == self.own || from.address.is_unspecified() || from.mac.is_group() {
            return;
        }
        let Ok((number, messages)) = message::parse(bytes) else {
            return self.drop(DropCause::Malformed, None);
        };
        self.outbox.heard(now, from);
        if let Some(link) = self.links.get_mut(&from.address) {
            link.came(now, number, &self.settings);
        }
        for message in messages {
            self.message(now, from.address, number, message);
        }
        self.settle(now, "no-hello");
    }

    fn handle_failure(&mut self, now: Instant, to: Mac, packet: &[u8]) {
        let neighbour = self.outbox.neighbours().address(to);
        let link = neighbour.and_then(|address| self.links.get_mut(&address));
        let destination = ipv4::View::new(packet).map(|view| view.destination());
        if let (Some(link), true) = (link, self.settings.link_layer_feedback) {
            link.lose(now, self.settings.neighb_hold_time_ns);
            self.settle(now, "not-acknowledged");
            if let Some(to) = destination.filter(|_| self.settings.keep_failed_packets) {
                if let Some(packet) = self.send_on(now, to, packet.to_vec()) {
                    self.drop(DropCause::LinkBroken, Some(&packet));
                }
                return;
            }
        }
        self.drop(DropCause::LinkBroken, Some(packet));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.outbox.release(now);
        let judged = self.judges_links();
        for link in self.links.values_mut().filter(|_| judged) {
            link.silent(now, &self.settings);
        }
        self.links.retain(|_, link| link.until > now);
        self.moved |= self.two_hop.expire(now);
        self.stale |= self.topology.expire(now);
        self.settle(now, "no-hello");
        if self.next_hello <= now {
            self.hello(now);
        }
        if self.next_tc <= now {
            self.tc(now);
        }
        self.flush_waiting(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let now = self.settled;
        let links = self.links.values();
        [
            self.outbox.next_deadline(),
            self.waiting.first_key_value().map(|((at, _), _)| *at),
            links.map(|l| l.next_deadline(now, &self.settings)).min(),
            self.two_hop.next_deadline(),
            self.topology.next_deadline(),
            Some(self.next_hello),
            Some(self.next_tc),
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

    /// Destination, next hop, cost in hops or expected transmissions.
    fn routes(&self, _now: Instant) -> String {
        let line = |(to, route): (&Ipv4Addr, &routes::Route)| {
            format!("{to} via={} cost={:.3}\n", route.next_hop, route.cost())
        };
        self.installed.iter().map(line).collect()
    }

    fn flush(&mut self, now: Instant) {
        self.links.clear();
        self.two_hop.retain(|_, _| false);
        self.topology.retain(|_, _| false);
        self.settle(now, "flush");
    }
}

impl Olsr {
    /// Whether links have a quality.
    fn judges_links(&self) -> bool {
        self.settings.hysteresis || self.settings.metric == Metric::Etx
    }

    fn is_symmetric(&self, now: Instant, address: Ipv4Addr) -> bool {
        let link = self.links.get(&address);
        link.is_some_and(|link| link.is_symmetric(now))
    }

    /// Hands a packet to the kernel by its route. Returns it if there is none.
    fn send_on(&mut self, now: Instant, to: Ipv4Addr, packet: Vec<u8>) -> Option<Vec<u8>> {
        match self.installed.get(&to).map(|route| route.next_hop) {
            Some(next_hop) => self.outbox.forward(now, next_hop, packet),
            None => Some(packet),
        }
    }

    /// Does what follows from the links as they are now. `why`: what a lost one is due to.
    fn settle(&mut self, now: Instant, why: &'static str) {
        self.settled = now;
        let links = self.links.iter().filter(|(_, link)| link.is_symmetric(now));
        let symmetric: BTreeSet<_> = links.map(|(address, _)| *address).collect();
        let before = core::mem::replace(&mut self.symmetric, symmetric);
        for &next_hop in before.difference(&self.symmetric) {
            self.stats.link_failures += 1;
            self.outbox.tell(Event::LinkFailure { next_hop, why });
            // Whom it reached, and that it sends by this station (§8.5).
            self.two_hop.retain(|(by, _), _| *by != next_hop);
            if let Some(link) = self.links.get_mut(&next_hop) {
                link.selector_until = now;
            }
        }
        for &address in self.symmetric.difference(&before) {
            self.outbox.tell(Event::Neighbour { address });
        }
        if core::mem::take(&mut self.moved) || before != self.symmetric {
            self.choose_relays();
            self.stale = true;
        }
        self.advertise(now);
        if core::mem::take(&mut self.stale) {
            self.find_routes();
        }
    }

    fn drop(&mut self, cause: DropCause, packet: Option<&[u8]>) {
        self.stats.dropped += 1;
        let packet = packet.and_then(Summary::of);
        self.outbox.tell(Event::Drop { cause, packet });
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Neighbours to which there is a link in both directions.
    pub fn symmetric(&self) -> &BTreeSet<Ipv4Addr> {
        &self.symmetric
    }

    /// Its multipoint relays.
    pub fn relays(&self) -> &BTreeSet<Ipv4Addr> {
        &self.relays
    }

    /// Whom its TC advertises.
    pub fn advertised(&self) -> &BTreeSet<Ipv4Addr> {
        &self.advertised
    }

    /// Links, links of neighbours and links of the topology that it knows.
    pub fn sizes(&self) -> [usize; 3] {
        [self.links.len(), self.two_hop.len(), self.topology.len()]
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The station's protocol state machine. Its parts are the modules beside this folder: each owns its
//! state, and answers with what is to be done. The files here do it. They stand in levels, and each
//! calls only those below (`tests/levels.rs`).

mod acks;
mod custody;
mod discovery;
mod effects;
mod learn;
mod link;
mod maintain;
mod receive;
mod send;
mod signal;

use crate::agenda::{Agenda, Delayed};
use crate::cache::{Route, Store};
use crate::event::{DropCause, Event};
use crate::layer::{Alone, Layer, Place};
use crate::maintenance::MaintenanceBuffer;
use crate::neighbours::Neighbours;
use crate::queue::{InterfaceQueue, Item};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::tables::{Blacklist, GratuitousTable, Handled, News, RequestTable, SendBuffer, Waiting};
use crate::wire::{Packet, ETHERTYPE_ARP};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Instant, Stream};
use hoplab_wire::{arp, Mac};

/// Names one transmitted frame when its status comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Routing,
    Data,
}

impl Class {
    fn of(item: &Item) -> Self {
        if item.routing {
            Class::Routing
        } else {
            Class::Data
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDestination {
    /// Its status comes through `handle_tx_status`.
    Unicast(Mac),
    /// Has no status.
    Broadcast,
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<E> {
    /// An IP packet for the local stack.
    Deliver(Vec<u8>),
    /// A network-layer packet for the link.
    Transmit {
        to: LinkDestination,
        ethertype: u16,
        bytes: Vec<u8>,
        token: Token,
        class: Class,
    },
    Event(Event<E>),
    /// What this station's layer did.
    Layer(E),
}

hoplab_base::counters! {
    /// Counters since the start.
    Stats {
        originated,
        delivered,
        forwarded,
        salvaged,
        /// Packets of others that were put into the Send Buffer because no route could save them.
        salvage_waits,
        dropped,
        requests_sent,
        requests_forwarded,
        replies_sent,
        cached_replies_sent,
        gratuitous_replies_sent,
        replies_suppressed,
        errors_sent,
        link_failures,
        status_timeouts,
        /// Frames that the interface did not take.
        frames_refused,
        /// Frames handed to the link that carry DSR control only, each hop counted.
        routing_frames,
        arp_frames,
        data_frames,
        overheard,
    }
}

struct Outstanding {
    item: Item,
    sent: Instant,
}

/// One station running DSR.
///
/// The driver feeds input through [`handle_ip_packet`](Dsr::handle_ip_packet),
/// [`handle_frame`](Dsr::handle_frame), [`handle_tx_status`](Dsr::handle_tx_status) and
/// [`handle_timeout`](Dsr::handle_timeout) with a time that never goes back. After each call it
/// drains [`poll_output`](Dsr::poll_output) until `None`. Then it waits for input or for
/// [`next_deadline`](Dsr::next_deadline), whichever comes first. It may batch inputs before
/// draining.
///
/// The driver answers every unicast `Transmit` by one `handle_tx_status`, or by
/// [`handle_refusal`](Dsr::handle_refusal). Without an answer the core takes the frame as failed
/// after `status_timeout_ns`. The same inputs, times and stream give the same outputs.
pub struct Dsr<L: Layer = Alone> {
    settings: Settings,
    own: Ipv4Addr,
    mac: Mac,
    random: Stream,
    cache: Store,
    send_buffer: SendBuffer,
    requests: RequestTable,
    gratuitous: GratuitousTable,
    blacklist: Blacklist,
    handled: Handled,
    /// Data packets that were overheard lately. Only `overhear_every_hop = false` asks for them.
    overheard: Handled,
    neighbours: Neighbours,
    queue: InterfaceQueue,
    /// Unicast frames with the link. Tokens only grow, so the map is in the order of sending.
    outstanding: BTreeMap<Token, Outstanding>,
    agenda: Agenda,
    /// Requests that wait for the test of a questionable link, with the neighbour at its other end.
    held: Vec<(Ipv4Addr, Packet)>,
    maintenance: MaintenanceBuffer,
    signals: Signals,
    outputs: VecDeque<Output<L::Event>>,
    news: News,
    layer: L,
    next_token: u64,
    next_request: u16,
    stats: Stats,
}

impl Dsr {
    /// A station with the given addresses, which draws from its own stream `random`.
    pub fn new(own: Ipv4Addr, mac: Mac, settings: Settings, random: Stream) -> Self {
        Dsr::with_layer(own, mac, settings, random, Alone)
    }
}

impl<L: Layer> Dsr<L> {
    /// A station as of [`Dsr::new`], with `layer` between it and its local stack.
    pub fn with_layer(
        own: Ipv4Addr,
        mac: Mac,
        settings: Settings,
        random: Stream,
        layer: L,
    ) -> Self {
        Dsr {
            cache: Store::new(own, &settings),
            settings,
            own,
            mac,
            random,
            send_buffer: SendBuffer::default(),
            requests: RequestTable::default(),
            gratuitous: GratuitousTable::default(),
            blacklist: Blacklist::default(),
            handled: Handled::default(),
            overheard: Handled::default(),
            neighbours: Neighbours::default(),
            queue: InterfaceQueue::default(),
            outstanding: BTreeMap::new(),
            agenda: Agenda::default(),
            held: Vec::new(),
            maintenance: MaintenanceBuffer::default(),
            signals: Signals::default(),
            outputs: VecDeque::new(),
            news: News::default(),
            layer,
            next_token: 0,
            next_request: 0,
            stats: Stats::default(),
        }
    }

    /// An IP packet from the local stack.
    pub fn handle_ip_packet(&mut self, now: Instant, bytes: &[u8]) {
        match Packet::parse(bytes) {
            Err(_) => self.drop_packet(DropCause::Malformed, None),
            // Only this core writes DSR options, so those of a local program are forged.
            Ok(packet) if packet.options.is_some() => {
                self.drop_packet(DropCause::Malformed, Some(&packet));
            }
            Ok(packet) => {
                self.stats.originated += 1;
                if self.layer_takes(now, Place::Leaving, &packet) {
                    return self.pump(now);
                }
                self.originate(now, Waiting::new(now, packet));
            }
        }
        self.pump(now);
    }

    /// The next thing to do; `None` when nothing is left.
    pub fn poll_output(&mut self) -> Option<Output<L::Event>> {
        self.outputs.pop_front()
    }

    /// When `handle_timeout` must be called at the latest.
    pub fn next_deadline(&self) -> Option<Instant> {
        let delayed = self.agenda.next_deadline();
        let status = self.outstanding.values().map(|o| o.sent).min();
        let status = status.map(|t| t + self.settings.status_timeout_ns);
        let expiry = self.send_buffer.next_expiry(|w| self.longest_wait(w));
        // Targets that only packets of other nodes wait for are left out. `pursue` asks for them
        // once and leaves their `not_before` in the past, which would end every wait at once.
        let targets = self.send_buffer.targets(|packet| self.answers_for(packet));
        let request = targets
            .iter()
            .filter_map(|t| self.requests.not_before(*t))
            .min();
        let acks = self.maintenance.next_deadline();
        let arp = self.neighbours.next_deadline();
        let layer = self.layer.next_deadline();
        [delayed, status, expiry, request, acks, arp, layer]
            .into_iter()
            .flatten()
            .min()
    }

    /// Time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(action) = self.agenda.due(now) {
            match action {
                Delayed::Send(item) => self.enqueue(item),
                Delayed::CachedReply { item, .. } => {
                    self.stats.cached_replies_sent += 1;
                    self.enqueue(item);
                }
                Delayed::ArpAnswer { mac, ip } => {
                    let to = LinkDestination::Unicast(mac);
                    let bytes = self.arp(arp::Operation::Reply, mac, ip).emit();
                    self.transmit(to, ETHERTYPE_ARP, bytes, Class::Routing);
                }
                Delayed::HeldRequest { from } => self.held.retain(|(a, _)| *a != from),
            }
        }
        self.expire_status(now);
        self.expire_acks(now);
        self.expire_waiting(now);
        let targets = self.send_buffer.targets(|packet| self.answers_for(packet));
        for target in targets {
            self.pursue(now, target);
        }
        let (ask, failed) = self.neighbours.poll(now, &self.settings);
        for target in ask {
            self.ask_address(target);
        }
        for hop in failed {
            self.address_unknown(now, hop);
        }
        self.layer_timeout(now);
        self.pump(now);
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    pub fn routes(&self, now: Instant) -> Vec<Route> {
        self.cache.routes(now)
    }

    /// Forgets all routes.
    pub fn flush(&mut self) {
        self.cache.flush();
    }

    /// The layer between the protocol and the local stack.
    pub fn layer(&self) -> &L {
        &self.layer
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Packets still inside: waiting for a route, an address, the interface or a confirmation.
    pub fn pending(&self) -> usize {
        self.send_buffer.len()
            + self.queue.len()
            + self.outstanding.len()
            + self.maintenance.len()
            + self.neighbours.waiting()
    }
}

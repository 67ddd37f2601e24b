// SPDX-License-Identifier: Apache-2.0
//! The station's protocol state machine.

mod acks;
mod custody;
mod discovery;
mod maintain;
mod receive;
mod signal;

use crate::cache::{Route, Store};
use crate::event::{DropCause, Event, Summary};
use crate::layer::{Alone, Fate, Layer, Place, Report};
use crate::neighbours::Neighbours;
use crate::queue::{InterfaceQueue, Item};
use crate::settings::Settings;
use crate::tables::{Blacklist, GratuitousTable, Handled, RequestTable, SendBuffer, Waiting};
use crate::wire::{
    icmp, DsrOption, Packet, RouteError, SourceRoute, ETHERTYPE_ARP, ETHERTYPE_IPV4,
};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant, Stream};
use hoplab_wire::{arp, Mac};

/// Names one transmitted frame when its status comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Routing,
    Data,
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

/// Declares [`Stats`] once: its fields are also the counters' names.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters since the start.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Stats {
            /// Every counter with its name.
            pub fn counters(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
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

struct Outstanding {
    item: Item,
    sent: Instant,
}

enum Delayed {
    Send(Item),
    /// A reply from the cache that a better answer may still cancel (§8.2.5).
    CachedReply {
        item: Item,
        initiator: Ipv4Addr,
        target: Ipv4Addr,
        hops: usize,
    },
    /// Gives up the held requests of a questionable neighbour that did not answer (§8.2.2).
    HeldRequest {
        from: Ipv4Addr,
    },
    /// An ARP reply. It waits until the link layer knows the neighbour that asked.
    ArpAnswer {
        mac: Mac,
        ip: Ipv4Addr,
    },
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
    /// Actions by their time. The number keeps equal times apart, and in the order of their call.
    delayed: BTreeMap<(Instant, u64), Delayed>,
    /// Requests that wait for the test of a questionable link, with the neighbour at its other end.
    held: Vec<(Ipv4Addr, Packet)>,
    /// The Maintenance Buffer (§4.5). It stays empty with link-layer feedback.
    maintenance: Vec<acks::Maintained>,
    ack_state: acks::AckState,
    /// Of each neighbour, when it was heard last and its mean signal, dBm.
    signals: BTreeMap<Ipv4Addr, (Instant, f64)>,
    outputs: VecDeque<Output<L::Event>>,
    /// Errors to spread with the next own Route Request (§3.4.4), and since when.
    errors_to_spread: Vec<(Instant, RouteError)>,
    layer: L,
    next_token: u64,
    next_order: u64,
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
            delayed: BTreeMap::new(),
            held: Vec::new(),
            maintenance: Vec::new(),
            ack_state: acks::AckState::default(),
            signals: BTreeMap::new(),
            outputs: VecDeque::new(),
            errors_to_spread: Vec::new(),
            layer,
            next_token: 0,
            next_order: 0,
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
                self.originate(
                    now,
                    Waiting {
                        packet,
                        since: now,
                        attempts: 0,
                    },
                );
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
        let delayed = self.delayed.keys().next().map(|k| k.0);
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
        let acks = self.maintenance.iter().map(|m| m.deadline).min();
        let arp = self.neighbours.next_deadline();
        let layer = self.layer.next_deadline();
        [delayed, status, expiry, request, acks, arp, layer]
            .into_iter()
            .flatten()
            .min()
    }

    /// Time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(key) = self.delayed.keys().next().copied().filter(|k| k.0 <= now) {
            match self.delayed.remove(&key) {
                Some(Delayed::Send(item)) => self.enqueue(item),
                Some(Delayed::CachedReply { item, .. }) => {
                    self.stats.cached_replies_sent += 1;
                    self.enqueue(item);
                }
                Some(Delayed::ArpAnswer { mac, ip }) => {
                    let to = LinkDestination::Unicast(mac);
                    let bytes = self.arp(arp::Operation::Reply, mac, ip).emit();
                    self.transmit(to, ETHERTYPE_ARP, bytes, Class::Routing);
                }
                Some(Delayed::HeldRequest { from }) => self.held.retain(|(a, _)| *a != from),
                None => {}
            }
        }
        self.expire_status(now);
        self.expire_acks(now);
        let (own, layer, s) = (self.own, &self.layer, &self.settings);
        let expired = self
            .send_buffer
            .take_expired(now, |w| longest_wait(s, answers_for(own, layer, &w.packet)));
        for w in expired {
            self.drop_packet(DropCause::SendBufferTimeout, Some(&w.packet));
        }
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

    /// Unicast frames with the link whose status has not come.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Whether a status must come before the next unicast frame can go.
    pub fn full(&self) -> bool {
        self.outstanding.len() >= self.settings.outstanding.max(1)
    }

    /// Whether packets wait that the next status would let go.
    pub fn blocked(&self) -> bool {
        self.full() && !self.queue.is_empty()
    }

    /// Whether packets wait for a route, which any frame may teach.
    pub fn seeks(&self) -> bool {
        !self.send_buffer.is_empty()
    }

    /// Packets still inside: waiting for a route, an address, the interface or a confirmation.
    pub fn pending(&self) -> usize {
        self.send_buffer.len()
            + self.queue.len()
            + self.outstanding.len()
            + self.maintenance.len()
            + self.neighbours.waiting()
    }

    /// §8.1.1: sends a packet of this node along a cached route or starts a discovery.
    fn originate(&mut self, now: Instant, w: Waiting) {
        let to = w.packet.ip.destination;
        if to == self.own {
            self.stats.delivered += 1;
            self.outputs.push_back(Output::Deliver(w.packet.emit()));
        } else if to.is_multicast() || to.is_broadcast() {
            self.drop_packet(DropCause::Multicast, Some(&w.packet));
        } else if let Some(route) = self.cache.find(now, to, &[]) {
            self.send_along(now, w, &route);
        } else {
            self.await_route(now, w);
        }
    }

    fn answers_for(&self, packet: &Packet) -> bool {
        answers_for(self.own, &self.layer, packet)
    }

    fn longest_wait(&self, w: &Waiting) -> Duration {
        longest_wait(&self.settings, self.answers_for(&w.packet))
    }

    /// Puts the packet into the Send Buffer and asks for a route.
    fn await_route(&mut self, now: Instant, w: Waiting) {
        let target = w.packet.ip.destination;
        self.tell(&w.packet, Fate::Held);
        let (layer, most) = (&self.layer, self.settings.send_buffer_packets);
        let meets = |new: &Packet, waiting: &Packet| layer.meets(new, waiting);
        if let Some(out) = self.send_buffer.push(w, most, meets) {
            self.drop_packet(DropCause::SendBufferFull, Some(&out.packet));
        }
        // Only now: `pursue` asks for no target that the Send Buffer does not wait for.
        self.pursue(now, target);
    }

    /// Sends a packet of this node along `route` (this node first), §8.1.2 and §8.1.3.
    fn send_along(&mut self, now: Instant, w: Waiting, route: &[Ipv4Addr]) {
        let Waiting {
            mut packet,
            since,
            attempts,
        } = w;
        // A route to another node has a next hop. Callers have dealt with packets for this node.
        let Some(next_hop) = route.get(1).copied() else {
            return;
        };
        self.cache.used(now, route);
        // To a neighbour the IP destination alone names the receiver, and the packet travels
        // without a source route. §8.1.1 to §8.1.3 allow that.
        if route.len() > 2 {
            let listed = route[1..route.len() - 1].to_vec();
            let option = DsrOption::SourceRoute(SourceRoute {
                first_hop_external: false,
                last_hop_external: false,
                salvage: 0,
                segments_left: listed.len() as u8,
                addresses: listed,
            });
            // It stands first, where the daemon's socket filter looks for it.
            packet.options.get_or_insert_default().insert(0, option);
        }
        if packet.wire_len() > self.settings.link_mtu {
            return self.too_big(packet);
        }
        self.handled.record(now, &packet);
        let routing = packet.is_control();
        let maintained = !has_ack(&packet);
        let next_hop = Some(next_hop);
        self.enqueue(Item {
            packet,
            next_hop,
            routing,
            maintained,
            attempts,
            since,
        });
    }

    /// The packet with its source route is longer than a frame. The node fragments nothing (§8.1.5,
    /// §8.5). If the packet is one of the local stack, this tells the stack the size that fits
    /// (RFC 1191).
    fn too_big(&mut self, packet: Packet) {
        self.drop_packet(DropCause::TooBig, Some(&packet));
        if packet.ip.source != self.own || packet.is_control() {
            return;
        }
        // The stack knows nothing of the DSR header, so its room counts against the MTU.
        let header = packet.wire_len() - packet.ip.header_len() - packet.payload.len();
        let mtu = self
            .settings
            .link_mtu
            .saturating_sub(header)
            .min(usize::from(u16::MAX)) as u16;
        let [high, low] = mtu.to_be_bytes();
        let rest = [0, 0, high, low];
        let reply = icmp::error(
            self.own,
            self.own,
            icmp::FRAGMENTATION_NEEDED,
            rest,
            &packet,
        );
        self.outputs.push_back(Output::Deliver(reply.emit()));
    }

    fn enqueue(&mut self, item: Item) {
        if let Some(dropped) = self.queue.push(item, self.settings.queue_packets) {
            self.drop_packet(DropCause::QueueFull, Some(&dropped.packet));
        }
    }

    /// Whatever waits for a route that is known by now is sent (§4.1, §8.2.6).
    fn serve_waiting(&mut self, now: Instant) {
        if self.send_buffer.is_empty() {
            return;
        }
        for target in self.send_buffer.targets(|_| true) {
            if self.cache.find(now, target, &[]).is_none() {
                continue;
            }
            // A route that was overheard ends the back-off as a reply does (§4.3).
            self.requests.answered(target);
            for w in self.send_buffer.take_for(target) {
                if w.packet.ip.source == self.own {
                    self.originate(now, w);
                } else {
                    // It has visited nodes already, so it is salvaged and not originated.
                    self.salvage_waiting(now, w);
                }
            }
        }
    }

    fn delay(&mut self, at: Instant, what: Delayed) {
        self.next_order += 1;
        self.delayed.insert((at, self.next_order), what);
    }

    fn jitter(&mut self) -> Duration {
        let max = self.settings.broadcast_jitter_ns;
        self.random.up_to(max)
    }

    fn event(&mut self, event: Event<L::Event>) {
        self.outputs.push_back(Output::Event(event));
    }

    fn drop_packet(&mut self, cause: DropCause, packet: Option<&Packet>) {
        self.stats.dropped += 1;
        self.event(Event::Drop {
            cause,
            packet: packet.map(Summary::of),
        });
        if let Some(packet) = packet.filter(|_| cause.is_of_the_route()) {
            self.tell(packet, Fate::Dropped(cause));
        }
    }

    /// Tells the layer what became of a packet whose route failed.
    fn tell(&mut self, packet: &Packet, fate: Fate) {
        let reports = self.layer.fate(packet, fate);
        self.report(reports);
    }

    fn report(&mut self, reports: Vec<Report<L::Event>>) {
        self.outputs
            .extend(reports.into_iter().map(|report| match report {
                Report::Deliver(packet) => Output::Deliver(packet.emit()),
                Report::Event(event) => Output::Layer(event),
            }));
    }

    fn token(&mut self) -> Token {
        self.next_token += 1;
        Token(self.next_token)
    }

    fn ask_address(&mut self, target: Ipv4Addr) {
        let unknown = Mac::default();
        let bytes = self.arp(arp::Operation::Request, unknown, target).emit();
        self.transmit(
            LinkDestination::Broadcast,
            ETHERTYPE_ARP,
            bytes,
            Class::Routing,
        );
    }

    /// An ARP packet of this station.
    fn arp(&self, operation: arp::Operation, target_mac: Mac, target: Ipv4Addr) -> arp::Packet {
        arp::Packet {
            operation,
            sender_mac: self.mac,
            sender: self.own,
            target_mac,
            target,
        }
    }

    fn transmit(
        &mut self,
        to: LinkDestination,
        ethertype: u16,
        bytes: Vec<u8>,
        class: Class,
    ) -> Token {
        debug_assert!(ethertype == ETHERTYPE_ARP || ethertype == ETHERTYPE_IPV4);
        let token = self.token();
        match class {
            _ if ethertype == ETHERTYPE_ARP => self.stats.arp_frames += 1,
            Class::Routing => self.stats.routing_frames += 1,
            Class::Data => self.stats.data_frames += 1,
        }
        self.outputs.push_back(Output::Transmit {
            to,
            ethertype,
            bytes,
            token,
            class,
        });
        token
    }
}

/// Whether `packet` is one of `node`: of its local stack, or one that its layer has taken over.
fn answers_for(node: Ipv4Addr, layer: &impl Layer, packet: &Packet) -> bool {
    packet.ip.source == node || layer.custodian(packet) == Some(node)
}

/// How long a packet may stay in the Send Buffer (§4.2). A packet of another node leaves sooner.
fn longest_wait(s: &Settings, own: bool) -> Duration {
    if own {
        s.send_buffer_timeout_ns
    } else {
        s.request_period_ns
    }
}

/// Whether the packet carries an Acknowledgement. Such a packet asks for none in return: two
/// neighbours would else acknowledge each other's acknowledgements without end.
fn has_ack(packet: &Packet) -> bool {
    packet
        .options()
        .iter()
        .any(|o| matches!(o, DsrOption::Ack { .. }))
}

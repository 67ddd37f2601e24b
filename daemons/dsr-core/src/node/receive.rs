// SPDX-License-Identifier: Apache-2.0
//! Processing of received packets (RFC 4728 §8.1.4 to §8.1.6): learning from them, forwarding,
//! delivering, and automatic route shortening from overheard ones.

use super::Dsr;
use crate::agenda::Delayed;
use crate::layer::{Layer, Place};

use crate::cache::Origin;
use crate::event::{DropCause, Event};
use crate::queue::Item;
use crate::settings::{Learning, Resolution};
use crate::wire::{DsrOption, ErrorKind, Packet, RouteError, SourceRoute};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_wire::{arp, Mac};

impl<L: Layer> Dsr<L> {
    /// A network-layer packet from the link: IPv4 or ARP. `promiscuous`: the frame was addressed
    /// to somebody else. `signal_dbm`: strength of the frame if known.
    pub fn handle_frame(
        &mut self,
        now: Instant,
        source: Mac,
        destination: Mac,
        bytes: &[u8],
        signal_dbm: Option<i16>,
        promiscuous: bool,
    ) {
        if source != self.mac {
            if bytes.first().is_some_and(|b| b >> 4 == 4) {
                self.handle_ip_frame(now, source, destination, bytes, signal_dbm, promiscuous);
            } else if !promiscuous {
                self.handle_arp(now, bytes);
            }
        }
        self.pump(now);
    }

    fn handle_arp(&mut self, now: Instant, bytes: &[u8]) {
        let Some(packet) = arp::Packet::parse(bytes) else {
            return;
        };
        let (mac, sender) = (packet.sender_mac, packet.sender);
        if sender.is_unspecified() || sender == self.own || mac.is_group() {
            return;
        }
        if packet.target == self.own {
            let usable = self.neighbours.learn(now, sender, mac, &self.settings);
            if packet.operation == arp::Operation::Request {
                self.agenda
                    .add(usable.max(now), Delayed::ArpAnswer { mac, ip: sender });
            }
        }
    }

    fn handle_ip_frame(
        &mut self,
        now: Instant,
        source: Mac,
        destination: Mac,
        bytes: &[u8],
        signal_dbm: Option<i16>,
        promiscuous: bool,
    ) {
        let packet = match Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(_) if promiscuous => return,
            Err(_) => return self.drop_packet(DropCause::Malformed, None),
        };
        let Some(from) = transmitter(&packet) else {
            if !promiscuous {
                self.drop_packet(DropCause::Malformed, Some(&packet));
            }
            return;
        };
        if from == self.own || packet.ip.source.is_multicast() || source.is_group() {
            return;
        }
        // What the monitor interface overhears tells the link layer nothing of its sender.
        if self.settings.resolution == Resolution::Learned && !promiscuous {
            self.neighbours.learn(now, from, source, &self.settings);
        }
        self.note_signal(now, from, signal_dbm);
        if promiscuous {
            self.stats.overheard += 1;
            self.overhear(now, packet, from);
        } else {
            self.receive(now, packet, (from, source), destination.is_group());
        }
        self.serve_waiting(now);
    }

    /// A frame meant for this node, or for everybody.
    fn receive(
        &mut self,
        now: Instant,
        mut packet: Packet,
        (from, source): (Ipv4Addr, Mac),
        group: bool,
    ) {
        match self.unknown_options(now, &mut packet, from) {
            Ok(()) => {}
            Err(cause) => return self.drop_packet(cause, Some(&packet)),
        }
        if packet.route_request().is_some() {
            // Errors first: the cache must not answer this request with a link that they remove.
            self.learn_errors(now, &packet);
            return self.route_request(now, packet, from);
        }
        let receiver = match packet.source_route() {
            Some(sr) => sr.receiver().unwrap_or(packet.ip.destination),
            None => packet.ip.destination,
        };
        if receiver != self.own {
            // Broadcast IP traffic of other kinds is not DSR's. The sender of any other frame takes
            // this station for another one. The ARP reply says whose link-layer address it is.
            // Without that the sender would never notice, as the link acknowledges such frames.
            if !group {
                self.agenda.add(
                    now,
                    Delayed::ArpAnswer {
                        mac: source,
                        ip: from,
                    },
                );
                self.drop_packet(DropCause::NotForUs, Some(&packet));
            }
            return;
        }
        self.learn_options(now, &packet, from);
        self.learn_errors(now, &packet);
        // Before the layer may take the packet: the previous hop waits for an answer either way.
        self.answer_ack_request(now, &packet, from);
        if packet.ip.destination == self.own {
            self.deliver(now, packet);
        } else {
            self.forward(now, packet);
        }
    }

    /// §8.1.5, for a packet whose next listed node is this one.
    fn forward(&mut self, now: Instant, mut packet: Packet) {
        let own = self.own;
        // A source route without a salvage lists every hop, so a loop shows in the list or at the
        // source. A salvaged one has lost its first hops, so `handled` remembers what was here.
        // Without the Visited option a salvaged packet may come back; §8.3.6 lets it.
        let salvaged = packet.source_route().is_some_and(|sr| sr.salvage > 0);
        let may_return = salvaged && !self.settings.visited_option;
        let listed_twice =
            |sr: &SourceRoute| sr.addresses.iter().filter(|a| **a == own).count() > 1;
        let returned = packet.source_route().is_some_and(listed_twice)
            || packet.ip.source == own && !may_return
            || salvaged && !may_return && self.handled.contains(now, &packet);
        if returned {
            return self.drop_packet(DropCause::Loop, Some(&packet));
        }
        if packet.ip.ttl <= 1 {
            return self.drop_packet(DropCause::TtlExpired, Some(&packet));
        }
        packet.ip.ttl -= 1;
        let destination = packet.ip.destination;
        let Some(sr) = packet.source_route_mut() else {
            return self.drop_packet(DropCause::NotForUs, Some(&packet));
        };
        // From here on the route names the next hop as its receiver (§8.1.5).
        sr.segments_left = sr.segments_left.saturating_sub(1);
        let next = sr.receiver().unwrap_or(destination);
        if next.is_multicast() || next.is_broadcast() || destination.is_multicast() {
            return self.drop_packet(DropCause::Multicast, Some(&packet));
        }
        // Each hop is confirmed for itself, with an identification of its own (§8.3.3).
        packet.remove_options(|o| matches!(o, DsrOption::AckRequest { .. }));
        self.handled.record(now, &packet);
        self.stats.forwarded += 1;
        let hops = packet.travelled().len();
        let hops = hops.min(usize::from(u8::MAX)) as u8;
        if self.layer_takes(now, Place::Passing { hops }, &packet) {
            return;
        }
        let routing = packet.is_control();
        let maintained = !packet.has_ack();
        let next_hop = Some(next);
        self.enqueue(Item {
            packet,
            next_hop,
            routing,
            maintained,
            attempts: 0,
            since: now,
        });
    }

    /// A frame for somebody else: learn from it, and see whether it could have come straight here.
    fn overhear(&mut self, now: Instant, packet: Packet, from: Ipv4Addr) {
        // Only the unicast test of a questionable link (§8.2.2) comes here. It is for one node.
        if packet.route_request().is_some() {
            return;
        }
        // Every copy may confirm a hop, also one that teaches no more routes below.
        self.passive_ack(&packet);
        if !self.settings.overhear_every_hop && !packet.is_control() {
            if self.overheard.contains(now, &packet) {
                return;
            }
            self.overheard.record(now, &packet);
        }
        self.learn_errors(now, &packet);
        let hops = packet.source_route().map_or(1, |sr| sr.addresses.len() + 1);
        if self.settings.prevent_reply_storms && !packet.is_control() {
            self.suppress_replies(packet.ip.source, packet.ip.destination, hops);
        }
        if self.settings.overhear_routes {
            self.learn_overheard(now, &packet, from);
        }
        if self.settings.gratuitous_replies {
            self.shorten(now, &packet, from);
        }
    }

    /// Automatic route shortening (§3.4.3, §8.1.5).
    fn shorten(&mut self, now: Instant, packet: &Packet, from: Ipv4Addr) {
        let Some(sr) = packet.source_route() else {
            return;
        };
        let (Some(at), source) = (sr.position(), packet.ip.source) else {
            return;
        };
        let nodes = listed_nodes(packet, sr);
        // `nodes` may begin with the source, which `addresses` does not list.
        let offset = nodes.len() - sr.addresses.len() - 1;
        let receiver = at + offset;
        // This node stands later in the route than the frame's receiver.
        let Some(me) = nodes.iter().position(|a| *a == self.own) else {
            return;
        };
        // The IP source of a salvaged packet did not choose this route, so it cannot shorten it.
        if me <= receiver || receiver == 0 || sr.salvage > 0 || packet.is_control() {
            return;
        }
        if !self
            .gratuitous
            .admit(now, (source, from), self.settings.grat_reply_holdoff_ns)
        {
            return;
        }
        let sender = receiver - 1;
        let mut route: Vec<_> = nodes[1..=sender].to_vec();
        route.extend_from_slice(&nodes[me..]);
        // Back along the hops by which the packet came here.
        let mut back = vec![self.own];
        back.extend(nodes[..=sender].iter().rev());
        let item = self.reply(now, &back, route.clone());
        self.stats.gratuitous_replies_sent += 1;
        self.event(Event::ReplySent {
            to: source,
            route,
            why: "shorter",
        });
        self.enqueue(item);
    }

    /// Takes the routes of a packet meant for this node into the cache (§8.1.4).
    fn learn_options(&mut self, now: Instant, packet: &Packet, from: Ipv4Addr) {
        let mine = packet.ip.destination == self.own;
        let origin = if mine {
            Origin::Discovered
        } else {
            Origin::Overheard
        };
        match packet.source_route() {
            Some(sr) => self.cache.learn(now, &listed_nodes(packet, sr), origin),
            None => self.cache.learn(now, &[from, self.own], origin),
        }
        for option in packet.options() {
            match option {
                DsrOption::RouteReply { addresses, .. } => {
                    let mut nodes = vec![packet.ip.destination];
                    nodes.extend_from_slice(addresses);
                    self.learn_signals(now, packet, &nodes);
                    if mine || self.settings.learning == Learning::Full {
                        self.cache.learn(now, &nodes, origin);
                    }
                    if mine {
                        self.route_reply(now, packet.ip.source, addresses);
                    }
                }
                DsrOption::Ack {
                    identification,
                    source,
                    destination,
                } => {
                    self.cache
                        .learn(now, &[*source, *destination], Origin::Overheard);
                    if *destination == self.own {
                        self.handle_ack(now, *identification, *source);
                    }
                }
                _ => {}
            }
        }
    }

    /// The routes of an overheard packet, from the transmitter on and back (§3.3.1).
    fn learn_overheard(&mut self, now: Instant, packet: &Packet, from: Ipv4Addr) {
        let full = self.settings.learning == Learning::Full;
        let way = match packet.source_route() {
            Some(sr) => listed_nodes(packet, sr),
            None => vec![packet.ip.source, packet.ip.destination],
        };
        self.learn_through(now, &way, from, true);
        for option in packet.options() {
            // A reply goes to the initiator, which heads the route without being listed (§6.3).
            if let DsrOption::RouteReply { addresses, .. } = option {
                let mut nodes = vec![packet.ip.destination];
                nodes.extend_from_slice(addresses);
                self.learn_through(now, &nodes, from, full);
            }
        }
    }

    /// Learns the route `nodes`. If this node is not on it, `through` says whether to learn the way
    /// by `from`, a neighbour on that route.
    fn learn_through(&mut self, now: Instant, nodes: &[Ipv4Addr], from: Ipv4Addr, through: bool) {
        if nodes.contains(&self.own) {
            return self.cache.learn(now, nodes, Origin::Overheard);
        }
        let Some(at) = nodes.iter().position(|a| *a == from).filter(|_| through) else {
            return;
        };
        let mut onward = vec![self.own];
        onward.extend_from_slice(&nodes[at..]);
        self.cache.learn(now, &onward, Origin::Overheard);
        if self.settings.learning == Learning::Full {
            let mut backward = vec![self.own];
            backward.extend(nodes[..=at].iter().rev());
            self.cache.learn(now, &backward, Origin::Overheard);
        }
    }

    /// Route Errors of a packet that is received or overheard (§8.3.5).
    fn learn_errors(&mut self, now: Instant, packet: &Packet) {
        let options = packet.options();
        for (i, option) in options.iter().enumerate() {
            let DsrOption::RouteError(e) = option else {
                continue;
            };
            let ErrorKind::NodeUnreachable(unreachable) = e.kind else {
                continue;
            };
            self.cache.remove_link(now, e.source, unreachable);
            // The initiator of a Route Request has dealt with the errors that it spreads.
            let mine = e.destination == self.own && packet.route_request().is_none();
            let reports = self.layer.warned(now, e, mine);
            self.report(reports);
            if !mine {
                continue;
            }
            let told = self.layer.read(&e.extension);
            self.event(Event::ErrorReceived {
                from: e.source,
                unreachable,
                told,
            });
            if self.settings.piggyback_errors {
                self.news.add(now, e);
            }
            if packet.ip.destination == self.own {
                // The errors behind this one are for other nodes. They go on in one packet, whose
                // receiver passes on the next in turn.
                self.pass_on(now, e.salvage, &options[i + 1..]);
                break;
            }
        }
    }

    /// A packet of this node carried the options `rest` and met the break. This node sends them on
    /// to the destination of the first one (§8.3.5).
    fn pass_on(&mut self, now: Instant, salvage: u8, rest: &[DsrOption]) {
        let to = match rest.first() {
            Some(DsrOption::RouteError(e)) if e.source == self.own => e.destination,
            Some(DsrOption::Ack {
                source,
                destination,
                ..
            }) if *source == self.own => *destination,
            _ => return,
        };
        if to == self.own {
            return;
        }
        if let Some(route) = self.cache.find(now, to, &[]) {
            let mut packet = Packet::control(self.own, to, rest.to_vec());
            packet.remove_options(|o| {
                matches!(o, DsrOption::SourceRoute(_) | DsrOption::AckRequest { .. })
            });
            let w = crate::tables::Waiting {
                packet,
                since: now,
                // Earlier failures count against MAX_SALVAGE_COUNT, or nested errors never end.
                attempts: salvage,
            };
            self.send_along(now, w, &route);
        }
    }

    /// §8.1.6: treats options this node does not know as their type demands.
    fn unknown_options(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        from: Ipv4Addr,
    ) -> Result<(), DropCause> {
        let unknown = |o: &DsrOption| match o {
            DsrOption::Unknown { kind, .. } => Some(*kind),
            _ => None,
        };
        let kinds: Vec<u8> = packet.options().iter().filter_map(unknown).collect();
        if kinds.is_empty() {
            return Ok(());
        }
        // A Route Request reaches every node. An error from each of them would be a storm.
        let asks = packet.route_request().is_some();
        for kind in &kinds {
            // The highest bit asks for a Route Error. The next two say what becomes of the option:
            // 00 ignore, 01 remove, 10 mark by the first bit of its data, 11 drop the packet.
            if kind & 0x80 != 0 && !asks {
                self.refuse_option(now, packet, *kind, from);
            }
        }
        if kinds.iter().any(|k| k & 0x60 == 0x60) {
            return Err(DropCause::UnknownOption);
        }
        packet.remove_options(|o| unknown(o).is_some_and(|k| k & 0x60 == 0x20));
        for option in packet.options.iter_mut().flatten() {
            if let DsrOption::Unknown { kind, data } = option {
                if *kind & 0x60 == 0x40 {
                    if let Some(first) = data.first_mut() {
                        *first |= 0x80;
                    }
                }
            }
        }
        Ok(())
    }

    fn refuse_option(&mut self, now: Instant, packet: &Packet, kind: u8, from: Ipv4Addr) {
        let to = packet.ip.source;
        let mut back = vec![self.own];
        match packet.source_route() {
            Some(sr) => {
                let nodes = listed_nodes(packet, sr);
                let upto = nodes.iter().position(|a| *a == from).map_or(0, |i| i + 1);
                back.extend(nodes[..upto].iter().rev());
            }
            None => back.push(from),
        }
        // After a salvage the route does not lead back to the source. Then the cache must know one.
        if back.last() != Some(&to) {
            back.clear();
        }
        let error = RouteError {
            kind: ErrorKind::OptionNotSupported(kind),
            salvage: packet.source_route().map_or(0, |sr| sr.salvage),
            source: self.own,
            destination: to,
            extension: Vec::new(),
        };
        self.stats.errors_sent += 1;
        let packet = Packet::control(self.own, to, vec![DsrOption::RouteError(error)]);
        self.send_control(now, packet, back);
    }
}

/// All hops a source route stands for: after a salvage the source is no neighbour of the first
/// listed node (§8.1.4).
fn listed_nodes(packet: &Packet, sr: &SourceRoute) -> Vec<Ipv4Addr> {
    let mut nodes = Vec::with_capacity(sr.addresses.len() + 2);
    if sr.salvage == 0 {
        nodes.push(packet.ip.source);
    }
    nodes.extend_from_slice(&sr.addresses);
    nodes.push(packet.ip.destination);
    nodes
}

/// The node that transmitted the frame, by its routing header. `None` stands for a header that no
/// node sends.
fn transmitter(packet: &Packet) -> Option<Ipv4Addr> {
    if let Some(r) = packet.route_request() {
        return Some(r.addresses.last().copied().unwrap_or(packet.ip.source));
    }
    match packet.source_route() {
        None => Some(packet.ip.source),
        Some(sr) => match sr.position()? {
            // The first address of a salvaged packet is the salvaging node, never a receiver.
            0 if sr.salvage == 0 => Some(packet.ip.source),
            0 => None,
            at => Some(sr.addresses[at - 1]),
        },
    }
}

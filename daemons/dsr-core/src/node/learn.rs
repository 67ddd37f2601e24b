// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a node learns from packets that it receives (RFC 4728 §8.1.4, §8.3.5) or overhears (§3.3.1),
//! and automatic route shortening (§3.4.3).

use super::Dsr;
use crate::cache::Origin;
use crate::event::Event;
use crate::layer::Layer;
use crate::settings::Learning;
use crate::wire::{DsrOption, ErrorKind, Packet, SourceRoute};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

impl<L: Layer> Dsr<L> {
    /// A frame for somebody else: learn from it, and see whether it could have come straight here.
    pub(super) fn overhear(&mut self, now: Instant, packet: Packet, from: Ipv4Addr) {
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
    pub(super) fn learn_options(&mut self, now: Instant, packet: &Packet, from: Ipv4Addr) {
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

    /// Route Errors of a packet that is received or overheard (§8.3.5).
    pub(super) fn learn_errors(&mut self, now: Instant, packet: &Packet) {
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
                // Earlier failures count against MAX_SALVAGE_COUNT, or nested errors never end.
                attempts: salvage,
                ..crate::tables::Waiting::new(now, packet)
            };
            self.send_along(now, w, &route);
        }
    }
}

/// All hops a source route stands for: after a salvage the source is no neighbour of the first
/// listed node (§8.1.4).
pub(super) fn listed_nodes(packet: &Packet, sr: &SourceRoute) -> Vec<Ipv4Addr> {
    let mut nodes = Vec::with_capacity(sr.addresses.len() + 2);
    if sr.salvage == 0 {
        nodes.push(packet.ip.source);
    }
    nodes.extend_from_slice(&sr.addresses);
    nodes.push(packet.ip.destination);
    nodes
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets that this node's layer has taken over from their sources.
//!
//! A custodian is a new origin of the packets that it took. It sends them on along the source route
//! that they came with, unless it has heard of a break on that route. After a break it sends them
//! along a route of its own, in the format of a salvaged packet (RFC 4728 §8.3.6).
//!
//! A Route Error about a break behind the custodian goes to the custodian and no further, because
//! the source has no packet there. Without a route a packet waits in the Send Buffer, like one that
//! is to be salvaged, and a Route Discovery begins. If it finds only a route that leads back over
//! nodes that the packet has visited, the source hears of the break after all.

use super::{Dsr, Output};
use crate::cache::Route;
use crate::event::DropCause;
use crate::layer::{Layer, Place, Request};
use crate::queue::Item;
use crate::tables::Waiting;
use crate::wire::{options::MAX_ADDRESSES, DsrOption, ErrorKind, Packet, RouteError, SourceRoute};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

/// How a custodian's packet goes on.
enum Way {
    /// As its source route says, to this neighbour.
    Onward(Ipv4Addr),
    /// On a route of the custodian's own.
    Another(Route),
}

impl<L: Layer> Dsr<L> {
    /// Shows a packet to the layer. True when the layer keeps it, so that it goes no further.
    pub(super) fn layer_takes(&mut self, now: Instant, place: Place, packet: &Packet) -> bool {
        let taken = self.layer.takes(now, place, packet);
        self.serve_layer(now);
        taken
    }

    /// Removes the DSR Options header and hands the rest up (§8.1.4).
    pub(super) fn deliver(&mut self, now: Instant, mut packet: Packet) {
        packet.options = None;
        if packet.ip.protocol == crate::wire::NO_NEXT_HEADER
            || self.layer_takes(now, Place::Arriving, &packet)
        {
            return;
        }
        self.layer.restore(&mut packet);
        self.stats.delivered += 1;
        self.outputs.push_back(Output::Deliver(packet.emit()));
    }

    pub(super) fn layer_timeout(&mut self, now: Instant) {
        if self.layer.next_deadline().is_some_and(|at| at <= now) {
            self.layer.handle_timeout(now);
            self.serve_layer(now);
        }
    }

    fn serve_layer(&mut self, now: Instant) {
        while let Some(request) = self.layer.poll() {
            match request {
                Request::Event(event) => self.outputs.push_back(Output::Layer(event)),
                Request::SendOn(packet) => self.send_as_custodian(now, packet),
                Request::Originate(packet) => self.originate(now, Waiting::new(now, packet)),
            }
        }
    }

    /// Whether this node has taken over `packet` of another node.
    pub(super) fn is_custodian(&self, packet: &Packet) -> bool {
        packet.ip.source != self.own && self.layer.custodian(packet) == Some(self.own)
    }

    /// Sends on a packet of another node, with the options that it came with.
    pub(super) fn send_as_custodian(&mut self, now: Instant, mut packet: Packet) {
        let next_hop = match self.way(now, &packet) {
            Some(Way::Onward(next_hop)) => next_hop,
            Some(Way::Another(route)) => {
                let travelled = packet.travelled();
                let fits = route.len() <= MAX_ADDRESSES && travelled.len() <= MAX_ADDRESSES;
                if !fits || !self.redirect(&mut packet, &route, &travelled) {
                    return self.drop_packet(DropCause::TooBig, Some(&packet));
                }
                self.cache.used(now, &route);
                route[1]
            }
            None => return self.await_route(now, Waiting::new(now, packet)),
        };
        // A new transmission has a new stamp, so it does not look like the packet that came here.
        self.handled.record(now, &packet);
        self.enqueue(Item {
            packet,
            next_hop: Some(next_hop),
            routing: false,
            maintained: true,
            attempts: 0,
            since: now,
        });
    }

    /// Whether a packet of the Send Buffer can go now that a route to its destination is known. A
    /// custodian has no way if that route leads back over nodes that the packet has visited.
    pub(super) fn may_leave(&mut self, now: Instant, w: &Waiting) -> bool {
        !self.is_custodian(&w.packet) || self.way(now, &w.packet).is_some()
    }

    /// Warns the sources of packets that cannot go on from here, once for each packet. Their other
    /// segments go another way then, as do those that their TCP repeats.
    pub(super) fn warn_sources(&mut self, now: Instant, stuck: &mut [Waiting]) {
        let mut warned = Vec::new();
        for w in stuck.iter_mut().filter(|w| !w.warned) {
            w.warned = true;
            let onward = self.onward(&w.packet);
            let unknown = (2..=onward.len()).find(|end| !self.cache.knows(now, &onward[..*end]));
            let Some(end) = unknown else { continue };
            let error = RouteError {
                kind: ErrorKind::NodeUnreachable(onward[end - 1]),
                salvage: 0,
                source: onward[end - 2],
                destination: w.packet.ip.source,
                extension: Vec::new(),
            };
            if warned.contains(&error) {
                continue;
            }
            let mut back = Vec::from([self.own]);
            back.extend(w.packet.travelled().iter().rev());
            let options = Vec::from([DsrOption::RouteError(error.clone())]);
            let packet = Packet::control(self.own, error.destination, options);
            self.stats.errors_sent += 1;
            self.send_control(now, packet, back);
            warned.push(error);
        }
    }

    fn way(&mut self, now: Instant, packet: &Packet) -> Option<Way> {
        // `knows` sees the whole rest of the way. A link that broke farther ahead would stop the
        // packet there and bring back a Route Error.
        let onward = self.onward(packet);
        if onward.len() > 1 && self.cache.knows(now, &onward) {
            return Some(Way::Onward(onward[1]));
        }
        let route = self
            .cache
            .find(now, packet.ip.destination, &packet.travelled());
        route.map(Way::Another)
    }

    /// The way that a packet's source route names from here on, this node first.
    fn onward(&self, packet: &Packet) -> Vec<Ipv4Addr> {
        let mut nodes = Vec::from([self.own]);
        if let Some(sr) = packet.source_route() {
            nodes.extend(
                sr.position()
                    .and_then(|at| sr.addresses.get(at..))
                    .into_iter()
                    .flatten(),
            );
        }
        nodes.push(packet.ip.destination);
        nodes
    }

    /// Puts the packet on `route` as if this node salvaged it. True when it still fits the link.
    fn redirect(&self, packet: &mut Packet, route: &[Ipv4Addr], travelled: &[Ipv4Addr]) -> bool {
        // This node stands first in the list, as after a salvage. Route Errors thus come to it.
        let addresses = route[..route.len() - 1].to_vec();
        packet.remove_options(|o| matches!(o, DsrOption::SourceRoute(_) | DsrOption::Visited(_)));
        let options = packet.options.get_or_insert_default();
        options.insert(
            0,
            DsrOption::SourceRoute(SourceRoute {
                first_hop_external: false,
                last_hop_external: false,
                salvage: 1,
                segments_left: (addresses.len() - 1) as u8,
                addresses,
            }),
        );
        if self.settings.visited_option {
            options.push(DsrOption::Visited(travelled.to_vec()));
        }
        packet.wire_len() <= self.settings.link_mtu
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Packets that this node's layer has taken over from their sources.
//!
//! A custodian is a new origin of the packets that it took. It sends them on along the source route
//! that they came with, unless it has heard of a break on that route. After a break it sends them
//! along a route of its own, in the format of a salvaged packet (RFC 4728 §8.3.6).
//!
//! A Route Error about a break behind the custodian goes to the custodian and no further, because
//! the source has no packet there. Without a route a packet waits in the Send Buffer, like one that
//! is to be salvaged, and a Route Discovery begins.

use super::{Dsr, Output};
use crate::layer::{Layer, Place, Request};
use crate::queue::Item;
use crate::tables::Waiting;
use crate::wire::{options::MAX_ADDRESSES, DsrOption, Packet, SourceRoute};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

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
        let to = packet.ip.destination;
        let travelled = packet.travelled();
        // `knows` sees the whole rest of the way. A link that broke farther ahead would stop the
        // packet there and bring back a Route Error.
        let onward = self.onward(&packet);
        let next_hop = if onward.len() > 1 && self.cache.knows(now, &onward) {
            onward[1]
        } else if let Some(route) = self.cache.find(now, to, &travelled) {
            let fits = route.len() <= MAX_ADDRESSES && travelled.len() <= MAX_ADDRESSES;
            if !fits || !self.redirect(&mut packet, &route, &travelled) {
                return self.drop_packet(crate::DropCause::TooBig, Some(&packet));
            }
            self.cache.used(now, &route);
            route[1]
        } else {
            return self.await_route(now, Waiting::new(now, packet));
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

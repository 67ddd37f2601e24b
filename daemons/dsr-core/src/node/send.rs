// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets of this node leave along a route, or wait in the Send Buffer while Route Discovery looks
//! for one. RFC 4728 §8.1.1 to §8.1.3, §8.2.1.

use super::{Dsr, Output};
use crate::agenda::Delayed;
use crate::event::{DropCause, Event};
use crate::layer::{Fate, Layer};
use crate::queue::Item;
use crate::settings::Settings;
use crate::tables::Waiting;
use crate::wire::{
    icmp, options::MAX_ADDRESSES, DsrOption, Ipv4Header, Packet, RouteRequest, SourceRoute,
    NO_NEXT_HEADER,
};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

impl<L: Layer> Dsr<L> {
    /// §8.1.1: sends a packet of this node along a cached route or starts a discovery.
    pub(super) fn originate(&mut self, now: Instant, w: Waiting) {
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

    pub(super) fn answers_for(&self, packet: &Packet) -> bool {
        answers_for(self.own, &self.layer, packet)
    }

    pub(super) fn longest_wait(&self, w: &Waiting) -> Duration {
        longest_wait(&self.settings, self.answers_for(&w.packet))
    }

    /// Drops what has waited too long for a route.
    pub(super) fn expire_waiting(&mut self, now: Instant) {
        let (own, layer, s) = (self.own, &self.layer, &self.settings);
        let expired = self
            .send_buffer
            .take_expired(now, |w| longest_wait(s, answers_for(own, layer, &w.packet)));
        for w in expired {
            self.drop_packet(DropCause::SendBufferTimeout, Some(&w.packet));
        }
    }

    /// Puts the packet into the Send Buffer and asks for a route.
    pub(super) fn await_route(&mut self, now: Instant, w: Waiting) {
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

    /// Sends the next Route Request for `target` if the back-off permits (§8.2.1).
    pub(super) fn pursue(&mut self, now: Instant, target: Ipv4Addr) {
        if !self.send_buffer.waits_for(target, |_| true) {
            return;
        }
        // Neighbours are asked once for the sake of packets of others.
        let foreign = !self
            .send_buffer
            .waits_for(target, |packet| self.answers_for(packet));
        // Their source is warned by a Route Error and searches itself. A second search would only
        // add to its load.
        if foreign && self.requests.attempts(target) > 0 {
            return;
        }
        // The first request is no retransmission, so MaxRequestRexmt + 1 requests go out.
        if self.requests.attempts(target) > self.settings.max_request_rexmt
            && self.requests.not_before(target).is_none_or(|t| t <= now)
        {
            self.requests.give_up(target);
            for w in self.send_buffer.take_for(target) {
                self.drop_packet(DropCause::NoRoute, Some(&w.packet));
            }
            return;
        }
        let Some(next) = self.requests.next(now, target, &self.settings) else {
            return;
        };
        self.next_request = self.next_request.wrapping_add(1);
        let identification = self.next_request;
        let request = RouteRequest {
            identification,
            target,
            addresses: vec![],
        };
        let mut options = vec![DsrOption::RouteRequest(request)];
        if self.settings.piggyback_errors {
            let longest = self.settings.error_news_ns;
            let errors = self.news.spread(now, longest, next.ttl > 1);
            options.extend(errors.into_iter().map(DsrOption::RouteError));
        }
        let attempt = next.attempt;
        self.event(Event::Discovery {
            target,
            identification,
            ttl: next.ttl,
            attempt,
        });
        self.stats.requests_sent += 1;
        self.requests
            .seen(now, self.own, identification, target, &self.settings);
        let packet = Packet {
            ip: Ipv4Header::new(self.own, Ipv4Addr::BROADCAST, NO_NEXT_HEADER, next.ttl),
            options: Some(options),
            payload: Vec::new(),
        };
        // Stations that begin to search at the same moment would else collide with every try, as
        // their back-off is the same. (BroadcastJitter, §9; ns-2's code delays these too.)
        let wait = self.jitter();
        self.send_control_later(now, wait, broadcast_item(now, packet));
    }

    /// Sends a packet of this node along `route` (this node first), §8.1.2 and §8.1.3.
    pub(super) fn send_along(&mut self, now: Instant, w: Waiting, route: &[Ipv4Addr]) {
        let Waiting {
            mut packet,
            since,
            attempts,
            ..
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
        let maintained = !packet.has_ack();
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
    pub(super) fn too_big(&mut self, packet: Packet) {
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

    /// Sends a control packet along `back`, or along a cached route when `back` is no route.
    pub(super) fn send_control(&mut self, now: Instant, packet: Packet, back: Vec<Ipv4Addr>) {
        let to = packet.ip.destination;
        let w = Waiting::new(now, packet);
        if back.len() > 1 && back.len() <= MAX_ADDRESSES {
            self.send_along(now, w, &back);
        } else if let Some(route) = self.cache.find(now, to, &[]) {
            self.send_along(now, w, &route);
        } else {
            self.await_route(now, w);
        }
    }

    /// Sends a control packet along `route` after `wait`.
    pub(super) fn send_control_later(
        &mut self,
        now: Instant,
        wait: hoplab_base::Duration,
        item: Item,
    ) {
        self.agenda.add(now + wait, Delayed::Send(item));
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

pub(super) fn broadcast_item(now: Instant, packet: Packet) -> Item {
    Item {
        packet,
        next_hop: None,
        routing: true,
        maintained: false,
        attempts: 0,
        since: now,
    }
}

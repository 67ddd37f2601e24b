// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages that came: Route Requests (RFC 3561 §6.5, §6.6), Route Replies (§6.7), Hellos (§6.9).

use super::Aodv;
use crate::event::Event;
use crate::message::{Message, Reply, Request};
use crate::table::{Offer, Taken};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_routing_core::Sequence;

impl Aodv {
    pub(super) fn handle_request(&mut self, now: Instant, from: Ipv4Addr, ttl: u8, r: Request) {
        // Of a neighbour that did not get replies (§6.8).
        if self.blacklist.contains(now, &from) {
            return;
        }
        let s = &self.settings;
        let (lifetime, path) = (s.active_route_timeout_ns, s.path_discovery_time_ns);
        self.neighbour(now, from, lifetime);
        let handled = self.handled.contains(now, &(r.originator, r.id));
        if handled || r.originator == self.own {
            return;
        }
        self.handled.insert(now, (r.originator, r.id), now + path);
        let hops = r.hops.saturating_add(1);
        let request = Request { hops, ..r };
        let back = Offer {
            sequence: Some(request.originator_sequence),
            hops,
            next_hop: from,
            until: now + self.reverse_lifetime(hops),
        };
        self.offer(now, request.originator, back);
        self.table.extend(request.originator, back.until);
        if request.destination == self.own {
            return self.answer_for_own(now, &request);
        }
        if !request.destination_only && self.answer_for_other(now, from, &request) {
            return;
        }
        // A station waits after its reboot (§6.13).
        if ttl > 1 && now >= self.silent_until {
            self.pass_on(now, ttl - 1, request);
        }
    }

    /// MinimalLifetime (§6.5): until the reply has come back.
    fn reverse_lifetime(&self, hops: u8) -> Duration {
        let s = &self.settings;
        let there = 2 * u64::from(hops) * s.node_traversal_time_ns;
        s.net_traversal_time_ns.saturating_mul(2) - there
    }

    fn pass_on(&mut self, now: Instant, ttl: u8, mut request: Request) {
        let known = self.table.get(request.destination);
        // The freshest of what both know (§6.5).
        request.sequence = match (request.sequence, known.and_then(|r| r.sequence)) {
            (Some(asked), Some(own)) => Some(asked.newest(own)),
            (asked, own) => asked.or(own),
        };
        self.stats.requests_forwarded += 1;
        self.broadcast(now, ttl, &Message::Request(request));
    }

    /// The destination answers (§6.6.1).
    fn answer_for_own(&mut self, now: Instant, request: &Request) {
        if let Some(asked) = request.sequence {
            // Others may have counted it up after a break; they believe no older one (§6.1).
            self.sequence = self.sequence.newest(asked);
        }
        let reply = self.reply(
            self.own,
            self.sequence,
            0,
            request.originator,
            self.settings.my_route_timeout_ns,
        );
        self.send_reply(now, reply, "destination");
    }

    /// A station with a fresh route answers (§6.6.2). False if it has none.
    fn answer_for_other(&mut self, now: Instant, from: Ipv4Addr, request: &Request) -> bool {
        let Some(route) = self.table.valid(request.destination) else {
            return false;
        };
        let Some(sequence) = route.sequence else {
            return false;
        };
        let stale = request.sequence.is_some_and(|s| s.is_newer_than(sequence));
        // Its own route goes by the station that asks, which has lost it.
        if stale || route.next_hop == from {
            return false;
        }
        let (next_hop, hops, left) = (route.next_hop, route.hops, route.until.since(now));
        let Some(back) = self.table.valid(request.originator) else {
            return false;
        };
        let (back_hops, back_left) = (back.hops, back.until.since(now));
        let asker = back.next_hop;
        self.table.add_precursor(request.destination, asker);
        self.table.add_precursor(request.originator, next_hop);
        let reply = self.reply(
            request.destination,
            sequence,
            hops,
            request.originator,
            left,
        );
        self.stats.intermediate_replies_sent += 1;
        self.send_reply(now, reply, "intermediate");
        if request.gratuitous {
            // As if the destination had asked for the originator (§6.6.3).
            let reply = self.reply(
                request.originator,
                request.originator_sequence,
                back_hops,
                request.destination,
                back_left,
            );
            self.stats.gratuitous_replies_sent += 1;
            self.send_reply(now, reply, "gratuitous");
        }
        true
    }

    fn reply(
        &self,
        destination: Ipv4Addr,
        sequence: Sequence,
        hops: u8,
        originator: Ipv4Addr,
        lifetime: Duration,
    ) -> Reply {
        Reply {
            acknowledge: false,
            prefix: 0,
            hops,
            destination,
            sequence,
            originator,
            lifetime,
            extensions: Vec::new(),
        }
    }

    /// Sends a reply towards its originator, whose route is valid.
    fn send_reply(&mut self, now: Instant, mut reply: Reply, why: &'static str) {
        let Some(to) = self.table.valid(reply.originator).map(|r| r.next_hop) else {
            return;
        };
        self.ask_for_acknowledgement(now, &mut reply, to);
        self.stats.replies_sent += 1;
        self.tell(Event::ReplySent {
            to: reply.originator,
            destination: reply.destination,
            hops: reply.hops,
            sequence: reply.sequence,
            why,
        });
        self.unicast(now, to, &Message::Reply(reply));
    }

    fn ask_for_acknowledgement(&mut self, now: Instant, reply: &mut Reply, to: Ipv4Addr) {
        reply.acknowledge = self.settings.rrep_ack;
        if reply.acknowledge && self.outbox.neighbours().mac(to).is_some() {
            let due = now.max(self.outbox.neighbours().usable(to)) + self.settings.next_hop_wait_ns;
            self.unacknowledged.entry(to).or_insert(due);
        }
    }

    pub(super) fn handle_reply(&mut self, now: Instant, from: Ipv4Addr, mut reply: Reply) {
        self.neighbour(now, from, self.settings.active_route_timeout_ns);
        if reply.acknowledge && self.unicast(now, from, &Message::ReplyAck) {
            self.stats.reply_acks_sent += 1;
        }
        if reply.destination == self.own || reply.hops == u8::MAX {
            return;
        }
        reply.hops += 1;
        let offer = Offer {
            sequence: Some(reply.sequence),
            hops: reply.hops,
            next_hop: from,
            until: now + reply.lifetime,
        };
        let taken = self.offer(now, reply.destination, offer);
        if reply.originator == self.own {
            if taken != Taken::No {
                self.tell(Event::ReplyReceived {
                    destination: reply.destination,
                    next_hop: from,
                    hops: reply.hops,
                    sequence: reply.sequence,
                });
            }
            return;
        }
        // Only news is passed on (§6.7).
        if taken == Taken::No {
            return;
        }
        let Some(back) = self.table.valid(reply.originator).map(|r| r.next_hop) else {
            return;
        };
        // The originator's own reply would run in a circle.
        if back == from {
            return;
        }
        let until = now + self.settings.active_route_timeout_ns;
        self.table.add_precursor(reply.destination, back);
        self.table.extend(reply.originator, until);
        self.table.add_precursor(from, back);
        self.table.add_precursor(reply.originator, from);
        self.ask_for_acknowledgement(now, &mut reply, back);
        self.stats.replies_forwarded += 1;
        self.unicast(now, back, &Message::Reply(reply));
    }

    pub(super) fn handle_hello(&mut self, now: Instant, from: Ipv4Addr, hello: &Reply) {
        if hello.destination != from {
            return;
        }
        let s = &self.settings;
        let interval = hello.hello_interval().unwrap_or(s.hello_interval_ns);
        let loss = interval.saturating_mul(s.allowed_hello_loss);
        let offer = Offer {
            sequence: Some(hello.sequence),
            hops: 1,
            next_hop: from,
            until: now + hello.lifetime.min(loss),
        };
        self.offer(now, from, offer);
        self.table.extend(from, offer.until);
        if self.settings.hello {
            self.hellos.insert(from, now + loss);
        }
    }
}

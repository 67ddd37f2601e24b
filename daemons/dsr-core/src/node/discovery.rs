// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Route Discovery (RFC 4728 §8.2): requests, replies from the target and from caches, and the
//! prevention of reply storms.

use super::send::broadcast_item;
use super::Dsr;
use crate::agenda::Delayed;
use crate::cache::{Origin, Route};
use crate::event::Event;
use crate::layer::Layer;
use crate::queue::Item;
use crate::tables::Suspicion;
use crate::wire::{options::MAX_ADDRESSES, DsrOption, Packet, RouteRequest, SourceRoute};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

impl<L: Layer> Dsr<L> {
    /// §8.2.2. `from` is the neighbour that transmitted the request.
    pub(super) fn route_request(&mut self, now: Instant, mut packet: Packet, from: Ipv4Addr) {
        let Some(request) = packet.route_request().cloned() else {
            return;
        };
        let initiator = packet.ip.source;
        let mut path = vec![initiator];
        path.extend_from_slice(&request.addresses);
        if path.contains(&self.own) {
            return;
        }
        path.push(self.own);
        let looped = path.iter().enumerate().any(|(i, a)| path[..i].contains(a));
        if looped || path.len() > MAX_ADDRESSES {
            return;
        }
        let is_target = request.target == self.own;
        // Before the request enters the Route Request Table: the same request over a good link must
        // still count as new. So must a held one when it is released.
        if !is_target && self.suspicious(now, &packet, from) {
            return;
        }
        self.learn_signals(now, &packet, &path);
        let origin = if is_target {
            Origin::Discovered
        } else {
            Origin::Overheard
        };
        self.cache.learn(now, &path, origin);
        // The target answers every copy, so this comes before the check for repeats (§8.2.2). Each
        // copy came another way and teaches the initiator another route.
        if is_target {
            self.cache.learn_back(now, &path, Origin::Discovered);
            let route = path[1..].to_vec();
            self.reply_as_target(now, &path, route);
            // The rest of the packet is for this node (§8.2.2).
            packet.ip.destination = self.own;
            packet.remove_options(|o| matches!(o, DsrOption::RouteRequest(_)));
            return self.deliver(now, packet);
        }
        // A copy seen before has taught its path above, and ends here.
        if self.requests.seen(
            now,
            initiator,
            request.identification,
            request.target,
            &self.settings,
        ) {
            return;
        }
        if self.settings.reply_from_cache && self.reply_from_cache(now, &path, request.target) {
            return;
        }
        // A non-propagating request ends here. It asks what the neighbours' caches know (§3.3.3).
        if packet.ip.ttl <= 1 {
            return;
        }
        packet.ip.ttl -= 1;
        for option in packet.options.iter_mut().flatten() {
            if let DsrOption::RouteRequest(r) = option {
                r.addresses.push(self.own);
            }
        }
        if let Some(signals) = self.signals_of(now, &path) {
            // The new list has what the old one said: `learn_signals` took that over above.
            packet.remove_options(|o| matches!(o, DsrOption::Signals(_)));
            packet.options.get_or_insert_default().push(signals);
        }
        self.stats.requests_forwarded += 1;
        let wait = self.jitter();
        self.send_control_later(now, wait, broadcast_item(now, packet));
    }

    /// Applies the Blacklist to a request's last forwarder (§8.2.2); true: do not process it.
    fn suspicious(&mut self, now: Instant, packet: &Packet, from: Ipv4Addr) -> bool {
        if !self.settings.use_blacklist {
            return false;
        }
        match self
            .blacklist
            .state(now, from, self.settings.blacklist_timeout_ns)
        {
            None => false,
            Some(Suspicion::Probable) => true,
            Some(Suspicion::Questionable) => {
                // A unicast request for the neighbour itself tests the link.
                self.event(Event::Blacklist {
                    node: from,
                    state: "questionable",
                });
                self.next_request = self.next_request.wrapping_add(1);
                let identification = self.next_request;
                let request = RouteRequest {
                    identification,
                    target: from,
                    addresses: vec![],
                };
                let mut test = Packet::control(
                    self.own,
                    Ipv4Addr::BROADCAST,
                    vec![DsrOption::RouteRequest(request)],
                );
                test.ip.ttl = 1;
                let mut item = broadcast_item(now, test);
                item.next_hop = Some(from);
                self.enqueue(item);
                self.held.push((from, packet.clone()));
                let at = now + self.settings.nonprop_request_timeout_ns;
                self.agenda.add(at, Delayed::HeldRequest { from });
                true
            }
        }
    }

    /// A reply came from `node`, so it hears this one: its held requests are processed.
    pub(super) fn release_held(&mut self, now: Instant, node: Ipv4Addr) {
        // Off the Blacklist first, or the requests below would be held once more.
        self.confirmed(node);
        let (released, kept) = core::mem::take(&mut self.held)
            .into_iter()
            .partition(|(from, _)| *from == node);
        self.held = kept;
        let released: Vec<(Ipv4Addr, Packet)> = released;
        for (from, packet) in released {
            self.route_request(now, packet, from);
        }
    }

    /// §8.2.4: `path` is the request's, initiator first and this node last.
    fn reply_as_target(&mut self, now: Instant, path: &[Ipv4Addr], route: Vec<Ipv4Addr>) {
        let back: Vec<_> = path.iter().rev().copied().collect();
        let item = self.reply(now, &back, route.clone());
        self.stats.replies_sent += 1;
        self.event(Event::ReplySent {
            to: path[0],
            route,
            why: "target",
        });
        let wait = self.jitter();
        self.send_control_later(now, wait, item);
    }

    /// A packet with a Route Reply that returns `route` along `back`.
    pub(super) fn reply(&mut self, now: Instant, back: &[Ipv4Addr], route: Vec<Ipv4Addr>) -> Item {
        let to = back[back.len() - 1];
        let listed = back[1..back.len() - 1].to_vec();
        let mut options = Vec::new();
        if !listed.is_empty() {
            options.push(DsrOption::SourceRoute(SourceRoute {
                first_hop_external: false,
                last_hop_external: false,
                salvage: 0,
                segments_left: listed.len() as u8,
                addresses: listed,
            }));
        }
        let mut nodes = vec![to];
        nodes.extend_from_slice(&route);
        options.push(DsrOption::RouteReply {
            last_hop_external: false,
            addresses: route,
        });
        options.extend(self.signals_of(now, &nodes));
        Item {
            packet: Packet::control(self.own, to, options),
            next_hop: back.get(1).copied(),
            routing: true,
            maintained: true,
            attempts: 0,
            since: now,
        }
    }

    /// §8.2.3: answers for the target from the cache; true when it did.
    fn reply_from_cache(&mut self, now: Instant, path: &[Ipv4Addr], target: Ipv4Addr) -> bool {
        // No node may stand in both halves.
        let Some(known) = self.cache.find(now, target, &path[..path.len() - 1]) else {
            return false;
        };
        let mut route: Route = path[1..].to_vec();
        route.extend_from_slice(&known[1..]);
        if route.len() > MAX_ADDRESSES {
            return false;
        }
        self.cache.learn_back(now, path, Origin::Discovered);
        let hops = route.len();
        let initiator = path[0];
        let back: Vec<_> = path.iter().rev().copied().collect();
        let item = self.reply(now, &back, route.clone());
        // d = H x (h - 1 + r), §8.2.5: nodes with short routes answer first, and data on such a
        // route then cancels the longer replies.
        let wait = if self.settings.prevent_reply_storms {
            let h = (hops - 1) as f64 + self.random.unit();
            Duration::from_secs_f64(self.settings.reply_hop_delay_ns.as_secs_f64() * h)
        } else {
            Duration::ZERO
        };
        self.event(Event::ReplySent {
            to: initiator,
            route,
            why: "cache",
        });
        self.agenda.add(
            now + wait,
            Delayed::CachedReply {
                item,
                initiator,
                target,
                hops,
            },
        );
        true
    }

    /// A data packet from an initiator shows that it has a route. This node then does not send its
    /// replies that are no shorter (§8.2.5).
    pub(super) fn suppress_replies(&mut self, from: Ipv4Addr, to: Ipv4Addr, hops_used: usize) {
        for _ in 0..self.agenda.cancel_replies(from, to, hops_used) {
            self.stats.replies_suppressed += 1;
            self.event(Event::ReplySuppressed {
                to: from,
                target: to,
            });
        }
    }

    /// §8.2.6: a reply for this node.
    pub(super) fn route_reply(&mut self, now: Instant, from: Ipv4Addr, addresses: &[Ipv4Addr]) {
        let mut route = vec![self.own];
        route.extend_from_slice(addresses);
        // A reply that lists a node twice is no valid one (§4.3).
        let looped = route
            .iter()
            .enumerate()
            .any(|(i, a)| route[..i].contains(a));
        if let Some(target) = addresses.last().filter(|_| !looped) {
            self.requests.answered(*target);
            // A route of one hop from the target itself answers the test of a questionable link.
            if *target == from && addresses.len() == 1 {
                self.release_held(now, from);
            }
        }
        self.event(Event::ReplyReceived { from, route });
    }
}

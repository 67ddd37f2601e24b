// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Route discovery at the station that asks (RFC 3561 §6.3, §6.4), and what ends it.

use super::Aodv;
use crate::event::{DropCause, Event};
use crate::message::{Message, Request};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

/// A search for a route.
#[derive(Clone, Debug)]
pub struct Discovery {
    ttl: u8,
    /// Requests so far.
    attempt: u32,
    /// Requests so far that went through the whole network.
    widest: u32,
    /// When the next step is due.
    pub due: Instant,
    /// The hops of the route that this station mends for others (§6.12).
    pub repair: Option<u8>,
}

impl Aodv {
    /// Looks for a route to `destination`, unless that has begun.
    pub(super) fn discover(&mut self, now: Instant, destination: Ipv4Addr) {
        if self.discoveries.contains_key(&destination) {
            return;
        }
        let s = &self.settings;
        // A route that was known says how far to look (§6.4).
        let known = self.table.get(destination).map(|route| route.hops);
        let ttl = match known {
            Some(hops) => self.wider(hops),
            None => s.ttl_start.min(s.net_diameter),
        };
        let discovery = Discovery {
            ttl,
            attempt: 0,
            widest: 0,
            due: now,
            repair: None,
        };
        self.discoveries.insert(destination, discovery);
        self.discoveries_due(now);
    }

    /// The next ring (§6.4).
    fn wider(&self, ttl: u8) -> u8 {
        let s = &self.settings;
        match ttl.saturating_add(s.ttl_increment) {
            wider if wider <= s.ttl_threshold => wider.min(s.net_diameter),
            _ => s.net_diameter,
        }
    }

    /// One request goes out at most so far, to mend a route (§6.12).
    pub(super) fn repair(&mut self, now: Instant, destination: Ipv4Addr, ttl: u8, hops: u8) {
        let discovery = Discovery {
            ttl: ttl.min(self.settings.net_diameter),
            attempt: 0,
            widest: 0,
            due: now,
            repair: Some(hops),
        };
        self.stats.repairs_tried += 1;
        self.table.repairing(destination, true);
        self.discoveries.insert(destination, discovery);
        self.discoveries_due(now);
    }

    /// The next step of each search whose time has come.
    pub(super) fn discoveries_due(&mut self, now: Instant) {
        let due = |d: &Discovery| d.due <= now;
        let due: Vec<Ipv4Addr> = (self.discoveries.iter())
            .filter(|(_, d)| due(d))
            .map(|(to, _)| *to)
            .collect();
        for destination in due {
            self.step(now, destination);
        }
    }

    fn step(&mut self, now: Instant, destination: Ipv4Addr) {
        let Some(mut d) = self.discoveries.remove(&destination) else {
            return;
        };
        let (diameter, retries) = (self.settings.net_diameter, self.settings.rreq_retries);
        let over = match d.repair {
            Some(_) => d.attempt > 0,
            None => d.widest > retries || !self.waiting.has(destination),
        };
        if over {
            return self.give_up(now, destination, d.repair.is_some());
        }
        if now < self.silent_until {
            d.due = self.silent_until;
            self.discoveries.insert(destination, d);
            return;
        }
        if !self.requests.allows(now) {
            // At most RREQ_RATELIMIT requests a second; the attempt waits.
            d.due = self.requests.next(now);
            self.discoveries.insert(destination, d);
            return;
        }
        if d.attempt > 0 {
            d.ttl = self.wider(d.ttl);
        }
        d.attempt += 1;
        let wait = match d.ttl >= diameter && d.repair.is_none() {
            true => {
                d.widest += 1;
                self.patience(d.widest)
            }
            false => self.ring_traversal_time(d.ttl),
        };
        d.due = now + wait;
        self.request(now, destination, &d);
        self.discoveries.insert(destination, d);
    }

    /// NET_TRAVERSAL_TIME, doubled with each request through the whole network (§6.3).
    fn patience(&self, widest: u32) -> Duration {
        let factor = 1u64.checked_shl(widest - 1).unwrap_or(u64::MAX);
        self.settings.net_traversal_time_ns.saturating_mul(factor)
    }

    /// RING_TRAVERSAL_TIME (§10).
    fn ring_traversal_time(&self, ttl: u8) -> Duration {
        let hops = u64::from(ttl).saturating_add(self.settings.timeout_buffer);
        let one = self.settings.node_traversal_time_ns;
        one.saturating_mul(hops.saturating_mul(2))
    }

    /// Sends a Route Request (§6.3).
    fn request(&mut self, now: Instant, destination: Ipv4Addr, d: &Discovery) {
        let s = &self.settings;
        self.sequence = self.sequence.next();
        self.request_id = self.request_id.wrapping_add(1);
        let until = now + s.path_discovery_time_ns;
        let request = Request {
            gratuitous: s.gratuitous_rrep,
            destination_only: s.destination_only,
            hops: 0,
            id: self.request_id,
            destination,
            sequence: self.table.get(destination).and_then(|r| r.sequence),
            originator: self.own,
            originator_sequence: self.sequence,
            extensions: Vec::new(),
        };
        // A station that waits for the answer remembers the old route as long (§6.4).
        self.table.remember(destination, until);
        self.handled.insert(now, (self.own, self.request_id), until);
        self.stats.requests_sent += 1;
        self.tell(Event::Discovery {
            target: destination,
            id: self.request_id,
            ttl: d.ttl,
            attempt: d.attempt,
            repair: d.repair.is_some(),
        });
        self.broadcast(now, d.ttl, &Message::Request(request));
    }

    /// There is a route now.
    pub(super) fn found(&mut self, now: Instant, destination: Ipv4Addr) {
        let ended = self.discoveries.remove(&destination);
        let Some(route) = self.table.valid(destination) else {
            return;
        };
        let (next_hop, hops) = (route.next_hop, route.hops);
        if let Some(before) = ended.and_then(|d| d.repair) {
            self.stats.repairs_done += 1;
            if hops > before {
                self.longer(now, destination);
            }
        }
        for packet in self.waiting.take(destination) {
            self.forward(now, next_hop, packet);
        }
    }

    fn give_up(&mut self, now: Instant, destination: Ipv4Addr, repair: bool) {
        if repair {
            self.table.repairing(destination, false);
            self.lost(now, &[destination]);
        }
        for packet in self.waiting.take(destination) {
            self.unreachable(DropCause::NoRoute, &packet);
        }
    }
}

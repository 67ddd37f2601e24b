// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A route, and which of two the protocol believes.

use crate::message::{Row, INFINITE};
use crate::settings::Settings;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_routing_core::Sequence;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    pub next_hop: Ipv4Addr,
    pub hops: u32,
    /// Even: given out by the destination. Odd: by a station that lost it.
    pub sequence: Sequence,
    /// When its number is too old: a valid route breaks then, and a broken one is forgotten.
    pub until: Instant,
    /// When the first update with this sequence number came.
    since: Instant,
    /// Mean time until the best route with a sequence number came.
    settling: Duration,
    /// From when on others are to hear of it, if they are.
    pub tell_at: Option<Instant>,
}

impl Route {
    pub fn new(now: Instant, from: Ipv4Addr, row: &Row, settings: &Settings) -> Self {
        Route {
            next_hop: from,
            hops: row.hops.saturating_add(1),
            sequence: row.sequence,
            until: now + hold(settings),
            since: now,
            settling: settings.settling_time_ns,
            tell_at: Some(now),
        }
    }

    pub fn is_valid(&self) -> bool {
        self.hops != INFINITE
    }

    pub fn row(&self, destination: Ipv4Addr) -> Row {
        Row {
            destination,
            hops: self.hops,
            sequence: self.sequence,
        }
    }

    /// Takes the news of a neighbour if they are fresher, or of a shorter way; whether it did.
    pub fn take(&mut self, now: Instant, from: Ipv4Addr, row: &Row, settings: &Settings) -> bool {
        let hops = row.hops.saturating_add(1);
        let fresher = row.sequence.is_newer_than(self.sequence);
        let same = row.sequence == self.sequence;
        if !(fresher || same && hops < self.hops) {
            return false;
        }
        if row.is_broken() && settings.breaks_of_next_hop && from != self.next_hop {
            return false;
        }
        let worse = hops > self.hops;
        let better = hops < self.hops && self.is_valid();
        let other = hops != self.hops;
        if fresher {
            self.since = now;
        } else {
            self.settled(now, settings);
        }
        (self.next_hop, self.hops, self.sequence) = (from, hops, row.sequence);
        // Old news live no longer by way of another neighbour.
        self.until = self.since + hold(settings);
        if other || settings.triggered_by_sequence {
            // A longer way with a new number may only be the first that came.
            let waits = worse && self.is_valid() || better && settings.damp_shorter;
            let times = if waits { settings.damp_times } else { 0 };
            self.tell_at = Some(now + self.settling.saturating_mul(times));
        }
        true
    }

    /// A better route with the number came: so long it took.
    fn settled(&mut self, now: Instant, settings: &Settings) {
        let weight = settings.settling_weight;
        let mean = weight * self.settling.as_secs_f64()
            + (1.0 - weight) * now.since(self.since).as_secs_f64();
        self.settling = Duration::from_secs_f64(mean);
    }

    /// The link that it went by is gone: only the destination can give out a number that is newer.
    pub fn break_here(&mut self, now: Instant, settings: &Settings) {
        self.hops = INFINITE;
        self.sequence = self.sequence.next();
        self.until = now + hold(settings);
        self.tell_at = Some(now);
    }
}

/// How long a route is believed without news.
pub fn hold(settings: &Settings) -> Duration {
    settings
        .update_interval_ns
        .saturating_mul(settings.hold_times)
}

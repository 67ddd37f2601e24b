// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Topology Control messages: what this station advertises (RFC 3626 §9.3, §15), and what others do
//! (§9.5).

use super::{Advertised, Olsr};
use crate::message::{Body, Message, Qualities, Tc, MOST_ADDRESSES};
use crate::settings::Metric;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

/// To the end of the network.
const EVERYWHERE: u8 = 255;
const LOWEST: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const HIGHEST: Ipv4Addr = Ipv4Addr::BROADCAST;

impl Olsr {
    /// A TC that is new came from a neighbour.
    pub(super) fn learn(&mut self, now: Instant, from: Ipv4Addr, message: &Message, tc: &Tc) {
        if !self.is_symmetric(now, from) {
            return;
        }
        let last = message.originator;
        let number = tc.sequence;
        let known = self.topology.range((last, LOWEST)..=(last, HIGHEST));
        let mut older = Vec::new();
        for (key, one) in known {
            if one.sequence.is_newer_than(number) {
                return;
            }
            if number.is_newer_than(one.sequence) {
                older.push(*key);
            }
        }
        for key in older {
            // What comes again below is as it was.
            let gone = !tc.advertised.iter().any(|(address, _)| *address == key.1);
            self.stale |= gone;
            if gone {
                self.topology.remove(&key);
            }
        }
        let until = now + message.validity.time();
        for &(address, qualities) in &tc.advertised {
            let one = Advertised {
                sequence: tc.sequence,
                qualities,
            };
            let old = self.topology.insert(now, (last, address), one, until);
            self.stale |= old.is_none_or(|old| old.qualities != qualities);
        }
    }

    /// Looks whether this station advertises others than before.
    pub(super) fn advertise(&mut self, now: Instant) {
        let redundancy = self.settings.tc_redundancy;
        let wanted = |address: &&Ipv4Addr| {
            let selector = self.links.get(*address).is_some_and(|l| l.is_selector(now));
            selector || redundancy > 1 || redundancy == 1 && self.relays.contains(*address)
        };
        let advertised: BTreeSet<_> = self.symmetric.iter().filter(wanted).copied().collect();
        if advertised == self.advertised {
            return;
        }
        self.advertised = advertised;
        self.advertised_number = self.advertised_number.next();
        if self.advertised.is_empty() {
            // Others must hear that the earlier ones are void.
            self.empty_until = now + self.settings.top_hold_time_ns;
        }
        if self.settings.triggered_tc {
            let soonest = now.max(self.last_tc + self.settings.max_jitter_ns);
            self.next_tc = self.next_tc.min(soonest);
        }
    }

    /// Sends what it advertises, if anything.
    pub(super) fn tc(&mut self, now: Instant) {
        self.next_tc = now + self.jittered(self.settings.tc_interval_ns);
        if self.advertised.is_empty() && self.empty_until <= now {
            return;
        }
        self.last_tc = now;
        let qualities = |address: &Ipv4Addr| {
            let link = self.links.get(address);
            link.map_or_else(Qualities::default, |link| link.qualities())
        };
        let all: Vec<_> = (self.advertised.iter())
            .map(|address| (*address, qualities(address)))
            .collect();
        let mut parts: Vec<_> = all.chunks(MOST_ADDRESSES).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        for part in parts {
            let tc = Tc {
                sequence: self.advertised_number,
                advertised: part.to_vec(),
                with_qualities: self.settings.metric == Metric::Etx,
            };
            self.stats.tcs_sent += 1;
            let hold = self.settings.top_hold_time_ns;
            self.originate(now, EVERYWHERE, hold, Body::Tc(tc));
        }
    }
}

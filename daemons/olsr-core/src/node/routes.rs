// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The routing table (RFC 3626 §10): shortest paths over links, links of neighbours and what TCs
//! advertise.

use super::Olsr;
use crate::message::{Qualities, WILL_NEVER};
use crate::settings::Metric;
use crate::Output;
use alloc::collections::{BTreeMap, BTreeSet};
use core::net::Ipv4Addr;

/// The cost of a hop, or of a transmission that always arrives.
const ONE: u64 = 1024;
/// A quality of all packets.
const WHOLE: u64 = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub next_hop: Ipv4Addr,
    cost: u64,
}

impl Route {
    /// In hops, or in expected transmissions.
    pub fn cost(&self) -> f64 {
        self.cost as f64 / ONE as f64
    }
}

impl Olsr {
    /// The cost of a link; `None` where nothing passes.
    fn cost(&self, q: Qualities) -> Option<u64> {
        match self.settings.metric {
            Metric::Hops => Some(ONE),
            Metric::Etx => {
                (WHOLE * WHOLE * ONE).checked_div(u64::from(q.here) * u64::from(q.there))
            }
        }
    }

    /// Links that lead on from a station: to whom, and at which cost.
    fn onward(&self, from: Ipv4Addr) -> BTreeMap<Ipv4Addr, u64> {
        let mut onward = BTreeMap::new();
        // A neighbour that carries nothing for others is an end (§10).
        let link = self
            .links
            .get(&from)
            .filter(|_| self.symmetric.contains(&from));
        if link.is_some_and(|link| link.willingness == WILL_NEVER) {
            return onward;
        }
        let all = (from, Ipv4Addr::UNSPECIFIED)..=(from, Ipv4Addr::BROADCAST);
        let two_hop = self
            .two_hop
            .range(all.clone())
            .map(|((_, to), q)| (*to, *q));
        let topology = self.topology.range(all);
        let topology = topology.map(|((_, to), one)| (*to, one.qualities));
        for (to, qualities) in two_hop.filter(|_| link.is_some()).chain(topology) {
            if let Some(cost) = self.cost(qualities) {
                let least = onward.entry(to).or_insert(cost);
                *least = cost.min(*least);
            }
        }
        onward
    }

    /// Makes the kernel's routes those of the shortest paths.
    pub(super) fn find_routes(&mut self) {
        let mut found: BTreeMap<Ipv4Addr, Route> = BTreeMap::new();
        let mut open: BTreeSet<(u64, Ipv4Addr, Ipv4Addr)> = BTreeSet::new();
        for &next_hop in &self.symmetric {
            let link = self.links.get(&next_hop);
            if let Some(cost) = link.and_then(|link| self.cost(link.qualities())) {
                open.insert((cost, next_hop, next_hop));
            }
        }
        // The nearest station of those left has its shortest path (Dijkstra).
        while let Some((cost, station, next_hop)) = open.pop_first() {
            if station == self.own || found.contains_key(&station) {
                continue;
            }
            found.insert(station, Route { next_hop, cost });
            for (to, more) in self.onward(station) {
                if !found.contains_key(&to) {
                    open.insert((cost.saturating_add(more), to, next_hop));
                }
            }
        }
        let usable =
            |to: &Ipv4Addr| !to.is_unspecified() && !to.is_multicast() && !to.is_broadcast();
        found.retain(|to, _| usable(to));
        let before = core::mem::replace(&mut self.installed, found);
        for &destination in before.keys().filter(|to| !self.installed.contains_key(to)) {
            self.outbox.give(Output::Remove { destination });
        }
        for (&destination, route) in &self.installed {
            let next_hop = route.next_hop;
            if before.get(&destination).map(|old| old.next_hop) != Some(next_hop) {
                let output = Output::Install {
                    destination,
                    next_hop,
                };
                self.outbox.give(output);
            }
        }
    }
}

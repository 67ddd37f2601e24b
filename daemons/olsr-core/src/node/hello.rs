// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HELLOs: links (RFC 3626 §7.1), neighbours and those two hops away (§8.1, §8.2), multipoint relays
//! (§8.3) and who chose this station (§8.4).

use super::{Olsr, MOST_LINKS};
use crate::event::Event;
use crate::link::Link;
use crate::message::{Body, CodedTime, Hello, LinkType, Listed, Message, NeighbourType};
use crate::message::{MOST_ADDRESSES, WILL_ALWAYS};
use crate::relays;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_routing_core::Sequence16;

impl Olsr {
    /// A HELLO came from a neighbour.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        packet: Sequence16,
        message: &Message,
        hello: &Hello,
    ) {
        // A neighbour has one interface, whose address is its own.
        if message.originator != from {
            return;
        }
        let hold = self.settings.neighb_hold_time_ns;
        let interval = hello.interval.time();
        if !self.links.contains_key(&from) {
            if self.links.len() >= MOST_LINKS && !self.make_room(now) {
                return;
            }
            let mut link = Link::new(now, interval, &self.settings);
            link.came(now, packet, &self.settings);
            self.links.insert(from, link);
        }
        let Some(link) = self.links.get_mut(&from) else {
            return;
        };
        let valid = now + message.validity.time();
        link.expect(now, interval);
        link.heard_until = valid;
        link.willingness = hello.willingness.min(WILL_ALWAYS);
        let mine = hello.neighbours.iter().find(|one| one.address == self.own);
        match mine.map(|one| one.link) {
            Some(LinkType::Lost) => link.symmetric_until = now,
            Some(LinkType::Symmetric | LinkType::Asymmetric) => {
                link.symmetric_until = valid;
                link.until = valid + hold;
            }
            _ => {}
        }
        if let Some(one) = mine {
            link.there = one.qualities.here;
        }
        link.until = link.until.max(link.heard_until);
        let chosen = mine.is_some_and(|one| one.neighbour == NeighbourType::Relay);
        if link.is_symmetric(now) {
            if chosen {
                // A choice that a later HELLO does not repeat ends with its validity (§8.4.1).
                link.selector_until = valid;
            }
            self.reach(now, valid, from, hello);
        }
        if self.judges_links() {
            self.stale = true;
        }
    }

    /// Whom a symmetric neighbour reaches (§8.2.1).
    fn reach(&mut self, now: Instant, valid: Instant, from: Ipv4Addr, hello: &Hello) {
        for one in &hello.neighbours {
            if one.address == self.own {
                continue;
            }
            let key = (from, one.address);
            let news = match one.neighbour {
                NeighbourType::Not => self.two_hop.remove(&key).is_some(),
                _ => {
                    let old = self.two_hop.insert(now, key, one.qualities, valid);
                    old.is_none()
                }
            };
            self.moved |= news;
        }
    }

    /// Forgets a link that never worked in both directions; whether there was one.
    fn make_room(&mut self, now: Instant) -> bool {
        let one_way = self.links.iter().find(|(_, link)| !link.is_symmetric(now));
        let address = one_way.map(|(address, _)| *address);
        address.is_some_and(|address| self.links.remove(&address).is_some())
    }

    pub(super) fn choose_relays(&mut self) {
        let willing = |address: &Ipv4Addr| {
            let link = self.links.get(address)?;
            Some((*address, link.willingness))
        };
        let neighbours: BTreeMap<_, _> = self.symmetric.iter().filter_map(willing).collect();
        let mut reach: BTreeMap<Ipv4Addr, BTreeSet<Ipv4Addr>> = BTreeMap::new();
        for ((by, to), _) in self.two_hop.range(..) {
            reach.entry(*by).or_default().insert(*to);
        }
        reach.retain(|by, _| neighbours.contains_key(by));
        let coverage = self.settings.mpr_coverage;
        let relays = relays::select(self.own, &neighbours, &reach, coverage);
        if relays != self.relays {
            let addresses = relays.iter().copied().collect();
            self.outbox.tell(Event::Relays { addresses });
            self.relays = relays;
        }
    }

    /// Sends HELLOs with all links (§6.2).
    pub(super) fn hello(&mut self, now: Instant) {
        self.next_hello = now + self.jittered(self.settings.hello_interval_ns);
        let mut all: Vec<Listed> = Vec::new();
        for (&address, link) in &self.links {
            let Some(kind) = link.kind(now) else { continue };
            let neighbour = match link.is_symmetric(now) {
                true if self.relays.contains(&address) => NeighbourType::Relay,
                true => NeighbourType::Symmetric,
                false => NeighbourType::Not,
            };
            all.push(Listed {
                link: kind,
                neighbour,
                address,
                qualities: link.qualities(),
            });
        }
        all.sort_by_key(|one| (one.link, one.neighbour));
        let mut parts: Vec<&[Listed]> = all.chunks(MOST_ADDRESSES).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        for part in parts {
            let hello = Hello {
                interval: CodedTime::of(self.settings.hello_interval_ns),
                willingness: self.settings.willingness,
                neighbours: part.to_vec(),
                with_qualities: self.settings.metric == crate::Metric::Etx,
            };
            self.stats.hellos_sent += 1;
            let hold = self.settings.neighb_hold_time_ns;
            self.originate(now, 1, hold, Body::Hello(hello));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The route table (RFC 3561 §2, §6.2): states, lifetimes, precursors.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_routing_core::Sequence;

/// Most precursors of a route. A hostile neighbour with many addresses fills no more.
const MOST_PRECURSORS: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Packets may take it.
    Valid,
    /// It broke or expired. Its sequence number still guards against old news.
    Invalid,
    /// It broke, and this station looks for another way (§6.12).
    Repairing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub state: State,
    /// Of the destination; `None` while unknown.
    pub sequence: Option<Sequence>,
    pub hops: u8,
    pub next_hop: Ipv4Addr,
    /// A valid route expires then; another one is forgotten then.
    pub until: Instant,
    /// Packets took it.
    pub used: bool,
    /// Neighbours that send packets to the destination by this station.
    pub precursors: BTreeSet<Ipv4Addr>,
}

impl Route {
    pub fn is_valid(&self) -> bool {
        self.state == State::Valid
    }

    pub fn add_precursor(&mut self, neighbour: Ipv4Addr) {
        if self.precursors.len() < MOST_PRECURSORS {
            self.precursors.insert(neighbour);
        }
    }
}

/// News of a route, from a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// `None` for the sender of a message itself, which is one hop away (§6.2).
    pub sequence: Option<Sequence>,
    pub hops: u8,
    pub next_hop: Ipv4Addr,
    pub until: Instant,
}

impl Offer {
    /// Whether the offer replaces `route`, by §6.2 and §6.7.
    fn beats(&self, route: &Route) -> bool {
        match (self.sequence, route.sequence) {
            // The sender of a message is a neighbour, whatever the table says.
            (None, _) => !route.is_valid() || route.hops > 1,
            (Some(_), None) => true,
            (Some(new), Some(old)) => {
                new.is_newer_than(old)
                    || new == old && (!route.is_valid() || self.hops < route.hops)
            }
        }
    }
}

/// What an offer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was no better than what the table has.
    No,
    /// The same next hop as before, with news of it.
    Renewed,
    /// Packets go another way from now on.
    Changed,
}

/// All routes. A full table drops the route that ends first, one without packets if there is any.
/// So made-up routes do not drive out those in use.
#[derive(Clone, Debug)]
pub struct Table {
    routes: BTreeMap<Ipv4Addr, Route>,
    by_end: BTreeSet<(Instant, Ipv4Addr)>,
    most: usize,
}

impl Table {
    pub fn new(most: usize) -> Self {
        Table {
            routes: BTreeMap::new(),
            by_end: BTreeSet::new(),
            most: most.max(1),
        }
    }

    pub fn get(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.routes.get(&destination)
    }

    pub fn valid(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.get(destination).filter(|route| route.is_valid())
    }

    pub fn all(&self) -> impl Iterator<Item = (Ipv4Addr, &Route)> {
        self.routes.iter().map(|(to, route)| (*to, route))
    }

    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Destinations of valid routes by this next hop, in their order.
    pub fn by(&self, next_hop: Ipv4Addr) -> Vec<Ipv4Addr> {
        let by = |route: &Route| route.is_valid() && route.next_hop == next_hop;
        let found = self.all().filter(|(_, route)| by(route));
        found.map(|(to, _)| to).collect()
    }

    /// Takes an offer if it is better. The second result is a destination whose valid route left
    /// the full table for it.
    pub fn offer(&mut self, destination: Ipv4Addr, offer: Offer) -> (Taken, Option<Ipv4Addr>) {
        let Some(route) = self.routes.get_mut(&destination) else {
            let left = self.make_room();
            self.by_end.insert((offer.until, destination));
            let route = Route {
                state: State::Valid,
                sequence: offer.sequence,
                hops: offer.hops,
                next_hop: offer.next_hop,
                until: offer.until,
                used: false,
                precursors: BTreeSet::new(),
            };
            self.routes.insert(destination, route);
            return (Taken::Changed, left);
        };
        if !offer.beats(route) {
            let same = route.is_valid()
                && route.next_hop == offer.next_hop
                && (offer.sequence.is_none() || offer.sequence == route.sequence);
            if same {
                self.extend(destination, offer.until);
            }
            let taken = if same { Taken::Renewed } else { Taken::No };
            return (taken, None);
        }
        let same = route.is_valid() && route.next_hop == offer.next_hop;
        let until = match route.is_valid() {
            true => route.until.max(offer.until),
            false => offer.until,
        };
        route.state = State::Valid;
        route.hops = offer.hops;
        route.next_hop = offer.next_hop;
        // What is known of the sequence number stays: without it the station would believe old news
        // of a neighbour that has gone.
        route.sequence = offer.sequence.or(route.sequence);
        self.set_end(destination, until);
        let taken = if same { Taken::Renewed } else { Taken::Changed };
        (taken, None)
    }

    fn make_room(&mut self) -> Option<Ipv4Addr> {
        if self.routes.len() < self.most {
            return None;
        }
        let unused = |to: &Ipv4Addr| self.routes.get(to).is_none_or(|route| !route.used);
        let first = self.by_end.iter().find(|(_, to)| unused(to));
        let (until, destination) = *first.or(self.by_end.first())?;
        self.by_end.remove(&(until, destination));
        let route = self.routes.remove(&destination)?;
        route.is_valid().then_some(destination)
    }

    fn set_end(&mut self, destination: Ipv4Addr, until: Instant) {
        if let Some(route) = self.routes.get_mut(&destination) {
            self.by_end.remove(&(route.until, destination));
            route.until = until;
            self.by_end.insert((until, destination));
        }
    }

    /// A valid route lives at least until then.
    pub fn extend(&mut self, destination: Ipv4Addr, until: Instant) {
        if self.valid(destination).is_some_and(|r| r.until < until) {
            self.set_end(destination, until);
        }
    }

    /// A packet took the route, which lives at least until then (§6.2).
    pub fn used(&mut self, destination: Ipv4Addr, until: Instant) {
        self.extend(destination, until);
        if let Some(route) = self.routes.get_mut(&destination) {
            route.used = true;
        }
    }

    pub fn add_precursor(&mut self, destination: Ipv4Addr, neighbour: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(&destination) {
            route.add_precursor(neighbour);
        }
    }

    /// The route broke, or its time is over. Its sequence number becomes that which only the
    /// destination can give out (§6.1), at least `heard`: no station that came by this one has it.
    pub fn invalidate(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        heard: Option<Sequence>,
        keep: Duration,
    ) -> Option<&Route> {
        let route = self.routes.get_mut(&destination)?;
        route.state = State::Invalid;
        route.used = false;
        let own = route.sequence.map(Sequence::next);
        route.sequence = match (own, heard) {
            (Some(own), Some(heard)) => Some(own.newest(heard)),
            (own, heard) => own.or(heard),
        };
        self.set_end(destination, now + keep);
        self.get(destination)
    }

    /// An invalid route is remembered at least until then.
    pub fn remember(&mut self, destination: Ipv4Addr, until: Instant) {
        if self.get(destination).is_some_and(|r| !r.is_valid()) {
            self.set_end(destination, until);
        }
    }

    /// An invalid route is being repaired, or is not any more.
    pub fn repairing(&mut self, destination: Ipv4Addr, on: bool) {
        if let Some(route) = self.routes.get_mut(&destination) {
            if !route.is_valid() {
                route.state = if on { State::Repairing } else { State::Invalid };
            }
        }
    }

    pub fn clear_precursors(&mut self, destination: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(&destination) {
            route.precursors.clear();
        }
    }

    /// The next route whose time is over: its destination, and whether it was valid. Invalid ones
    /// are gone with that; a valid one waits for [`Table::invalidate`].
    pub fn expired(&mut self, now: Instant) -> Option<(Ipv4Addr, bool)> {
        let &(until, destination) = self.by_end.first()?;
        if until > now {
            return None;
        }
        let valid = self.valid(destination).is_some();
        if !valid {
            self.by_end.pop_first();
            self.routes.remove(&destination);
        }
        Some((destination, valid))
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        self.by_end.first().map(|(until, _)| *until)
    }
}

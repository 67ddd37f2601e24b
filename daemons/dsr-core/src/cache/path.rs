// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The path cache (RFC 4728 §4.1), built as the Monarch project's ns-2 code has it. The primary
//! part holds routes that this node asked for or uses, the secondary part those that it merely
//! heard of. Each part is first in, first out. A secondary route that gets used moves to the
//! primary part, so overheard routes cannot push out routes in use.

use super::{Origin, Route, RouteCache};
use crate::settings::{CacheTimeout, Settings};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

struct Path {
    /// This node first. Every beginning of the path is a route too, to the node where it ends.
    nodes: Route,
    /// Who is among them. Most paths need no look at their nodes, which lie elsewhere in memory.
    members: Members,
    learned: Instant,
    used: Instant,
}

impl Path {
    fn starts_with(&self, nodes: &[Ipv4Addr], members: Members) -> bool {
        self.members.include(members) && self.nodes.starts_with(nodes)
    }
}

/// A set of nodes, each of which has one of 64 bits. It may seem to have others.
#[derive(Clone, Copy)]
struct Members(u64);

impl Members {
    fn of(nodes: &[Ipv4Addr]) -> Self {
        let bits = nodes.iter().map(|a| 1 << (u32::from(*a) % u64::BITS));
        Members(bits.fold(0, |all, bit: u64| all | bit))
    }

    fn include(self, others: Members) -> bool {
        self.0 & others.0 == others.0
    }
}

pub struct PathCache {
    own: Ipv4Addr,
    primary: VecDeque<Path>,
    secondary: VecDeque<Path>,
    primary_size: usize,
    secondary_size: usize,
    lifetime: Option<Duration>,
    /// Whether a lifetime starts when a path is learned, or else at its last use.
    from_learning: bool,
}

impl PathCache {
    pub fn new(own: Ipv4Addr, s: &Settings) -> Self {
        let timed = matches!(s.cache_timeout, CacheTimeout::Unused | CacheTimeout::Fixed);
        PathCache {
            own,
            primary: VecDeque::new(),
            secondary: VecDeque::new(),
            primary_size: s.primary_routes.max(1),
            secondary_size: s.secondary_routes.max(1),
            lifetime: timed.then_some(s.route_cache_timeout_ns),
            from_learning: s.cache_timeout != CacheTimeout::Unused,
        }
    }

    fn alive(&self, now: Instant, p: &Path) -> bool {
        let since = if self.from_learning {
            p.learned
        } else {
            p.used
        };
        self.lifetime.is_none_or(|l| now.since(since) < l)
    }

    fn expire(&mut self, now: Instant) {
        let (lifetime, from_learning) = (self.lifetime, self.from_learning);
        let live = |p: &Path| {
            let since = if from_learning { p.learned } else { p.used };
            lifetime.is_none_or(|l| now.since(since) < l)
        };
        self.primary.retain(live);
        self.secondary.retain(live);
    }
}

/// Adds `nodes` unless a path of `list` has them as its beginning; a shorter beginning of the
/// new path is replaced by it.
fn add(list: &mut VecDeque<Path>, size: usize, now: Instant, nodes: &[Ipv4Addr], members: Members) {
    if let Some(known) = list.iter_mut().find(|p| p.starts_with(nodes, members)) {
        // News of a beginning says nothing of the rest, so a longer path gets no younger.
        if known.nodes.len() == nodes.len() {
            known.learned = now;
            known.used = now;
        }
        return;
    }
    list.retain(|p| !(members.include(p.members) && nodes.starts_with(&p.nodes)));
    if list.len() >= size {
        list.pop_front();
    }
    list.push_back(Path {
        nodes: nodes.to_vec(),
        members,
        learned: now,
        used: now,
    });
}

impl RouteCache for PathCache {
    fn learn(&mut self, now: Instant, nodes: &[Ipv4Addr], origin: Origin) {
        let Some(start) = nodes.iter().position(|a| *a == self.own) else {
            return;
        };
        let path = &nodes[start..];
        let looped = path.iter().enumerate().any(|(i, a)| path[..i].contains(a));
        if path.len() < 2 || looped {
            return;
        }
        let members = Members::of(path);
        let knows = |p: &Path| p.starts_with(path, members);
        if origin == Origin::Overheard && self.primary.iter().any(knows) {
            return;
        }
        let (list, size) = match origin {
            Origin::Discovered => (&mut self.primary, self.primary_size),
            Origin::Overheard => (&mut self.secondary, self.secondary_size),
        };
        add(list, size, now, path, members);
    }

    fn find(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        avoid: &[Ipv4Addr],
        admits: &dyn Fn(Ipv4Addr, Ipv4Addr) -> bool,
    ) -> Option<Route> {
        self.expire(now);
        let wanted = Members::of(&[to]);
        let mut best: Option<&[Ipv4Addr]> = None;
        for path in self.primary.iter().chain(&self.secondary) {
            if !path.members.include(wanted) {
                continue;
            }
            let Some(end) = path.nodes.iter().position(|a| *a == to) else {
                continue;
            };
            let route = &path.nodes[..=end];
            // Of equally long routes the primary and older one stays the choice.
            let shorter = best.is_none_or(|b| route.len() < b.len());
            let admitted = |route: &[Ipv4Addr]| route.windows(2).all(|w| admits(w[0], w[1]));
            if shorter && !route[1..].iter().any(|a| avoid.contains(a)) && admitted(route) {
                best = Some(route);
            }
        }
        best.map(<[_]>::to_vec)
    }

    fn knows(&self, now: Instant, route: &[Ipv4Addr]) -> bool {
        let members = Members::of(route);
        let mut all = self.primary.iter().chain(&self.secondary);
        all.any(|p| p.starts_with(route, members) && self.alive(now, p))
    }

    fn used(&mut self, now: Instant, route: &[Ipv4Addr]) {
        let members = Members::of(route);
        let has = |p: &Path| p.starts_with(route, members);
        let mut seen = false;
        for p in self.primary.iter_mut().filter(|p| has(p)) {
            p.used = now;
            seen = true;
        }
        if seen {
            return;
        }
        if let Some(i) = self.secondary.iter().position(has) {
            if let Some(mut p) = self.secondary.remove(i) {
                p.used = now;
                if self.primary.len() >= self.primary_size {
                    self.primary.pop_front();
                }
                self.primary.push_back(p);
            }
        }
    }

    fn remove_link(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) -> Vec<Duration> {
        let ends = Members::of(&[from, to]);
        let mut lifetimes = Vec::new();
        for list in [&mut self.primary, &mut self.secondary] {
            for p in list.iter_mut().filter(|p| p.members.include(ends)) {
                if let Some(i) = p.nodes.windows(2).position(|w| w == [from, to]) {
                    lifetimes.push(now.since(p.learned));
                    // What comes before the broken link does not use it and stays.
                    p.nodes.truncate(i + 1);
                    p.members = Members::of(&p.nodes);
                }
            }
            list.retain(|p| p.nodes.len() > 1);
        }
        lifetimes
    }

    fn routes(&self, now: Instant) -> Vec<Route> {
        let all = self.primary.iter().chain(&self.secondary);
        all.filter(|p| self.alive(now, p))
            .map(|p| p.nodes.clone())
            .collect()
    }

    fn flush(&mut self) {
        self.primary.clear();
        self.secondary.clear();
    }

    fn set_lifetime(&mut self, lifetime: Option<Duration>) {
        self.lifetime = lifetime;
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The link cache (RFC 4728 §4.1): a graph of single links, searched for the shortest route.
//!
//! Link-MaxLife says how long a link lives. Each node has a stability, which grows when its links
//! serve and shrinks when they break. A link lives as long as the less stable of its ends. Among
//! equally short routes the one whose first link to expire lives longest wins.

use super::{Origin, Route, RouteCache};
use crate::settings::{CacheTimeout, Settings};
use crate::tables::make_room;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

/// Most links of the cache: as many as 64 stations have that all hear each other. A full cache
/// drops the link that expires first.
const MOST_LINKS: usize = 4096;

struct Link {
    /// Start of the fixed or adapted lifetime, and of the age at which use makes the ends stable.
    learned: Instant,
    expires: Instant,
}

pub struct LinkCache {
    own: Ipv4Addr,
    links: BTreeMap<(Ipv4Addr, Ipv4Addr), Link>,
    stability: BTreeMap<Ipv4Addr, Duration>,
    init: Duration,
    incr: f64,
    decr: f64,
    min_lifetime: Duration,
    use_extends: Duration,
    /// A fixed or adapted lifetime replaces Link-MaxLife when set.
    lifetime: Option<Duration>,
    forever: bool,
}

impl LinkCache {
    pub fn new(own: Ipv4Addr, s: &Settings) -> Self {
        let fixed = s.cache_timeout == CacheTimeout::Fixed;
        LinkCache {
            own,
            links: BTreeMap::new(),
            stability: BTreeMap::new(),
            init: s.init_stability_ns,
            incr: s.stability_incr_factor,
            decr: s.stability_decr_factor,
            min_lifetime: s.min_lifetime_ns,
            use_extends: s.use_extends_ns,
            lifetime: fixed.then_some(s.route_cache_timeout_ns),
            forever: s.cache_timeout == CacheTimeout::None,
        }
    }

    fn lifetime(&self, from: Ipv4Addr, to: Ipv4Addr) -> Duration {
        let of = |node| self.stability.get(&node).copied().unwrap_or(self.init);
        of(from).min(of(to)).max(self.min_lifetime)
    }

    fn alive(&self, now: Instant, link: &Link) -> bool {
        match self.lifetime {
            _ if self.forever => true,
            Some(lifetime) => now.since(link.learned) < lifetime,
            None => now < link.expires,
        }
    }

    /// Bounds the table. Beyond two nodes for each possible link, only nodes with a link keep their
    /// stability.
    fn forget_strangers(&mut self) {
        if self.stability.len() > 2 * MOST_LINKS {
            let known: BTreeSet<_> = self.links.keys().flat_map(|(a, b)| [*a, *b]).collect();
            self.stability.retain(|node, _| known.contains(node));
        }
    }

    fn scale(&mut self, node: Ipv4Addr, factor: f64) {
        let old = self.stability.get(&node).copied().unwrap_or(self.init);
        // The upper bound keeps repeated growth within the range of a time.
        let new = Duration::from_secs_f64((old.as_secs_f64() * factor).min(1e6));
        self.stability.insert(node, new.max(self.min_lifetime));
        self.forget_strangers();
    }
}

impl RouteCache for LinkCache {
    fn learn(&mut self, now: Instant, nodes: &[Ipv4Addr], origin: Origin) {
        for pair in nodes.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if from == to {
                continue;
            }
            let expires = now + self.lifetime(from, to);
            make_room(&mut self.links, &(from, to), MOST_LINKS, |l| l.expires);
            let link = self.links.entry((from, to)).or_insert(Link {
                learned: now,
                expires,
            });
            link.expires = link.expires.max(expires);
            // An overheard link may be an echo of what this node itself sent out. It stays as old
            // as it was, or the fixed lifetime would never end.
            let live = self.lifetime.is_none_or(|l| now.since(link.learned) < l);
            if origin == Origin::Discovered || !live {
                link.learned = now;
            }
        }
    }

    fn find(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        avoid: &[Ipv4Addr],
        admits: &dyn Fn(Ipv4Addr, Ipv4Addr) -> bool,
    ) -> Option<Route> {
        // Breadth first, layer by layer; per node the predecessor whose route's earliest expiry
        // is latest. Ordered maps make ties fall the same way in every run.
        let mut reached: BTreeMap<Ipv4Addr, (Ipv4Addr, Instant)> = BTreeMap::new();
        let mut layer = vec![(self.own, Instant(u64::MAX))];
        while !layer.is_empty() && !reached.contains_key(&to) {
            let mut next: BTreeMap<Ipv4Addr, (Ipv4Addr, Instant)> = BTreeMap::new();
            for (node, life) in &layer {
                // All links from `node`: the map is in the order of (from, to).
                let low = (*node, Ipv4Addr::UNSPECIFIED);
                let high = (*node, Ipv4Addr::BROADCAST);
                for ((_, hop), link) in self.links.range(low..=high) {
                    // Nodes of this same layer are not in `reached` yet, so the better of two
                    // equally long ways to them can still win.
                    let known = *hop == self.own || reached.contains_key(hop);
                    let barred = avoid.contains(hop) || !admits(*node, *hop);
                    if known || barred || !self.alive(now, link) {
                        continue;
                    }
                    let life = (*life).min(link.expires);
                    let best = next.get(hop).is_none_or(|(_, other)| life > *other);
                    if best {
                        next.insert(*hop, (*node, life));
                    }
                }
            }
            layer = next.iter().map(|(hop, (_, life))| (*hop, *life)).collect();
            reached.append(&mut next);
        }
        let mut route = vec![to];
        let mut at = to;
        while at != self.own {
            at = reached.get(&at)?.0;
            route.push(at);
        }
        route.reverse();
        Some(route)
    }

    fn knows(&self, now: Instant, route: &[Ipv4Addr]) -> bool {
        let link = |hop: &[Ipv4Addr]| self.links.get(&(hop[0], hop[1]));
        let mut hops = route.windows(2);
        hops.all(|hop| link(hop).is_some_and(|link| self.alive(now, link)))
    }

    fn used(&mut self, now: Instant, route: &[Ipv4Addr]) {
        for pair in route.windows(2) {
            if let Some(link) = self.links.get_mut(&(pair[0], pair[1])) {
                // A link in use lives at least UseExtends longer (§4.1).
                link.expires = link.expires.max(now + self.use_extends);
            }
        }
        // Serving a packet shows both ends of the first hop stable. The factor applies at most once
        // in each lifetime of the link, so that the increase follows time and not the packet rate.
        if let [a, b, ..] = *route {
            let age = self.links.get(&(a, b)).map(|l| now.since(l.learned));
            if age.is_some_and(|age| age.0 > self.lifetime(a, b).0) {
                self.scale(a, self.incr);
                self.scale(b, self.incr);
                if let Some(link) = self.links.get_mut(&(a, b)) {
                    link.learned = now;
                }
            }
        }
    }

    fn remove_link(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) -> Vec<Duration> {
        let Some(link) = self.links.remove(&(from, to)) else {
            return Vec::new();
        };
        self.scale(from, 1.0 / self.decr);
        self.scale(to, 1.0 / self.decr);
        vec![now.since(link.learned)]
    }

    fn routes(&self, now: Instant) -> Vec<Route> {
        let live = self.links.iter().filter(|(_, l)| self.alive(now, l));
        live.map(|((from, to), _)| vec![*from, *to]).collect()
    }

    fn flush(&mut self) {
        self.links.clear();
        self.stability.clear();
    }

    fn set_lifetime(&mut self, lifetime: Option<Duration>) {
        self.lifetime = lifetime;
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Route Cache (RFC 4728 §4.1). One interface has two structures behind it. The strategies
//! around them (timeouts, negative cache) are the same for both.

pub mod link;
pub mod path;

use crate::settings::{CacheKind, CacheTimeout, Learning, Settings};
use crate::tables::{make_room, MOST_ENTRIES};
use crate::wire::options::MAX_ADDRESSES;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

/// A route: this node first, the destination last, no address twice.
pub type Route = Vec<Ipv4Addr>;

/// Nodes of the longest route that every option has room for, with both ends. A cache puts routes
/// together that are longer, or learns them from a false header. Their length octet would wrap.
const LONGEST_ROUTE: usize = MAX_ADDRESSES + 2;

/// How a sequence of hops came to this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Asked for, or carried by a packet that this node itself handles.
    Discovered,
    /// Overheard, or learned from somebody else's packets.
    Overheard,
}

/// What a Route Cache structure must do. Node sequences are in travelling order.
pub trait RouteCache {
    /// Takes over the hops of `nodes` that are of use to this node.
    fn learn(&mut self, now: Instant, nodes: &[Ipv4Addr], origin: Origin);
    /// The best live route to `destination` over hops that `admits` lets pass; `avoid` lists
    /// nodes that it must not visit.
    fn find(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        avoid: &[Ipv4Addr],
        admits: &dyn Fn(Ipv4Addr, Ipv4Addr) -> bool,
    ) -> Option<Route>;
    /// Whether the whole of `route` is known to lead on.
    fn knows(&self, now: Instant, route: &[Ipv4Addr]) -> bool;
    /// A packet is being sent along `route`: it counts as used.
    fn used(&mut self, now: Instant, route: &[Ipv4Addr]);
    /// Forgets the link; returns how long the routes that used it had lived.
    fn remove_link(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) -> Vec<Duration>;
    /// All live routes, for display.
    fn routes(&self, now: Instant) -> Vec<Route>;
    fn flush(&mut self);
    /// The lifetime that timeouts use from now on. With `None` a path has no timeout, and a link
    /// has that of Link-MaxLife.
    fn set_lifetime(&mut self, lifetime: Option<Duration>);
}

/// A Route Cache with its strategies.
pub struct Store {
    cache: Box<dyn RouteCache>,
    own: Ipv4Addr,
    bidirectional: bool,
    adaptive: Option<Adaptive>,
    /// Broken links that are refused until the given time.
    negative: BTreeMap<(Ipv4Addr, Ipv4Addr), Instant>,
    negative_time: Duration,
    /// Signal of each link, lower address first, and when it was measured or reported.
    signals: Signals,
    threshold: Option<i16>,
}

type Signals = BTreeMap<(Ipv4Addr, Ipv4Addr), (Instant, i8)>;

/// A signal older than this says nothing of a link any more.
const SIGNAL_LIFETIME: Duration = Duration::from_secs(10);

fn pair(a: Ipv4Addr, b: Ipv4Addr) -> (Ipv4Addr, Ipv4Addr) {
    (a.min(b), a.max(b))
}

fn fresh(signals: &Signals, now: Instant, a: Ipv4Addr, b: Ipv4Addr) -> Option<i8> {
    let (at, dbm) = signals.get(&pair(a, b))?;
    (now.since(*at) < SIGNAL_LIFETIME).then_some(*dbm)
}

/// Timeout from observed breaks: the larger of factor x mean lifetime of broken routes and the
/// time since the last break. The second term keeps routes while nothing breaks. (Marina and Das,
/// "Performance of route caching strategies in Dynamic Source Routing", 2001.)
struct Adaptive {
    factor: f64,
    minimum: Duration,
    mean_s: f64,
    breaks: u64,
    last_break: Instant,
}

impl Store {
    pub fn new(own: Ipv4Addr, settings: &Settings) -> Self {
        let cache: Box<dyn RouteCache> = match settings.cache {
            CacheKind::Path => Box::new(path::PathCache::new(own, settings)),
            CacheKind::Link => Box::new(link::LinkCache::new(own, settings)),
        };
        let adaptive = (settings.cache_timeout == CacheTimeout::Adaptive).then(|| Adaptive {
            factor: settings.adaptive_factor,
            minimum: settings.adaptive_minimum_ns,
            mean_s: 0.0,
            breaks: 0,
            last_break: Instant::default(),
        });
        Store {
            cache,
            own,
            bidirectional: settings.learning == Learning::Full,
            adaptive,
            negative: BTreeMap::new(),
            negative_time: settings.negative_cache_ns,
            signals: BTreeMap::new(),
            threshold: settings.signal_threshold_dbm,
        }
    }

    /// Learns `nodes` in travelling order and, where links work both ways (§3.3.1), reversed.
    pub fn learn(&mut self, now: Instant, nodes: &[Ipv4Addr], origin: Origin) {
        self.learn_one_way(now, nodes, origin);
        if self.bidirectional {
            self.learn_back(now, nodes, origin);
        }
    }

    /// Learns the way back along `nodes`.
    pub fn learn_back(&mut self, now: Instant, nodes: &[Ipv4Addr], origin: Origin) {
        let reversed: Vec<_> = nodes.iter().rev().copied().collect();
        self.learn_one_way(now, &reversed, origin);
    }

    fn learn_one_way(&mut self, now: Instant, nodes: &[Ipv4Addr], origin: Origin) {
        if self.negative.is_empty() {
            return self.cache.learn(now, nodes, origin);
        }
        self.negative.retain(|_, until| *until > now);
        // The route falls into pieces at its refused links, and the cache learns each piece.
        let mut start = 0;
        for i in 1..nodes.len() {
            if self.negative.contains_key(&(nodes[i - 1], nodes[i])) {
                self.cache.learn(now, &nodes[start..i], origin);
                start = i;
            }
        }
        self.cache.learn(now, &nodes[start..], origin);
    }

    pub fn find(&mut self, now: Instant, to: Ipv4Addr, avoid: &[Ipv4Addr]) -> Option<Route> {
        if let Some(a) = &self.adaptive {
            let lifetime = a.lifetime(now);
            self.cache.set_lifetime(lifetime);
        }
        // First only routes without a hop known to be weak, then any. An unknown signal is no
        // reason to avoid a hop.
        let usable = |route: &Route| route.len() <= LONGEST_ROUTE;
        if let Some(threshold) = self.threshold {
            let signals = &self.signals;
            let strong =
                |a, b| fresh(signals, now, a, b).is_none_or(|dbm| i16::from(dbm) >= threshold);
            let route = self.cache.find(now, to, avoid, &strong).filter(usable);
            if route.is_some() {
                return route;
            }
        }
        let any = self.cache.find(now, to, avoid, &|_, _| true);
        any.filter(usable)
    }

    /// The signal of the link between two nodes, taken as the same both ways.
    pub fn note_signal(&mut self, now: Instant, a: Ipv4Addr, b: Ipv4Addr, dbm: i8) {
        // Others tell of any pair they like: what is too old to count must not pile up.
        self.signals
            .retain(|_, (at, _)| now.since(*at) < SIGNAL_LIFETIME);
        make_room(&mut self.signals, &pair(a, b), MOST_ENTRIES, |(at, _)| *at);
        self.signals.insert(pair(a, b), (now, dbm));
    }

    pub fn signal(&self, now: Instant, a: Ipv4Addr, b: Ipv4Addr) -> Option<i8> {
        fresh(&self.signals, now, a, b)
    }

    /// Whether the cache knows the whole of `route`, this node first, and has heard of no break on
    /// it since.
    pub fn knows(&self, now: Instant, route: &[Ipv4Addr]) -> bool {
        self.cache.knows(now, route)
    }

    pub fn used(&mut self, now: Instant, route: &[Ipv4Addr]) {
        self.cache.used(now, route);
    }

    /// Removes a broken link (§8.3.5), both ways when it leads from this node.
    pub fn remove_link(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) {
        let mut lifetimes = self.cache.remove_link(now, from, to);
        if self.bidirectional && from == self.own {
            lifetimes.extend(self.cache.remove_link(now, to, from));
        }
        if let Some(a) = &mut self.adaptive {
            a.last_break = now;
            for life in lifetimes {
                a.breaks += 1;
                a.mean_s += (life.as_secs_f64() - a.mean_s) / a.breaks as f64;
            }
        }
        // Others may repeat the broken link from their caches before they hear of the break.
        if self.negative_time.0 > 0 {
            make_room(&mut self.negative, &(from, to), MOST_ENTRIES, |until| {
                *until
            });
            self.negative.insert((from, to), now + self.negative_time);
        }
    }

    pub fn routes(&self, now: Instant) -> Vec<Route> {
        self.cache.routes(now)
    }

    pub fn flush(&mut self) {
        self.cache.flush();
        self.negative.clear();
    }
}

impl Adaptive {
    fn lifetime(&self, now: Instant) -> Option<Duration> {
        if self.breaks == 0 {
            return None;
        }
        let by_mean = Duration::from_secs_f64(self.factor * self.mean_s);
        Some(by_mean.max(now.since(self.last_break)).max(self.minimum))
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The conceptual tables of RFC 4728 §4: Send Buffer, Route Request Table, Gratuitous Route Reply
//! Table, Blacklist. There is also the record of packets recently handled, which keeps salvaged
//! packets from coming back.

use crate::layer::Meeting;
use crate::settings::Settings;
use crate::wire::{Packet, RouteError};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

/// Most entries of a table that has no size in the RFC. Packets with made-up addresses must not
/// make it grow without limit.
pub const MOST_ENTRIES: usize = 1024;

/// Removes the oldest entries of `table` until `key` fits among `most`; true when one had to go.
pub fn make_room<K: Ord + Copy, V>(
    table: &mut BTreeMap<K, V>,
    key: &K,
    most: usize,
    time: impl Fn(&V) -> Instant,
) -> bool {
    let mut removed = false;
    while table.len() >= most && !table.contains_key(key) {
        // The key decides between equal times, so that every run removes the same entry.
        let oldest = table.iter().min_by_key(|(k, v)| (time(v), **k));
        let Some(oldest) = oldest.map(|e| *e.0) else {
            break;
        };
        table.remove(&oldest);
        removed = true;
    }
    removed
}

/// Packets that wait for a route (§4.2).
#[derive(Default)]
pub struct SendBuffer {
    packets: VecDeque<Waiting>,
}

pub struct Waiting {
    pub packet: Packet,
    /// When the packet first entered; kept when it has to wait again.
    pub since: Instant,
    /// How often it has been sent and came back from a broken link.
    pub attempts: u8,
    /// Its source was warned that it cannot go on from this custodian.
    pub warned: bool,
}

impl Waiting {
    /// A packet that has not been sent yet.
    pub fn new(now: Instant, packet: Packet) -> Self {
        Waiting {
            packet,
            since: now,
            attempts: 0,
            warned: false,
        }
    }
}

impl SendBuffer {
    /// Adds a packet, which meets those that wait already. Returns the one that had to leave a full
    /// buffer (the oldest, §4.2).
    pub fn push(
        &mut self,
        waiting: Waiting,
        capacity: usize,
        meets: impl Fn(&Packet, &Packet) -> Meeting,
    ) -> Option<Waiting> {
        let meets = |old: &Waiting| meets(&waiting.packet, &old.packet);
        self.packets.retain(|old| meets(old) != Meeting::Removes);
        if let Some(at) = self
            .packets
            .iter()
            .position(|old| meets(old) == Meeting::Renews)
        {
            self.packets[at] = waiting;
            return None;
        }
        let out = if self.packets.len() >= capacity {
            self.packets.pop_front()
        } else {
            None
        };
        self.packets.push_back(waiting);
        out
    }

    /// Whether packets for `target` wait for which `is` holds.
    pub fn waits_for(&self, target: Ipv4Addr, is: impl Fn(&Packet) -> bool) -> bool {
        let mut packets = self.packets.iter().map(|w| &w.packet);
        packets.any(|packet| packet.ip.destination == target && is(packet))
    }

    /// Destinations of the packets for which `is` holds.
    pub fn targets(&self, is: impl Fn(&Packet) -> bool) -> Vec<Ipv4Addr> {
        let packets = self.packets.iter().map(|w| &w.packet);
        let chosen = packets.filter(|packet| is(packet));
        let mut list: Vec<_> = chosen.map(|packet| packet.ip.destination).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    fn take(&mut self, leaves: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let mut out = Vec::new();
        for w in core::mem::take(&mut self.packets) {
            if leaves(&w) {
                out.push(w);
            } else {
                self.packets.push_back(w);
            }
        }
        out
    }

    pub fn take_for(&mut self, target: Ipv4Addr) -> Vec<Waiting> {
        self.take(|w| w.packet.ip.destination == target)
    }

    /// Takes back packets that it gave out just now, before all others as the oldest.
    pub fn put_back(&mut self, packets: Vec<Waiting>) {
        for packet in packets.into_iter().rev() {
            self.packets.push_front(packet);
        }
    }

    /// Packets that have waited as long as `timeout` says.
    pub fn take_expired(
        &mut self,
        now: Instant,
        timeout: impl Fn(&Waiting) -> Duration,
    ) -> Vec<Waiting> {
        self.take(|w| now.since(w.since) >= timeout(w))
    }

    pub fn next_expiry(&self, timeout: impl Fn(&Waiting) -> Duration) -> Option<Instant> {
        self.packets.iter().map(|w| w.since + timeout(w)).min()
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// What this node knows of its own discoveries of one target (§4.3, first part).
pub struct Pursuit {
    /// Requests since the last valid reply.
    pub attempts: u32,
    /// Time after which the next request may be sent.
    pub not_before: Instant,
    /// Current back-off period of propagating requests.
    pub period: Duration,
    /// The last request was a non-propagating one.
    nonpropagating: bool,
    last: Instant,
}

/// What to send for a target, by the back-off rules (§4.3, §8.2.1).
pub struct NextRequest {
    pub ttl: u8,
    pub attempt: u32,
}

/// The Route Request Table (§4.3).
#[derive(Default)]
pub struct RequestTable {
    pursuits: BTreeMap<Ipv4Addr, Pursuit>,
    /// Requests seen: initiator, then (identification, target), oldest first.
    seen: BTreeMap<Ipv4Addr, Seen>,
}

#[derive(Default)]
struct Seen {
    ids: VecDeque<(u16, Ipv4Addr)>,
    last: Instant,
}

impl RequestTable {
    /// The request to send now for `target`; `None` while the back-off forbids one.
    pub fn next(&mut self, now: Instant, target: Ipv4Addr, s: &Settings) -> Option<NextRequest> {
        let earliest = self.not_before(target);
        if earliest.is_some_and(|at| now < at) {
            return None;
        }
        // Least recently used leaves (§4.3).
        make_room(&mut self.pursuits, &target, s.request_table_size, |p| {
            p.last
        });
        let p = self.pursuits.entry(target).or_insert(Pursuit {
            attempts: 0,
            not_before: now,
            period: s.request_period_ns,
            nonpropagating: false,
            last: now,
        });
        p.last = now;
        let again = s.nonpropagating_every_time && !p.nonpropagating;
        // §8.2.1: the first request asks the neighbours only, and later ones double their period.
        // The short wait after a non-propagating request leaves that period as it is.
        p.nonpropagating = s.nonpropagating_first && (p.attempts == 0 || again);
        let ttl = if p.nonpropagating {
            p.not_before = now + s.nonprop_request_timeout_ns;
            1
        } else {
            p.not_before = now + p.period;
            let longer = p.period.saturating_mul(s.request_backoff.max(1));
            p.period = longer.min(s.max_request_period_ns);
            s.discovery_hop_limit
        };
        p.attempts = p.attempts.saturating_add(1);
        Some(NextRequest {
            ttl,
            attempt: p.attempts,
        })
    }

    pub fn attempts(&self, target: Ipv4Addr) -> u32 {
        self.pursuits.get(&target).map_or(0, |p| p.attempts)
    }

    pub fn not_before(&self, target: Ipv4Addr) -> Option<Instant> {
        self.pursuits.get(&target).map(|p| p.not_before)
    }

    /// A valid route to `target` arrived: its back-off starts anew (§4.3).
    pub fn answered(&mut self, target: Ipv4Addr) {
        self.pursuits.remove(&target);
    }

    /// Restarts counting after MaxRequestRexmt without losing the back-off.
    pub fn give_up(&mut self, target: Ipv4Addr) {
        if let Some(p) = self.pursuits.get_mut(&target) {
            // Not 0: a new search would begin with a non-propagating request and its short wait.
            p.attempts = 1;
        }
    }

    /// Records a received request; true when it was seen before (§8.2.2).
    pub fn seen(
        &mut self,
        now: Instant,
        initiator: Ipv4Addr,
        id: u16,
        target: Ipv4Addr,
        s: &Settings,
    ) -> bool {
        make_room(&mut self.seen, &initiator, s.request_table_size, |e| e.last);
        let entry = self.seen.entry(initiator).or_default();
        entry.last = now;
        // §4.3 keeps both: an identification may come again for another target.
        if entry.ids.contains(&(id, target)) {
            return true;
        }
        if entry.ids.len() >= s.request_table_ids {
            entry.ids.pop_front();
        }
        entry.ids.push_back((id, target));
        false
    }
}

/// The Gratuitous Route Reply Table (§4.4): (original sender, overheard transmitter).
#[derive(Default)]
pub struct GratuitousTable {
    entries: BTreeMap<(Ipv4Addr, Ipv4Addr), Instant>,
}

impl GratuitousTable {
    /// True when a reply may be sent now; it is then recorded until `holdoff` has passed.
    pub fn admit(&mut self, now: Instant, key: (Ipv4Addr, Ipv4Addr), holdoff: Duration) -> bool {
        // The holdoff also bounds the table: no entry outlives it.
        self.entries.retain(|_, until| *until > now);
        if self.entries.contains_key(&key) {
            return false;
        }
        self.entries.insert(key, now + holdoff);
        true
    }
}

/// What the Blacklist says of the link from a neighbour (§4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    Probable,
    Questionable,
}

/// Neighbours that this node hears and that do not hear it (§4.6).
#[derive(Default)]
pub struct Blacklist {
    since: BTreeMap<Ipv4Addr, Instant>,
}

impl Blacklist {
    pub fn add(&mut self, now: Instant, node: Ipv4Addr) {
        make_room(&mut self.since, &node, MOST_ENTRIES, |since| *since);
        self.since.insert(node, now);
    }

    /// Bidirectional communication was seen: the entry goes. True when there was one.
    pub fn clear(&mut self, node: Ipv4Addr) -> bool {
        self.since.remove(&node).is_some()
    }

    pub fn state(&self, now: Instant, node: Ipv4Addr, timeout: Duration) -> Option<Suspicion> {
        let age = now.since(*self.since.get(&node)?);
        Some(if age < timeout {
            Suspicion::Probable
        } else {
            Suspicion::Questionable
        })
    }
}

/// How many Route Errors are kept to be spread with the next Route Request (§3.4.4).
const NEWS: usize = 3;

/// Route Errors to spread with the next own Route Request (§3.4.4), and since when.
#[derive(Default)]
pub struct News(Vec<(Instant, RouteError)>);

impl News {
    pub fn add(&mut self, now: Instant, error: &RouteError) {
        self.0
            .retain(|(_, n)| (n.source, &n.kind) != (error.source, &error.kind));
        if self.0.len() >= NEWS {
            self.0.remove(0);
        }
        // The extension concerns this node alone. All others only need the link.
        let bare = RouteError {
            extension: Vec::new(),
            ..error.clone()
        };
        self.0.push((now, bare));
    }

    /// What a request spreads that all hear, or only the neighbours. Then others are yet to hear it.
    pub fn spread(&mut self, now: Instant, longest: Duration, to_all: bool) -> Vec<RouteError> {
        self.0.retain(|(since, _)| now.since(*since) < longest);
        let errors = self.0.iter().map(|(_, error)| error.clone()).collect();
        if to_all {
            self.0.clear();
        }
        errors
    }
}

/// Packets that this node has handled lately. The source route of a salvaged packet does not name
/// the nodes before the salvage any more. So the route alone cannot rule out a second visit.
#[derive(Default)]
pub struct Handled {
    keys: VecDeque<(Instant, u64)>,
}

/// How many packets are remembered, and how long.
const HANDLED_PACKETS: usize = 512;
const HANDLED_TIME: Duration = Duration::from_secs(10);

impl Handled {
    pub fn record(&mut self, now: Instant, packet: &Packet) {
        if self.keys.len() >= HANDLED_PACKETS {
            self.keys.pop_front();
        }
        self.keys.push_back((now, fingerprint(packet)));
    }

    pub fn contains(&self, now: Instant, packet: &Packet) -> bool {
        let key = fingerprint(packet);
        self.keys
            .iter()
            .rev()
            .any(|(t, k)| *k == key && now.since(*t) < HANDLED_TIME)
    }
}

/// FNV-1a over the fields that stay the same on the way, and the start of the payload (Linux
/// sends identification 0 on some sockets).
fn fingerprint(packet: &Packet) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut eat = |bytes: &[u8]| {
        for b in bytes {
            hash = (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    eat(&packet.ip.source.octets());
    eat(&packet.ip.destination.octets());
    eat(&packet.ip.identification.to_be_bytes());
    eat(&packet.ip.flags_fragment.to_be_bytes());
    // A layer's option tells transmissions of a segment apart.
    eat(&packet.ip.options);
    eat(&[packet.ip.protocol]);
    eat(&(packet.payload.len() as u32).to_be_bytes());
    eat(&packet.payload[..packet.payload.len().min(48)]);
    hash
}

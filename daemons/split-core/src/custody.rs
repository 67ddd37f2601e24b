// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a custodian is responsible for: segments that wait for its window, and segments in flight
//! to the next custodian or the destination. It remembers those for which it need not care any
//! more.

use crate::config::Tuning;
use crate::event::Kind;
use crate::packet::Output;
use crate::stats::Totals;
use crate::window::Window;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_wire::ipv4::Header as Ipv4Header;
use hoplab_wire::split::Stamp;

/// Later transmissions that must have been acknowledged before one is taken for lost.
const LATER: usize = 3;
/// Transmissions that are remembered for LACKs that come late.
const MOST_SENT: usize = 4096;

/// How often a segment changed hands. A proxy takes again what it has handed on if, and only if, it
/// comes with more. Then its next custodian found no other way than back here, or the source's TCP
/// asked for it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    pub round: u8,
    pub transfers: u8,
}

impl Generation {
    pub const FIRST: Generation = Generation {
        round: 0,
        transfers: 0,
    };

    pub fn of(stamp: &Stamp) -> Self {
        Generation {
            round: stamp.round,
            transfers: stamp.transfers,
        }
    }

    /// By serial number arithmetic (RFC 1982), as a round is one octet.
    pub fn is_after(self, other: Self) -> bool {
        match self.round.wrapping_sub(other.round) as i8 {
            0 => self.transfers.cmp(&other.transfers) == Ordering::Greater,
            ahead => ahead > 0,
        }
    }

    pub fn next_round(self) -> Self {
        Generation {
            round: self.round.wrapping_add(1),
            transfers: 0,
        }
    }

    pub fn next_transfer(self) -> Self {
        Generation {
            transfers: (self.transfers + 1).min(Stamp::MOST_TRANSFERS),
            ..self
        }
    }
}

/// A segment as it is sent, but for its stamp.
#[derive(Clone)]
pub(crate) struct Body<W> {
    pub header: Ipv4Header,
    pub octets: Vec<u8>,
    pub way: Option<W>,
}

/// A segment that this station is responsible for.
pub(crate) struct Held<W> {
    /// Position behind its last octet.
    pub end: u64,
    pub body: Body<W>,
    /// With which it came, and with which it is sent.
    pub came: Generation,
    pub goes: Generation,
    pub since: Instant,
    /// Transmissions so far.
    pub sent: u32,
}

/// A segment that somebody else is responsible for.
pub(crate) struct Past<W> {
    pub end: u64,
    pub came: Generation,
    /// When it was handed on, and when it had come.
    pub at: Instant,
    pub since: Instant,
    /// The source keeps it until the end-to-end ACK.
    pub copy: Option<Body<W>>,
    /// The source's TCP asked for it again: from when on that is heeded.
    pub wanted: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Sent {
    start: u64,
    at: Instant,
    /// Neither acknowledged nor taken for lost.
    in_flight: bool,
}

pub(crate) struct Custody<W> {
    own: Ipv4Addr,
    keeps_copies: bool,
    pub window: Window,
    pub held: BTreeMap<u64, Held<W>>,
    /// Of those, the ones that wait to be sent.
    queued: BTreeSet<u64>,
    /// Transmissions of what is held, by number.
    sent: BTreeMap<u64, Sent>,
    in_flight: usize,
    pub past: BTreeMap<u64, Past<W>>,
    most_past: usize,
    next_number: u64,
    /// A loss of a transmission before this number has had its effect on the window.
    recovery: u64,
    /// While LACKs come, they tell of losses on this stretch, and what the destination misses may be
    /// the next custodian's.
    lacks_until: Instant,
    pub totals: Totals,
    pub kinds: Vec<Kind>,
}

impl<W: Clone> Custody<W> {
    pub fn new(now: Instant, own: Ipv4Addr, tuning: &Tuning, most: usize, source: bool) -> Self {
        Custody {
            own,
            keeps_copies: source,
            window: Window::new(tuning, most),
            held: BTreeMap::new(),
            queued: BTreeSet::new(),
            sent: BTreeMap::new(),
            in_flight: 0,
            past: BTreeMap::new(),
            most_past: 4 * most + 256,
            // A station that took from this one before it was started anew is not confused by it.
            next_number: 1 + now.as_nanos() / (1 << 20) % (1 << 31),
            recovery: 0,
            lacks_until: Instant::ZERO,
            totals: Totals::default(),
            kinds: Vec::new(),
        }
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Segments between the source and the end-to-end ACK, as far as they are known here.
    pub fn unacknowledged(&self) -> usize {
        self.held.len() + self.past.len()
    }

    /// When the last segment before `position` came, unless its transmissions are ambiguous: the
    /// source's sample of the whole way (RFC 6298 §3).
    pub fn latest_before(&self, position: u64) -> Option<Instant> {
        let held = self.held.range(..position).next_back();
        let past = self.past.range(..position).next_back();
        let held = held.map(|(start, h)| (*start, h.since, h.came));
        let past = past.map(|(start, p)| (*start, p.since, p.came));
        held.into_iter()
            .chain(past)
            .max_by_key(|(start, _, _)| *start)
            .filter(|(_, _, came)| *came == Generation::FIRST)
            .map(|(_, since, _)| since)
    }

    pub fn hold(&mut self, start: u64, held: Held<W>) {
        self.forget(start);
        self.past.remove(&start);
        self.held.insert(start, held);
        self.queued.insert(start);
        self.totals.taken += 1;
    }

    /// Sends what the window allows. `limit`: segments that the source's TCP has under way before
    /// it waits; 0 where this is not the source. `acknowledged`: end to end, as far as is known.
    pub fn send(
        &mut self,
        now: Instant,
        limit: usize,
        acknowledged: u64,
        out: &mut VecDeque<Output<W>>,
    ) {
        while self.in_flight < self.window.segments() {
            let Some(start) = self.queued.pop_first() else {
                return;
            };
            let waits = limit > 0 && self.queued.is_empty() && self.unacknowledged() >= limit;
            let Some(held) = self.held.get_mut(&start) else {
                continue;
            };
            let number = self.next_number;
            self.next_number += 1;
            let stamp = Stamp {
                round: held.goes.round,
                transfers: held.goes.transfers,
                source_waits: waits,
                custodian_waits: self.in_flight + 1 >= self.window.segments(),
                custodian: self.own,
                number: number as u32,
                acknowledged: acknowledged as u32,
            };
            let mut header = held.body.header.clone();
            // What has no room is not held.
            let _ = stamp.put(&mut header);
            let mut packet = Vec::with_capacity(held.body.octets.len() + 64);
            header.emit(held.body.octets.len(), &mut packet);
            packet.extend_from_slice(&held.body.octets);
            let way = held.body.way.clone();
            out.push_back(Output::Send { packet, way });
            self.totals.sent += 1;
            self.totals.retransmitted += u64::from(held.sent > 0);
            held.sent += 1;
            let at = now;
            let in_flight = true;
            let sent = Sent {
                start,
                at,
                in_flight,
            };
            self.sent.insert(number, sent);
            self.in_flight += 1;
            if self.in_flight == 1 {
                self.window.restart(now, 1);
            }
            if self.sent.len() > MOST_SENT {
                let (_, oldest) = self.sent.pop_first().expect("there are more than none");
                self.in_flight -= usize::from(oldest.in_flight);
            }
        }
    }

    /// Whether the window is what keeps segments back.
    fn is_limited(&self) -> bool {
        self.in_flight + 1 > self.window.segments()
    }

    /// The next custodian, or the destination's agent, has taken the transmissions for which
    /// `covers` holds.
    pub fn on_lack(&mut self, now: Instant, covers: impl Fn(u32) -> bool) {
        self.totals.lacks_received += 1;
        let told: Vec<(u64, Sent)> = self
            .sent
            .iter()
            .filter(|(number, _)| covers(**number as u32))
            .map(|(number, sent)| (*number, *sent))
            .collect();
        let Some((largest, last)) = told.last().copied() else {
            return;
        };
        let limited = self.is_limited();
        self.window.round_trip.sample(now.since(last.at));
        let mut freed = 0;
        for (_, sent) in told {
            freed += usize::from(self.hand_on(now, sent.start));
        }
        self.totals.lacked += freed as u64;
        self.lacks_until = now + self.window.round_trip.timeout() * 2;
        self.progress(now, freed, limited);
        self.find_losses(largest);
    }

    /// The destination has everything before `position`, and said so end to end.
    pub fn on_ack(&mut self, now: Instant, position: u64) {
        self.past.retain(|_, past| past.end > position);
        let is_done = |held: &Held<W>| held.end <= position;
        let done: Vec<u64> = self
            .held
            .range(..position)
            .filter(|(_, held)| is_done(held))
            .map(|(start, _)| *start)
            .collect();
        self.delivered(now, &done, true);
    }

    /// It also has what lies between the edges of `blocks`.
    pub fn on_sack(&mut self, now: Instant, blocks: &[(u64, u64)]) {
        let mut done = Vec::new();
        for (left, right) in blocks.iter().filter(|(left, right)| left < right) {
            let inside = self.held.range(*left..*right);
            done.extend(inside.filter(|(_, h)| h.end <= *right).map(|(s, _)| *s));
        }
        self.delivered(now, &done, false);
    }

    /// Segments that need nobody's care any more; `forget`: nor any memory.
    fn delivered(&mut self, now: Instant, starts: &[u64], forget: bool) {
        if starts.is_empty() {
            return;
        }
        let limited = self.is_limited();
        let last = self
            .sent
            .iter()
            .rev()
            .find(|(_, sent)| starts.contains(&sent.start))
            .map(|(number, sent)| (*number, *sent));
        if let Some((_, sent)) = last {
            // Which transmission it was the ACK does not say (RFC 6298 §3).
            if self.held.get(&sent.start).is_some_and(|h| h.sent == 1) {
                self.window.round_trip.sample(now.since(sent.at));
            }
        }
        let mut flown = 0;
        for start in starts {
            let was_sent = self.held.get(start).is_some_and(|h| h.sent > 0);
            self.hand_on(now, *start);
            if forget {
                self.past.remove(start);
            }
            flown += usize::from(was_sent);
            self.totals.delivered += 1;
        }
        self.progress(now, flown, limited);
        if let Some((largest, _)) = last.filter(|_| now >= self.lacks_until) {
            self.find_losses(largest);
        }
    }

    /// `freed` segments have left the flight.
    fn progress(&mut self, now: Instant, freed: usize, limited: bool) {
        if limited {
            self.window.grow(freed);
        }
        if freed > 0 || self.in_flight == 0 {
            self.window.restart(now, self.in_flight);
        }
    }

    /// Transmissions so far before one that arrived are lost. With few in flight, fewer must have
    /// come later, as no more can (RFC 5827).
    fn find_losses(&mut self, largest: u64) {
        let later = self.in_flight.clamp(1, LATER) as u64;
        let lost: Vec<u64> = self
            .sent
            .range(..=largest.saturating_sub(later))
            .filter(|(_, sent)| sent.in_flight)
            .map(|(number, _)| *number)
            .collect();
        for number in lost {
            self.lose(number);
        }
    }

    /// Three ACKs have asked for what begins at `start`.
    pub fn on_duplicates(&mut self, now: Instant, start: u64) {
        if now < self.lacks_until {
            return;
        }
        let asked = |sent: &Sent| sent.start == start && sent.in_flight;
        let number = self.sent.iter().find(|(_, s)| asked(s)).map(|(n, _)| *n);
        if let Some(number) = number {
            self.lose(number);
        }
    }

    /// A broken route stopped the transmission for which `is` holds, by its number and its
    /// segment's position; whether it was in flight.
    pub fn on_drop(&mut self, is: impl Fn(u64, u64) -> bool) -> bool {
        let stopped = |n: u64, sent: &Sent| sent.in_flight && is(n, sent.start);
        let found = self.sent.iter().find(|(n, sent)| stopped(**n, sent));
        let Some(number) = found.map(|(n, _)| *n) else {
            return false;
        };
        if let Some(sent) = self.sent.remove(&number) {
            self.in_flight -= 1;
            self.queued.insert(sent.start);
        }
        true
    }

    fn lose(&mut self, number: u64) {
        let in_flight = self.in_flight;
        let Some(sent) = self.sent.get_mut(&number) else {
            return;
        };
        sent.in_flight = false;
        let start = sent.start;
        self.in_flight -= 1;
        self.queued.insert(start);
        if number >= self.recovery {
            self.recovery = self.next_number;
            self.window.halve(in_flight);
            self.kinds.push(Kind::FastRetransmit {
                sequence: start as u32,
                window: self.window.segments(),
            });
        }
    }

    /// Moves a segment from those held to the past; whether it was held.
    fn hand_on(&mut self, now: Instant, start: u64) -> bool {
        self.forget(start);
        let Some(held) = self.held.remove(&start) else {
            return false;
        };
        let past = Past {
            end: held.end,
            came: held.came,
            at: now,
            since: held.since,
            copy: self.keeps_copies.then_some(held.body),
            wanted: None,
        };
        self.past.insert(start, past);
        if self.past.len() > self.most_past && !self.keeps_copies {
            self.past.pop_first();
        }
        true
    }

    /// Forgets the transmissions of a segment.
    fn forget(&mut self, start: u64) {
        self.queued.remove(&start);
        let in_flight = &mut self.in_flight;
        self.sent.retain(|_, sent| {
            let stays = sent.start != start;
            *in_flight -= usize::from(!stays && sent.in_flight);
            stays
        });
    }

    /// The timer: everything in flight counts as lost, what is too old is given up.
    pub fn on_time(&mut self, now: Instant, tuning: &Tuning) {
        if self.window.expires.is_none_or(|at| at > now) {
            return;
        }
        let in_flight = self.in_flight;
        let rto = self.window.round_trip.timeout();
        let mut first = None;
        for sent in self.sent.values_mut().filter(|sent| sent.in_flight) {
            sent.in_flight = false;
            first = first.or(Some(sent.start));
            self.queued.insert(sent.start);
        }
        self.in_flight = 0;
        self.window.expires = None;
        let too_old = |held: &Held<W>| now.since(held.since) >= tuning.give_up;
        let old: Vec<u64> = self
            .held
            .iter()
            .filter(|(_, held)| held.sent > 0 && too_old(held))
            .map(|(start, _)| *start)
            .collect();
        for start in old {
            self.forget(start);
            self.held.remove(&start);
            self.totals.given_up += 1;
            let sequence = start as u32;
            self.kinds.push(Kind::GiveUp { sequence });
        }
        if let Some(start) = first {
            self.totals.timeouts += 1;
            self.window.collapse(in_flight);
            self.recovery = self.next_number;
            let sequence = start as u32;
            self.kinds.push(Kind::Timeout { sequence, rto });
        }
    }
}

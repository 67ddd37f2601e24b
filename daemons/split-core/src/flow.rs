// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection at one station: its source, one of its proxies, or its destination.

use crate::answers::Answers;
use crate::config::{Connection, Tuning};
use crate::custody::{Body, Custody, Generation, Held};
use crate::event::{Event, Kind};
use crate::packet::{Output, Verdict};
use crate::segment::{Segment, Space};
use crate::stats::{Ends, Role, Row};
use crate::thinner::Thinner;
use crate::window::RoundTrip;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_wire::split::{Lack, Stamp, STAMP_LEN};
use hoplab_wire::tcp::Flags;

/// ACKs for the same octet, none of which tells more by SACK, that show a loss (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;
/// Segments that a destination answers by LACKs once one came to it again: its ACKs do not reach
/// the custodian.
const ANSWERED: u32 = 32;
/// Between a local failure and the next transmission.
const RESEND: Duration = Duration::from_millis(10);
/// Octets that the options of an IP header may have.
const IP_OPTIONS: usize = 40;

pub(crate) struct Flow<W> {
    own: Ipv4Addr,
    pub ends: Ends,
    pub role: Role,
    settings: Connection,
    space: Space,
    custody: Custody<W>,
    answers: Answers,
    thinner: Thinner,
    /// The destination's TCP has everything before it.
    acknowledged: u64,
    duplicates: u32,
    /// Of a destination: segments still to be answered by LACKs.
    answered: u32,
    /// Of a source: from a segment's first transmission to the end-to-end ACK.
    end_to_end: RoundTrip,
    declining: bool,
    /// When to send what this station itself could not forward.
    resend: Option<Instant>,
    pub last_seen: Instant,
}

/// What the parts of a flow need for a packet.
pub(crate) struct Context<'a, W> {
    pub now: Instant,
    pub tuning: &'a Tuning,
    pub out: &'a mut VecDeque<Output<W>>,
}

impl<W: Clone> Flow<W> {
    pub fn new(
        own: Ipv4Addr,
        role: Role,
        settings: &Connection,
        segment: &Segment<'_>,
        context: &mut Context<'_, W>,
    ) -> Self {
        let (now, tuning) = (context.now, context.tuning);
        let most = match role {
            Role::Source => settings.window,
            _ => settings.buffer_packets,
        };
        let space = Space::new(segment.tcp.sequence);
        let mut flow = Flow {
            own,
            ends: segment.ends,
            role,
            settings: settings.clone(),
            acknowledged: space.position(segment.tcp.sequence) - (1 << 30),
            space,
            custody: Custody::new(now, own, tuning, most, role == Role::Source),
            answers: Answers::default(),
            thinner: Thinner::default(),
            duplicates: 0,
            answered: 0,
            end_to_end: RoundTrip::new(tuning),
            declining: false,
            resend: None,
            last_seen: now,
        };
        flow.custody.kinds.push(Kind::Begin);
        flow
    }

    /// A segment with data of this connection. `is_proxy`: whether this station is to take it, where
    /// it passes.
    pub fn on_data(
        &mut self,
        c: &mut Context<'_, W>,
        segment: Segment<'_>,
        is_proxy: bool,
        way: W,
    ) -> Verdict {
        self.last_seen = c.now;
        let start = self.space.position(segment.tcp.sequence);
        self.space.saw(start);
        let verdict = match self.role {
            Role::Source => self.leaves(c, start, segment),
            Role::Proxy => self.passes(c, start, segment, is_proxy, way),
            Role::Destination => self.arrives(c, start, &segment),
        };
        self.finish(c);
        verdict
    }

    /// From the source's own TCP.
    fn leaves(&mut self, c: &mut Context<'_, W>, start: u64, segment: Segment<'_>) -> Verdict {
        let end = start + segment.length();
        if end <= self.acknowledged {
            // A probe or the like, which wants an answer.
            return Verdict::Pass;
        }
        if self.custody.held.get(&start).is_some_and(|h| h.end >= end) {
            self.custody.totals.absorbed += 1;
            return Verdict::Taken;
        }
        if self.custody.past.get(&start).is_some_and(|p| p.end >= end) {
            self.asked_again(c, start);
            return Verdict::Taken;
        }
        if self.custody.unacknowledged() >= self.settings.window + c.tuning.source_reserve {
            return self.decline(&segment);
        }
        self.take(
            c,
            start,
            segment,
            Generation::FIRST,
            Generation::FIRST,
            None,
        )
    }

    /// TCP sends again what somebody else answered for. That may have died; but most often the
    /// segment is only late, as another one was that came before it.
    fn asked_again(&mut self, c: &mut Context<'_, W>, start: u64) {
        let patience = self.end_to_end.timeout();
        let Some(past) = self.custody.past.get_mut(&start) else {
            return;
        };
        let due = past.at + patience;
        if due <= c.now {
            self.reissue(c.now, start);
        } else {
            past.wanted = Some(due);
            self.custody.totals.absorbed += 1;
        }
    }

    fn reissue(&mut self, now: Instant, start: u64) {
        let Some(past) = self.custody.past.remove(&start) else {
            return;
        };
        let Some(body) = past.copy else { return };
        let goes = past.came.next_round();
        let held = Held {
            end: past.end,
            body,
            came: goes,
            goes,
            since: now,
            sent: 0,
        };
        self.custody.hold(start, held);
        self.custody.totals.taken -= 1;
        self.custody.totals.reissued += 1;
        self.custody.kinds.push(Kind::Reissue {
            sequence: start as u32,
            round: goes.round,
        });
    }

    /// On its way through this station.
    fn passes(
        &mut self,
        c: &mut Context<'_, W>,
        start: u64,
        segment: Segment<'_>,
        is_proxy: bool,
        way: W,
    ) -> Verdict {
        let end = start + segment.length();
        if let Some(stamp) = &segment.stamp {
            if stamp.custodian == self.own {
                // A route led it back, while it is in flight from here.
                return Verdict::Pass;
            }
            // The ACKs themselves may go another way.
            let told = self.space.position(stamp.acknowledged);
            if told > self.acknowledged {
                self.acknowledged = told;
                self.duplicates = 0;
                self.custody.on_ack(c.now, told);
            }
        }
        let mut came = segment
            .stamp
            .as_ref()
            .map_or(Generation::FIRST, Generation::of);
        if end <= self.acknowledged && (segment.stamp.is_none() || came.round > 0) {
            // The destination has it and the source's TCP does not know: it must answer again.
            return Verdict::Pass;
        }
        let known = end <= self.acknowledged
            || match (self.custody.held.get_mut(&start), &segment.stamp) {
                (Some(held), _) if held.end >= end => {
                    if came.is_after(held.came) {
                        held.came = came;
                        held.goes = came.next_transfer();
                    }
                    true
                }
                (_, Some(_)) => self
                    .custody
                    .past
                    .get(&start)
                    .is_some_and(|past| past.end >= end && !came.is_after(past.came)),
                // Without a custodian, only TCP itself can have sent it again.
                (_, None) => false,
            };
        if known {
            self.custody.totals.absorbed += 1;
            self.answer(c, segment.stamp.as_ref(), true);
            return Verdict::Taken;
        }
        if !is_proxy {
            return Verdict::Pass;
        }
        if segment.stamp.is_none() {
            came = self
                .custody
                .past
                .get(&start)
                .map_or(came, |past| past.came.next_round());
        }
        if self.custody.held.len() >= self.settings.buffer_packets {
            return self.decline(&segment);
        }
        let stamp = segment.stamp;
        let verdict = self.take(c, start, segment, came, came.next_transfer(), Some(way));
        if verdict == Verdict::Taken {
            self.answer(c, stamp.as_ref(), false);
        }
        verdict
    }

    fn take(
        &mut self,
        c: &mut Context<'_, W>,
        start: u64,
        segment: Segment<'_>,
        came: Generation,
        goes: Generation,
        way: Option<W>,
    ) -> Verdict {
        let fits = segment.stamp.is_some()
            || segment.header.options.len() + STAMP_LEN <= IP_OPTIONS
                && segment.header.header_len() + segment.octets.len() + STAMP_LEN <= c.tuning.mtu;
        if !fits {
            return self.decline(&segment);
        }
        self.declining = false;
        let held = Held {
            end: start + segment.length(),
            body: Body {
                header: segment.header,
                octets: segment.octets.to_vec(),
                way,
            },
            came,
            goes,
            since: c.now,
            sent: 0,
        };
        self.custody.hold(start, held);
        Verdict::Taken
    }

    fn decline(&mut self, segment: &Segment<'_>) -> Verdict {
        self.custody.totals.declined += 1;
        if !core::mem::replace(&mut self.declining, true) {
            self.custody.kinds.push(Kind::Decline {
                sequence: segment.tcp.sequence,
                buffered: self.custody.held.len(),
            });
        }
        Verdict::Pass
    }

    /// For the local TCP, which gets it in any case.
    fn arrives(&mut self, c: &mut Context<'_, W>, start: u64, segment: &Segment<'_>) -> Verdict {
        let waits = segment.stamp.is_some_and(|stamp| stamp.source_waits);
        self.thinner.came(waits || segment.has(Flags::FIN));
        let again = start + segment.length() <= self.acknowledged;
        if again {
            self.answered = ANSWERED;
        }
        if self.settings.ack_every > 1 || self.answered > 0 {
            self.answered = self.answered.saturating_sub(1);
            self.answer(c, segment.stamp.as_ref(), again);
        }
        Verdict::Pass
    }

    /// The custodian learns that it is one no more.
    fn answer(&mut self, c: &mut Context<'_, W>, stamp: Option<&Stamp>, again: bool) {
        let Some(stamp) = stamp.filter(|stamp| stamp.custodian != self.own) else {
            return;
        };
        if let Some(told) = self.answers.took(c.now, stamp, again, c.tuning) {
            self.custody.totals.lacks_sent += 1;
            let packet = told.packet(self.own, &self.ends);
            c.out.push_back(Output::Send { packet, way: None });
        }
    }

    /// The end-to-end ACK in a segment of the other direction; whether it may go on.
    pub fn on_ack(
        &mut self,
        c: &mut Context<'_, W>,
        segment: &Segment<'_>,
        packet: &[u8],
    ) -> Verdict {
        self.last_seen = c.now;
        let position = self.space.position(segment.tcp.acknowledgement);
        let verdict = match self.role {
            Role::Destination => self.own_ack(c, segment, packet),
            Role::Source | Role::Proxy => {
                self.passing_ack(c, segment, position);
                Verdict::Pass
            }
        };
        self.acknowledged = self.acknowledged.max(position);
        self.finish(c);
        verdict
    }

    /// Of the local TCP.
    fn own_ack(&mut self, c: &Context<'_, W>, segment: &Segment<'_>, packet: &[u8]) -> Verdict {
        let every = self.settings.ack_every;
        let (goes, replaced) = if segment.is_pure_ack() {
            let offered = self.thinner.offer(c.now, packet, every, c.tuning.ack_delay);
            (offered.goes, offered.replaced)
        } else {
            (true, self.thinner.superseded())
        };
        self.custody.totals.acks_thinned += u64::from(replaced);
        if goes {
            Verdict::Pass
        } else {
            Verdict::Taken
        }
    }

    /// On its way to the source.
    fn passing_ack(&mut self, c: &Context<'_, W>, segment: &Segment<'_>, position: u64) {
        if position > self.acknowledged {
            self.duplicates = 0;
            if let Some(since) = self.custody.latest_before(position) {
                self.end_to_end.sample(c.now.since(since));
            }
            self.custody.on_ack(c.now, position);
        }
        if let Some(blocks) = segment.sack() {
            let at = |edge: u32| self.space.position(edge);
            let blocks: Vec<_> = blocks.iter().map(|(l, r)| (at(*l), at(*r))).collect();
            self.custody.on_sack(c.now, &blocks);
        } else if segment.is_pure_ack() && position == self.acknowledged {
            self.duplicates += 1;
            if self.duplicates == DUPLICATES {
                self.custody.on_duplicates(c.now, position);
            }
        }
    }

    pub fn on_lack(&mut self, c: &mut Context<'_, W>, lack: &Lack) {
        self.last_seen = c.now;
        self.custody.on_lack(c.now, |number| lack.covers(number));
        self.finish(c);
    }

    /// Not at once: the layer that dropped it may be in the midst of finding another route.
    pub fn on_drop(&mut self, now: Instant, number: u32) {
        if self.custody.on_drop(|n, _| n as u32 == number) {
            self.resend = self.resend.or(Some(now + RESEND));
        }
    }

    pub fn on_loss(&mut self, now: Instant, sequence: u32) {
        let position = self.space.position(sequence);
        if self.custody.on_drop(|_, start| start == position) {
            self.resend = self.resend.or(Some(now + RESEND));
        }
    }

    pub fn on_time(&mut self, c: &mut Context<'_, W>) {
        self.custody.on_time(c.now, c.tuning);
        self.resend = self.resend.filter(|at| *at > c.now);
        if self.role == Role::Source {
            let wanted = |w: Option<Instant>| w.is_some_and(|at| at <= c.now);
            let past = self.custody.past.iter();
            let due: Vec<u64> = past
                .filter(|(_, p)| wanted(p.wanted))
                .map(|(s, _)| *s)
                .collect();
            for start in due {
                self.reissue(c.now, start);
            }
        }
        for told in self.answers.take_due(c.now) {
            self.custody.totals.lacks_sent += 1;
            let packet = told.packet(self.own, &self.ends);
            c.out.push_back(Output::Send { packet, way: None });
        }
        if let Some(packet) = self.thinner.take_due(c.now) {
            c.out.push_back(Output::Send { packet, way: None });
        }
        self.finish(c);
    }

    /// Sends what may be sent and tells what happened.
    fn finish(&mut self, c: &mut Context<'_, W>) {
        let limit = match self.role {
            Role::Source => self.settings.window,
            _ => 0,
        };
        self.custody.send(c.now, limit, self.acknowledged, c.out);
        for kind in self.custody.kinds.drain(..) {
            c.out.push_back(Output::Event(Event {
                connection: self.ends,
                role: self.role,
                kind,
            }));
        }
    }

    pub fn next_deadline(&self, tuning: &Tuning) -> Instant {
        let wanted = match self.role {
            Role::Source => self.custody.past.values().filter_map(|p| p.wanted).min(),
            _ => None,
        };
        let idle = self.last_seen + tuning.idle;
        [
            self.custody.window.expires,
            wanted,
            self.resend,
            self.answers.due(),
            self.thinner.due(),
        ]
        .into_iter()
        .flatten()
        .fold(idle, Instant::min)
    }

    pub fn row(&self) -> Row {
        let custody = &self.custody;
        let (window, rto_s) = match self.role {
            Role::Destination => (0.0, 0.0),
            _ => (
                custody.window.size(),
                custody.window.round_trip.timeout().as_secs_f64(),
            ),
        };
        Row {
            connection: self.ends,
            role: self.role,
            totals: custody.totals,
            buffered: custody.held.len(),
            in_flight: custody.in_flight(),
            window,
            ssthresh: custody.window.threshold(),
            rtt_s: custody
                .window
                .round_trip
                .smoothed()
                .map(|d| d.as_secs_f64()),
            rto_s,
        }
    }
}

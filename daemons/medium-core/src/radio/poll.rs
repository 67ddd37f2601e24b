// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames that stations send when an access point asks several of them at once
//! (802.11ax-2021 26.5.2). It knows of their queues by what they tell with their frames.

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::{Moment, Radio};
use crate::ofdma::{Candidate, Report, Served, HELD};
use crate::parts::{Asked, Effect, Effects, Link, Ppdu, Timer, Wake};
use crate::phy::{Shape, DELIMITER_BYTES, LONGEST_PPDU};
use crate::step::Step;
use crate::units::Plan;
use crate::{RadioId, Rate, To, Unit};

/// Octets of the longest frame that a host sends, with its delimiter (9.2.4.7.1).
const LONGEST_MPDU: usize = 2346 + DELIMITER_BYTES;

impl Radio {
    /// A station's frame tells how much waits behind it.
    pub(super) fn told(
        &mut self,
        from: RadioId,
        ppdu: &Ppdu,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let Some(octets) = ppdu.waiting.filter(|_| self.is_access_point) else {
            return;
        };
        if !ppdu.rate.has_units() {
            return;
        }
        self.use_qos(at.setup);
        let function = usize::from(ppdu.function);
        let found = (self.reports).binary_search_by_key(&from, |report| report.from);
        let place = found.unwrap_or_else(|place| {
            let report = Report {
                from,
                function,
                octets,
                rate: ppdu.rate,
                served: Served::default(),
                asked: Instant::ZERO,
                polled: Instant::ZERO,
                silent: 0,
            };
            self.reports.insert(place, report);
            place
        });
        if found.is_err() {
            self.bsrp_is_due(at, effects);
        }
        let report = &mut self.reports[place];
        report.function = function;
        report.octets = octets;
        report.silent = 0;
        match ppdu.triggered {
            // The trigger had chosen that rate.
            true => report.served.gets(8.0 * ppdu.bytes as f64),
            false => report.rate = ppdu.rate,
        }
        self.heard_of(from, function, at, effects);
    }

    /// It knows now what waits at that station for this function.
    pub(super) fn heard_of(
        &mut self,
        from: RadioId,
        function: usize,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        self.txop.polled.retain(|polled| *polled != from);
        if self.may_poll(function, at.setup) {
            self.contend(function, at, effects);
        }
    }

    /// The trigger that asks stations for their frames, if it is their turn.
    pub(super) fn poll(&mut self, at: Moment<'_>) -> Option<Ppdu> {
        let (setup, timing) = (at.setup, &at.setup.timing);
        let function = self.txop.function;
        let own = self.functions[function].line.has_work(Link::only(), setup);
        if !self.may_poll(function, setup) || (own && self.txop.polled_last) {
            return None;
        }
        let stations = self.stations_to_poll(function, at)?;
        let control = timing.common_rate(stations.iter().map(|(_, rate)| *rate));
        let answered = timing.answered_all(stations.len(), control);
        let bytes = timing.poll_bytes(stations.len());
        let around = setup.params.phy.duration(bytes, control) + timing.sifs + answered;
        let shape = self.shape_of_answers(&stations, around, at);
        for (place, _) in &stations {
            let report = &mut self.reports[*place];
            report.asked = at.now;
            report.served.airtime += shape.lasts / stations.len() as u64;
        }
        self.txop.polled_last = true;
        self.trigger(Step::Poll, bytes, &stations, (shape, answered), at)
    }

    /// A trigger frame of so many octets to stations, by their places among the reports. Each is to
    /// answer at its rate, and what acknowledges the answers ends so long after them.
    pub(super) fn trigger(
        &mut self,
        step: Step,
        bytes: usize,
        stations: &[(usize, Rate)],
        (shape, answered): (Shape, Duration),
        at: Moment<'_>,
    ) -> Option<Ppdu> {
        let timing = &at.setup.timing;
        let control = timing.common_rate(stations.iter().map(|(_, rate)| *rate));
        let answers = timing.sifs + shape.lasts;
        let mut parts = stations.iter().map(|(place, rate)| {
            let to = To::Radio(self.reports[*place].from);
            Ppdu {
                function: self.txop.function as u8,
                rate: control,
                width: rate.width(),
                asked: Some(Asked {
                    rate: *rate,
                    shape,
                    answered,
                }),
                answered: Some(answers),
                ..(self.exchange).control(step, to, bytes, answers + answered, at.setup)
            }
        });
        let first = parts.next()?;
        let beside = parts.collect();
        let asked = stations.iter().map(|(place, _)| self.reports[*place].from);
        self.txop.polled.extend(asked);
        self.txop.polls = true;
        Some(Ppdu { beside, ..first })
    }

    /// Which stations are asked together, by their places among the reports, and the rate of each.
    fn stations_to_poll(&mut self, function: usize, at: Moment<'_>) -> Option<Vec<(usize, Rate)>> {
        let waiting = self.waiting_for_poll(function);
        let (mut found, plan) = self.sharing(waiting, |report| report.asked)?;
        let ofdma = at.setup.params.ofdma?;
        let (unit, units) = match (ofdma.mimo, found.len()) {
            (Some(_), users) => (None, users),
            (None, users) => match Unit::shared(users, plan) {
                Some((unit, units)) => (Some(unit), units),
                None if self.asks_alone(at.setup) => (Unit::whole(plan), 1),
                None => return None,
            },
        };
        for candidate in &found {
            self.reports[candidate.flow].served.pass_round();
        }
        ofdma.scheduler.order(&mut found);
        found.truncate(units);
        if let Some(mimo) = ofdma.mimo {
            mimo.admit(&mut found);
        }
        if found.len() < 2 && !self.asks_alone(at.setup) {
            return None;
        }
        let rate = |candidate: Candidate| {
            let rate = match unit {
                Some(unit) => candidate.rate.asked_on(unit),
                None => candidate.rate.asked(),
            };
            Some((candidate.flow, rate?))
        };
        found.into_iter().map(rate).collect()
    }

    /// Those of these stations that can answer together, by turns: who was `asked` longest ago comes
    /// first. And the channel that they share.
    pub(super) fn sharing<'a>(
        &'a self,
        stations: impl Iterator<Item = (usize, &'a Report)>,
        asked: impl Fn(&Report) -> Instant,
    ) -> Option<(Vec<Candidate>, Plan)> {
        let widest = self.txop.widest;
        let mut found: Vec<Candidate> = stations
            .map(|(flow, report)| Candidate {
                flow,
                rate: widest.map_or(report.rate, |channel| report.rate.at_most(channel)),
                served: report.served,
            })
            .collect();
        found.sort_by_key(|candidate| asked(&self.reports[candidate.flow]));
        let channel = found.first()?.channel();
        found.retain(|candidate| candidate.channel() == channel);
        Some((found, channel.0))
    }

    /// Long enough for the station with most to send, as far as a PPDU may last, and the TXOP with
    /// what goes `around` the answers. One frame may exceed the TXOP (10.23.2.9).
    fn shape_of_answers(
        &self,
        stations: &[(usize, Rate)],
        around: Duration,
        at: Moment<'_>,
    ) -> Shape {
        let phy = &at.setup.params.phy;
        let rates: Vec<Rate> = stations.iter().map(|(_, rate)| *rate).collect();
        let preamble = phy.triggered_preamble(&rates);
        let one_frame =
            phy.shared_duration(preamble, rates.iter().map(|rate| (LONGEST_MPDU, *rate)));
        let time = self.txop.time(at.now);
        let most = time.map_or(LONGEST_PPDU, |time| (time - around).max(one_frame));
        let users = (stations.iter()).map(|(place, rate)| (self.reports[*place].octets, *rate));
        Shape {
            preamble,
            lasts: phy.shared_within(most.min(LONGEST_PPDU), preamble, users),
        }
    }

    /// A trigger asks this radio for its frames; whether it has some.
    pub(super) fn serve_trigger(&mut self, from: RadioId, ppdu: &Ppdu, at: Moment<'_>) -> bool {
        let function = usize::from(ppdu.function);
        let (Some(asked), Some(served)) = (ppdu.asked, self.functions.get_mut(function)) else {
            return false;
        };
        let numbers = &mut self.exchange.numbers;
        let Some(batch) = (served.line).answer_trigger(from, &asked, numbers, at.setup) else {
            return false;
        };
        served.line.try_once(&batch);
        self.txop.function = function;
        self.txop.batch = Some(batch);
        self.txop.triggered = Some(asked);
        true
    }

    /// What a trigger has asked for is acknowledged. If more waits, the access point asks again
    /// before this radio contends by itself.
    pub(super) fn trigger_served(&mut self, at: Moment<'_>, effects: &mut Effects) {
        let number = self.txop.function;
        let function = &mut self.functions[number];
        function.held_until = at.now;
        // By MU EDCA it waits in any case (26.2.7). Without polls nobody would learn of new frames.
        if function.line.has_work(Link::only(), at.setup) || at.setup.bsrp().is_some() {
            function.held_until += HELD;
            effects.push(Effect::Wake(Wake {
                at: function.held_until,
                timer: Timer::Held(number as u8),
                generation: 0,
            }));
        }
    }

    /// The access point has not asked for long: this function contends by itself, with a backoff
    /// that is drawn now.
    pub(super) fn contend_anew(&mut self, function: usize, at: Moment<'_>) {
        let function = &mut self.functions[function];
        if at.now == function.held_until {
            function.access.finish(at.now);
        }
    }

    /// Stations that were asked have answered, or none of them has.
    pub(super) fn poll_ends(&mut self, answered: bool, at: Moment<'_>) {
        self.txop.polls = false;
        self.count_silent(at);
        let access = &mut self.functions[self.txop.function].access;
        match answered {
            true => access.finish(at.now),
            false => access.retry(at.now),
        }
    }

    /// Some of those that were asked, or polled, have not answered.
    pub(super) fn count_silent(&mut self, at: Moment<'_>) {
        for silent in self.txop.polled.drain(..) {
            let found = self
                .reports
                .binary_search_by_key(&silent, |report| report.from);
            let Ok(place) = found else { continue };
            let report = &mut self.reports[place];
            report.silent += 1;
            // It tells anew with its next frame.
            if report.silent >= at.setup.params.retry_short {
                report.octets = 0;
            }
        }
    }
}

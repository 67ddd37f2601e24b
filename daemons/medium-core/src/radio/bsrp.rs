// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Polls of stations' queues (802.11ax-2021 26.5.5). An access point polls those of which it knows no
//! waiting frames. It does so after each PPDU of its own, as the answer may wait, and after a time
//! without polls. `EnableBsrp` and `AccessReqInterval` of ns-3's `RrMultiUserScheduler` are alike.

use alloc::vec::Vec;

use hoplab_base::Duration;

use super::{Moment, Radio};
use crate::ofdma::{Candidate, Report};
use crate::parts::{Effect, Effects, Ppdu, Response, Setup, Timer, Wake};
use crate::step::Step;
use crate::timing::Answer;
use crate::{Category, RadioId, Rate, To, Unit};

/// The access function that wins the channel for polls (`AccessReqAc` of ns-3).
const FUNCTION: usize = Category::BestEffort as usize;

impl Radio {
    /// Whether it asks a station for its frames where no other has some. Stations of a cell in which
    /// queues are polled wait to be asked.
    pub(super) fn asks_alone(&self, setup: &Setup) -> bool {
        setup.bsrp().is_some() && self.reports.len() > 1
    }

    /// Whether this function polls queues when it wins the channel.
    pub(super) fn may_bsrp(&self, function: usize, setup: &Setup) -> bool {
        let is_due = self.bsrp_due && function == FUNCTION && self.is_access_point;
        is_due && self.asks_alone(setup) && self.unknown(setup).next().is_some()
    }

    /// Stations of which no waiting frames are known, and that answer, by their places.
    fn unknown<'a>(&'a self, setup: &Setup) -> impl Iterator<Item = (usize, &'a Report)> {
        let most = setup.params.retry_short;
        let reports = self.reports.iter().enumerate();
        reports.filter(move |(_, report)| report.octets == 0 && report.silent < most)
    }

    /// A station is new, or so long has passed since the last poll.
    pub(super) fn bsrp_is_due(&mut self, at: Moment<'_>, effects: &mut Effects) {
        self.bsrp_due = self.power.is_up();
        if self.may_bsrp(FUNCTION, at.setup) {
            self.contend(FUNCTION, at, effects);
        }
    }

    /// This is the first PPDU of a TXOP. Its receivers may have an answer to send.
    pub(super) fn bsrp_after(&mut self, first: Option<&Ppdu>) {
        let is_to_one = first.is_some_and(|ppdu| matches!(ppdu.to, To::Radio(_)));
        self.bsrp_due |= is_to_one && self.txop.function == FUNCTION;
    }

    /// The trigger that polls queues, if that is due.
    pub(super) fn bsrp(&mut self, at: Moment<'_>, effects: &mut Effects) -> Option<Ppdu> {
        if !self.may_bsrp(self.txop.function, at.setup) {
            return None;
        }
        self.bsrp_due = false;
        self.bsrp_at = at.now + at.setup.bsrp()?;
        effects.push(Effect::Wake(Wake {
            at: self.bsrp_at,
            timer: Timer::Bsrp,
            generation: 0,
        }));
        let unknown = self.unknown(at.setup);
        let (found, width) = self.sharing(unknown, |report| report.polled)?;
        let (unit, units) = Unit::for_each(found.len(), width);
        let timing = &at.setup.timing;
        let answer = |one: Candidate| {
            let rate = timing.triggered_rate(one.rate.within(unit)?, units)?;
            Some((one.flow, rate))
        };
        let found = found.into_iter().take(units);
        let stations: Vec<(usize, Rate)> = found.filter_map(answer).collect();
        let rates: Vec<Rate> = stations.iter().map(|(_, rate)| *rate).collect();
        let shape = timing.triggered(Answer::BufferStatus, &rates);
        let bytes = timing.bsrp_bytes(stations.len());
        for (place, _) in &stations {
            self.reports[*place].polled = at.now;
        }
        self.trigger(Step::Bsrp, bytes, &stations, (shape, Duration::ZERO), at)
    }

    /// The answer to a poll: of the highest category, what waits for that access point.
    pub(super) fn buffer_status(&self, response: &Response, setup: &Setup) -> Ppdu {
        let functions = self.functions.iter().enumerate();
        let mut waiting = functions
            .map(|(number, function)| (number, function.line.waiting_for(response.to, setup)))
            .filter(|(_, octets)| *octets > 0);
        let (function, octets) = waiting.next().unwrap_or((FUNCTION, 0));
        Ppdu {
            function: function as u8,
            waiting: Some(octets),
            ..self.exchange.answer(response, Answer::BufferStatus, setup)
        }
    }

    /// A station tells what waits at it.
    pub(super) fn status_told(
        &mut self,
        from: RadioId,
        ppdu: &Ppdu,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let found = self.reports.iter_mut().find(|report| report.from == from);
        if let (Some(report), Some(octets)) = (found, ppdu.waiting) {
            report.function = ppdu.function.into();
            report.octets = octets;
            report.silent = 0;
        }
        self.heard_of(from, ppdu.function.into(), at, effects);
        if self.exchange.answered(Answer::BufferStatus) {
            self.txop.learns = true;
            effects.push(Effect::Wake(Wake {
                at: at.now + at.setup.timing.sifs,
                timer: Timer::Respond,
                generation: 0,
            }));
        }
    }
}

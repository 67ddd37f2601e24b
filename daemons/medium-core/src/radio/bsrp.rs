// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Polls of stations' queues (802.11ax-2021 26.5.5). An access point polls those of which it knows no
//! waiting frames. It does so after each PPDU of its own, as the answer may wait, and after a time
//! without polls. `EnableBsrp` and `AccessReqInterval` of ns-3's `RrMultiUserScheduler` are alike.

use alloc::vec::Vec;

use hoplab_base::Duration;

use super::contend::BSRP_FUNCTION;
use super::{Moment, Radio};
use crate::ofdma::Candidate;
use crate::parts::{Effect, Effects, Ppdu, Response, Setup, Timer, Wake};
use crate::step::Step;
use crate::timing::Answer;
use crate::{RadioId, Rate, To, Unit};

impl Radio {
    /// This is the first PPDU of a TXOP. Its receivers may have an answer to send.
    pub(super) fn bsrp_after(&mut self, first: Option<&Ppdu>) {
        let is_to_one = first.is_some_and(|ppdu| matches!(ppdu.to, To::Radio(_)));
        self.bsrp_due |= is_to_one && self.txop.function == BSRP_FUNCTION;
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
        let (found, plan) = self.sharing(unknown, |report| report.polled)?;
        let (unit, units) = Unit::for_each(found.len(), plan);
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
        let (function, octets) = waiting.next().unwrap_or((BSRP_FUNCTION, 0));
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

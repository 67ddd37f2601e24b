// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a radio sends: from its host's hand to the end of the exchange.

use hoplab_base::Duration;

use super::{Moment, Radio};
use crate::parts::{Activity, Due, Effect, Effects, Finished, Ppdu, Queued, Sent, Wake};
use crate::rules::Turn;
use crate::step::Step;
use crate::{Class, Frame, Outcome};

/// The only access function of DCF.
const DCF: usize = 0;

impl Radio {
    /// A frame from its host.
    pub fn enqueue(&mut self, mut frame: Frame, at: Moment<'_>, effects: &mut Effects) {
        let refused = if !at.setup.accepts(&mut frame) {
            Some(Outcome::Refused)
        } else if !self.power.is_up() {
            Some(Outcome::Off)
        } else {
            None
        };
        if let Some(outcome) = refused {
            effects.push(Effect::Conclude(Finished::untried(frame.id, outcome)));
        } else if frame.class == Class::ScheduledBeacon {
            self.schedule(frame, at, effects);
        } else if self.limits.prepares() {
            let wake = self.host.prepare(frame, at.now, &self.limits);
            effects.extend(wake.map(Effect::Wake));
        } else {
            self.queue(frame, at, effects);
        }
    }

    /// The card sends a beacon next; one that has waited since the last beacon's time is stale.
    fn schedule(&mut self, beacon: Frame, at: Moment<'_>, effects: &mut Effects) {
        if at.setup.params.edca.is_some() {
            return self.schedule_in_category(beacon, at, effects);
        }
        if let Some(stale) = self.host.schedule(beacon) {
            self.counters.queue_full += 1;
            let lost = Finished::untried(stale, Outcome::QueueFull);
            effects.push(Effect::Conclude(lost));
        }
        self.next_frame(at, effects);
    }

    /// A frame comes to the interface queue.
    fn queue(&mut self, frame: Frame, at: Moment<'_>, effects: &mut Effects) {
        if at.setup.params.edca.is_some() {
            return self.queue_in_category(frame, at, effects);
        }
        let id = frame.id;
        let loser = match self.host.queue(frame, &self.limits) {
            Queued::Waits => None,
            Queued::PushedOut(other) => Some(other),
            Queued::Refused => Some(id),
        };
        if let Some(loser) = loser {
            self.counters.queue_full += 1;
            let lost = Finished::untried(loser, Outcome::QueueFull);
            effects.push(Effect::Conclude(lost));
        }
        if loser != Some(id) {
            self.load(at, effects);
            self.next_frame(at, effects);
        }
    }

    /// The host has made a frame ready to be sent.
    pub(super) fn prepared(&mut self, generation: u64, at: Moment<'_>, effects: &mut Effects) {
        let Some(frame) = self.host.prepared(generation) else {
            return;
        };
        let next = self.host.prepare_next(at.now, &self.limits);
        effects.extend(next.map(Effect::Wake));
        self.queue(frame, at, effects);
    }

    /// Copy the next frame into a free buffer of the card, where that takes time.
    pub(super) fn load(&mut self, at: Moment<'_>, effects: &mut Effects) {
        let in_service = self.exchange.frame().is_some();
        let wake = self.host.load(in_service, at.now, &self.limits);
        effects.extend(wake.map(Effect::Wake));
    }

    /// Take the next frame into service, if none is.
    pub(super) fn next_frame(&mut self, at: Moment<'_>, effects: &mut Effects) {
        if self.exchange.frame().is_some() {
            return;
        }
        let Some(frame) = self.host.next(&self.limits) else {
            return;
        };
        self.exchange.begin(frame);
        self.contend(DCF, at, effects);
    }

    /// An access function has something to send.
    pub(super) fn contend(&mut self, function: usize, at: Moment<'_>, effects: &mut Effects) {
        let quiet = self.activity() == Activity::Quiet;
        let at_once = at.setup.params.rules.may_go_at_once();
        let (access, sense) = (&mut self.accesses[function], &self.sense);
        access.begin(at.now, sense, &at.setup.timing, quiet, at_once);
        effects.extend(self.count_down(function, at).map(Effect::Wake));
    }

    /// Whether an access function has something to send.
    fn wants(&self, function: usize) -> bool {
        self.exchange.frame().is_some() || self.categories.has_work(function)
    }

    /// Whether it may count slots: on, with a quiet channel, nothing to answer and no answer due.
    fn may_count(&self) -> bool {
        self.power.is_up()
            && self.activity() == Activity::Quiet
            && self.exchange.awaited().is_none()
            && self.exchange.response().is_none()
    }

    /// Let an access function count slots if the channel is idle and there is something to count
    /// for.
    pub fn count_down(&mut self, function: usize, at: Moment<'_>) -> Option<Wake> {
        let access = &self.accesses[function];
        if self.categories.holds(function)
            || access.at().is_some()
            || !(access.needs_backoff() || self.wants(function))
            || !self.may_count()
        {
            return None;
        }
        let timing = &at.setup.timing;
        let wait = at.setup.params.rules.wait_after_draw(timing);
        self.accesses[function].count(at.now, &self.sense, timing, wait)
    }

    /// The same for all of them.
    pub(super) fn count_down_all(&mut self, at: Moment<'_>, effects: &mut Effects) {
        for function in self.functions() {
            effects.extend(self.count_down(function, at).map(Effect::Wake));
        }
    }

    /// Its turn on the channel may have come.
    pub(super) fn turn(
        &mut self,
        function: u8,
        generation: u64,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Option<Ppdu> {
        let function = usize::from(function);
        if let Due::Later(wake) = self.accesses[function].come(at.now, generation) {
            effects.extend(wake.map(Effect::Wake));
            return None;
        }
        if at.setup.params.edca.is_some() {
            return self.turn_of_category(function, at, effects);
        }
        if self.transceiver.is_sending() || self.exchange.response().is_some() {
            return None;
        }
        self.exchange.turn(at.setup)
    }

    /// A SIFS has passed since the frame that asks for an answer.
    pub(super) fn respond(&mut self, at: Moment<'_>, effects: &mut Effects) -> Option<Ppdu> {
        let Some(mut response) = self.exchange.take_response() else {
            return self.next_of_txop(at, effects);
        };
        if !self.power.is_up() || self.transceiver.is_sending() {
            return None;
        }
        let rules = at.setup.params.rules;
        match rules.answer(&self.transceiver, &self.sense, response.step, at.now) {
            Turn::Goes => {
                // The host gets the frame when its acknowledgement has ended, in the same instant
                // in which the sender's host learns of it; its radio is busy until then.
                self.host
                    .acknowledge(core::mem::take(&mut response.deliver));
                return match response.step.is_data() {
                    true if at.setup.params.edca.is_some() => self.batch(at),
                    _ => self.exchange.answer(&response, at.setup),
                };
            }
            Turn::IsDropped => {}
            Turn::StartsOver => self.accesses[DCF].retry(at.now),
        }
        self.count_down_all(at, effects);
        None
    }

    /// Its PPDU is on the air from now on, for so long, as transmission `tx`.
    pub fn begin_sending(
        &mut self,
        tx: usize,
        ppdu: &Ppdu,
        lasts: Duration,
        at: Moment<'_>,
    ) -> Option<Wake> {
        self.freeze(Duration::ZERO, at);
        self.book(at.now);
        self.transceiver.begin_sending(tx);
        if ppdu.step == Step::Rts || ppdu.step.is_data() {
            self.exchange.spend(lasts);
            self.categories.spend(lasts);
        }
        if ppdu.step == Step::Data {
            self.counters.tx_frames += 1;
            self.counters.tx_bytes += ppdu.bytes as u64;
        }
        for subframe in &ppdu.subframes {
            self.counters.tx_frames += 1;
            self.counters.tx_bytes += subframe.bytes as u64;
        }
        self.counters.airtime[ppdu.kind() as usize] += lasts;
        self.foresee_empty(at)
    }

    /// Its transmission has ended. [`Radio::sent`] has the next step.
    pub fn end_sending(&mut self, at: Moment<'_>) -> Option<Wake> {
        self.book(at.now);
        self.transceiver.end_sending();
        self.idle_again(at.now);
        self.foresee_empty(at)
    }

    /// Its acknowledgement of a received frame has ended, or broken off: the host gets that frame.
    pub fn acknowledgement_ends(&mut self, cut: bool, effects: &mut Effects) {
        let arrived = self.host.acknowledged();
        if cut {
            self.categories.orphan(arrived.into_iter());
            return;
        }
        let to = self.id;
        let arrived = arrived.into_iter();
        effects.extend(arrived.map(|arrived| Effect::HandUp { to, arrived }));
    }

    /// All receivers have handled its PPDU.
    pub fn sent(&mut self, ppdu: &Ppdu, at: Moment<'_>, effects: &mut Effects) {
        let up = self.power.is_up();
        match self.exchange.sent(ppdu, up, at.now, at.setup) {
            Sent::Waits(wake) => effects.push(Effect::Wake(wake)),
            Sent::IsOver => self.finish(Outcome::Sent, at, effects),
            Sent::Nothing => {}
        }
    }

    /// No CTS or ACK came: retry with a doubled window, or give up (10.3.4.4).
    pub(super) fn timeout(&mut self, generation: u64, at: Moment<'_>, effects: &mut Effects) {
        if at.setup.params.edca.is_some() {
            return self.timeout_of_batch(generation, at, effects);
        }
        let over = self.exchange.timeout(generation, at.setup.retry_limits);
        let Some(over) = over else { return };
        self.exchange.hand_up_overheard(effects);
        if over {
            self.counters.retry_limit += 1;
            self.finish(Outcome::RetryLimit, at, effects);
            return;
        }
        self.counters.retries += 1;
        self.accesses[DCF].retry(at.now);
        effects.extend(self.count_down(DCF, at).map(Effect::Wake));
    }

    /// The frame in service is done.
    pub(super) fn finish(&mut self, outcome: Outcome, at: Moment<'_>, effects: &mut Effects) {
        if at.setup.params.edca.is_some() {
            return self.finish_batch(outcome, at, effects);
        }
        let Some(finished) = self.exchange.finish(outcome) else {
            return;
        };
        effects.push(Effect::Conclude(finished));
        // The post-backoff is drawn before the next frame begins, so that frame waits for it
        // (10.3.4.3).
        self.accesses[DCF].finish(at.now);
        self.next_frame(at, effects);
        self.load(at, effects);
        effects.extend(self.count_down(DCF, at).map(Effect::Wake));
    }
}

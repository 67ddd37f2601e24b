// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a radio sends: from its host's hand to the end of the exchange.

use hoplab_base::Duration;

use super::{Moment, Radio};
use crate::parts::{Activity, Due, Effect, Effects, Finished, Ppdu, Queued, Sent, Wake};
use crate::rules::Turn;
use crate::step::Step;
use crate::{Class, Frame, Outcome};

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
        if let Some(stale) = self.host.schedule(beacon) {
            self.counters.queue_full += 1;
            let lost = Finished::untried(stale, Outcome::QueueFull);
            effects.push(Effect::Conclude(lost));
        }
        self.next_frame(at, effects);
    }

    /// A frame comes to the interface queue.
    fn queue(&mut self, frame: Frame, at: Moment<'_>, effects: &mut Effects) {
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
        let quiet = self.activity() == Activity::Quiet;
        let at_once = at.setup.params.rules.may_go_at_once();
        self.access.begin(at.now, &at.setup.timing, quiet, at_once);
        effects.extend(self.count_down(at).map(Effect::Wake));
    }

    /// Whether it may count slots: on, with a quiet channel, nothing to answer and no answer due.
    fn may_count(&self) -> bool {
        self.power.is_up()
            && self.activity() == Activity::Quiet
            && self.exchange.awaited().is_none()
            && self.exchange.response().is_none()
    }

    /// Start counting slots if the channel is idle and there is something to count for.
    pub fn count_down(&mut self, at: Moment<'_>) -> Option<Wake> {
        if self.access.at().is_some()
            || !(self.access.needs_backoff() || self.exchange.frame().is_some())
            || !self.may_count()
        {
            return None;
        }
        let wait = at.setup.params.rules.wait_after_draw(&at.setup.timing);
        self.access.count(at.now, &at.setup.timing, wait)
    }

    /// Its turn on the channel may have come.
    pub(super) fn turn(
        &mut self,
        generation: u64,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Option<Ppdu> {
        if let Due::Later(wake) = self.access.come(at.now, generation) {
            effects.extend(wake.map(Effect::Wake));
            return None;
        }
        if self.transceiver.is_sending() || self.exchange.response().is_some() {
            return None;
        }
        self.exchange.turn(at.setup)
    }

    /// A SIFS has passed since the frame that asks for an answer.
    pub(super) fn respond(&mut self, at: Moment<'_>, effects: &mut Effects) -> Option<Ppdu> {
        let response = self.exchange.take_response()?;
        if !self.power.is_up() || self.transceiver.is_sending() {
            return None;
        }
        let rules = at.setup.params.rules;
        match rules.answer(&self.transceiver, &self.access, response.step, at.now) {
            Turn::Goes => {
                // The host gets the frame when its acknowledgement has ended, in the same instant
                // in which the sender's host learns of it; its radio is busy until then.
                if let Some(arrived) = response.deliver {
                    self.host.acknowledge(arrived);
                }
                return self.exchange.answer(&response, at.setup);
            }
            Turn::IsDropped => {}
            Turn::StartsOver => self.access.retry(at.now),
        }
        effects.extend(self.count_down(at).map(Effect::Wake));
        None
    }

    /// What it sends is on the air from now on, for so long, as transmission `tx`.
    pub fn begin_sending(
        &mut self,
        tx: usize,
        ppdu: &Ppdu,
        lasts: Duration,
        at: Moment<'_>,
    ) -> Option<Wake> {
        self.freeze(at);
        self.book(at.now);
        self.transceiver.begin_sending(tx);
        if matches!(ppdu.step, Step::Rts | Step::Data) {
            self.exchange.spend(lasts);
        }
        if ppdu.step == Step::Data {
            self.counters.tx_frames += 1;
            self.counters.tx_bytes += ppdu.bytes as u64;
        }
        self.counters.airtime[ppdu.kind() as usize] += lasts;
        self.foresee_empty(at)
    }

    /// That has ended; what follows is [`Radio::sent`]'s.
    pub fn end_sending(&mut self, at: Moment<'_>) -> Option<Wake> {
        self.book(at.now);
        self.transceiver.end_sending();
        self.idle_again(at.now);
        self.foresee_empty(at)
    }

    /// Its acknowledgement of a received frame has ended, or broken off: the host gets that frame.
    pub fn acknowledgement_ends(&mut self, cut: bool, effects: &mut Effects) {
        let arrived = self.host.acknowledged().filter(|_| !cut);
        let to = self.id;
        effects.extend(arrived.map(|arrived| Effect::HandUp { to, arrived }));
    }

    /// All have received what it sent, as far as they could.
    pub fn sent(&mut self, ppdu: &Ppdu, at: Moment<'_>, effects: &mut Effects) {
        let up = self.power.is_up();
        match self.exchange.sent(ppdu.step, ppdu.to, up, at.now, at.setup) {
            Sent::Waits(wake) => effects.push(Effect::Wake(wake)),
            Sent::IsOver => self.finish(Outcome::Sent, at, effects),
            Sent::Nothing => {}
        }
    }

    /// No CTS or ACK came: retry with a doubled window, or give up (10.3.4.4).
    pub(super) fn timeout(&mut self, generation: u64, at: Moment<'_>, effects: &mut Effects) {
        let over = self.exchange.timeout(generation, at.setup.retry_limits);
        let Some(over) = over else { return };
        self.exchange.hand_up_overheard(effects);
        if over {
            self.counters.retry_limit += 1;
            self.finish(Outcome::RetryLimit, at, effects);
            return;
        }
        self.counters.retries += 1;
        self.access.retry(at.now);
        effects.extend(self.count_down(at).map(Effect::Wake));
    }

    /// The frame in service is done.
    pub(super) fn finish(&mut self, outcome: Outcome, at: Moment<'_>, effects: &mut Effects) {
        let Some(finished) = self.exchange.finish(outcome) else {
            return;
        };
        effects.push(Effect::Conclude(finished));
        self.access.finish(at.now);
        self.next_frame(at, effects);
        self.load(at, effects);
        effects.extend(self.count_down(at).map(Effect::Wake));
    }
}

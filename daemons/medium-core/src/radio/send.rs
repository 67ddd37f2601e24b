// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A radio's transmissions, and the answers that it owes.

use hoplab_base::Duration;

use super::{Moment, Radio};
use crate::parts::{Effect, Effects, Ppdu, Sent, Wake};
use crate::rules::Turn;
use crate::step::Step;
use crate::timing::Answer;
use crate::Outcome;

impl Radio {
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
                // The host gets the frame when its acknowledgement has ended. That is the instant
                // in which the sender's host learns of it. Its radio is busy until then.
                self.host
                    .acknowledge(core::mem::take(&mut response.deliver));
                return match response.step.answers() {
                    Some(Answer::BufferStatus) => Some(self.buffer_status(&response, at.setup)),
                    Some(answer) => Some(self.exchange.answer(&response, answer, at.setup)),
                    None => self.batch(at),
                };
            }
            Turn::IsDropped => {}
            Turn::StartsOver => self.start_over(at),
        }
        self.resume(at, effects);
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
        if matches!(ppdu.step, Step::Rts | Step::Call) || ppdu.step.is_data() {
            // Receivers that are served together share the time.
            let each = lasts / ppdu.parts().count() as u64;
            let line = &mut self.functions[self.txop.function].line;
            for batch in self.txop.batches() {
                line.spend(batch, each);
            }
        }
        if ppdu.step == Step::Data {
            self.counters.tx_frames += 1;
            self.counters.tx_bytes += ppdu.bytes as u64;
        }
        for subframe in ppdu.parts().flat_map(|part| &part.subframes) {
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
        let arrived = self.host.acknowledged().into_iter();
        if cut {
            self.agreements.orphan(arrived);
            return;
        }
        let to = self.id;
        effects.extend(arrived.map(|arrived| Effect::HandUp { to, arrived }));
    }

    /// All receivers have handled its PPDU.
    pub fn sent(&mut self, ppdu: &Ppdu, at: Moment<'_>, effects: &mut Effects) {
        // With nothing in service nothing can be repeated, so no timeout runs.
        let serves = self.txop.serves();
        let repeats = self.power.is_up() && serves;
        if ppdu.step == Step::BlockAck && self.txop.polls {
            self.poll_ends(true, at);
            return self.resume(at, effects);
        }
        match self.exchange.sent(ppdu, repeats, at.now, at.setup) {
            Sent::Waits(wake) => effects.push(Effect::Wake(wake)),
            Sent::IsOver => self.finish(Outcome::Sent, at, effects),
            Sent::Asks => self.ask_next(at.now + at.setup.timing.sifs, effects),
            Sent::Nothing => self.leave_after(at.setup.timing.next_frame(), at, effects),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a radio does with a frame that it received.

use hoplab_base::Duration;

use super::{Moment, Radio};
use crate::air::Transmission;
use crate::loss::Losses;
use crate::parts::{Arrived, Effect, Effects, Ppdu, Response, Timer, Wake};
use crate::step::Step;
use crate::timing::Answer;
use crate::{Fate, Outcome, RadioId, To};

impl Radio {
    /// The channel let a frame through; returns its fate after the radio's own say.
    pub fn receive(
        &mut self,
        tx: &Transmission,
        dbm: f64,
        losses: &mut Losses,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Fate {
        if !self.power.is_up() {
            return Fate::Off;
        }
        let (now, ppdu) = (at.now, &tx.ppdu);
        let mine = ppdu.to == To::Radio(self.id);
        if !mine && !ppdu.nav.is_zero() {
            self.access.set_nav(now + ppdu.nav);
        }
        if mine && ppdu.step != Step::Data && losses.take(tx.from, ppdu, self.id, false, now) {
            return Fate::ErrorModel;
        }
        match ppdu.step {
            Step::Data => return self.receive_data(tx, dbm, losses, at, effects),
            Step::Rts if mine => {
                let free = !self.access.nav_counts(now);
                if free && self.exchange.response().is_none() {
                    let nav = at.setup.timing.nav_of_cts(ppdu.nav);
                    self.answer(response(ppdu, tx.from, nav, None), at, effects);
                }
            }
            Step::Cts if mine && self.exchange.answered(Answer::Cts) => {
                self.answer(response(ppdu, tx.from, Duration::ZERO, None), at, effects);
            }
            Step::Ack if mine && self.exchange.answered(Answer::Ack) => {
                self.finish(Outcome::Acked, at, effects);
            }
            _ => {}
        }
        Fate::Delivered
    }

    fn receive_data(
        &mut self,
        tx: &Transmission,
        dbm: f64,
        losses: &mut Losses,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Fate {
        let ppdu = &tx.ppdu;
        let Some(payload) = ppdu.payload else {
            return Fate::Delivered;
        };
        let params = &at.setup.params;
        let mut is_lost = |up| losses.take(tx.from, ppdu, self.id, up, at.now);
        let mine = ppdu.to == To::Radio(self.id);
        let for_host = mine || ppdu.to == To::Everyone;
        let losable = for_host && !payload.class.is_beacon();
        if losable && is_lost(false) {
            return Fate::ErrorModel;
        }
        let repeat = mine && self.duplicates.repeats(tx.from, ppdu.number);
        let spoiled = losable && !repeat && is_lost(true);
        let arrived = Arrived {
            from: tx.from,
            frame: payload.id,
            bytes: ppdu.bytes,
            dbm,
            rate: ppdu.rate,
        };
        let acknowledged = mine && !params.no_ack;
        let wanted = for_host && !repeat && !spoiled;
        let to = self.id;
        if wanted {
            self.counters.rx_frames += 1;
            self.counters.rx_bytes += ppdu.bytes as u64;
            if !acknowledged {
                effects.push(Effect::HandUp { to, arrived });
            }
        } else if !for_host && params.overhear {
            // A bystander's host gets the frame with its receiver's, or now where no acknowledgement
            // ends the exchange.
            effects.push(match params.no_ack {
                true => Effect::HandUp { to, arrived },
                false => Effect::Overhear(arrived),
            });
        }
        if acknowledged {
            let deliver = wanted.then_some(arrived);
            let ack = response(ppdu, tx.from, Duration::ZERO, deliver);
            self.answer(ack, at, effects);
        }
        if spoiled {
            Fate::ErrorModel
        } else {
            Fate::Delivered
        }
    }

    /// Answer after a SIFS.
    fn answer(&mut self, response: Option<Response>, at: Moment<'_>, effects: &mut Effects) {
        let Some(response) = response else { return };
        self.freeze(at);
        self.exchange.respond_with(response);
        effects.push(Effect::Wake(Wake {
            at: at.now + at.setup.timing.sifs,
            timer: Timer::Respond,
            generation: 0,
        }));
    }
}

/// What follows on a frame that asks for an answer.
fn response(ppdu: &Ppdu, to: RadioId, nav: Duration, deliver: Option<Arrived>) -> Option<Response> {
    Some(Response {
        step: ppdu.step.next(true)?,
        to,
        nav,
        deliver,
    })
}

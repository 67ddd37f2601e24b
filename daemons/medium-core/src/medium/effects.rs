// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carrying out what a radio's transition asks for.

use super::Medium;
use crate::parts::{Arrived, Effect, Received};
use crate::RadioId;

impl Medium {
    /// Carry out what a transition of `radio` asked for, in its order.
    pub(super) fn carry_out(&mut self, radio: RadioId) {
        if self.effects.is_empty() {
            return;
        }
        let mut effects = core::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Wake(wake) => self.agenda.wake(radio, Some(wake)),
                Effect::Conclude(finished) => self.ledger.conclude(radio, finished, self.now),
                Effect::HandUp { to, arrived } => {
                    self.hand_up(to, arrived);
                    if arrived.held {
                        self.ledger.release(arrived.frame);
                    }
                }
                Effect::Deliver(arrived) => self.ledger.deliver(radio, arrived),
                Effect::Hold(frame) => self.ledger.hold(frame),
                Effect::Release(frame) => self.ledger.release(frame),
                Effect::Overhear(arrived) => {
                    let sender = &mut self.radios[arrived.from];
                    sender.exchange.overheard_by(radio, arrived);
                }
            }
        }
        self.effects = effects;
    }

    /// `arrived` has come to `radio`, for its host.
    fn hand_up(&mut self, radio: RadioId, arrived: Arrived) {
        let station = &mut self.radios[radio];
        if !station.power.is_up() {
            return;
        }
        match station.host.receive(arrived, self.now, &station.limits) {
            Received::Taken => self.ledger.deliver(radio, arrived),
            Received::Waits(wake) => {
                self.ledger.hold(arrived.frame);
                self.agenda.wake(radio, wake);
            }
            Received::Lost => station.counters.rx_overrun += 1,
        }
    }
}

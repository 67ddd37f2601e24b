// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carrying out what a radio's transition asks for.

use super::Medium;
use crate::parts::{Arrived, Effect, Effects, Received};
use crate::radio::Moment;
use crate::RadioId;

impl Medium {
    /// Carry out what a transition of `radio` asked for, in its order.
    pub(super) fn carry_out(&mut self, radio: RadioId) {
        self.offer(radio);
        if self.effects.is_empty() {
            return;
        }
        let device = self.setup.devices.device(radio);
        let mut effects = core::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Wake(wake) => self.agenda.wake(radio, Some(wake)),
                Effect::Conclude(finished) => self.ledger.conclude(device, finished, self.now),
                Effect::HandUp { to, arrived } => {
                    self.hand_up(to, arrived);
                    if arrived.held {
                        self.ledger.release(arrived.frame);
                    }
                }
                Effect::Deliver(arrived) => self.deliver(radio, arrived),
                Effect::Hold(frame) => self.ledger.hold(frame),
                Effect::Release(frame) => self.ledger.release(frame),
                Effect::Engage => self.engage(radio),
                Effect::Listen => self.listen(radio),
                Effect::Overhear(arrived) => {
                    let sender = &mut self.radios[arrived.from];
                    sender.exchange.overheard_by(radio, arrived);
                }
            }
        }
        self.effects = effects;
    }

    /// The host of `radio` has this frame.
    fn deliver(&mut self, radio: RadioId, arrived: Arrived) {
        let devices = &self.setup.devices;
        let from = devices.device(arrived.from);
        let arrived = Arrived { from, ..arrived };
        self.ledger.deliver(devices.device(radio), arrived);
    }

    /// The single radio of a device is on the link of `radio`, and deaf on the others.
    fn engage(&mut self, radio: RadioId) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        for other in at
            .setup
            .devices
            .radios(radio)
            .filter(|other| *other != radio)
        {
            self.radios[other].lose_radio(at);
        }
    }

    /// The single radio of a device listens on all its links again.
    fn listen(&mut self, radio: RadioId) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let mut effects = Effects::new();
        for link in at.setup.devices.radios(radio) {
            self.radios[link].listen(at, &mut effects);
            self.radios[link].count_down_all(at, |wake| effects.push(Effect::Wake(wake)));
            for effect in effects.drain(..) {
                if let Effect::Wake(wake) = effect {
                    self.agenda.wake(link, Some(wake));
                }
            }
        }
    }

    /// Other links of the device may send what waits since a transition of `radio`.
    fn offer(&mut self, radio: RadioId) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let devices = &at.setup.devices;
        if !devices.has_several(radio) {
            return;
        }
        let mut effects = Effects::new();
        for other in devices.radios(radio).filter(|other| *other != radio) {
            self.radios[other].offer(at, &mut effects);
            for effect in effects.drain(..) {
                if let Effect::Wake(wake) = effect {
                    self.agenda.wake(other, Some(wake));
                }
            }
        }
    }

    /// `arrived` has come to `radio`, for its host.
    fn hand_up(&mut self, radio: RadioId, arrived: Arrived) {
        let station = &mut self.radios[radio];
        if !station.power.is_up() {
            return;
        }
        match station.host.receive(arrived, self.now, &station.limits) {
            Received::Taken => self.deliver(radio, arrived),
            Received::Waits(wake) => {
                self.ledger.hold(arrived.frame);
                self.agenda.wake(radio, wake);
            }
            Received::Lost => station.counters.rx_overrun += 1,
        }
    }
}

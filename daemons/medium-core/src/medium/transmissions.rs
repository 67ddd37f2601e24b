// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transmissions from their beginning to their end, at everybody whom they reach.

use super::observers::End;
use super::{Event, Medium};
use crate::air::Transmission;
use crate::parts::{Arriving, Ppdu};
use crate::radio::Moment;
use crate::space::to_db;
use crate::step::Step;
use crate::{Fate, RadioId, To};

impl Medium {
    pub(super) fn transmit(&mut self, radio: RadioId, ppdu: Ppdu) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let phy = &at.setup.params.phy;
        let lasts = match ppdu.subframes.is_empty() {
            true => phy.duration(ppdu.bytes, ppdu.rate),
            false => phy.psdu_duration(ppdu.bytes, ppdu.rate),
        };
        let slot = self.air.reserve();
        let wake = self.radios[radio].begin_sending(slot, &ppdu, lasts, at);
        self.agenda.wake(radio, wake);
        let end = self.now + lasts;
        let mut transmission = Transmission {
            from: radio,
            ppdu,
            start: self.now,
            end,
            cut: false,
            neighbours: self.air.nobody(),
        };
        self.reach(slot, &mut transmission);
        self.air.begin(slot, transmission);
        let slot = slot as u32;
        self.agenda.push(end, Event::End { slot });
    }

    /// Let a transmission arrive wherever it is heard.
    fn reach(&mut self, slot: usize, transmission: &mut Transmission) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let mut near = core::mem::take(&mut self.near);
        self.space
            .neighbours(transmission.from, self.now, &mut near);
        let floor_dbm = at.setup.params.floor_dbm();
        let fading = at.setup.params.fading;
        for &(mut signal) in &near {
            let station = &mut self.radios[signal.radio];
            if !station.power.is_up() {
                continue;
            }
            if fading.fades() {
                let gain = fading.gain(station.transceiver.fading());
                signal.dbm += to_db(gain);
                signal.mw *= gain;
                if signal.dbm < floor_dbm {
                    continue;
                }
            }
            transmission.neighbours.push(signal);
            let arriving = Arriving {
                signal,
                tx: slot,
                rate: transmission.ppdu.rate,
                begins: transmission.start,
                ends: transmission.end,
                aggregate: !transmission.ppdu.subframes.is_empty(),
            };
            let wake = station.signal_begins(&arriving, at);
            self.agenda.wake(signal.radio, wake);
        }
        self.near = near;
    }

    /// A transmission ends everywhere at once: propagation delay is not modelled.
    pub(super) fn end(&mut self, slot: usize) {
        if !self.air.ends(slot, self.now) {
            return;
        }
        let Some(mut transmission) = self.air.end(slot) else {
            return;
        };
        self.signals_end(&transmission, slot);
        self.receive(&transmission);
        self.observe(&transmission);
        self.go_on(&transmission);
        let neighbours = core::mem::take(&mut transmission.neighbours);
        self.air.recycle(neighbours);
    }

    /// The channel falls quiet at the sender and at all who heard it; `self.ended` gets what it made
    /// of the signals.
    fn signals_end(&mut self, transmission: &Transmission, slot: usize) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        if !at.setup.hearing.by_threshold() {
            for heard in &transmission.neighbours {
                let transceiver = &mut self.radios[heard.radio].transceiver;
                transceiver.count_bits(self.now, &at.setup.params.phy, &at.setup.hearing);
            }
        }
        let from = transmission.from;
        let wake = self.radios[from].end_sending(at);
        self.agenda.wake(from, wake);
        self.ended.clear();
        for heard in &transmission.neighbours {
            let station = &mut self.radios[heard.radio];
            let (ended, wake) = station.signal_ends(slot, heard.dbm, transmission, at);
            self.agenda.wake(heard.radio, wake);
            self.ended.push(ended);
        }
    }

    /// Radios receive what the channel let through; hosts get what an acknowledgement ends.
    fn receive(&mut self, transmission: &Transmission) {
        if matches!(transmission.ppdu.step, Step::Ack | Step::BlockAck) {
            self.hand_up_acknowledged(transmission);
        }
        for i in 0..self.ended.len() {
            let ended = &mut self.ended[i];
            if ended.fate != Fate::Delivered {
                continue;
            }
            let radio = ended.radio;
            let at = Moment {
                now: self.now,
                setup: &self.setup,
            };
            let (losses, effects) = (&mut self.losses, &mut self.effects);
            self.radios[radio].receive(transmission, ended, losses, at, effects);
            self.carry_out(radio);
        }
    }

    /// An acknowledgement has ended: the frame reaches the receiver's host, before its sender's
    /// status, which ends the frame's life, and those who overheard it.
    fn hand_up_acknowledged(&mut self, ack: &Transmission) {
        self.radios[ack.from].acknowledgement_ends(ack.cut, &mut self.effects);
        if let To::Radio(sender) = ack.ppdu.to {
            let exchange = &mut self.radios[sender].exchange;
            exchange.hand_up_overheard(&mut self.effects);
        }
        self.carry_out(ack.from);
    }

    fn observe(&mut self, transmission: &Transmission) {
        let trace = self.setup.params.trace;
        if !transmission.ppdu.step.is_data() && !trace {
            return;
        }
        let missed = match transmission.ppdu.to {
            To::Radio(to) if !self.ended.iter().any(|ended| ended.radio == to) => {
                let up = self.radios[to].power.is_up();
                Some((to, if up { Fate::Weak } else { Fate::Off }))
            }
            _ => None,
        };
        let end = End {
            transmission,
            at: self.now,
            heard: &self.ended,
            missed,
        };
        self.links.observe(&end, &self.setup, &mut self.space);
        if trace {
            end.aired(|aired| self.ledger.push(aired));
        }
    }

    /// The sender goes on with its exchange, and all who heard it with their backoffs.
    fn go_on(&mut self, transmission: &Transmission) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let from = transmission.from;
        if !transmission.cut {
            self.radios[from].sent(&transmission.ppdu, at, &mut self.effects);
            self.carry_out(from);
        }
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        for heard in &transmission.neighbours {
            for function in self.radios[heard.radio].functions() {
                let wake = self.radios[heard.radio].count_down(function, at);
                self.agenda.wake(heard.radio, wake);
            }
        }
        for function in self.radios[from].functions() {
            let wake = self.radios[from].count_down(function, at);
            self.agenda.wake(from, wake);
        }
    }
}

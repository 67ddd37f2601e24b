// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transmissions from their beginning to their end, at all radios that they reach.

use super::observers::End;
use super::{Event, Medium};
use crate::air::Transmission;
use crate::dbm::to_db;
use crate::parts::{Arriving, Ppdu};
use crate::radio::Moment;
use crate::step::Step;
use crate::{Fate, RadioId, To};

impl Medium {
    pub(super) fn transmit(&mut self, radio: RadioId, ppdu: Ppdu) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let phy = &at.setup.params.phy;
        // The octets of an A-MPDU include all delimiters. `duration` adds the one of a lone VHT or
        // HE frame.
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
            // A radio that comes up during the frame has missed its preamble, and neither senses it
            // nor counts it as interference.
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
            // The list keeps the power of the beginning. The end removes what the beginning added,
            // even if a station has moved.
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
        // A transmission that broke off leaves its end in the agenda. The slot may have a
        // successor.
        if !self.air.ends(slot, self.now) {
            return;
        }
        let Some(mut transmission) = self.air.end(slot) else {
            return;
        };
        // The order matters. The channel falls quiet at all radios before one of them reacts.
        // Records see the final fates. Backoffs resume last, when NAV, EIFS and pending answers are
        // known.
        self.signals_end(&transmission, slot);
        self.receive(&transmission);
        self.observe(&transmission);
        self.go_on(&transmission);
        let neighbours = core::mem::take(&mut transmission.neighbours);
        self.air.recycle(neighbours);
    }

    /// The channel falls quiet at the sender and at all radios that heard it. `self.ended` gets the
    /// fate at each of them that is on the channel.
    fn signals_end(&mut self, transmission: &Transmission, slot: usize) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        // Bits up to now were disturbed by this signal, or are its own. They count before it is
        // removed.
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
            let (ended, wake) = station.signal_ends(slot, *heard, transmission, at);
            self.agenda.wake(heard.radio, wake);
            // Records list no frame where it came as a leak.
            if !heard.leaks {
                self.ended.push(ended);
            }
        }
    }

    /// Radios receive the frames that came through. When an acknowledgement ends, hosts get its
    /// frames.
    fn receive(&mut self, transmission: &Transmission) {
        if matches!(transmission.ppdu.step, Step::Ack | Step::BlockAck) {
            self.hand_up_acknowledged(transmission);
        }
        for i in 0..self.ended.len() {
            let ended = &mut self.ended[i];
            // `receive` may still change the fate, to a loss of the error model.
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

    /// An acknowledgement has ended. The frame reaches its receiver's host and those of bystanders.
    /// This comes before the sender's status, which ends the frame's life.
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

    /// The sender goes on with its exchange, and all radios that heard it with their backoffs.
    fn go_on(&mut self, transmission: &Transmission) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let from = transmission.from;
        // The sender first: it may draw a backoff, which then counts like the others.
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

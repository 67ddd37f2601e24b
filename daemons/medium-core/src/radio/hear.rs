// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals at a radio, from their beginning to their end.

use alloc::vec::Vec;

use super::{Moment, Radio};
use crate::air::{Ended, Transmission};
use crate::parts::{Arriving, Setup, Wake};
use crate::space::Neighbour;
use crate::Fate;

impl Radio {
    /// A transmission begins to be heard.
    pub fn signal_begins(&mut self, arriving: &Arriving, at: Moment<'_>) -> Option<Wake> {
        let Setup {
            params,
            timing,
            hearing,
            ..
        } = at.setup;
        let signal = arriving.signal;
        let alone = signal.has_preamble() && hearing.senses(signal.dbm);
        let sums = self.transceiver.sums().with(signal.mw, signal.hear);
        let together = hearing.senses_together(sums);
        let sensed = alone || together;
        // Slots stop and times are booked by the state before the signal counts.
        if sensed {
            self.freeze(params.cca(), at);
            self.book(at.now);
        }
        let transceiver = &mut self.transceiver;
        // Bits up to now had the old interference.
        transceiver.count_bits(at.now, &params.phy, hearing);
        if alone {
            transceiver.begins_to_sense();
        }
        transceiver.sense_sum(together);
        let rules = params.rules;
        // One that dozes or is deaf receives nothing. Signals count for the moment at which it wakes.
        let cause = match (self.power.is_dozing(), self.single.is_deaf()) {
            (true, _) => Fate::Off,
            (false, true) => Fate::Deaf,
            (false, false) => {
                rules.signal_begins(transceiver, &mut self.sense, arriving, hearing, timing)
            }
        };
        self.transceiver.add(arriving, cause);
        if sensed {
            self.foresee_empty(at)
        } else {
            None
        }
    }

    /// The energy of an interferer is there no more.
    pub fn energy_ends(&mut self, source: usize, at: Moment<'_>) -> Option<Wake> {
        let hearing = &at.setup.hearing;
        let sensed = self.transceiver.senses_sum();
        if sensed {
            self.book(at.now);
        }
        // Bits up to now were disturbed.
        (self.transceiver).count_bits(at.now, &at.setup.params.phy, hearing);
        self.remove(source, false, at);
        let (transceiver, sense) = (&mut self.transceiver, &mut self.sense);
        (at.setup.params.rules).signal_passes(transceiver, sense, false, at.now);
        if sensed {
            self.idle_again(at.now);
            return self.foresee_empty(at);
        }
        None
    }

    /// A signal is there no more; returns why it was not received.
    fn remove(&mut self, tx: usize, alone: bool, at: Moment<'_>) -> Fate {
        let hearing = &at.setup.hearing;
        let fate = self.transceiver.remove(tx, alone, at.now, hearing);
        let together = hearing.senses_together(self.transceiver.sums());
        self.transceiver.sense_sum(together);
        fate
    }

    /// A signal has ended. Returns its fate at this radio.
    pub fn signal_ends(
        &mut self,
        slot: usize,
        signal: Neighbour,
        tx: &Transmission,
        at: Moment<'_>,
    ) -> (Ended, Option<Wake>) {
        let hearing = &at.setup.hearing;
        let alone = signal.has_preamble() && hearing.senses(signal.dbm);
        let sensed = alone || self.transceiver.senses_sum();
        if sensed {
            self.book(at.now);
        }
        let mut fate = self.remove(slot, alone, at);
        let listens = !self.power.is_dozing() && !self.single.is_deaf();
        let mut noise_mw = hearing.noise_mw;
        let rules = at.setup.params.rules;
        let subframes = match tx.ppdu.part_of(self.id) {
            Some(part) => &part.subframes[..],
            None => &tx.ppdu.subframes[..tx.looked_at],
        };
        let received = (self.transceiver).end_reception(slot, tx.cut, subframes, at.setup);
        let (transceiver, sense) = (&mut self.transceiver, &mut self.sense);
        let mut fates = Vec::new();
        if let Some(received) = received {
            fate = received.fate;
            fates = received.fates;
            noise_mw += received.worst_mw;
            if listens {
                rules.reception_ends(transceiver, sense, fate, at.now, &at.setup.timing);
            }
        } else if listens {
            rules.signal_passes(transceiver, sense, alone, at.now);
        }
        let mut wake = None;
        if sensed {
            self.idle_again(at.now);
            wake = self.foresee_empty(at);
        }
        let radio = self.id;
        let ended = Ended {
            radio,
            dbm: signal.dbm,
            fate,
            fates,
            noise_mw,
        };
        (ended, wake)
    }
}

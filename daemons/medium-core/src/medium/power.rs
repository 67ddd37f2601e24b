// SPDX-License-Identifier: Apache-2.0
//! Switching radios off and on, and empty batteries.

use alloc::vec::Vec;

use hoplab_base::Instant;

use super::{Event, Medium};
use crate::{Fate, Joules, Outcome, Output};

impl Medium {
    /// Switch a radio off or on at `at`.
    pub fn schedule_power(&mut self, at: Instant, radio: usize, up: bool) {
        self.agenda.push(at, Event::Power { up, radio });
    }

    /// Energy spent since measuring began.
    pub fn joules(&self, radio: usize) -> Joules {
        let station = &self.radios[radio];
        let times = station.power.times(self.now, station.activity());
        self.params.energy.spent(&times)
    }

    /// Book a radio's time in its present state; to be called before that changes.
    pub(super) fn book(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        let activity = station.activity();
        station.power.book(self.now, activity);
    }

    /// Foresee when a radio's battery is empty; to be called after its state has changed.
    pub(super) fn foresee_empty(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        let activity = station.activity();
        let foreseen = station.power.foresee_empty(&self.params.energy, activity);
        if let Some(empty) = foreseen {
            let generation = empty.generation;
            self.after(empty.after, Event::Empty { generation, radio });
        }
    }

    pub(super) fn empty(&mut self, radio: usize, generation: u64) {
        if !self.radios[radio].power.is_empty(generation) {
            return;
        }
        self.set_power(radio, false);
        self.radios[radio].power.exhaust();
        self.foresee_empty(radio);
        self.outputs.push_back(Output::Exhausted {
            radio,
            at: self.now,
        });
    }

    pub(super) fn set_power(&mut self, radio: usize, up: bool) {
        let power = &self.radios[radio].power;
        if power.is_up() == up || power.is_exhausted() {
            return;
        }
        self.book(radio);
        let station = &mut self.radios[radio];
        station.power.switch(up);
        station.access.forget();
        station.exchange.forget();
        station.host.acknowledged();
        if up {
            station.access.idle_again(self.now);
        } else {
            self.break_off(radio);
        }
        self.foresee_empty(radio);
    }

    /// The radio has gone off: what it sends, receives and holds is lost.
    fn break_off(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        station.transceiver.spoil(Fate::Off);
        // What it was transmitting breaks off: no receiver can use it.
        if let Some(place) = station.transceiver.sending() {
            if let Some(kind) = self.air.get(place).map(|tx| tx.air_kind()) {
                let left = self.air.cut(place, self.now);
                station.counters.airtime[kind as usize] -= left;
            }
            self.end(place);
        }
        self.hand_up_unacknowledged(radio);
        self.hand_up_overheard(radio);
        self.drop_received(radio);
        let station = &mut self.radios[radio];
        let in_service = station.exchange.abandon().into_iter();
        let lost: Vec<_> = in_service.chain(station.host.abandon()).collect();
        for frame in lost {
            self.conclude(radio, frame.id, Outcome::Off, Default::default());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Switching radios off and on, and empty batteries.

use alloc::vec::Vec;

use super::Medium;
use crate::radio::Moment;
use crate::{Output, RadioId};

impl Medium {
    /// A battery may be empty.
    pub(super) fn empty(&mut self, radio: RadioId, generation: u64) {
        if !self.radios[radio].power.is_empty(generation) {
            return;
        }
        self.switch(radio, false);
        self.radios[radio].power.exhaust();
        self.foresee_empty(radio);
        let at = self.now;
        self.ledger.push(Output::Exhausted { radio, at });
    }

    pub(super) fn foresee_empty(&mut self, radio: RadioId) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let wake = self.radios[radio].foresee_empty(at);
        self.agenda.wake(radio, wake);
    }

    pub(super) fn switch(&mut self, radio: RadioId, up: bool) {
        if !self.radios[radio].can_switch(up) {
            return;
        }
        let all: Vec<_> = self.setup.devices.radios(radio).collect();
        for radio in &all {
            let at = Moment {
                now: self.now,
                setup: &self.setup,
            };
            if let Some(slot) = self.radios[*radio].switch(up, at) {
                self.break_off(*radio, slot);
            }
        }
        for radio in all {
            if !up {
                self.lose_frames(radio);
            }
            self.foresee_empty(radio);
        }
    }

    /// The radio's transmission breaks off, and no receiver can use it.
    fn break_off(&mut self, radio: RadioId, slot: usize) {
        if let Some(kind) = self.air.get(slot).map(|tx| tx.ppdu.kind()) {
            let left = self.air.cut(slot, self.now);
            self.radios[radio].counters.airtime[kind as usize] -= left;
        }
        self.end(slot);
    }

    /// The radio has gone off: frames of its that were received reach their receivers' hosts now,
    /// before its own host learns that they are lost.
    fn lose_frames(&mut self, radio: RadioId) {
        for other in self.radios.iter_mut() {
            other.unacknowledged(radio, &mut self.effects);
        }
        self.radios[radio].abandon(&mut self.effects);
        self.carry_out(radio);
    }
}

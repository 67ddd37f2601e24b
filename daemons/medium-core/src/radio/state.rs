// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of a radio, and what follows from a change of it for its battery and its backoffs.

use hoplab_base::{Duration, Instant};

use super::{Moment, Radio};
use crate::parts::{Activity, Wake};
use crate::Fate;

impl Radio {
    pub fn activity(&self) -> Activity {
        if self.transceiver.is_sending() {
            Activity::Sending
        } else if self.transceiver.senses() {
            Activity::Sensing
        } else {
            Activity::Quiet
        }
    }

    /// Book the time in the present state; to be called before that changes.
    pub(super) fn book(&mut self, now: Instant) {
        let activity = self.activity();
        self.power.book(now, activity);
    }

    /// Foresee when the battery is empty; to be called after the state has changed.
    pub fn foresee_empty(&mut self, at: Moment<'_>) -> Option<Wake> {
        let activity = self.activity();
        let energy = &at.setup.params.energy;
        self.power.foresee_empty(at.now, energy, activity)
    }

    /// It dozes from now on, or wakes. One that has something to send or to answer stays awake.
    pub fn doze(&mut self, dozes: bool, at: Moment<'_>) -> Option<Wake> {
        let is_new = self.power.is_up() && self.power.is_dozing() != dozes;
        if !is_new || (dozes && self.is_engaged()) {
            return None;
        }
        self.book(at.now);
        self.power.doze(dozes);
        if dozes {
            self.transceiver.spoil(Fate::Off);
        }
        self.foresee_empty(at)
    }

    /// It dozes as soon as it has answered what it owes an answer, or never, if `rests` is false.
    pub fn rest(&mut self, rests: bool) {
        let owes = self.transceiver.is_sending() || self.exchange.response().is_some();
        self.power.rest(rests && owes);
    }

    /// It has sent something; returns whether it was to doze then.
    pub fn is_to_rest(&mut self) -> bool {
        self.power.take_rest()
    }

    /// Whether it sends a batch, waits for an answer, or owes one.
    pub(super) fn is_amid_exchange(&self) -> bool {
        self.transceiver.is_sending()
            || self.txop.is_under_way()
            || self.exchange.awaited().is_some()
            || self.exchange.response().is_some()
    }

    fn is_engaged(&self) -> bool {
        self.transceiver.is_sending()
            || self.queue_len() > 0
            || self.exchange.awaited().is_some()
            || self.exchange.response().is_some()
    }

    /// The channel is busy, which is noticed after `unnoticed`.
    pub(super) fn freeze(&mut self, unnoticed: Duration, at: Moment<'_>) {
        for function in &mut self.functions {
            let access = &mut function.access;
            access.freeze(at.now, unnoticed, at.setup.timing.slot);
        }
    }

    pub(super) fn idle_again(&mut self, now: Instant) {
        if self.activity() == Activity::Quiet {
            self.sense.idle_again(now);
        }
    }

    /// Frames that wait for their turn on the air, those in service included.
    pub fn queue_len(&self) -> usize {
        let lines = self.functions.iter();
        let in_lines: usize = lines.map(|function| function.line.waiting()).sum();
        self.host.waiting() + in_lines
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A radio: what concerns several of its parts, and none of another radio's. What others must do is
//! returned as effects.

mod receive;
mod send;

use alloc::format;

use hoplab_base::{Instant, Stream};

use crate::parts::{
    Access, Activity, Arriving, Contention, Duplicates, Effects, Exchange, Host, Limits, Power,
    Setup, Timer, Transceiver, Wake,
};
use crate::parts::{Effect, Ppdu};
use crate::{Counters, Fate, RadioId};

/// The time, and what all radios go by.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub now: Instant,
    pub setup: &'a Setup,
}

pub struct Radio {
    id: RadioId,
    pub power: Power,
    pub access: Access,
    pub exchange: Exchange,
    pub transceiver: Transceiver,
    pub host: Host,
    pub limits: Limits,
    duplicates: Duplicates,
    pub counters: Counters,
}

/// A signal that has ended at a radio.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub radio: RadioId,
    pub dbm: f64,
    pub fate: Fate,
    /// Noise and the strongest interference with it.
    pub noise_mw: f64,
}

impl Radio {
    pub fn new(id: RadioId, name: &str, setup: &Setup) -> Self {
        let params = &setup.params;
        let stream = |purpose| Stream::new(params.seed, &format!("medium/{purpose}/{name}"));
        let contention = Contention {
            cw_min: params.phy.cw_min,
            cw_max: params.phy.cw_max,
        };
        Self {
            id,
            power: Power::new(),
            access: Access::new(stream("backoff"), contention),
            exchange: Exchange::default(),
            transceiver: Transceiver::new(stream("fading"), stream("errors")),
            host: Host::default(),
            limits: Limits::new(params, params.nic),
            duplicates: Duplicates::default(),
            counters: Counters::default(),
        }
    }

    pub fn activity(&self) -> Activity {
        if self.transceiver.is_sending() {
            Activity::Sending
        } else if self.transceiver.senses() {
            Activity::Sensing
        } else {
            Activity::Quiet
        }
    }

    /// Frames that wait for their turn on the air, the one in service included.
    pub fn queue_len(&self) -> usize {
        self.host.waiting() + usize::from(self.exchange.frame().is_some())
    }

    /// Book the time in the present state; to be called before that changes.
    fn book(&mut self, now: Instant) {
        let activity = self.activity();
        self.power.book(now, activity);
    }

    /// Foresee when the battery is empty; to be called after the state has changed.
    pub fn foresee_empty(&mut self, at: Moment<'_>) -> Option<Wake> {
        let activity = self.activity();
        let energy = &at.setup.params.energy;
        self.power.foresee_empty(at.now, energy, activity)
    }

    fn freeze(&mut self, at: Moment<'_>) {
        self.access.freeze(at.now, at.setup.timing.slot);
    }

    fn idle_again(&mut self, now: Instant) {
        if self.activity() == Activity::Quiet {
            self.access.idle_again(now);
        }
    }

    /// What a part waited for has come, but a battery's end, which is [`Radio::switch`]'s. Returns
    /// what goes on the air.
    pub fn wake(
        &mut self,
        timer: Timer,
        generation: u64,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Option<Ppdu> {
        match timer {
            Timer::Access => return self.turn(generation, at, effects),
            Timer::Respond => return self.respond(at, effects),
            Timer::Timeout => self.timeout(generation, at, effects),
            Timer::Prepared => self.prepared(generation, at, effects),
            Timer::Loaded => {
                self.host.loaded(generation);
                self.next_frame(at, effects);
                self.load(at, effects);
            }
            Timer::Served => self.host.served(generation, at.now, &self.limits, effects),
            Timer::Empty => {}
        }
        None
    }

    /// A transmission begins to be heard.
    pub fn signal_begins(&mut self, arriving: &Arriving, at: Moment<'_>) -> Option<Wake> {
        let Setup {
            params,
            timing,
            hearing,
            ..
        } = at.setup;
        let sensed = hearing.senses(arriving.signal.dbm);
        if sensed {
            self.freeze(at);
            self.book(at.now);
        }
        let transceiver = &mut self.transceiver;
        transceiver.count_bits(at.now, &params.phy, hearing);
        if sensed {
            transceiver.begins_to_sense();
        }
        let rules = params.rules;
        let cause = rules.signal_begins(transceiver, &mut self.access, arriving, hearing, timing);
        self.transceiver.add(arriving, cause);
        if sensed {
            self.foresee_empty(at)
        } else {
            None
        }
    }

    /// A signal has ended; returns what the channel made of it. `cut` is whether it broke off.
    pub fn signal_ends(
        &mut self,
        tx: usize,
        dbm: f64,
        cut: bool,
        at: Moment<'_>,
    ) -> (Ended, Option<Wake>) {
        let hearing = &at.setup.hearing;
        let sensed = hearing.senses(dbm);
        if sensed {
            self.book(at.now);
        }
        let mut fate = self.transceiver.remove(tx, sensed);
        let mut noise_mw = hearing.noise_mw;
        let rules = at.setup.params.rules;
        let received = self.transceiver.end_reception(tx, cut, hearing);
        let (transceiver, access) = (&mut self.transceiver, &mut self.access);
        if let Some(received) = received {
            fate = received.fate;
            noise_mw += received.worst_mw;
            rules.reception_ends(transceiver, access, fate, at.now, &at.setup.timing);
        } else {
            rules.signal_passes(transceiver, access, sensed);
        }
        let mut wake = None;
        if sensed {
            self.idle_again(at.now);
            wake = self.foresee_empty(at);
        }
        let radio = self.id;
        let ended = Ended {
            radio,
            dbm,
            fate,
            noise_mw,
        };
        (ended, wake)
    }

    /// Whether it can be switched on, or off.
    pub fn can_switch(&self, up: bool) -> bool {
        self.power.is_up() != up && !self.power.is_exhausted()
    }

    /// It goes on, or off; returns the transmission that breaks off.
    pub fn switch(&mut self, up: bool, at: Moment<'_>) -> Option<usize> {
        self.book(at.now);
        self.power.switch(up);
        self.access.forget();
        self.exchange.forget();
        self.host.acknowledged();
        if up {
            self.access.idle_again(at.now);
            return None;
        }
        self.transceiver.spoil(Fate::Off);
        self.transceiver.sending()
    }

    /// It has gone off: what it holds is lost.
    pub fn abandon(&mut self, effects: &mut Effects) {
        self.exchange.hand_up_overheard(effects);
        let in_service = self.exchange.abandon();
        self.host.abandon(in_service, effects);
    }

    /// A frame of `sender` that was received, and whose acknowledgement nobody awaits any more.
    pub fn unacknowledged(&mut self, sender: RadioId) -> Option<Effect> {
        let pending = self.exchange.give_up_delivery(sender);
        let arrived = pending.or_else(|| self.host.acknowledged_from(sender))?;
        let to = self.id;
        Some(Effect::HandUp { to, arrived })
    }

    /// Measuring begins.
    pub fn forget_counts(&mut self, now: Instant) {
        self.counters = Counters::default();
        self.power.forget(now);
        self.exchange.forget_data_number();
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A radio: transitions that concern several of its parts, and no other radio. Work for others is
//! returned as effects.

mod category;
mod receive;
mod send;

use alloc::format;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant, Stream};

use crate::air::Transmission;
use crate::parts::{
    Access, Activity, Arriving, CarrierSense, Duplicates, Effects, Exchange, Host, Limits, Power,
    Setup, Timer, Transceiver, Wake,
};
use crate::parts::{Effect, Ppdu};
use crate::space::Neighbour;
use crate::{Category, Counters, Dbm, Fate, RadioId};
use category::Categories;

/// The time, and what all radios go by.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub now: Instant,
    pub setup: &'a Setup,
}

pub struct Radio {
    id: RadioId,
    pub power: Power,
    pub sense: CarrierSense,
    /// One by DCF; by EDCA one for each category.
    accesses: Vec<Access>,
    /// Of a radio by EDCA.
    categories: Categories,
    pub exchange: Exchange,
    pub transceiver: Transceiver,
    pub host: Host,
    pub limits: Limits,
    duplicates: Duplicates,
    pub counters: Counters,
}

/// A signal that has ended at a radio.
#[derive(Clone, Debug)]
pub struct Ended {
    pub radio: RadioId,
    pub dbm: Dbm,
    pub fate: Fate,
    /// Of the frames of an A-MPDU that the radio looked at, from the first on; else empty.
    pub fates: Vec<Fate>,
    /// Noise and the strongest interference with it.
    pub noise_mw: f64,
}

impl Ended {
    /// Of the frame of an A-MPDU at this place in it.
    pub fn fate_of(&self, place: usize) -> Fate {
        self.fates.get(place).copied().unwrap_or(self.fate)
    }
}

impl Radio {
    pub fn new(id: RadioId, name: &str, setup: &Setup) -> Self {
        let params = &setup.params;
        let stream = |purpose: &str| Stream::new(params.seed, &format!("medium/{purpose}/{name}"));
        let access = |function: usize| {
            let stream = match setup.functions() {
                1 => stream("backoff"),
                _ => stream(&format!("backoff/{}", Category::ALL[function].name())),
            };
            Access::new(function as u8, stream, setup.contention(None))
        };
        Self {
            id,
            power: Power::new(),
            sense: CarrierSense::default(),
            accesses: (0..setup.functions()).map(access).collect(),
            categories: Categories::new(setup),
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
        self.host.waiting()
            + self.categories.waiting()
            + usize::from(self.exchange.frame().is_some())
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

    /// The channel is busy, which is noticed after `unnoticed`.
    fn freeze(&mut self, unnoticed: Duration, at: Moment<'_>) {
        for access in &mut self.accesses {
            access.freeze(at.now, unnoticed, at.setup.timing.slot);
        }
    }

    fn idle_again(&mut self, now: Instant) {
        if self.activity() == Activity::Quiet {
            self.sense.idle_again(now);
        }
    }

    /// Access functions, by their numbers.
    pub fn functions(&self) -> core::ops::Range<usize> {
        0..self.accesses.len()
    }

    /// The only access function of DCF.
    pub fn access(&self) -> &Access {
        &self.accesses[0]
    }

    /// The event that a part waited for has come. A battery's end is [`Radio::switch`]'s. Returns
    /// the PPDU that goes on the air.
    pub fn wake(
        &mut self,
        timer: Timer,
        generation: u64,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Option<Ppdu> {
        match timer {
            Timer::Access(function) => return self.turn(function, generation, at, effects),
            Timer::Respond => return self.respond(at, effects),
            Timer::Timeout => self.timeout(generation, at, effects),
            Timer::Prepared => self.prepared(generation, at, effects),
            Timer::Loaded => {
                self.host.loaded(generation);
                self.next_frame(at, effects);
                self.load(at, effects);
            }
            Timer::Served => self.host.served(generation, at.now, &self.limits, effects),
            Timer::Reorder => self.release_waiting(at, effects),
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
        let cause = rules.signal_begins(transceiver, &mut self.sense, arriving, hearing, timing);
        self.transceiver.add(arriving, cause);
        if sensed {
            self.foresee_empty(at)
        } else {
            None
        }
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
        let mut fate = self.transceiver.remove(slot, alone, at.now, hearing);
        let together = hearing.senses_together(self.transceiver.sums());
        self.transceiver.sense_sum(together);
        let mut noise_mw = hearing.noise_mw;
        let rules = at.setup.params.rules;
        // A bystander that hands nothing up needs to know only whether the PPDU sets its NAV. The
        // first frame decides that.
        let each = tx.is_for(self.id) || at.setup.params.overhear;
        let subframes = match (each, tx.ppdu.subframes.split_first()) {
            (false, Some((first, _))) => core::slice::from_ref(first),
            _ => &tx.ppdu.subframes[..],
        };
        let received = (self.transceiver).end_reception(slot, tx.cut, subframes, at.setup);
        let (transceiver, sense) = (&mut self.transceiver, &mut self.sense);
        let mut fates = Vec::new();
        if let Some(received) = received {
            fate = received.fate;
            fates = received.fates;
            noise_mw += received.worst_mw;
            rules.reception_ends(transceiver, sense, fate, at.now, &at.setup.timing);
        } else {
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

    /// It goes to another channel. It loses what it was receiving, and the old channel's NAV does
    /// not count on the new one.
    pub fn leave_channel(&mut self) {
        self.transceiver.spoil(Fate::Deaf);
        self.sense.forget_nav();
    }

    /// Whether it can be switched on, or off.
    pub fn can_switch(&self, up: bool) -> bool {
        self.power.is_up() != up && !self.power.is_exhausted()
    }

    /// It goes on, or off; returns the transmission that breaks off.
    pub fn switch(&mut self, up: bool, at: Moment<'_>) -> Option<usize> {
        self.book(at.now);
        self.power.switch(up);
        self.accesses.iter_mut().for_each(Access::forget);
        let unsent = self.exchange.forget();
        let on_air = self.host.acknowledged();
        self.categories.orphan(unsent.into_iter().chain(on_air));
        if up {
            self.sense.idle_again(at.now);
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
        self.categories.abandon(effects);
    }

    /// Frames of `sender` that were received, and whose acknowledgement nobody awaits any more.
    pub fn unacknowledged(&mut self, sender: RadioId, effects: &mut Effects) {
        let pending = self.exchange.give_up_delivery(sender);
        let on_air = self.host.acknowledged_from(sender);
        let to = self.id;
        let arrived = pending.into_iter().chain(on_air);
        effects.extend(arrived.map(|arrived| Effect::HandUp { to, arrived }));
    }

    /// Measuring begins.
    pub fn forget_counts(&mut self, now: Instant) {
        self.counters = Counters::default();
        self.power.forget(now);
        self.exchange.forget_data_number();
    }
}

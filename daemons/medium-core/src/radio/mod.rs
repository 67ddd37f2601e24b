// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A radio: transitions that concern several of its parts, and no other radio. Work for others is
//! returned as effects.

mod ahead;
mod bsrp;
mod contend;
mod hear;
mod poll;
mod queue;
mod receive;
mod send;
mod single;
mod sound;
mod state;
mod txop;

use alloc::format;
use alloc::vec::Vec;

use hoplab_base::{Instant, Stream};

use crate::mimo::Soundings;
use crate::ofdma::Report;
use crate::parts::{
    Access, Agreements, CarrierSense, Clients, Duplicates, Effect, Effects, Exchange, Finished,
    Host, Limits, Line, Power, Ppdu, Setup, Single, Timer, Transceiver,
};
use crate::{Category, CategoryParams, Counters, Fate, Outcome, RadioId, Subchannels};
pub use ahead::ahead_of;
pub use receive::arrived;
use txop::Txop;

/// The time, and what all radios go by.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub now: Instant,
    pub setup: &'a Setup,
}

/// An access function: how it contends, and for what.
struct Function {
    access: Access,
    line: Line,
    /// How it contends once the radio has QoS. None by DCF.
    params: Option<CategoryParams>,
    /// Until then it leaves it to the access point to ask for its frames.
    held_until: Instant,
}

pub struct Radio {
    id: RadioId,
    pub power: Power,
    pub sense: CarrierSense,
    /// One by DCF; by EDCA one for each category, in the order of [`Category::ALL`].
    functions: Vec<Function>,
    /// It has sent a frame with a QoS header; before, it is a station of DCF.
    qos: bool,
    /// It has sent beacons at their time. Only such a radio serves others together.
    is_access_point: bool,
    txop: Txop,
    /// What it knows of stations' queues, in order of the radios.
    reports: Vec<Report>,
    /// It polls their queues when it wins the channel.
    bsrp_due: bool,
    /// When it is due at the latest.
    bsrp_at: Instant,
    /// And of the channels to them.
    soundings: Soundings,
    /// Who has announced a null data packet to it, and whose it has measured.
    announced: Option<RadioId>,
    measured: Option<RadioId>,
    /// Its channel, where radios have different ones.
    pub subchannels: Option<Subchannels>,
    /// Of a device with a single radio: whether it is on this link.
    single: Single,
    /// What it knows of clients that are such devices.
    clients: Clients,
    pub exchange: Exchange,
    pub transceiver: Transceiver,
    pub host: Host,
    pub limits: Limits,
    duplicates: Duplicates,
    agreements: Agreements,
    pub counters: Counters,
}

impl Radio {
    pub fn new(id: RadioId, name: &str, setup: &Setup) -> Self {
        let params = &setup.params;
        let stream = |purpose: &str| Stream::new(params.seed, &format!("medium/{purpose}/{name}"));
        let function = |function: usize| {
            let stream = match setup.functions() {
                1 => stream("backoff"),
                _ => stream(&format!("backoff/{}", Category::ALL[function].name())),
            };
            Function {
                access: Access::new(function as u8, stream, setup.contention(None)),
                line: Line::default(),
                params: params.edca.map(|edca| edca.categories[function]),
                held_until: Instant::ZERO,
            }
        };
        Self {
            id,
            power: Power::new(),
            sense: CarrierSense::default(),
            functions: (0..setup.functions()).map(function).collect(),
            qos: false,
            is_access_point: false,
            txop: Txop::default(),
            reports: Vec::new(),
            bsrp_due: false,
            bsrp_at: Instant::ZERO,
            soundings: Soundings::default(),
            announced: None,
            measured: None,
            subchannels: None,
            single: Single::default(),
            clients: Clients::default(),
            exchange: Exchange::default(),
            transceiver: Transceiver::new(stream("fading"), stream("errors")),
            host: Host::default(),
            limits: Limits::new(params, params.nic),
            duplicates: Duplicates::default(),
            agreements: Agreements::default(),
            counters: Counters::default(),
        }
    }

    /// What the radios of a multi-link device have in common goes to another one of them: frames
    /// that wait, and those that were received.
    pub fn hand_over(&mut self, other: &mut Self) {
        use core::mem::swap;
        for (own, others) in self.functions.iter_mut().zip(&mut other.functions) {
            swap(&mut own.line, &mut others.line);
        }
        swap(&mut self.exchange.numbers, &mut other.exchange.numbers);
        swap(&mut self.host, &mut other.host);
        swap(&mut self.clients, &mut other.clients);
        swap(&mut self.duplicates, &mut other.duplicates);
        swap(&mut self.agreements, &mut other.agreements);
    }

    /// Later draws follow from another seed too.
    pub fn reseed(&mut self, seed: u64) {
        for function in &mut self.functions {
            function.access.reseed(seed);
        }
        self.transceiver.reseed(seed);
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
            Timer::Access(function) => {
                return self.turn(function.into(), generation, at, effects);
            }
            Timer::Respond => return self.respond(at, effects),
            Timer::Timeout => self.timeout(generation, at, effects),
            Timer::Prepared => self.prepared(generation, at, effects),
            Timer::Loaded => {
                self.host.loaded(generation);
                self.refill(at, effects);
            }
            Timer::Served => self.host.served(generation, at.now, &self.limits, effects),
            Timer::Reorder => (self.agreements).release_waiting(self.id, at.now, effects),
            Timer::Held(function) => {
                self.contend_anew(function.into(), at);
                self.resume(at, effects);
            }
            Timer::Bsrp if at.now >= self.bsrp_at => self.bsrp_is_due(at, effects),
            Timer::Single => self.switch_links(generation, at, effects),
            Timer::Sure => self.resume(at, effects),
            Timer::Client => self.look_after_clients(at, effects),
            Timer::Bsrp | Timer::Empty => {}
        }
        None
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
        for function in &mut self.functions {
            function.access.forget();
            function.held_until = Instant::ZERO;
        }
        self.single.forget();
        self.clients.forget();
        self.power.have(at.setup.devices.part(self.id));
        self.txop.stop();
        self.reports.clear();
        self.bsrp_due = false;
        self.bsrp_at = Instant::ZERO;
        self.soundings = Soundings::default();
        (self.announced, self.measured) = (None, None);
        let unsent = self.exchange.forget();
        let on_air = self.host.acknowledged();
        self.agreements.orphan(unsent.into_iter().chain(on_air));
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
        self.host.abandon_received(effects);
        let mut lose = |frame| {
            let lost = Finished::untried(frame, Outcome::Off);
            effects.push(Effect::Conclude(lost));
        };
        for function in &mut self.functions {
            function.line.abandon(&mut lose);
        }
        self.host.abandon_waiting(&mut lose);
        self.agreements.abandon(effects);
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
        for function in &mut self.functions {
            function.line.forget_data_numbers();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The distributed coordination function (IEEE 802.11-2020 10.3) of radios on one channel: what
//! concerns more than one part of a radio, or more than one radio.

mod access;
mod agenda;
mod changes;
mod exchange;
mod hosts;
mod lookahead;
mod measure;
mod power;
mod receive;
mod signals;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant, Stream};

use crate::air::Air;
use crate::loss::LossRule;
use crate::places::{Heard, Place, Places, Station};
use crate::radio::{Hearing, Limits, Nic, Radio, RetryLimits};
use crate::timing::Timing;
use crate::{Audit, Fate, FrameId, Output, Params};
use agenda::{Agenda, Event};
use hosts::Held;

/// The channel and its radios. Drive it like this:
///
/// 1. [`Medium::advance`] to the current time whenever [`Medium::next_deadline`] has come, and
///    before every input;
/// 2. [`Medium::enqueue`] a frame when a radio's host hands one over;
/// 3. take what [`Medium::poll_output`] has after either, until it has nothing more.
///
/// A driver that need not see every transmission may sleep until [`Medium::next_output`] instead:
/// what happened in between is caught up with at the next `advance`.
pub struct Medium {
    params: Params,
    timing: Timing,
    hearing: Hearing,
    /// None where the kernel's rate table says how often a frame is tried.
    retry_limits: Option<RetryLimits>,
    radios: Vec<Radio>,
    places: Places,
    air: Air,
    agenda: Agenda,
    now: Instant,
    outputs: VecDeque<Output>,
    losses: Vec<(LossRule, Stream)>,
    audit: Audit,
    /// Frames that receivers still hold.
    held: BTreeMap<FrameId, Held>,
    // Memory that is used again.
    near: Vec<Heard>,
    ended: Vec<Ended>,
}

/// A signal that has ended at a radio.
struct Ended {
    radio: usize,
    dbm: f64,
    fate: Fate,
    /// Noise and the strongest interference with it.
    noise_mw: f64,
}

impl Medium {
    pub fn new(params: Params, stations: Vec<Station>, losses: Vec<LossRule>) -> Self {
        let losses = losses.into_iter().enumerate();
        let losses = losses
            .map(|(i, rule)| (rule, Stream::new(params.seed, &format!("medium/loss/{i}"))))
            .collect();
        let limits = RetryLimits {
            short: params.retry_short,
            long: params.retry_long,
        };
        let radios = stations.iter();
        let mut medium = Self {
            timing: Timing::new(&params.phy, params.no_ack),
            hearing: Hearing::new(&params),
            retry_limits: (!params.kernel_retries).then_some(limits),
            radios: radios
                .map(|station| Radio::new(&station.name, &params))
                .collect(),
            places: Places::new(&params, stations),
            params,
            air: Air::default(),
            agenda: Agenda::default(),
            now: Instant::ZERO,
            outputs: VecDeque::new(),
            losses,
            audit: Audit::default(),
            held: BTreeMap::new(),
            near: Vec::new(),
            ended: Vec::new(),
        };
        for radio in 0..medium.radios.len() {
            medium.foresee_empty(radio);
        }
        medium
    }

    /// Give a radio a card of its own, before anything happens; others have that of [`Params`].
    pub fn equip(&mut self, radio: usize, nic: Nic) {
        self.radios[radio].limits = Limits::new(&self.params, nic);
    }

    /// When the next thing happens by itself.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.agenda.next()
    }

    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Let everything happen that is due up to `now`.
    pub fn advance(&mut self, now: Instant) {
        while let Some((at, event)) = self.agenda.take(now) {
            self.now = self.now.max(at);
            match event {
                Event::End { place } => self.end(place),
                Event::Power { radio, up } => self.set_power(radio, up),
                Event::Empty { radio, generation } => self.empty(radio, generation),
                Event::Measure => self.measure_from_now(),
                Event::Respond { radio } => self.respond(radio),
                Event::Served { radio, generation } => self.served(radio, generation),
                Event::Timeout { radio, generation } => self.timeout(radio, generation),
                Event::Access { radio, generation } => self.access(radio, generation),
                Event::Prepared { radio, generation } => self.prepared(radio, generation),
                Event::Loaded { radio, generation } => self.loaded(radio, generation),
            }
        }
        self.now = self.now.max(now);
    }

    /// Events handled so far.
    pub fn handled(&self) -> u64 {
        self.agenda.handled()
    }

    /// Place of a radio at `at`, exact by its waypoints.
    pub fn place(&self, radio: usize, at: Instant) -> Place {
        self.places.place(radio, at)
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.agenda.push(self.now + wait, event);
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The distributed coordination function (IEEE 802.11-2020 10.3) of radios on one channel: the
//! agenda, and what concerns more than one radio.
//!
//! Calls go down this list only:
//!
//! | | |
//! |---|---|
//! | `mod` | the driver's contract: an event is taken from the agenda and given to its radio |
//! | `lookahead`, `changes`, `measure` | what else a driver asks and says |
//! | `power` | radios that go off |
//! | `interference` | energy of other transmitters |
//! | `transmissions` | from one radio to all who hear it |
//! | `overhearing` | hosts get frames for others |
//! | `effects` | what a radio's transition asks for |
//! | `agenda`, `ledger`, `links`, `observers` | state without calls to others |

mod agenda;
mod changes;
mod effects;
mod ideal;
mod interference;
mod ledger;
mod links;
mod lookahead;
mod measure;
mod observers;
mod overhearing;
mod power;
mod radios;
mod transmissions;

pub use changes::FurtherLink;

use alloc::vec::Vec;

use hoplab_base::Instant;

use crate::air::Air;
use crate::loss::{LossRule, Losses};
use crate::parts::{Effects, Limits, Setup, Timer};
use crate::radio::Moment;
use crate::space::{Position, Space, Station};
use crate::{Frame, Nic, Output, Params, RadioId};
use agenda::{Agenda, Event};
use interference::Source;
use ledger::Ledger;
use links::Links;
use observers::Observer;
use radios::Radios;

/// The channel and its radios. Drive it like this:
///
/// 1. [`Medium::advance`] to the current time whenever [`Medium::next_deadline`] has come, and
///    before every input;
/// 2. [`Medium::enqueue`] a frame when a radio's host hands one over;
/// 3. take what [`Medium::poll_output`] has after either, until it has nothing more.
///
/// Neither calls the driver back: outputs are collected, and a frame that one of them makes a host
/// send is the next input.
///
/// A driver that need not see every transmission may sleep until [`Medium::next_output`] instead:
/// what happened in between is caught up with at the next `advance`.
pub struct Medium {
    setup: Setup,
    radios: Radios,
    space: Space,
    air: Air,
    agenda: Agenda,
    now: Instant,
    ledger: Ledger,
    losses: Losses,
    links: Links,
    /// Who else sees what ends on the air.
    observers: Vec<Observer>,
    overhears: bool,
    sources: Vec<Source>,
    // Memory that is used again.
    effects: Effects,
}

impl Medium {
    pub fn new(params: Params, stations: Vec<Station>, losses: Vec<LossRule>) -> Self {
        let setup = Setup::new(params);
        let params = &setup.params;
        let mut medium = Self {
            radios: Radios::new(&stations, &setup),
            links: Links::new(params, &stations),
            sources: Source::all(params),
            space: Space::new(params, stations),
            losses: Losses::new(params.seed, losses),
            setup,
            air: Air::default(),
            agenda: Agenda::default(),
            now: Instant::ZERO,
            ledger: Ledger::default(),
            observers: Vec::new(),
            overhears: false,
            effects: Effects::new(),
        };
        for radio in medium.radios.ids() {
            medium.foresee_empty(radio);
        }
        for source in 0..medium.sources.len() as u32 {
            (medium.agenda).push(Instant::ZERO, Event::Interfere { source });
        }
        medium
    }

    /// With an [`Output::Aired`] for every transmission.
    pub fn traced(mut self) -> Self {
        (self.observers).push(|end, setup, outputs| end.trace(setup, outputs));
        self
    }

    /// With cards that report levels with errors of this standard deviation, in dB. It affects
    /// [`Signals`](crate::Signals) alone.
    pub fn misread(mut self, error_db: f64) -> Self {
        self.links.misread(error_db);
        self
    }

    /// Give a radio a card of its own, before anything happens; others have that of [`Params`].
    pub fn equip(&mut self, radio: RadioId, nic: Nic) {
        self.radios[radio].limits = Limits::new(&self.setup.params, nic);
    }

    /// When the next thing happens by itself.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.agenda.next()
    }

    pub fn poll_output(&mut self) -> Option<Output> {
        self.ledger.poll()
    }

    /// A frame from radio `radio`'s host, at the time of the last `advance`.
    pub fn enqueue(&mut self, radio: RadioId, frame: Frame) {
        self.ledger.accept();
        self.doze(radio, false);
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        self.radios[radio].enqueue(frame, at, &mut self.effects);
        self.carry_out(radio);
    }

    /// Let everything happen that is due up to `now`.
    pub fn advance(&mut self, now: Instant) {
        while let Some((at, event)) = self.agenda.take(now) {
            self.now = self.now.max(at);
            match event {
                Event::End { slot } => self.end(slot as usize),
                Event::Leave { slot } => self.leave(slot as usize),
                Event::Come { slot } => self.come(slot as usize),
                Event::Interfere { source } => self.interfere(source as usize),
                Event::Power { radio, up } => self.switch(radio, up),
                Event::Measure => self.measure_from_now(),
                Event::Wake {
                    radio,
                    timer: Timer::Empty,
                    generation,
                } => self.empty(radio, generation),
                Event::Wake {
                    radio,
                    timer,
                    generation,
                } => self.wake(radio, timer, generation),
            }
        }
        self.now = self.now.max(now);
    }

    fn wake(&mut self, radio: RadioId, timer: Timer, generation: u64) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let ppdu = self.radios[radio].wake(timer, generation, at, &mut self.effects);
        self.carry_out(radio);
        if let Some(ppdu) = ppdu {
            self.transmit(radio, ppdu);
        }
    }

    /// Forget what was counted, as if the run began now.
    fn measure_from_now(&mut self) {
        self.links.forget();
        for radio in self.radios.ids() {
            let ongoing = self.ongoing(radio);
            let station = &mut self.radios[radio];
            station.forget_counts(self.now);
            if let Some((kind, left)) = ongoing {
                station.counters.airtime[kind as usize] = left;
            }
            self.foresee_empty(radio);
        }
    }

    /// Events handled so far.
    pub fn handled(&self) -> u64 {
        self.agenda.handled()
    }

    /// Where a radio is at `at`, exact by its waypoints.
    pub fn position(&self, radio: RadioId, at: Instant) -> Position {
        self.space.position(radio, at)
    }
}

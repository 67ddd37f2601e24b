// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Energy of transmitters that are no radios, at all radios that they reach.

use alloc::format;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant, Stream};

use super::{Event, Medium};
use crate::parts::Arriving;
use crate::radio::Moment;
use crate::space::{Emission, Interferer, Neighbour};
use crate::{Dbm, Params, RadioId};

/// How often the power of one that goes on is looked at, as radios move, come up, or change their
/// channel.
const AGAIN: Duration = Duration::from_millis(10);

/// An interferer, and what radios hear of it.
pub struct Source {
    pub interferer: Interferer,
    random: Stream,
    emission: Option<Emission>,
    /// When what it does changes.
    changes: Option<Instant>,
    /// Power at each radio that hears it.
    heard: Vec<Option<Dbm>>,
}

impl Source {
    pub fn all(params: &Params) -> Vec<Self> {
        let source = |interferer: &Interferer| Self {
            interferer: interferer.clone(),
            random: Stream::new(
                params.seed,
                &format!("medium/interferer/{}", interferer.name),
            ),
            emission: None,
            changes: Some(Instant::ZERO),
            heard: Vec::new(),
        };
        params.interferers.iter().map(source).collect()
    }

    /// Go on to `now`; returns when to look again.
    fn step(&mut self, now: Instant) -> Option<Instant> {
        if self.changes.is_some_and(|at| at <= now) {
            (self.emission, self.changes) = self.interferer.step(now, &mut self.random);
        }
        let again = self.emission.map(|_| now + AGAIN);
        self.changes.into_iter().chain(again).min()
    }
}

/// The signal of an interferer in a radio's list of signals, where others have slots of the air.
fn number(source: usize) -> usize {
    usize::MAX - source
}

impl Medium {
    /// An interferer goes on or off, or its power has to be looked at again.
    pub(super) fn interfere(&mut self, source: usize) {
        let Some(next) = self.sources[source].step(self.now) else {
            return self.emit(source);
        };
        self.emit(source);
        let source = source as u32;
        self.agenda.push(next, Event::Interfere { source });
    }

    fn emit(&mut self, source: usize) {
        let emission = self.sources[source].emission;
        self.sources[source]
            .heard
            .resize(self.radios.ids().count(), None);
        for radio in self.radios.ids() {
            let up = self.radios[radio].power.is_up();
            let interferer = &self.sources[source].interferer;
            let dbm = emission
                .filter(|_| up)
                .and_then(|emission| self.space.energy(interferer, emission, radio, self.now));
            let before = core::mem::replace(&mut self.sources[source].heard[radio.index()], dbm);
            if before != dbm {
                self.change(number(source), radio, before, dbm);
            }
        }
    }

    /// The energy of a source at a radio changes.
    fn change(&mut self, tx: usize, radio: RadioId, before: Option<Dbm>, dbm: Option<Dbm>) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let station = &mut self.radios[radio];
        if before.is_some() {
            let wake = station.energy_ends(tx, at);
            self.agenda.wake(radio, wake);
        }
        if let Some(dbm) = dbm {
            let arriving = Arriving {
                signal: Neighbour::energy(radio, dbm),
                tx,
                rate: at.setup.params.phy.basic_rate,
                begins: self.now,
                ends: Instant::MAX,
                preamble: Duration::ZERO,
                aggregate: false,
                beams: 1,
                together: None,
            };
            let wake = station.signal_begins(&arriving, at);
            self.agenda.wake(radio, wake);
        }
        if before.is_some() {
            let wake = |wake| self.agenda.wake(radio, Some(wake));
            self.radios[radio].count_down_all(at, wake);
        }
    }
}

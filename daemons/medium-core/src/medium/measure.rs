// SPDX-License-Identifier: Apache-2.0
//! What is counted, and when counting begins.

use hoplab_base::{Duration, Instant};

use super::{Ended, Event, Medium};
use crate::air::Transmission;
use crate::propagation::to_db;
use crate::{AirKind, Aired, Counters, Fate, LinkCounters, LinkView, Output, To};

impl Medium {
    /// Forget at `at` what was counted until then: counters, links, energy and batteries, and
    /// the numbers of data frames. The audit stays.
    pub fn schedule_measure(&mut self, at: Instant) {
        self.agenda.push(at, Event::Measure);
    }

    /// Counts and times until now.
    pub fn counters(&self, radio: usize) -> Counters {
        let station = &self.radios[radio];
        let mut counters = station.counters;
        counters.times = station.power.times(self.now, station.activity());
        if let Some((kind, left)) = self.ongoing(radio) {
            counters.airtime[kind as usize] -= left;
        }
        counters
    }

    pub fn link(&self, from: usize, to: usize) -> LinkCounters {
        self.radios[from].links.count_of(to)
    }

    /// Links of data frames that `from` sent, in order of their receivers.
    pub fn links(&self, from: usize) -> impl Iterator<Item = LinkView<'_>> {
        self.radios[from].links.used()
    }

    /// What the radio is transmitting, and for how long it will.
    fn ongoing(&self, radio: usize) -> Option<(AirKind, Duration)> {
        let place = self.radios[radio].transceiver.sending()?;
        let tx = self.air.get(place)?;
        Some((tx.air_kind(), tx.end.since(self.now)))
    }

    /// Forget what was counted, as if the run began now.
    pub(super) fn measure_from_now(&mut self) {
        for radio in 0..self.radios.len() {
            let ongoing = self.ongoing(radio);
            let station = &mut self.radios[radio];
            station.counters = Counters::default();
            if let Some((kind, left)) = ongoing {
                station.counters.airtime[kind as usize] = left;
            }
            station.power.forget(self.now);
            station.exchange.forget_data_number();
            station.links.forget();
            self.foresee_empty(radio);
        }
    }

    pub(super) fn count_link(&mut self, tx: &Transmission, ended: &Ended) {
        if tx.payload.is_none() || !tx.is_for(ended.radio) {
            return;
        }
        if tx.to == To::Everyone && !self.hearing.decodes(ended.dbm) {
            return;
        }
        let links = &mut self.radios[tx.from].links;
        let counters = links.counters(ended.radio);
        counters.count(ended.fate, tx.bytes, ended.dbm);
        if self.params.histograms {
            let noise_dbm = (ended.noise_mw > 0.0).then(|| to_db(ended.noise_mw));
            let signal_dbm = self.told(ended.radio, ended.dbm);
            let noise_dbm = noise_dbm.map(|dbm| self.told(ended.radio, dbm));
            let signals = self.radios[tx.from].links.signals(ended.radio);
            signals.signal.add(signal_dbm);
            if let Some(dbm) = noise_dbm {
                signals.noise.add(dbm);
            }
        }
    }

    /// The level that a radio's card tells of one that is `dbm`.
    fn told(&mut self, radio: usize, dbm: f64) -> f64 {
        if self.params.level_error_db == 0.0 {
            return dbm;
        }
        dbm + self.params.level_error_db * self.radios[radio].levels.gaussian()
    }

    /// A data frame whose receiver did not even sense it.
    pub(super) fn count_unheard(&mut self, tx: &Transmission) {
        let (To::Radio(to), Some(_)) = (tx.to, tx.payload) else {
            return;
        };
        if to == tx.from || tx.heard.iter().any(|heard| heard.radio == to) {
            return;
        }
        let fate = self.unheard(to);
        let dbm = self.places.mean_dbm(tx.from, to, tx.start);
        let counters = self.radios[tx.from].links.counters(to);
        counters.count(fate, tx.bytes, dbm);
    }

    fn unheard(&self, radio: usize) -> Fate {
        if self.radios[radio].power.is_up() {
            Fate::Weak
        } else {
            Fate::Off
        }
    }

    /// `outcome` is the fate and the signal in dBm at the receiver.
    pub(super) fn record(&mut self, tx: &Transmission, outcome: Option<(Fate, f64)>) {
        let fate = match (outcome, tx.to) {
            _ if tx.cut => Fate::Off,
            (Some((fate, _)), _) => fate,
            (None, To::Radio(to)) => self.unheard(to),
            (None, _) => Fate::Nobody,
        };
        self.outputs.push_back(Output::Aired(Aired {
            at: tx.start,
            until: self.now,
            from: tx.from,
            to: tx.to,
            kind: tx.air_kind(),
            frame: tx.payload.map(|payload| payload.id),
            bytes: tx.bytes,
            rate: tx.rate,
            attempt: tx.attempt,
            reserve: tx.reserve,
            fate,
            signal_dbm: outcome.map(|outcome| outcome.1),
        }));
    }
}

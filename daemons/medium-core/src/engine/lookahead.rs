// SPDX-License-Identifier: Apache-2.0
//! How long a driver may sleep.
//!
//! Between a frame's arrival and its acknowledgement the engine has several events that no host
//! learns of. A driver that wakes only when a host may learn something spends a fraction of the
//! system calls; the engine catches up with the events in between.

use std::cmp::Reverse;

use super::radio::{Awaiting, Kind, Transmission};
use super::{Event, Medium, To};
use crate::Nanos;

/// A battery that may be empty sooner than this is watched closely.
const CLOSE: Nanos = 1_000_000_000;

impl Medium {
    /// No [`super::Output`] but [`super::Output::Aired`] can come before this time unless a frame
    /// is enqueued first. None: none will come.
    pub fn next_output(&self) -> Option<Nanos> {
        let lasts = self.batteries_last();
        if lasts < CLOSE {
            // Any event may be a battery's last.
            return self.next_deadline();
        }
        let battery = (lasts < Nanos::MAX).then(|| self.now + lasts);
        let pending = self.events.iter();
        pending
            .filter_map(|Reverse((at, event, index, _))| self.earliest(*at, *event, *index))
            .chain(battery)
            .min()
    }

    /// For how long no battery can run empty, whatever its radio does.
    fn batteries_last(&self) -> Nanos {
        let energy = self.params.energy;
        let Some(battery_j) = energy.battery_j else {
            return Nanos::MAX;
        };
        let most_w = energy.tx_w.max(energy.rx_w).max(energy.idle_w);
        let most_w = most_w.max(energy.sleep_w).max(1e-12);
        let alive = (0..self.radios.len()).filter(|radio| !self.radios[*radio].exhausted);
        let spent = alive.map(|radio| self.joules(radio).iter().sum::<f64>());
        spent
            .map(|spent_j| ((battery_j - spent_j).max(0.0) / most_w * 1e9) as Nanos)
            .min()
            .unwrap_or(Nanos::MAX)
    }

    /// Earliest output that can follow from an event at `at`; every output follows from one.
    fn earliest(&self, at: Nanos, event: Event, index: usize) -> Option<Nanos> {
        match event {
            Event::End => {
                let tx = self.air[index].as_ref().filter(|tx| tx.end == at)?;
                Some(at + self.after_end(tx))
            }
            Event::Measure | Event::Empty(_) => None,
            Event::Power(_) | Event::Served(_) => Some(at),
            Event::Respond => {
                let response = self.radios[index].response.as_ref()?;
                Some(match response.kind {
                    Kind::Ack => at + self.ack_time,
                    Kind::Cts => at + self.cts_time,
                    Kind::Data | Kind::Rts => at + self.shortest,
                })
            }
            Event::Timeout(generation) => {
                let station = &self.radios[index];
                let live =
                    station.generation == generation && station.awaiting != Awaiting::Nothing;
                live.then_some(at)
            }
            // The event may be due before the access that it stands for.
            Event::Access(_) => {
                let access_at = self.radios[index].access_at?;
                self.exchange(index).map(|time| access_at + time)
            }
        }
    }

    /// From a radio's access to the channel to the first output that can come of it; none if it
    /// has nothing to send.
    fn exchange(&self, radio: usize) -> Option<Nanos> {
        let frame = self.radios[radio].current.as_ref()?;
        let (rate, _, rts) = frame.rates[self.rate_entry(radio, 0)];
        let phy = &self.params.phy;
        if frame.to == To::Everyone || self.params.no_ack {
            Some(phy.duration(frame.bytes, rate))
        } else if rts {
            // Longer than a CTS, after which the sender may give up.
            Some(self.cts_time)
        } else {
            Some(phy.duration(frame.bytes, rate) + phy.sifs + self.ack_time)
        }
    }

    fn after_end(&self, tx: &Transmission) -> Nanos {
        let sifs = self.params.phy.sifs;
        let own = match tx.kind {
            Kind::Ack => return 0,
            Kind::Data if tx.to == To::Everyone || self.params.no_ack => return 0,
            Kind::Data => sifs + self.ack_time,
            Kind::Rts => sifs + self.cts_time,
            Kind::Cts => sifs + self.shortest,
        };
        // Whoever has something to send waits for a DIFS and its backoff first.
        let others = tx.heard.iter().filter_map(|heard| {
            let slots = Nanos::from(self.radios[heard.radio].slots) * self.params.phy.slot;
            let exchange = self.exchange(heard.radio)?;
            Some(self.difs + slots + exchange)
        });
        others.fold(own, Nanos::min)
    }
}

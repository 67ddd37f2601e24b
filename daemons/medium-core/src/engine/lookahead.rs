// SPDX-License-Identifier: Apache-2.0
//! How long a driver may sleep.
//!
//! Between a frame's arrival and its acknowledgement the engine has several events that no host
//! learns of. A driver that wakes only when a host may learn something spends a fraction of the
//! system calls; the engine catches up with the events in between.

use std::cmp::Reverse;

use super::exchange::RTS_BYTES;
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
                Some(at + self.after_end(tx, index))
            }
            Event::Measure | Event::Empty(_) => None,
            Event::Power(_) | Event::Served(_) => Some(at),
            Event::Respond => {
                let response = self.radios[index].response.as_ref()?;
                Some(match response.kind {
                    Kind::Ack => at + self.ack_time,
                    Kind::Cts => at + self.cts_time,
                    Kind::Data | Kind::Rts => at + self.answered_data(index),
                })
            }
            Event::Timeout(generation) => {
                let station = &self.radios[index];
                let live =
                    station.generation == generation && station.awaiting != Awaiting::Nothing;
                live.then(|| at + self.after_timeout(index, station.awaiting))
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
            // With no CTS by then, the sender may give up.
            Some(phy.duration(RTS_BYTES, phy.basic_rate_mbps) + phy.sifs + self.cts_time)
        } else {
            Some(phy.duration(frame.bytes, rate) + phy.sifs + self.ack_time)
        }
    }

    /// From the start of the data that answers a CTS to the first output.
    fn answered_data(&self, radio: usize) -> Nanos {
        let Some(frame) = &self.radios[radio].current else {
            return 0;
        };
        let (rate, ..) = frame.rates[self.rate_entry(radio, 1)];
        let phy = &self.params.phy;
        let data = phy.duration(frame.bytes, rate) + phy.sifs + self.ack_time;
        // By ns-2's rules it may have to start over.
        self.exchange(radio).map_or(data, |again| data.min(again))
    }

    /// From a timeout to the first output: at once if hosts learn of it, else the next try.
    fn after_timeout(&self, radio: usize, awaiting: Awaiting) -> Nanos {
        if self.gives_up(radio, awaiting) || !self.radios[radio].overheard.is_empty() {
            return 0;
        }
        self.exchange(radio).unwrap_or(0)
    }

    fn after_end(&self, tx: &Transmission, index: usize) -> Nanos {
        let (sifs, slot) = (self.params.phy.sifs, self.params.phy.slot);
        let To::Radio(to) = tx.to else {
            // Group frames are over; a timeout follows a frame to nobody.
            return 0;
        };
        let reception = self.radios[to].reception.as_ref();
        let lost = !reception.is_some_and(|r| r.tx == index && r.spoiled.is_none());
        let without =
            |awaiting, answer| sifs + answer + slot + self.after_timeout(tx.from, awaiting);
        let own = match tx.kind {
            Kind::Ack => return 0,
            Kind::Data if self.params.no_ack => return 0,
            // Bystanders may have got it: their hosts learn of it at the timeout.
            Kind::Data if lost && self.params.overhear => sifs + self.ack_time + slot,
            Kind::Data if lost => without(Awaiting::Ack, self.ack_time),
            Kind::Data => sifs + self.ack_time,
            Kind::Rts => {
                let without = without(Awaiting::Cts, self.cts_time);
                if lost {
                    without
                } else {
                    let with = sifs + self.cts_time + sifs + self.answered_data(tx.from);
                    with.min(without)
                }
            }
            Kind::Cts if lost => Nanos::MAX,
            Kind::Cts => sifs + self.answered_data(to),
        };
        // Whoever has something to send waits for a DIFS and its backoff first.
        let heard = tx.heard.iter().map(|heard| heard.radio);
        let others = heard.chain([tx.from]).filter_map(|radio| {
            let station = &self.radios[radio];
            let slots = u64::from(station.needs_backoff) * u64::from(station.slots);
            Some(self.difs + slots * slot + self.exchange(radio)?)
        });
        others.fold(own, Nanos::min)
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long a driver may sleep.
//!
//! Between a frame's arrival and its acknowledgement the engine has several events that no host
//! learns of. A driver that wakes only when a host may learn something spends a fraction of the
//! system calls; the engine catches up with the events in between.

use hoplab_base::{Duration, Instant};

use super::{Event, Medium};
use crate::air::Transmission;
use crate::parts::{ahead_of, Timer};
use crate::{Frame, RadioId, To};

/// A battery that may be empty sooner than this is watched closely.
const CLOSE: Duration = Duration::from_secs(1);
/// No radio draws less where batteries count.
const LEAST_W: f64 = 1e-12;

impl Medium {
    /// No [`Output`](crate::Output) but [`Output::Aired`](crate::Output::Aired) can come before
    /// this time unless a frame is enqueued first. None: none will come.
    pub fn next_output(&self) -> Option<Instant> {
        if self.setup.params.edca.is_some() {
            return self.next_deadline();
        }
        let lasts = self.batteries_last();
        if lasts.is_some_and(|lasts| lasts < CLOSE) {
            // Any event may be a battery's last.
            return self.next_deadline();
        }
        let battery = lasts.map(|lasts| self.now + lasts);
        let pending = self.agenda.pending();
        pending
            .filter_map(|(at, event)| self.earliest(at, event))
            .chain(battery)
            .min()
    }

    /// For how long no battery can run empty, whatever its radio does; none where none can.
    fn batteries_last(&self) -> Option<Duration> {
        let energy = self.setup.params.energy;
        let battery_j = energy.battery_j?;
        let most_w = energy.most_w().max(LEAST_W);
        let radios = self.radios.ids();
        let alive = radios.filter(|radio| !self.radios[*radio].power.is_exhausted());
        let left_j = alive.map(|radio| (battery_j - self.joules(radio).sum()).max(0.0));
        left_j
            .map(|left_j| Duration::from_nanos((left_j / most_w * 1e9) as u64))
            .min()
    }

    /// Earliest output that can follow from an event at `at`; every output follows from one.
    fn earliest(&self, at: Instant, event: Event) -> Option<Instant> {
        match event {
            Event::End { slot } => {
                let slot = slot as usize;
                let tx = self.air.get(slot).filter(|tx| tx.end == at)?;
                Some(at + self.after_end(tx, slot))
            }
            Event::Measure => None,
            Event::Power { .. } => Some(at),
            Event::Wake {
                radio,
                timer,
                generation,
            } => self.after_wake(at, radio, timer, generation),
        }
    }

    fn after_wake(
        &self,
        at: Instant,
        radio: RadioId,
        timer: Timer,
        generation: u64,
    ) -> Option<Instant> {
        let (station, setup) = (&self.radios[radio], &self.setup);
        let ahead = match timer {
            Timer::Empty | Timer::Reorder => return None,
            Timer::Served => Duration::ZERO,
            Timer::Prepared => {
                let refused = station.host.refuses_after(&station.limits);
                let sent = self.at_once(station.host.in_preparation());
                refused.into_iter().chain(sent).min()?
            }
            Timer::Loaded => self.at_once(station.host.in_loading())?,
            Timer::Respond => station.exchange.ahead_of_response(setup)?,
            Timer::Timeout => station.exchange.ahead_of_timeout(generation, setup)?,
            Timer::Access(_) => {
                // The event may be due before the access that it stands for.
                let access_at = station.access().at()?;
                return Some(access_at + station.exchange.ahead_of_turn(setup)?);
            }
        };
        Some(at + ahead)
    }

    /// To the first output of a frame that its host is done with, and that finds nothing before it
    /// and the channel idle.
    fn at_once(&self, frame: Option<&Frame>) -> Option<Duration> {
        let frame = frame?;
        Some(ahead_of(frame, *frame.rates.first()?, &self.setup))
    }

    /// From the end of a transmission to the first output.
    fn after_end(&self, tx: &Transmission, slot: usize) -> Duration {
        let To::Radio(to) = tx.ppdu.to else {
            // Group frames are over; a timeout follows a frame to nobody.
            return Duration::ZERO;
        };
        let setup = &self.setup;
        let receiver = &self.radios[to];
        let receives = receiver.transceiver.receives(slot);
        let receiver = receives.then_some(&receiver.exchange);
        let sender = &self.radios[tx.from].exchange;
        let own = sender.ahead_of_end(&tx.ppdu, receiver, setup);
        if own.is_zero() {
            return own;
        }
        // Whoever has something to send waits for a DIFS and its backoff first.
        let timing = &setup.timing;
        let heard = tx.neighbours.iter().map(|heard| heard.radio);
        let others = heard.chain([tx.from]).filter_map(|radio| {
            let station = &self.radios[radio];
            let backoff = station.access().slots() * timing.slot;
            Some(timing.difs + backoff + station.exchange.ahead_of_turn(setup)?)
        });
        others.fold(own, Duration::min)
    }
}

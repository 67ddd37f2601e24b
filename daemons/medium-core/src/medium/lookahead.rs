// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long a driver may sleep.
//!
//! Between a frame's arrival and its acknowledgement the engine has several events that no host
//! learns of. A driver that sleeps through them saves most of its system calls. The engine catches
//! up with them at the next `advance`.
//!
//! Every output follows from an event in the agenda. For each event there is a lower bound of the
//! time to its first output. The least of them is the answer. A bound may be early, but never late.

use hoplab_base::{Duration, Instant};

use super::{Event, Medium};
use crate::air::Transmission;
use crate::parts::Timer;
use crate::radio::ahead_of;
use crate::{Frame, RadioId, To};

/// A battery that may be empty sooner than this is watched closely.
const CLOSE: Duration = Duration::from_secs(1);
/// Least power of a radio with a battery, so that the division below is defined.
const LEAST_W: f64 = 1e-12;

impl Medium {
    /// No [`Output`](crate::Output) but [`Output::Aired`](crate::Output::Aired) can come before
    /// this time unless a frame is enqueued first. None: none will come.
    pub fn next_output(&self) -> Option<Instant> {
        if self.setup.params.edca.is_some() {
            // For TXOPs and block ack there are no bounds. The next event is one in any case.
            return self.next_deadline();
        }
        let lasts = self.batteries_last();
        if lasts.is_some_and(|lasts| lasts < CLOSE) {
            // Any event may be a battery's last.
            return self.next_deadline();
        }
        let battery = lasts.map(|lasts| self.now + lasts);
        let pending = self.agenda.pending();
        pending.fold(battery, |least, (at, event)| {
            // Nothing follows from an event before it.
            if least.is_some_and(|least| least <= at) {
                return least;
            }
            least.into_iter().chain(self.earliest(at, event)).min()
        })
    }

    /// For how long no battery can run empty, whatever its radio does; none where none can.
    fn batteries_last(&self) -> Option<Duration> {
        let energy = self.setup.params.energy;
        let battery_j = energy.battery_j?;
        let most_w = energy.most_w().max(LEAST_W);
        let radios = self.radios.ids();
        let alive = radios.filter(|radio| !self.radios[*radio].power.is_exhausted());
        let left_j = alive.map(|radio| (battery_j - self.joules(radio).sum()).max(0.0));
        // Rounded down, so it stays a lower bound.
        left_j
            .map(|left_j| Duration::from_nanos((left_j / most_w * 1e9) as u64))
            .min()
    }

    /// Earliest output that can follow from an event at `at`; every output follows from one.
    fn earliest(&self, at: Instant, event: Event) -> Option<Instant> {
        match event {
            Event::End { slot } => {
                let slot = slot as usize;
                // Only the end of the slot's present transmission counts. One that broke off leaves
                // a stale end.
                let tx = self.air.get(slot).filter(|tx| tx.end == at)?;
                Some(at + self.after_end(tx, slot))
            }
            Event::Measure => None,
            // Only EDCA has delays.
            Event::Leave { .. } | Event::Come { .. } => None,
            // An access may follow, and an output of it: this bound is early.
            Event::Power { .. } | Event::Interfere { .. } => Some(at),
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
            // `batteries_last` bounds the one, and only EDCA has the others.
            Timer::Empty | Timer::Reorder | Timer::Held(_) | Timer::Bsrp => return None,
            Timer::Single | Timer::Sure | Timer::Client => return None,
            Timer::Served => Duration::ZERO,
            Timer::Prepared => {
                let refused = station.host.refuses_after(&station.limits);
                let sent = self.at_once(station.host.in_preparation());
                refused.into_iter().chain(sent).min()?
            }
            Timer::Loaded => self.at_once(station.host.in_loading())?,
            Timer::Respond => station.ahead_of_response(setup)?,
            Timer::Timeout => station.ahead_of_timeout(generation, setup)?,
            Timer::Access(_) => {
                // The event may be due before the access that it stands for. A frozen access has no
                // time: the end of the signal that froze it has a bound that covers it.
                let access_at = station.turn_at()?;
                return Some(access_at + station.ahead_of_turn(setup)?);
            }
        };
        Some(at + ahead)
    }

    /// Time to the first output of a frame that its host has just made ready. It assumes an idle
    /// channel, and no other frame before this one.
    fn at_once(&self, frame: Option<&Frame>) -> Option<Duration> {
        let frame = frame?;
        Some(ahead_of(frame, *frame.rates.first()?, &self.setup))
    }

    /// From the end of a transmission to the first output.
    fn after_end(&self, tx: &Transmission, slot: usize) -> Duration {
        let To::Radio(to) = tx.ppdu.to else {
            // The host learns of a group frame now. A frame to nobody ends by a timeout: this bound
            // is early.
            return Duration::ZERO;
        };
        let setup = &self.setup;
        let receiver = &self.radios[to];
        let receives = receiver.transceiver.receives(slot);
        let receiver = receives.then_some(receiver);
        let sender = &self.radios[tx.from];
        let own = sender.ahead_of_end(&tx.ppdu, receiver, setup);
        if own.is_zero() {
            return own;
        }
        // A radio with something to send waits for DIFS and its backoff. EIFS and the NAV only add
        // to that.
        let timing = &setup.timing;
        let heard = tx.reached.hearing().iter().map(|heard| heard.radio);
        let bystanders = self.ahead_of_bystanders(&tx.ppdu);
        let own = bystanders.into_iter().fold(own, Duration::min);
        heard.chain([tx.from]).fold(own, |least, radio| {
            let station = &self.radios[radio];
            let turn = timing.difs + station.slots() * timing.slot;
            if least <= turn {
                return least;
            }
            let ahead = station.ahead_of_turn(setup);
            ahead.map_or(least, |ahead| least.min(turn + ahead))
        })
    }
}

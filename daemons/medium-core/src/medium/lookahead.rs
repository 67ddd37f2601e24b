// SPDX-License-Identifier: Apache-2.0
//! How long a driver may sleep.
//!
//! Between a frame's arrival and its acknowledgement the engine has several events that no host
//! learns of. A driver that wakes only when a host may learn something spends a fraction of the
//! system calls; the engine catches up with the events in between.

use hoplab_base::{Duration, Instant};

use super::{Event, Medium};
use crate::air::{Kind, Transmission};
use crate::radio::ResponseKind;
use crate::timing::Answer;
use crate::{Attempts, Frame, To};

/// A battery that may be empty sooner than this is watched closely.
const CLOSE: Duration = Duration::from_secs(1);
/// No radio draws less where batteries count.
const LEAST_W: f64 = 1e-12;

impl Medium {
    /// No [`Output`](crate::Output) but [`Output::Aired`](crate::Output::Aired) can come before
    /// this time unless a frame is enqueued first. None: none will come.
    pub fn next_output(&self) -> Option<Instant> {
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
        let energy = self.params.energy;
        let battery_j = energy.battery_j?;
        let most_w = energy.most_w().max(LEAST_W);
        let radios = 0..self.radios.len();
        let alive = radios.filter(|radio| !self.radios[*radio].power.is_exhausted());
        let left_j = alive.map(|radio| (battery_j - self.joules(radio).sum()).max(0.0));
        left_j
            .map(|left_j| Duration::from_nanos((left_j / most_w * 1e9) as u64))
            .min()
    }

    /// Earliest output that can follow from an event at `at`; every output follows from one.
    fn earliest(&self, at: Instant, event: Event) -> Option<Instant> {
        match event {
            Event::End { place } => {
                let tx = self.air.get(place).filter(|tx| tx.end == at)?;
                Some(at + self.after_end(tx, place))
            }
            Event::Measure | Event::Empty { .. } => None,
            Event::Power { .. } | Event::Served { .. } => Some(at),
            Event::Prepared { radio, .. } => {
                let station = &self.radios[radio];
                let refused = station.host.refuses_after(&station.limits);
                let refused = refused.map(|after| at + after);
                let sent = self.at_once(at, station.host.in_preparation());
                refused.into_iter().chain(sent).min()
            }
            Event::Loaded { radio, .. } => self.at_once(at, self.radios[radio].host.in_loading()),
            Event::Respond { radio } => {
                let response = self.radios[radio].exchange.response()?;
                Some(match response.kind {
                    ResponseKind::Ack => at + self.timing.answer(Answer::Ack),
                    ResponseKind::Cts => at + self.timing.answer(Answer::Cts),
                    ResponseKind::Data => at + self.answered_data(radio),
                })
            }
            Event::Timeout { radio, generation } => {
                let answer = self.radios[radio].exchange.awaits(generation)?;
                Some(at + self.after_timeout(radio, answer))
            }
            // The event may be due before the access that it stands for.
            Event::Access { radio, .. } => {
                let access_at = self.radios[radio].access.at()?;
                self.exchange(radio).map(|time| access_at + time)
            }
        }
    }

    /// From a radio's access to the channel to the first output that can come of it; none if it
    /// has nothing to send.
    fn exchange(&self, radio: usize) -> Option<Duration> {
        let exchange = &self.radios[radio].exchange;
        Some(self.exchange_of(exchange.frame()?, exchange.next_try()?))
    }

    fn exchange_of(&self, frame: &Frame, attempts: Attempts) -> Duration {
        if attempts.rts && self.is_acknowledged(frame) {
            // With no CTS by then, the sender may give up.
            return self.timing.cleared();
        }
        let data = self.params.phy.duration(frame.bytes, attempts.rate);
        if self.is_acknowledged(frame) {
            self.timing.acknowledged(data)
        } else {
            data
        }
    }

    /// Earliest output of a frame that its host is done with `at` then, and that finds nothing
    /// before it and the channel idle.
    fn at_once(&self, at: Instant, frame: Option<&Frame>) -> Option<Instant> {
        let frame = frame?;
        let attempts = frame.rates.first()?;
        Some(at + self.exchange_of(frame, *attempts))
    }

    /// From the start of the data that answers a CTS to the first output.
    fn answered_data(&self, radio: usize) -> Duration {
        let exchange = &self.radios[radio].exchange;
        let (Some(frame), Some(attempts)) = (exchange.frame(), exchange.try_after_rts()) else {
            return Duration::ZERO;
        };
        let data = self.params.phy.duration(frame.bytes, attempts.rate);
        let data = self.timing.acknowledged(data);
        // By ns-2's rules it may have to start over.
        self.exchange(radio).map_or(data, |again| data.min(again))
    }

    /// From a timeout to the first output: at once if hosts learn of it, else the next try.
    fn after_timeout(&self, radio: usize, answer: Answer) -> Duration {
        let exchange = &self.radios[radio].exchange;
        if exchange.gives_up(answer, self.retry_limits) || exchange.was_overheard() {
            return Duration::ZERO;
        }
        self.exchange(radio).unwrap_or_default()
    }

    /// From the end of a transmission to the first output.
    fn after_end(&self, tx: &Transmission, place: usize) -> Duration {
        let To::Radio(to) = tx.to else {
            // Group frames are over; a timeout follows a frame to nobody.
            return Duration::ZERO;
        };
        let lost = !self.radios[to].transceiver.receives(place);
        let timing = &self.timing;
        let without = |answer| timing.timeout(answer) + self.after_timeout(tx.from, answer);
        let own = match tx.kind {
            Kind::Ack => return Duration::ZERO,
            Kind::Data if self.params.no_ack => return Duration::ZERO,
            // Bystanders may have got it: their hosts learn of it at the timeout.
            Kind::Data if lost && self.params.overhear => timing.timeout(Answer::Ack),
            Kind::Data if lost => without(Answer::Ack),
            Kind::Data => timing.answered(Answer::Ack),
            Kind::Rts if lost => without(Answer::Cts),
            Kind::Rts => {
                let data_begins = timing.answered(Answer::Cts) + timing.sifs;
                let with = data_begins + self.answered_data(tx.from);
                with.min(without(Answer::Cts))
            }
            Kind::Cts if lost => Duration::MAX,
            Kind::Cts => timing.sifs + self.answered_data(to),
        };
        // Whoever has something to send waits for a DIFS and its backoff first.
        let heard = tx.heard.iter().map(|heard| heard.radio);
        let others = heard.chain([tx.from]).filter_map(|radio| {
            let backoff = self.radios[radio].access.slots() * timing.slot;
            Some(timing.difs + backoff + self.exchange(radio)?)
        });
        others.fold(own, Duration::min)
    }
}

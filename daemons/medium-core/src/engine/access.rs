// SPDX-License-Identifier: Apache-2.0
//! Access to the channel: interframe spaces, backoff, freezing (IEEE 802.11-2020 10.3.4.2,
//! 10.3.4.3).

use super::radio::Awaiting;
use super::{Event, Medium};
use crate::Nanos;

impl Medium {
    /// Take the next frame into service, if none is.
    pub(super) fn next_frame(&mut self, radio: usize) {
        if self.radios[radio].current.is_some() {
            return;
        }
        let Some(frame) = self.next_queued(radio) else {
            return;
        };
        let station = &mut self.radios[radio];
        station.number += 1;
        if frame.class == super::Class::Data {
            station.data_number += 1;
        }
        station.tries = Default::default();
        station.short_retries = 0;
        station.long_retries = 0;
        station.current = Some(frame);
        if !station.needs_backoff {
            let idle =
                station.sensed == 0 && !station.transmitting && station.nav_until <= self.now;
            let ifs = if station.eifs { self.eifs } else { self.difs };
            if self.params.always_backoff || !idle || self.now < station.idle_from + ifs {
                self.draw_backoff(radio);
            }
        }
        self.count_down(radio);
    }

    pub(super) fn draw_backoff(&mut self, radio: usize) {
        let now = self.now;
        let station = &mut self.radios[radio];
        station.slots = station.random.below(station.cw + 1);
        station.needs_backoff = true;
        station.drawn_at = now;
    }

    /// Start counting slots if the channel is idle and there is something to count for.
    pub(super) fn count_down(&mut self, radio: usize) {
        let (difs, eifs, slot) = (self.difs, self.eifs, self.params.phy.slot);
        let now = self.now;
        let always = self.params.always_backoff;
        let station = &mut self.radios[radio];
        if station.access_at.is_some()
            || !station.up
            || station.transmitting
            || station.sensed > 0
            || station.awaiting != Awaiting::Nothing
            || station.response.is_some()
            || !(station.needs_backoff || station.current.is_some())
        {
            return;
        }
        let idle_from = station.idle_from.max(station.nav_until);
        let ifs = if station.eifs { eifs } else { difs };
        // A backoff drawn while the medium was already idle starts then; ns-2 defers again first.
        let drawn = if always {
            station.drawn_at + difs
        } else {
            station.drawn_at
        };
        station.origin = (idle_from + ifs).max(drawn);
        let slots = if station.needs_backoff {
            station.slots
        } else {
            0
        };
        let at = (station.origin + Nanos::from(slots) * slot).max(now);
        station.access_at = Some(at);
        station.generation += 1;
        self.queue_access(radio);
    }

    /// See that an event comes for `access_at`. Backoffs freeze and resume far more often than they
    /// end, so an event that is due earlier is left to find out that it must come again.
    fn queue_access(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        let Some(at) = station.access_at else { return };
        if station.queued_at.is_none_or(|queued| queued > at) {
            station.queued_at = Some(at);
            let generation = station.generation;
            self.push(at, Event::Access(generation), radio);
        }
    }

    /// Stop counting and keep the slots that have not elapsed.
    pub(super) fn freeze(&mut self, radio: usize) {
        let slot = self.params.phy.slot;
        let now = self.now;
        let station = &mut self.radios[radio];
        let Some(at) = station.access_at else { return };
        if at <= now {
            // Its slot has come too: it cannot sense what starts in the same instant, and both
            // transmit. This is how DCF collides.
            return;
        }
        let elapsed = now.saturating_sub(station.origin) / slot;
        station.slots = station.slots.saturating_sub(elapsed as u32);
        station.access_at = None;
        station.generation += 1;
        if station.needs_backoff {
            station.drawn_at = 0;
        } else {
            // Deferring without backoff: the medium became busy first, so now it must back off.
            self.draw_backoff(radio);
        }
    }

    pub(super) fn access(&mut self, radio: usize, generation: u64) {
        let now = self.now;
        let station = &mut self.radios[radio];
        if station.queued_at == Some(now) {
            station.queued_at = None;
        }
        if station.generation != generation || station.access_at.is_none() {
            self.queue_access(radio);
            return;
        }
        station.access_at = None;
        station.needs_backoff = false;
        station.slots = 0;
        if station.transmitting || station.response.is_some() {
            return;
        }
        if station.current.is_some() {
            self.send_current(radio);
        }
    }
}

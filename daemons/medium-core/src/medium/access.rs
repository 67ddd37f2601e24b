// SPDX-License-Identifier: Apache-2.0
//! Taking frames into service and counting down to their turn.

use hoplab_base::Instant;

use super::{Event, Medium};
use crate::radio::Due;

impl Medium {
    /// Take the next frame into service, if none is.
    pub(super) fn next_frame(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        if station.exchange.frame().is_some() {
            return;
        }
        let Some(frame) = station.host.next(&station.limits) else {
            return;
        };
        station.exchange.begin(frame);
        if !station.access.needs_backoff() {
            let quiet = !station.transceiver.senses() && !station.transceiver.is_sending();
            let idle = quiet && station.access.has_been_idle(self.now, &self.timing);
            if !idle || !self.params.rules.may_go_at_once() {
                station.access.draw(self.now);
            }
        }
        self.count_down(radio);
    }

    /// Start counting slots if the channel is idle and there is something to count for.
    pub(super) fn count_down(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        if station.access.at().is_some()
            || !(station.access.needs_backoff() || station.exchange.frame().is_some())
            || !station.may_count()
        {
            return;
        }
        let wait = self.params.rules.wait_after_draw(&self.timing);
        let event = station.access.count(self.now, &self.timing, wait);
        self.queue_access(radio, event);
    }

    fn queue_access(&mut self, radio: usize, event: Option<(Instant, u64)>) {
        if let Some((at, generation)) = event {
            self.agenda.push(at, Event::Access { generation, radio });
        }
    }

    /// The channel is busy at a radio.
    pub(super) fn freeze(&mut self, radio: usize) {
        let access = &mut self.radios[radio].access;
        access.freeze(self.now, self.timing.slot);
    }

    pub(super) fn access(&mut self, radio: usize, generation: u64) {
        let station = &mut self.radios[radio];
        if station.access.come(self.now, generation) == Due::Later {
            let event = station.access.event();
            self.queue_access(radio, event);
            return;
        }
        if station.transceiver.is_sending() || station.exchange.response().is_some() {
            return;
        }
        self.send_frame(radio);
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The way of a frame from its host to the line of an access function.

use super::{Moment, Radio};
use crate::parts::{Effect, Effects, Finished, Queued};
use crate::{Class, Frame, Outcome};

/// The access function of a card that takes frames one by one.
const ONLY: usize = 0;

impl Radio {
    /// A frame from its host.
    pub fn enqueue(&mut self, mut frame: Frame, at: Moment<'_>, effects: &mut Effects) {
        let refused = if !at.setup.accepts(&mut frame) {
            Some(Outcome::Refused)
        } else if !self.power.is_up() {
            Some(Outcome::Off)
        } else {
            None
        };
        if let Some(outcome) = refused {
            effects.push(Effect::Conclude(Finished::untried(frame.id, outcome)));
        } else if self.limits.prepares() && frame.class != Class::ScheduledBeacon {
            let wake = self.host.prepare(frame, at.now, &self.limits);
            effects.extend(wake.map(Effect::Wake));
        } else {
            self.queue(frame, at, effects);
        }
    }

    /// A frame comes to the interface queue, or to its category's. A scheduled beacon goes next;
    /// one that has waited since the last beacon's time is stale.
    fn queue(&mut self, frame: Frame, at: Moment<'_>, effects: &mut Effects) {
        let id = frame.id;
        self.is_access_point |= frame.class == Class::ScheduledBeacon;
        let function = self.function_of(&frame, at.setup);
        let queues = at.setup.card_queues();
        let queued = match queues {
            true => {
                let aggregates = at.setup.aggregates(&frame);
                let line = &mut self.functions[function].line;
                line.queue(frame, aggregates, &self.limits)
            }
            false => self.host.queue(frame, &self.limits),
        };
        let lost = match queued {
            Queued::Waits => None,
            Queued::PushedOut(other) => Some(other),
            Queued::Refused => Some(id),
        };
        if let Some(lost) = lost {
            self.counters.queue_full += 1;
            let lost = Finished::untried(lost, Outcome::QueueFull);
            effects.push(Effect::Conclude(lost));
        }
        match queues {
            _ if lost == Some(id) => {}
            true => self.contend(function, at, effects),
            false => self.refill(at, effects),
        }
    }

    /// The host has made a frame ready to be sent.
    pub(super) fn prepared(&mut self, generation: u64, at: Moment<'_>, effects: &mut Effects) {
        let Some(frame) = self.host.prepared(generation) else {
            return;
        };
        let next = self.host.prepare_next(at.now, &self.limits);
        effects.extend(next.map(Effect::Wake));
        self.queue(frame, at, effects);
    }

    /// A card that takes frames one by one takes the next into service if none is. It copies the
    /// one after it into a free buffer, where that takes time. A card with queues finds none here.
    pub(super) fn refill(&mut self, at: Moment<'_>, effects: &mut Effects) {
        if self.functions[ONLY].line.is_empty() {
            if let Some(frame) = self.host.next(&self.limits) {
                let line = &mut self.functions[ONLY].line;
                line.serve(frame, &mut self.exchange.numbers);
                self.contend(ONLY, at, effects);
            }
        }
        let in_service = !self.functions[ONLY].line.is_empty();
        let wake = self.host.load(in_service, at.now, &self.limits);
        effects.extend(wake.map(Effect::Wake));
    }
}

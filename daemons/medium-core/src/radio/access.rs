// SPDX-License-Identifier: Apache-2.0
//! When a radio may send: interframe spaces, backoff, freezing, virtual carrier sense
//! (IEEE 802.11-2020 10.3.2.1, 10.3.4.2, 10.3.4.3).

use hoplab_base::{Duration, Instant, Stream};

use crate::timing::Timing;

/// What an event for a radio's access to the channel means when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Now,
    /// It stands for an access that has been put off since.
    Later,
}

pub struct Access {
    cw: u32,
    slots: u32,
    needs_backoff: bool,
    /// Start of the slot count; slots elapse from here.
    origin: Instant,
    at: Option<Instant>,
    /// When the earliest event for this is due: at or before `at`.
    queued_at: Option<Instant>,
    drawn_at: Instant,
    /// Which access an event is for.
    generation: u64,
    nav_until: Instant,
    idle_from: Instant,
    /// The last frame had errors: EIFS, not DIFS, comes next (10.3.2.3.7).
    errors: bool,
    random: Stream,
}

impl Access {
    pub fn new(random: Stream, cw_min: u32) -> Self {
        Self {
            cw: cw_min,
            slots: 0,
            needs_backoff: false,
            origin: Instant::ZERO,
            at: None,
            queued_at: None,
            drawn_at: Instant::ZERO,
            generation: 0,
            nav_until: Instant::ZERO,
            idle_from: Instant::ZERO,
            errors: false,
            random,
        }
    }

    /// When it will send.
    pub fn at(&self) -> Option<Instant> {
        self.at
    }

    pub fn needs_backoff(&self) -> bool {
        self.needs_backoff
    }

    /// Slots still to count.
    pub fn slots(&self) -> u64 {
        if self.needs_backoff {
            u64::from(self.slots)
        } else {
            0
        }
    }

    /// The channel is reserved until then, if it is not for longer.
    pub fn reserve(&mut self, until: Instant) {
        self.nav_until = self.nav_until.max(until);
    }

    pub fn is_reserved(&self, now: Instant) -> bool {
        self.nav_until > now
    }

    pub fn idle_again(&mut self, now: Instant) {
        self.idle_from = now;
    }

    pub fn last_frame_had_errors(&mut self, errors: bool) {
        self.errors = errors;
    }

    fn ifs(&self, timing: &Timing) -> Duration {
        if self.errors {
            timing.eifs
        } else {
            timing.difs
        }
    }

    /// Whether the channel, idle as far as it is sensed, has been so for an interframe space.
    pub fn has_been_idle(&self, now: Instant, timing: &Timing) -> bool {
        !self.is_reserved(now) && now >= self.idle_from + self.ifs(timing)
    }

    pub fn draw(&mut self, now: Instant) {
        self.slots = self.random.below(self.cw + 1);
        self.needs_backoff = true;
        self.drawn_at = now;
    }

    pub fn widen(&mut self, cw_max: u32) {
        self.cw = (2 * self.cw + 1).min(cw_max);
    }

    pub fn reset(&mut self, cw_min: u32) {
        self.cw = cw_min;
    }

    /// Count slots, the first no earlier than `drawn_wait` after the backoff was drawn: one drawn
    /// while the medium is idle starts then. Returns the event to queue, if one is needed.
    pub fn count(
        &mut self,
        now: Instant,
        timing: &Timing,
        drawn_wait: Duration,
    ) -> Option<(Instant, u64)> {
        let idle_from = self.idle_from.max(self.nav_until);
        self.origin = (idle_from + self.ifs(timing)).max(self.drawn_at + drawn_wait);
        self.at = Some((self.origin + self.slots() * timing.slot).max(now));
        self.generation += 1;
        self.event()
    }

    /// The event that must come for `at`. Backoffs freeze and resume far more often than they end,
    /// so an event that is due earlier is left to find out that it must come again.
    pub fn event(&mut self) -> Option<(Instant, u64)> {
        let at = self.at?;
        if self.queued_at.is_some_and(|queued| queued <= at) {
            return None;
        }
        self.queued_at = Some(at);
        Some((at, self.generation))
    }

    /// The channel is busy: stop counting and keep the slots that have not elapsed.
    pub fn freeze(&mut self, now: Instant, slot: Duration) {
        let Some(at) = self.at else { return };
        if at <= now {
            // Its slot has come too: it cannot sense what starts in the same instant, and both
            // transmit. This is how DCF collides.
            return;
        }
        let elapsed = now.since(self.origin) / slot;
        self.slots = self.slots.saturating_sub(elapsed as u32);
        self.at = None;
        self.generation += 1;
        if self.needs_backoff {
            self.drawn_at = Instant::ZERO;
        } else {
            // Deferring without backoff: the medium became busy first, so now it must back off.
            self.draw(now);
        }
    }

    /// An event of `generation` has come.
    pub fn come(&mut self, now: Instant, generation: u64) -> Due {
        if self.queued_at == Some(now) {
            self.queued_at = None;
        }
        if self.generation != generation || self.at.is_none() {
            return Due::Later;
        }
        self.at = None;
        self.needs_backoff = false;
        self.slots = 0;
        Due::Now
    }

    /// The radio goes off, or comes up.
    pub fn forget(&mut self) {
        self.generation += 1;
        self.at = None;
        self.needs_backoff = false;
    }
}

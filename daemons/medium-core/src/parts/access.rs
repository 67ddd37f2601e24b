// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When a radio may send: interframe spaces, backoff, freezing, virtual carrier sense
//! (IEEE 802.11-2020 10.3.2.1, 10.3.4.2, 10.3.4.3).

use hoplab_base::{Duration, Instant, Stream};

use super::effect::{Timer, Wake};
use super::sense::CarrierSense;
use crate::timing::Timing;

/// Meaning of an access event when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Now,
    /// The access was put off or given up since. Its new event, if it needs one.
    Later(Option<Wake>),
}

/// How an access function contends.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    pub cw_min: u32,
    pub cw_max: u32,
    /// The interframe space after a frame without errors: DIFS, or the AIFS of a category.
    pub ifs: Duration,
    /// EDCA counts a slot at its beginning, the first at the end of the interframe space
    /// (10.23.2.4). DCF counts a slot that was idle to its end (10.3.4.3).
    pub counts_at_once: bool,
}

/// One access function.
pub struct Access {
    /// Which of its radio's.
    function: u8,
    contention: Contention,
    cw: u32,
    /// Slots that were left when counting last began. They count only if `needs_backoff`.
    slots: u32,
    needs_backoff: bool,
    /// Start of the slot count; slots elapse from here.
    origin: Instant,
    /// When it will send if the channel stays idle. None while it does not count.
    at: Option<Instant>,
    /// When its earliest event is due. If `at` is set, this is no later.
    queued_at: Option<Instant>,
    /// When the backoff was drawn. Zero once it has frozen, as the draw then matters no more.
    drawn_at: Instant,
    /// Which access an event is for.
    generation: u64,
    random: Stream,
}

impl Access {
    pub fn new(function: u8, random: Stream, contention: Contention) -> Self {
        Self {
            function,
            contention,
            cw: contention.cw_min,
            slots: 0,
            needs_backoff: false,
            origin: Instant::ZERO,
            at: None,
            queued_at: None,
            drawn_at: Instant::ZERO,
            generation: 0,
            random,
        }
    }

    /// Later draws follow from another seed too.
    pub fn reseed(&mut self, seed: u64) {
        self.random.reseed(seed);
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

    /// From now on it contends like this.
    pub fn contend(&mut self, contention: Contention) {
        self.contention = contention;
        self.cw = contention.cw_min;
    }

    /// A frame comes into service. It needs no backoff where `at_once` allows that and the channel,
    /// `quiet` as far as it is sensed, has been so for an interframe space.
    pub fn begin(
        &mut self,
        now: Instant,
        sense: &CarrierSense,
        timing: &Timing,
        quiet: bool,
        at_once: bool,
    ) {
        // A post-backoff is still open. The frame waits for the rest of it, and none is drawn anew.
        if self.needs_backoff {
            return;
        }
        let space = sense.space(self.contention.ifs, timing);
        let idle = quiet && sense.was_idle_for(space, now);
        if !idle || !at_once {
            self.draw(now);
        }
    }

    fn draw(&mut self, now: Instant) {
        self.slots = self.random.below(self.cw + 1);
        self.needs_backoff = true;
        self.drawn_at = now;
    }

    /// The try has failed: back off with a doubled window (10.3.3).
    pub fn retry(&mut self, now: Instant) {
        self.cw = (2 * self.cw + 1).min(self.contention.cw_max);
        self.draw(now);
    }

    /// The frame is done; the next one waits for a backoff in any case (post-backoff).
    pub fn finish(&mut self, now: Instant) {
        self.cw = self.contention.cw_min;
        self.draw(now);
    }

    /// Its turn goes unused, and nothing has failed: back off with the same window.
    pub fn again(&mut self, now: Instant) {
        self.draw(now);
    }

    /// Count slots, the first no earlier than `drawn_wait` after the backoff was drawn: one drawn
    /// while the medium is idle starts then.
    pub fn count(
        &mut self,
        now: Instant,
        sense: &CarrierSense,
        timing: &Timing,
        drawn_wait: Duration,
    ) -> Option<Wake> {
        let space = sense.space(self.contention.ifs, timing);
        // After a timeout the medium has often been idle for the whole space. Then the slots count
        // from the draw, and by ns-2's rules from `drawn_wait` after it.
        self.origin = (sense.idle_from() + space).max(self.drawn_at + drawn_wait);
        // `origin` may lie in the past for a frame that needs no backoff. It is due now.
        self.at = Some((self.origin + self.slots() * timing.slot).max(now));
        self.generation += 1;
        self.wake()
    }

    /// The event for `at`, if none is due earlier. Backoffs freeze and resume far more often than
    /// they end. An earlier event therefore stays, and `come` renews it.
    fn wake(&mut self) -> Option<Wake> {
        let at = self.at?;
        if self.queued_at.is_some_and(|queued| queued <= at) {
            return None;
        }
        self.queued_at = Some(at);
        Some(Wake {
            at,
            timer: Timer::Access(self.function),
            generation: self.generation,
        })
    }

    /// The channel is busy, which is noticed after `unnoticed`: stop counting and keep the slots
    /// that have not elapsed.
    pub fn freeze(&mut self, now: Instant, unnoticed: Duration, slot: Duration) {
        let Some(at) = self.at else { return };
        if at <= now + unnoticed {
            // Its own slot is over before it can sense a signal that starts now, so both transmit.
            // This is how DCF collides.
            return;
        }
        // Only whole slots count: the slot in which the channel became busy is counted anew. EDCA
        // has counted that slot at its beginning, so one more.
        let first = u64::from(self.contention.counts_at_once && now >= self.origin);
        let elapsed = now.since(self.origin) / slot + first;
        self.slots = self.slots.saturating_sub(elapsed as u32);
        self.at = None;
        self.generation += 1;
        if self.needs_backoff {
            // It resumes an interframe space after the medium is idle, by ns-2's rules as well.
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
        // An event of an access that was frozen or moved since. `at`, if set, still needs one.
        if self.generation != generation || self.at.is_none() {
            return Due::Later(self.wake());
        }
        self.at = None;
        // A post-backoff without a frame ends here too. The next frame may then go at once.
        self.needs_backoff = false;
        self.slots = 0;
        Due::Now
    }

    /// The radio goes off, or comes up.
    pub fn forget(&mut self) {
        // `queued_at` stays: that event will come, and renews itself if an access waits by then.
        self.generation += 1;
        self.at = None;
        self.needs_backoff = false;
    }
}

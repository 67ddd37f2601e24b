// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a radio is on, for how long it was in which state, and its battery.

use hoplab_base::{Duration, Instant};

use super::effect::{Timer, Wake};
use crate::{Energy, StateTimes};

/// What a radio that is on does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Sending,
    Sensing,
    Quiet,
}

/// How much of its device's radio a link has. What it draws, and its times, count by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// One of so many parts, as all listen.
    OneOf(u64),
    /// Another link has it.
    Nothing,
}

impl Part {
    fn of(self, time: Duration) -> Duration {
        match self {
            Self::Whole => time,
            Self::OneOf(parts) => time / parts,
            Self::Nothing => Duration::ZERO,
        }
    }
}

pub struct Power {
    up: bool,
    /// On, and neither sending nor receiving, to draw less.
    dozes: bool,
    /// It is to doze when the exchange under way is over.
    rests: bool,
    /// The battery is empty: never up again.
    exhausted: bool,
    part: Part,
    times: StateTimes,
    /// Up to when `times` counts.
    since: Instant,
    /// Which foreseen end of the battery an event is for.
    generation: u64,
}

impl Power {
    pub fn new() -> Self {
        Self {
            up: true,
            dozes: false,
            rests: false,
            exhausted: false,
            part: Part::Whole,
            times: StateTimes::default(),
            since: Instant::ZERO,
            generation: 0,
        }
    }

    pub fn is_up(&self) -> bool {
        self.up
    }

    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    pub fn switch(&mut self, up: bool) {
        self.up = up;
        self.dozes = false;
        self.rests = false;
    }

    pub fn is_dozing(&self) -> bool {
        self.dozes
    }

    pub fn doze(&mut self, dozes: bool) {
        self.dozes = dozes;
    }

    /// From now on it has this part of its device's radio; to be called after booking.
    pub fn have(&mut self, part: Part) {
        self.part = part;
    }

    pub fn rest(&mut self, rests: bool) {
        self.rests = rests;
    }

    /// Whether it was to doze when what it has just sent has ended.
    pub fn take_rest(&mut self) -> bool {
        core::mem::take(&mut self.rests)
    }

    pub fn exhaust(&mut self) {
        self.exhausted = true;
    }

    /// Times in each state until `now`.
    pub fn times(&self, now: Instant, activity: Activity) -> StateTimes {
        let mut times = self.times;
        let passed = self.part.of(now.since(self.since));
        match (self.up && !self.dozes, activity) {
            _ if self.exhausted => {}
            (false, _) => times.sleep += passed,
            (true, Activity::Sending) => times.tx += passed,
            (true, Activity::Sensing) => times.rx += passed,
            (true, Activity::Quiet) => times.idle += passed,
        }
        times
    }

    /// Book the time in the present state; to be called before it changes.
    pub fn book(&mut self, now: Instant, activity: Activity) {
        self.times = self.times(now, activity);
        self.since = now;
    }

    /// Measuring begins.
    pub fn forget(&mut self, now: Instant) {
        self.times = StateTimes::default();
        self.since = now;
    }

    /// Foresee when the battery is empty, if the state stays; to be called after it has changed.
    pub fn foresee_empty(
        &mut self,
        now: Instant,
        energy: &Energy,
        activity: Activity,
    ) -> Option<Wake> {
        let battery_j = energy.battery_j?;
        self.generation += 1;
        let watts = match (self.up && !self.dozes, activity) {
            _ if self.exhausted => 0.0,
            (false, _) => energy.sleep_w,
            (true, Activity::Sending) => energy.tx_w,
            (true, Activity::Sensing) => energy.rx_w,
            (true, Activity::Quiet) => energy.idle_w,
        };
        if watts <= 0.0 {
            return None;
        }
        let left_j = (battery_j - energy.spent(&self.times).sum()).max(0.0);
        let left_ns = libm::ceil(left_j / watts * 1e9);
        (left_ns < 1e18).then(|| Wake {
            at: now + Duration::from_nanos(left_ns as u64),
            timer: Timer::Empty,
            generation: self.generation,
        })
    }

    /// Whether the end that was foreseen as `generation` is the battery's.
    pub fn is_empty(&self, generation: u64) -> bool {
        self.generation == generation
    }
}

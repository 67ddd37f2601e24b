// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The time without a system call a round: a wait tells how long it took. Where the clock is
//! cheap (any kernel but User-Mode Linux, where reading it has its cost) it is read.

use crate::kernel;
use hoplab_base::{Duration, Instant};

/// Rounds between readings of an expensive clock, so that unmeasured work cannot add up.
const RESYNC: u32 = 64;

pub struct Clock {
    now: Instant,
    cheap: bool,
    rounds: u32,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    pub fn new() -> Self {
        Clock {
            now: kernel::now(),
            cheap: kernel::clock_is_cheap(),
            rounds: 0,
        }
    }

    /// The time of this round.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A wait took this long.
    pub fn waited(&mut self, time: Duration) {
        self.rounds += 1;
        if self.cheap || self.rounds >= RESYNC {
            self.rounds = 0;
            self.now = self.now.max(kernel::now());
        } else {
            self.now += time;
        }
    }
}

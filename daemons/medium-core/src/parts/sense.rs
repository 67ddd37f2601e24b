// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a radio knows of the medium beyond what it senses at the moment: since when it is idle, for
//! how long it is reserved, whether the last frame had errors. All its access functions go by it.

use hoplab_base::{Duration, Instant};

use crate::timing::Timing;

#[derive(Clone, Copy, Debug, Default)]
pub struct CarrierSense {
    nav_until: Instant,
    idle_from: Instant,
    /// The last frame had errors: EIFS comes next (10.3.2.3.7).
    errors: bool,
}

impl CarrierSense {
    /// The NAV counts to `until`, if it does not count further (10.3.2.4).
    pub fn set_nav(&mut self, until: Instant) {
        self.nav_until = self.nav_until.max(until);
    }

    /// It is another medium from now on, of which nothing is known.
    pub fn forget_nav(&mut self) {
        self.nav_until = Instant::ZERO;
    }

    /// Whether virtual carrier sense finds the medium busy.
    pub fn nav_counts(&self, now: Instant) -> bool {
        self.nav_until > now
    }

    pub fn idle_again(&mut self, now: Instant) {
        self.idle_from = now;
    }

    pub fn last_frame_had_errors(&mut self, errors: bool) {
        self.errors = errors;
    }

    /// The interframe space that comes next, for a function whose own is `ifs`: after an error
    /// EIFS, which for an access category is longer than `ifs` by as much as it is than DIFS
    /// (10.3.2.3.7).
    pub fn space(&self, ifs: Duration, timing: &Timing) -> Duration {
        if self.errors {
            timing.eifs - timing.difs + ifs
        } else {
            ifs
        }
    }

    /// Since when it is idle by physical and virtual carrier sense, if neither finds it busy.
    pub fn idle_from(&self) -> Instant {
        self.idle_from.max(self.nav_until)
    }

    /// Whether it has been idle for `space`, if it is not sensed busy.
    pub fn was_idle_for(&self, space: Duration, now: Instant) -> bool {
        !self.nav_counts(now) && now >= self.idle_from + space
    }
}

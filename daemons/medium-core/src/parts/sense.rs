// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carrier sense beyond the signals of the moment. It is since when the medium is idle, how long
//! the NAV reserves it, and whether the last frame had errors. All access functions of a radio
//! share it.

use hoplab_base::{Duration, Instant};

use crate::timing::Timing;

#[derive(Clone, Copy, Debug, Default)]
pub struct CarrierSense {
    nav_until: Instant,
    /// Start of the present idle period, or of the last one while a signal is there.
    idle_from: Instant,
    /// The last frame had errors: EIFS comes next (10.3.2.3.7).
    errors: bool,
}

impl CarrierSense {
    /// The NAV counts to `until`, if it does not count further (10.3.2.4).
    pub fn set_nav(&mut self, until: Instant) {
        self.nav_until = self.nav_until.max(until);
    }

    /// The radio is on another medium from now on, and knows nothing of it.
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

    /// The interframe space that comes next, for a function whose own is `ifs`. After an error it
    /// is EIFS for DCF, and EIFS - DIFS + AIFS for a category (10.3.2.3.7).
    pub fn space(&self, ifs: Duration, timing: &Timing) -> Duration {
        if self.errors {
            // The difference is SIFS + ACK: the time of an answer to the frame that was not
            // understood.
            timing.eifs - timing.difs + ifs
        } else {
            ifs
        }
    }

    /// Start of the idle time by physical and virtual carrier sense. It lies in the future while
    /// the NAV counts, so a count can begin before the NAV ends.
    pub fn idle_from(&self) -> Instant {
        self.idle_from.max(self.nav_until)
    }

    /// Whether physical and virtual carrier sense have found the medium idle for `space`, if it is
    /// not sensed busy now.
    pub fn was_idle_for(&self, space: Duration, now: Instant) -> bool {
        now >= self.idle_from() + space
    }
}

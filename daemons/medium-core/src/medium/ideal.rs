// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rate of a sender that knows its mean power at the receiver.

use super::Medium;
use crate::error_rate::bit_error_rate;
use crate::{RadioId, Rate};

impl Medium {
    /// Of some rates the one at which the most frames of so many octets arrive a second, by the
    /// mean power over the noise. Fading and interference do not count. None of no rates.
    pub fn ideal_rate(
        &mut self,
        (from, to): (RadioId, RadioId),
        bytes: usize,
        rates: &[Rate],
    ) -> Option<Rate> {
        let mw = self.space.mean_dbm(from, to, self.now).mw();
        let arriving_mbps = |rate: Rate| {
            let wrong = bit_error_rate(rate, mw / self.setup.hearing.noise_mw(rate));
            rate.mbps() * libm::exp(8.0 * bytes as f64 * libm::log1p(-wrong))
        };
        // Where nothing arrives at any, the first one is the most robust.
        let mut best = (*rates.first()?, 0.0);
        for rate in rates {
            let mbps = arriving_mbps(*rate);
            if mbps > best.1 {
                best = (*rate, mbps);
            }
        }
        Some(best.0)
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One-way delays of datagrams, and how much they vary.

use alloc::vec::Vec;

const NS_PER_MS: f64 = 1e6;
/// Share of a difference by which the estimate moves (RFC 3550 6.4.1).
const GAIN: f64 = 1.0 / 16.0;

/// Delays since the last look, in nanoseconds. A clock that stepped may make one negative.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays(Vec<i64>);

/// A summary of delays, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub mean_ms: f64,
    /// The least delay that no smaller one than this share of datagrams did not exceed: the
    /// nearest rank.
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
}

impl Delays {
    pub(crate) fn add(&mut self, delay_ns: i64) {
        self.0.push(delay_ns);
    }

    /// Summarises and forgets them; None of none.
    pub(crate) fn take(&mut self) -> Option<Summary> {
        let delays = &mut self.0;
        if delays.is_empty() {
            return None;
        }
        delays.sort_unstable();
        let sum: i128 = delays.iter().map(|delay| i128::from(*delay)).sum();
        let rank = |percent: usize| {
            let place = (delays.len() * percent).div_ceil(100).max(1);
            delays[place - 1] as f64 / NS_PER_MS
        };
        let summary = Summary {
            mean_ms: sum as f64 / delays.len() as f64 / NS_PER_MS,
            p50_ms: rank(50),
            p95_ms: rank(95),
            p99_ms: rank(99),
        };
        delays.clear();
        Some(summary)
    }
}

/// Interarrival jitter (RFC 3550 6.4.1): the smoothed difference of successive delays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter {
    last_ns: Option<i64>,
    ns: Option<f64>,
}

impl Jitter {
    pub(crate) fn add(&mut self, delay_ns: i64) {
        if let Some(last_ns) = self.last_ns.replace(delay_ns) {
            let difference_ns = last_ns.abs_diff(delay_ns) as f64;
            let now_ns = self.ns.unwrap_or(0.0);
            self.ns = Some(now_ns + (difference_ns - now_ns) * GAIN);
        }
    }

    /// None before the second datagram.
    pub(crate) fn ms(&self) -> Option<f64> {
        self.ns.map(|ns| ns / NS_PER_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut delays = Delays::default();
        assert_eq!(delays.take(), None);
        (1..=100).rev().for_each(|ms| delays.add(ms * 1_000_000));
        let of_hundred = Summary {
            mean_ms: 50.5,
            p50_ms: 50.0,
            p95_ms: 95.0,
            p99_ms: 99.0,
        };
        assert_eq!(delays.take(), Some(of_hundred));
        delays.add(7_000_000);
        delays.add(-1_000_000);
        let of_two = Summary {
            mean_ms: 3.0,
            p50_ms: -1.0,
            p95_ms: 7.0,
            p99_ms: 7.0,
        };
        assert_eq!(delays.take(), Some(of_two), "those before are forgotten");
    }

    /// The steps of RFC 3550 A.8, without its scaling.
    #[test]
    fn jitter_moves_by_a_sixteenth() {
        let mut jitter = Jitter::default();
        jitter.add(5_000_000);
        assert_eq!(jitter.ms(), None);
        jitter.add(21_000_000);
        assert_eq!(jitter.ms(), Some(1.0));
        jitter.add(20_000_000);
        assert_eq!(jitter.ms(), Some(1.0));
        jitter.add(20_000_000);
        assert_eq!(jitter.ms(), Some(0.9375));
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When each datagram of a flow is due.

use crate::twister::Twister;
use alloc::boxed::Box;
use hoplab_base::{Duration, Instant};

const NS_PER_S: f64 = 1e9;
/// Bounds of a random gap, as shares of the even one.
const LOWEST: f64 = 0.5;
const HIGHEST: f64 = 1.5;
/// Between datagrams of a sender without a rate: more than any radio sends. Where no full buffer
/// holds it back, time thus passes.
const FASTEST: Duration = Duration::from_micros(4);
/// How far such a sender catches up, after its buffer held it back.
const CREDIT: Duration = Duration::from_millis(1);

/// How a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// At a constant rate, a datagram every so many seconds.
    Even { interval_s: f64 },
    /// Gaps uniform from half to one and a half times that, from the stream of `seed`, as ns-2's CBR
    /// with `random_`. The flow thus keeps no phase against others, which else decides for a whole
    /// run whose packets find a queue full (Floyd, Jacobson 1992).
    Random { interval_s: f64, seed: u64 },
    /// As fast as the socket takes them.
    Saturating,
}

/// The times at which datagrams are due, by the clock: a late one does not delay those after it.
#[derive(Clone, Debug)]
pub struct Pace {
    next: Instant,
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    Even {
        start: Instant,
        interval_ns: f64,
        count: u64,
    },
    Random {
        due_s: f64,
        interval_s: f64,
        draw: Box<Twister>,
    },
    Saturating,
}

impl Pace {
    /// The first datagram is due at `start`.
    pub fn new(spacing: Spacing, start: Instant) -> Self {
        let how = match spacing {
            Spacing::Even { interval_s } => How::Even {
                start,
                interval_ns: interval_s * NS_PER_S,
                count: 0,
            },
            Spacing::Random { interval_s, seed } => How::Random {
                due_s: start.as_secs_f64(),
                interval_s,
                draw: Twister::new(seed).into(),
            },
            Spacing::Saturating => How::Saturating,
        };
        Pace { next: start, how }
    }

    /// When the next datagram is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// One was sent at `now`.
    pub fn sent(&mut self, now: Instant) {
        self.next = match &mut self.how {
            How::Even {
                start,
                interval_ns,
                count,
            } => {
                *count += 1;
                *start + Duration((*count as f64 * *interval_ns + 0.5) as u64)
            }
            How::Random {
                due_s,
                interval_s,
                draw,
            } => {
                *due_s += *interval_s * (LOWEST + (HIGHEST - LOWEST) * draw.unit());
                now + up(*due_s - now.as_secs_f64())
            }
            How::Saturating => {
                let earliest = Instant(now.0.saturating_sub(CREDIT.0));
                self.next.max(earliest) + FASTEST
            }
        };
    }
}

/// Seconds as nanoseconds, rounded up; negative ones as none.
pub(crate) fn up(seconds: f64) -> Duration {
    let ns = seconds * NS_PER_S;
    let whole = ns as u64;
    Duration(whole + u64::from((whole as f64) < ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const START: Instant = Instant(3_000_000_000);

    /// The times of `count` datagrams that are sent as soon as they are due.
    fn times(spacing: Spacing, count: usize) -> Vec<u64> {
        let mut pace = Pace::new(spacing, START);
        let each = core::iter::repeat_with(|| {
            let now = pace.next();
            pace.sent(now);
            now.0 - START.0
        });
        each.take(count).collect()
    }

    #[test]
    fn an_even_rate_does_not_drift() {
        // 7 datagrams in 5 ns: each at the nearest nanosecond.
        let interval_s = 5e-9 / 7.0;
        let expected = [0, 1, 1, 2, 3, 4, 4, 5];
        assert_eq!(times(Spacing::Even { interval_s }, 8), expected);
    }

    #[test]
    fn a_late_datagram_does_not_delay_the_next() {
        let mut pace = Pace::new(Spacing::Even { interval_s: 1e-8 }, START);
        pace.sent(START + Duration(35));
        assert_eq!(pace.next(), START + Duration(10));
    }

    /// The times that the program of earlier versions had: 1000 octets at 2 Mbit/s, seed 5. From
    /// Python, with `time.sleep` rounding up to nanoseconds.
    #[test]
    fn random_gaps_are_those_of_the_seed() {
        let spacing = Spacing::Random {
            interval_s: 0.004,
            seed: 5,
        };
        assert_eq!(
            times(spacing, 5),
            [0, 4_491_607, 9_458_755, 14_639_529, 20_409_331]
        );
    }

    #[test]
    fn random_gaps_are_half_to_one_and_a_half_of_the_even_one() {
        let spacing = Spacing::Random {
            interval_s: 1e-3,
            seed: 1,
        };
        let times = times(spacing, 10_000);
        for pair in times.windows(2) {
            assert!((500_000..=1_500_001).contains(&(pair[1] - pair[0])));
        }
        // 10,000 gaps: their mean's deviation is 1e6 / sqrt(12 * 1e4), 2.9 us.
        assert!((times[9999] as f64 / 9999.0 - 1e6).abs() < 3.0 * 2_900.0);
    }

    #[test]
    fn a_sender_without_a_rate_lets_time_pass() {
        assert_eq!(times(Spacing::Saturating, 3), [0, 4_000, 8_000]);
    }

    #[test]
    fn a_sender_without_a_rate_catches_up_for_a_millisecond() {
        let mut pace = Pace::new(Spacing::Saturating, START);
        let late = START + Duration::from_secs(1);
        let mut at_once = 0;
        while pace.next() <= late {
            pace.sent(late);
            at_once += 1;
        }
        assert_eq!(at_once, 251);
    }
}

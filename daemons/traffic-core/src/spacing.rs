// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When each datagram of a flow is due.

use crate::draw::{up, Draw, Draws};
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
    /// At random (Poisson), so many seconds apart on average.
    Poisson { interval_s: f64, seed: u64 },
    /// As fast as the socket takes them.
    Saturating,
}

/// Times of sending and of silence that follow each other, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Pauses {
    pub on: Draw,
    pub off: Draw,
}

/// The times at which datagrams are due, by the clock: a late one does not delay those after it.
/// The clock stands still in pauses.
#[derive(Clone, Debug)]
pub struct Pace {
    next: Instant,
    how: How,
    pausing: Option<Pausing>,
}

#[derive(Clone, Debug)]
struct Pausing {
    on: Draws,
    off: Draws,
    /// When the next pause begins, by the clock that stands still.
    until: Instant,
    /// All pauses so far.
    paused: Duration,
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
        is_poisson: bool,
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
            Spacing::Random { interval_s, seed } | Spacing::Poisson { interval_s, seed } => {
                How::Random {
                    due_s: start.as_secs_f64(),
                    interval_s,
                    draw: Twister::new(seed).into(),
                    is_poisson: matches!(spacing, Spacing::Poisson { .. }),
                }
            }
            Spacing::Saturating => How::Saturating,
        };
        Pace {
            next: start,
            how,
            pausing: None,
        }
    }

    /// With pauses from the streams of `seed`, the first one after a time of sending.
    #[must_use]
    pub fn pausing(mut self, pauses: Pauses, seed: u64) -> Self {
        let mut on = Draws::new(pauses.on, seed, "on");
        self.pausing = Some(Pausing {
            until: self.next + on.time(),
            on,
            off: Draws::new(pauses.off, seed, "off"),
            paused: Duration(0),
        });
        self
    }

    /// When the next datagram is due.
    pub fn next(&self) -> Instant {
        self.next + self.paused()
    }

    fn paused(&self) -> Duration {
        self.pausing
            .as_ref()
            .map_or(Duration(0), |pausing| pausing.paused)
    }

    /// One was sent at `now`.
    pub fn sent(&mut self, now: Instant) {
        let now = Instant(now.0.saturating_sub(self.paused().0));
        self.step(now);
        let Some(pausing) = &mut self.pausing else {
            return;
        };
        while self.next >= pausing.until {
            pausing.paused += pausing.off.time();
            // A time of no length would never pass.
            pausing.until += pausing.on.time().max(Duration(1));
        }
    }

    fn step(&mut self, now: Instant) {
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
                is_poisson,
            } => {
                let unit = draw.unit();
                *due_s += *interval_s
                    * if *is_poisson {
                        -libm::log(1.0 - unit)
                    } else {
                        LOWEST + (HIGHEST - LOWEST) * unit
                    };
                now + up(*due_s - now.as_secs_f64())
            }
            How::Saturating => {
                let earliest = Instant(now.0.saturating_sub(CREDIT.0));
                self.next.max(earliest) + FASTEST
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const START: Instant = Instant(3_000_000_000);

    /// The times of `count` datagrams that are sent as soon as they are due.
    fn times(spacing: Spacing, count: usize) -> Vec<u64> {
        of_pace(Pace::new(spacing, START), count)
    }

    fn of_pace(mut pace: Pace, count: usize) -> Vec<u64> {
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
    fn poisson_gaps_are_exponential() {
        let spacing = Spacing::Poisson {
            interval_s: 1e-3,
            seed: 1,
        };
        let times = times(spacing, 10_001);
        let gaps = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 / 1e6);
        let (mean, long) = gaps.fold((0.0, 0), |(sum, long), gap| {
            (sum + gap / 1e4, long + u32::from(gap > 2.0))
        });
        // Deviations of the mean of 10,000, and of the number beyond two means: e^-2 of them.
        assert!((mean - 1.0).abs() < 3.0 / 100.0, "{mean}");
        assert!((f64::from(long) - 1353.0).abs() < 3.0 * 34.2, "{long}");
    }

    #[test]
    fn no_datagram_is_due_in_a_pause_and_the_rate_is_that_of_before() {
        let pauses = Pauses {
            on: Draw::Fixed { mean: 0.010 },
            off: Draw::Fixed { mean: 0.030 },
        };
        let pace = Pace::new(Spacing::Even { interval_s: 1e-3 }, START).pausing(pauses, 1);
        let times = of_pace(pace, 40);
        for (i, time) in (0_u64..).zip(times) {
            assert_eq!(time, (i / 10) * 40_000_000 + (i % 10) * 1_000_000);
        }
    }

    #[test]
    fn a_sender_with_pauses_may_be_late() {
        let pauses = Pauses {
            on: Draw::Exponential {
                mean: 0.001,
                high: None,
            },
            off: Draw::Fixed { mean: 0.5 },
        };
        let mut pace = Pace::new(Spacing::Saturating, START).pausing(pauses, 3);
        let late = START + Duration::from_secs(2);
        pace.sent(late);
        assert!(pace.next() > START);
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

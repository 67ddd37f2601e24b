// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instants and durations in integer nanoseconds. The origin of an instant is the driver's
//! choice (the daemons use CLOCK_MONOTONIC); the cores only compare and add.
//!
//! Arithmetic saturates: [`Instant::MAX`] and [`Duration::MAX`] stand for "never", and stay so
//! when something is added.

use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// A point in time, nanoseconds since the driver's origin.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A span of time in nanoseconds.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Duration {
    pub const ZERO: Duration = Duration(0);
    pub const MAX: Duration = Duration(u64::MAX);

    pub const fn from_nanos(ns: u64) -> Self {
        Duration(ns)
    }

    pub const fn from_micros(us: u64) -> Self {
        Duration(us.saturating_mul(NS_PER_US))
    }

    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms.saturating_mul(NS_PER_MS))
    }

    pub const fn from_secs(s: u64) -> Self {
        Duration(s.saturating_mul(NS_PER_S))
    }

    /// Seconds to nanoseconds, rounded; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Duration((s * 1e9 + 0.5) as u64)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Microseconds, a part of one counted whole: how 802.11's duration fields round
    /// (IEEE 802.11-2020 9.2.5).
    pub const fn as_micros_ceil(self) -> u64 {
        self.0.div_ceil(NS_PER_US)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub const fn saturating_mul(self, k: u64) -> Self {
        Duration(self.0.saturating_mul(k))
    }

    /// How many `other` it takes to fill this; `other` is not zero.
    pub const fn div_ceil(self, other: Duration) -> u64 {
        self.0.div_ceil(other.0)
    }
}

impl Instant {
    /// The driver's origin.
    pub const ZERO: Instant = Instant(0);
    /// Never.
    pub const MAX: Instant = Instant(u64::MAX);

    pub const fn from_nanos(ns: u64) -> Self {
        Instant(ns)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time passed since `earlier`; zero when `earlier` lies ahead.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds from `origin` to this instant, negative before it: the `t_s` of records.
    pub fn seconds_from(self, origin: Instant) -> f64 {
        (self.0 as i64).wrapping_sub(origin.0 as i64) as f64 / 1e9
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

/// Not before the origin.
impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

/// Zero when `d` is longer.
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0.saturating_sub(d.0))
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, d: Duration) {
        *self = *self - d;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, k: u64) -> Duration {
        self.saturating_mul(k)
    }
}

impl Mul<Duration> for u64 {
    type Output = Duration;
    fn mul(self, d: Duration) -> Duration {
        d.saturating_mul(self)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, k: u64) -> Duration {
        Duration(self.0 / k)
    }
}

/// How many times `d` fits; `d` is not zero.
impl Div for Duration {
    type Output = u64;
    fn div(self, d: Duration) -> u64 {
        self.0 / d.0
    }
}

/// What is left of a period; `d` is not zero.
impl Rem for Duration {
    type Output = Duration;
    fn rem(self, d: Duration) -> Duration {
        Duration(self.0 % d.0)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(all: I) -> Duration {
        all.fold(Duration::ZERO, Add::add)
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Levels of power, and decibels between them.

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A level of power: decibels over 1 mW.
///
/// Two levels differ by decibels, which are plain numbers, as gains and losses are. Levels cannot be
/// added to each other: the power of several signals is a sum in [`mw`](Self::mw).
#[derive(Clone, Copy, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Dbm(pub f64);

impl Dbm {
    pub fn from_mw(mw: f64) -> Self {
        Self(to_db(mw))
    }

    pub fn mw(self) -> f64 {
        from_db(self.0)
    }

    /// In whole dBm, as drivers and captures tell a level.
    pub fn rounded(self) -> i32 {
        libm::round(self.0) as i32
    }
}

/// Total, so that levels can be sorted and compared for the greatest.
impl Ord for Dbm {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Dbm {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Dbm {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Dbm {}

/// As its number, so that what holds it stays short.
impl fmt::Debug for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// As its number, with the digits that are asked for.
impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Add<f64> for Dbm {
    type Output = Dbm;
    fn add(self, db: f64) -> Dbm {
        Dbm(self.0 + db)
    }
}

impl AddAssign<f64> for Dbm {
    fn add_assign(&mut self, db: f64) {
        *self = *self + db;
    }
}

impl Sub<f64> for Dbm {
    type Output = Dbm;
    fn sub(self, db: f64) -> Dbm {
        Dbm(self.0 - db)
    }
}

/// In dB.
impl Sub for Dbm {
    type Output = f64;
    fn sub(self, other: Dbm) -> f64 {
        self.0 - other.0
    }
}

/// A ratio of powers from decibels.
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Decibels of a ratio of powers.
pub fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_add_up_and_levels_differ_by_decibels() {
        let level = Dbm(-60.0);
        let both = Dbm::from_mw(level.mw() + level.mw());
        assert!((both - level - 3.0103).abs() < 1e-4, "{both}");
        assert!(both > level && level - 0.5 < level);
        assert_eq!(level + 3.0, Dbm(-57.0));
        assert_eq!(
            [-60.5, -60.4, 0.5].map(|dbm| Dbm(dbm).rounded()),
            [-61, -60, 1]
        );
    }
}

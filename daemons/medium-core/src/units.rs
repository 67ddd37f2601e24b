// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Resource units of HE: parts of a channel for several users at once (IEEE 802.11ax-2021 27.3.2).

use crate::Width;

/// By its tones (27.3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    Tones26,
    Tones52,
    Tones106,
    Tones242,
    Tones484,
    Tones996,
    /// Twice 996.
    Tones1992,
}

/// Tones of HE in a MHz, data or not: they are 78.125 kHz apart (table 27-12).
const TONES_PER_MHZ: f64 = 12.8;

impl Unit {
    /// The smallest first.
    pub const ALL: [Self; 7] = [
        Self::Tones26,
        Self::Tones52,
        Self::Tones106,
        Self::Tones242,
        Self::Tones484,
        Self::Tones996,
        Self::Tones1992,
    ];

    pub fn tones(self) -> u16 {
        [26, 52, 106, 242, 484, 996, 1992][self as usize]
    }

    /// Those that carry data (table 27-15: N_SD).
    pub(crate) fn data_tones(self) -> u32 {
        [24, 48, 102, 234, 468, 980, 1960][self as usize]
    }

    /// Those in each part of the last symbol (table 27-32: N_SD,short).
    pub(crate) fn short_tones(self) -> u32 {
        [6, 12, 24, 60, 120, 240, 492][self as usize]
    }

    /// How many of them a channel has beside each other (table 27-8). 0 where it is too narrow.
    pub fn fit(self, width: Width) -> usize {
        let of_width = match width {
            Width::Mhz20 => [9, 4, 2, 1, 0, 0, 0],
            Width::Mhz40 => [18, 8, 4, 2, 1, 0, 0],
            Width::Mhz80 => [37, 16, 8, 4, 2, 1, 0],
            Width::Mhz160 => [74, 32, 16, 8, 4, 2, 1],
            // Of EHT alone.
            Width::Mhz320 => [0; 7],
        };
        of_width[self as usize]
    }

    /// The largest number of equal units that so many users fill, two at least. Each unit has a
    /// user. Further users wait.
    pub fn shared(users: usize, width: Width) -> Option<(Self, usize)> {
        let units = Self::ALL.into_iter().map(|unit| (unit, unit.fit(width)));
        let mut filled = units.filter(|(_, fit)| (2..=users).contains(fit));
        filled.next()
    }

    /// The largest of which so many users get one each, or the smallest if they are too many. And how
    /// many of them there are.
    pub fn for_each(users: usize, width: Width) -> (Self, usize) {
        let units = Self::ALL
            .into_iter()
            .rev()
            .map(|unit| (unit, unit.fit(width)));
        let mut enough = units.filter(|(_, fit)| *fit >= users);
        enough
            .next()
            .unwrap_or((Self::Tones26, Self::Tones26.fit(width)))
    }

    /// How much of the channel it takes.
    pub(crate) fn share_of(self, width: Width) -> f64 {
        f64::from(self.tones()) / (TONES_PER_MHZ * f64::from(width.mhz()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_as_large_as_their_users_fill_them_all() {
        use Unit::{Tones106, Tones242, Tones26, Tones484, Tones52};
        use Width::{Mhz20, Mhz40, Mhz80};
        for (users, width, expected) in [
            (1, Mhz20, None),
            (2, Mhz20, Some((Tones106, 2))),
            (3, Mhz20, Some((Tones106, 2))),
            (4, Mhz20, Some((Tones52, 4))),
            (8, Mhz20, Some((Tones52, 4))),
            (9, Mhz20, Some((Tones26, 9))),
            (100, Mhz20, Some((Tones26, 9))),
            (2, Mhz40, Some((Tones242, 2))),
            (1, Mhz80, None),
            (2, Mhz80, Some((Tones484, 2))),
            (4, Mhz80, Some((Tones242, 4))),
            (16, Mhz80, Some((Tones52, 16))),
            (100, Width::Mhz320, None),
        ] {
            assert_eq!(Unit::shared(users, width), expected, "{users} {width:?}");
        }
    }

    #[test]
    fn units_for_each_are_as_large_as_all_find_one() {
        for (users, width, expected) in [
            (1, Width::Mhz20, (Unit::Tones242, 1)),
            (1, Width::Mhz160, (Unit::Tones1992, 1)),
            (3, Width::Mhz20, (Unit::Tones52, 4)),
            (5, Width::Mhz20, (Unit::Tones26, 9)),
            (9, Width::Mhz80, (Unit::Tones52, 16)),
            (100, Width::Mhz80, (Unit::Tones26, 37)),
        ] {
            let found = Unit::for_each(users, width);
            assert_eq!(found, expected, "{users} {width:?}");
        }
    }

    #[test]
    fn units_beside_each_other_have_no_more_tones_than_the_channel() {
        for width in Width::ALL {
            for unit in Unit::ALL {
                let all = unit.fit(width) as f64 * unit.share_of(width);
                assert!(all <= 1.0, "{unit:?} {width:?}: {all}");
            }
        }
    }
}

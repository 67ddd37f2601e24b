// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Resource units of HE and EHT: parts of a channel for several users at once (IEEE 802.11ax-2021
//! 27.3.2, 802.11be-2024 36.3.2).

use crate::{Modulation, Punctured, Rate, Subchannels, Width};

/// A channel that users share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub width: Width,
    pub is_eht: bool,
    /// Subchannels that EHT leaves out.
    pub punctured: Punctured,
}

impl Plan {
    pub fn of(rate: Rate) -> Self {
        Self {
            width: rate.width(),
            is_eht: matches!(rate.modulation(), Modulation::Eht(_)),
            punctured: rate.subchannels().punctured,
        }
    }
}

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
    /// Four times 996, of EHT alone.
    Tones3984,
}

/// Tones of HE in a MHz, data or not: they are 78.125 kHz apart (table 27-12).
const TONES_PER_MHZ: f64 = 12.8;

impl Unit {
    /// The smallest first.
    pub const ALL: [Self; 8] = [
        Self::Tones26,
        Self::Tones52,
        Self::Tones106,
        Self::Tones242,
        Self::Tones484,
        Self::Tones996,
        Self::Tones1992,
        Self::Tones3984,
    ];

    pub fn tones(self) -> u16 {
        [26, 52, 106, 242, 484, 996, 1992, 3984][self as usize]
    }

    /// Those that carry data (table 27-15, 802.11be-2024 table 36-19: N_SD).
    pub(crate) fn data_tones(self) -> u32 {
        [24, 48, 102, 234, 468, 980, 1960, 3920][self as usize]
    }

    /// Those in each part of the last symbol (table 27-32, 802.11be-2024 table 36-47: N_SD,short).
    pub(crate) fn short_tones(self) -> u32 {
        [6, 12, 24, 60, 120, 240, 492, 984][self as usize]
    }

    /// The highest MCS on it. EHT has 4096-QAM from 242 tones on (802.11be-2024 36.5).
    pub(crate) fn highest_mcs(self) -> u8 {
        if self < Self::Tones242 {
            11
        } else {
            13
        }
    }

    /// How many of them a channel has beside each other (table 27-8, 802.11be-2024 36.3.2.1). 0 where
    /// it is too narrow. EHT has no unit of 26 tones in the middle of 80 MHz.
    pub fn fit(self, plan: Plan) -> usize {
        if !plan.punctured.is_none() {
            return self.fit_beside(plan);
        }
        let of_width = match plan.width {
            Width::Mhz20 => [9, 4, 2, 1, 0, 0, 0, 0],
            Width::Mhz40 => [18, 8, 4, 2, 1, 0, 0, 0],
            Width::Mhz80 if plan.is_eht => [36, 16, 8, 4, 2, 1, 0, 0],
            Width::Mhz80 => [37, 16, 8, 4, 2, 1, 0, 0],
            Width::Mhz160 if plan.is_eht => [72, 32, 16, 8, 4, 2, 1, 0],
            Width::Mhz160 => [74, 32, 16, 8, 4, 2, 1, 0],
            Width::Mhz320 => [144, 64, 32, 16, 8, 4, 2, 1],
        };
        of_width[self as usize]
    }

    /// The same beside punctured subchannels. No unit reaches into one.
    fn fit_beside(self, plan: Plan) -> usize {
        let fits = |width: Width, each: u16| {
            let size = width.subchannels();
            let firsts = (0..plan.width.subchannels()).step_by(size.into());
            let whole = firsts.filter(|first| plan.punctured.within(*first, size).is_none());
            usize::from(each) * whole.count()
        };
        match self {
            Self::Tones26 => fits(Width::Mhz20, 9),
            Self::Tones52 => fits(Width::Mhz20, 4),
            Self::Tones106 => fits(Width::Mhz20, 2),
            Self::Tones242 => fits(Width::Mhz20, 1),
            Self::Tones484 => fits(Width::Mhz40, 1),
            Self::Tones996 => fits(Width::Mhz80, 1),
            Self::Tones1992 => fits(Width::Mhz160, 1),
            Self::Tones3984 => 0,
        }
    }

    /// The largest number of equal units that so many users fill, two at least. Each unit has a
    /// user. Further users wait.
    pub fn shared(users: usize, plan: Plan) -> Option<(Self, usize)> {
        let units = Self::ALL.into_iter().map(|unit| (unit, unit.fit(plan)));
        let mut filled = units.filter(|(_, fit)| (2..=users).contains(fit));
        filled.next()
    }

    /// The largest of which so many users get one each, or the smallest if they are too many. And how
    /// many of them there are.
    pub fn for_each(users: usize, plan: Plan) -> (Self, usize) {
        let units = Self::ALL
            .into_iter()
            .rev()
            .map(|unit| (unit, unit.fit(plan)));
        let mut enough = units.filter(|(_, fit)| *fit >= users);
        enough
            .next()
            .unwrap_or((Self::Tones26, Self::Tones26.fit(plan)))
    }

    /// The one that is all of a channel. None beside punctured subchannels, which leave several.
    pub fn whole(plan: Plan) -> Option<Self> {
        let (unit, _) = Self::for_each(1, plan);
        plan.punctured.is_none().then_some(unit)
    }

    /// How much of the channel it takes, without punctured subchannels.
    pub(crate) fn share_of(self, channel: Subchannels) -> f64 {
        let count = channel.width.subchannels() - channel.punctured.count();
        f64::from(self.tones()) / (TONES_PER_MHZ * f64::from(count * Width::Mhz20.mhz()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(width: Width, is_eht: bool) -> Plan {
        Plan {
            width,
            is_eht,
            punctured: Punctured::NONE,
        }
    }

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
        ] {
            let found = Unit::shared(users, plan(width, false));
            assert_eq!(found, expected, "{users} {width:?}");
        }
    }

    #[test]
    fn units_of_eht_go_up_to_320_mhz() {
        for (users, width, expected) in [
            (36, Width::Mhz80, (Unit::Tones26, 36)),
            (37, Width::Mhz80, (Unit::Tones26, 36)),
            (2, Width::Mhz160, (Unit::Tones996, 2)),
            (100, Width::Mhz160, (Unit::Tones26, 72)),
            (2, Width::Mhz320, (Unit::Tones1992, 2)),
            (16, Width::Mhz320, (Unit::Tones242, 16)),
            (500, Width::Mhz320, (Unit::Tones26, 144)),
        ] {
            let found = Unit::shared(users, plan(width, true));
            assert_eq!(found, Some(expected), "{users} {width:?}");
        }
        let whole = Unit::for_each(1, plan(Width::Mhz320, true));
        assert_eq!(whole, (Unit::Tones3984, 1));
    }

    /// By hand: what remains of 80 MHz without its second 20, of 160 without its second 40, and of 320
    /// without its first 80.
    #[test]
    fn no_unit_reaches_into_a_punctured_subchannel() {
        for (width, bits, counts) in [
            (Width::Mhz80, 0x2, [27, 12, 6, 3, 1, 0, 0, 0]),
            (Width::Mhz160, 0xc, [54, 24, 12, 6, 3, 1, 0, 0]),
            (Width::Mhz320, 0xf, [108, 48, 24, 12, 6, 3, 1, 0]),
        ] {
            let plan = Plan {
                punctured: Punctured(bits),
                ..plan(width, true)
            };
            assert_eq!(Unit::ALL.map(|unit| unit.fit(plan)), counts, "{width:?}");
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
            let found = Unit::for_each(users, plan(width, false));
            assert_eq!(found, expected, "{users} {width:?}");
        }
    }

    #[test]
    fn units_beside_each_other_have_no_more_tones_than_the_channel() {
        let plans = Width::ALL.map(|width| [plan(width, false), plan(width, true)]);
        for plan in plans.into_iter().flatten() {
            for unit in Unit::ALL {
                let all = unit.fit(plan) as f64 * unit.share_of(plan.width.into());
                assert!(all <= 1.0, "{unit:?} {plan:?}: {all}");
            }
        }
    }
}

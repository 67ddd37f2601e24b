// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The subchannels of 20 MHz in a channel, and those that EHT leaves out of it: preamble puncturing
//! (802.11be-2024 35.15.2, 36.3.12.11).

use crate::{Unit, Width};

/// Subchannels without a signal, as bits. The lowest bit is the lowest in frequency, as in the Disabled
/// Subchannel Bitmap (9.4.2.321).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Punctured(pub u16);

/// Subchannels of 40 and of 80 MHz.
const OF_40_MHZ: u16 = 2;
const OF_80_MHZ: u16 = 4;
const LOWEST_80_MHZ: u16 = 0x000f;
const HIGHEST_80_MHZ: u16 = 0xf000;

impl Punctured {
    pub const NONE: Self = Self(0);

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub fn count(self) -> u16 {
        self.0.count_ones() as u16
    }

    /// Of so many subchannels from `first` on.
    pub fn within(self, first: u16, count: u16) -> Self {
        let mask = (1u32 << count.min(16)) - 1;
        Self((u32::from(self.0) >> first.min(16) & mask) as u16)
    }

    /// Whether a PPDU of this width to one user may leave them out (table 36-30). Of 80 MHz that is
    /// any 20. Of 160 MHz it is any 20 or 40. Of 320 MHz it is any 40 or 80, or the 80 at an end with
    /// any 40 beside.
    pub fn is_allowed_on(self, width: Width) -> bool {
        if self.within(0, width.subchannels()) != self {
            return false;
        }
        self.is_none()
            || match width {
                Width::Mhz20 | Width::Mhz40 => false,
                Width::Mhz80 => self.is_one(1),
                Width::Mhz160 => self.is_one(1) || self.is_one(OF_40_MHZ),
                Width::Mhz320 => {
                    let beside =
                        |end: u16| self.0 & end == end && Self(self.0 & !end).is_one(OF_40_MHZ);
                    self.is_one(OF_40_MHZ)
                        || self.is_one(OF_80_MHZ)
                        || beside(LOWEST_80_MHZ)
                        || beside(HIGHEST_80_MHZ)
                }
            }
    }

    /// Whether they are one channel of so many subchannels.
    fn is_one(self, count: u16) -> bool {
        let first = self.0.trailing_zeros() as u16;
        first % count == 0 && self.within(first, 16) == Self((1 << count) - 1)
    }

    /// How many units of 242, 484 and 996 tones the rest of a channel consists of (36.3.2.2.3: large
    /// multiple resource units). They are the largest ones that fit.
    pub(crate) fn rest_of(self, width: Width) -> [u32; 3] {
        let mut units = [0; 3];
        let mut first = 0;
        while first < width.subchannels() {
            let mut sizes = [OF_80_MHZ, OF_40_MHZ, 1].into_iter();
            let size = sizes.find(|size| self.has_room(first, *size, width));
            match size {
                Some(OF_80_MHZ) => units[2] += 1,
                Some(OF_40_MHZ) => units[1] += 1,
                Some(_) => units[0] += 1,
                None => {}
            }
            first += size.unwrap_or(1);
        }
        units
    }

    /// Whether a channel of `size` subchannels begins at `first`, and none of it is punctured.
    fn has_room(self, first: u16, size: u16, width: Width) -> bool {
        first % size == 0
            && first + size <= width.subchannels()
            && self.within(first, size).is_none()
    }

    /// Data subcarriers of the rest of a channel (36.3.13.3.5: N_SD).
    pub(crate) fn data_tones(self, width: Width) -> u32 {
        let [of_242, of_484, of_996] = self.rest_of(width);
        of_242 * Unit::Tones242.data_tones()
            + of_484 * Unit::Tones484.data_tones()
            + of_996 * Unit::Tones996.data_tones()
    }

    /// Theirs in each part of the last symbol (table 36-47: N_SD,short). Two units of 996 tones have
    /// more than twice those of one.
    pub(crate) fn short_tones(self, width: Width) -> u32 {
        let [of_242, of_484, of_996] = self.rest_of(width);
        of_242 * Unit::Tones242.short_tones()
            + of_484 * Unit::Tones484.short_tones()
            + of_996 / 2 * Unit::Tones1992.short_tones()
            + of_996 % 2 * Unit::Tones996.short_tones()
    }
}

/// A channel with its primary subchannel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subchannels {
    pub width: Width,
    /// The primary one's number, from the lowest on.
    pub primary: u16,
    pub punctured: Punctured,
}

/// One without punctured subchannels. Then its primary one does not matter.
impl From<Width> for Subchannels {
    fn from(width: Width) -> Self {
        Self {
            width,
            primary: 0,
            punctured: Punctured::NONE,
        }
    }
}

impl Subchannels {
    /// The part of this width that has the primary subchannel in it.
    pub fn part(self, width: Width) -> Self {
        if width >= self.width {
            return self;
        }
        let count = width.subchannels();
        let first = self.primary / count * count;
        Self {
            width,
            primary: self.primary - first,
            punctured: self.punctured.within(first, count),
        }
    }

    /// The widest part, up to this width, that a PPDU may take. Only one of EHT to one user leaves
    /// subchannels out.
    pub(crate) fn widest(self, width: Width, punctures: bool) -> Self {
        let may_be = |part: &Self| match punctures {
            true => part.punctured.is_allowed_on(part.width),
            false => part.punctured.is_none(),
        };
        let widths = Width::ALL.into_iter().rev().filter(|one| *one <= width);
        let mut parts = widths.map(|width| self.part(width));
        parts.find(may_be).unwrap_or(self.part(Width::Mhz20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Width::{Mhz160, Mhz20, Mhz320, Mhz40, Mhz80};

    /// The patterns of table 36-30, counted: 4, 8 + 4, and 8 + 4 + 12 of 80 + 40 MHz.
    #[test]
    fn patterns_are_those_of_the_table() {
        for (width, patterns) in [
            (Mhz20, 0),
            (Mhz40, 0),
            (Mhz80, 4),
            (Mhz160, 12),
            (Mhz320, 24),
        ] {
            let all = (1..=u16::MAX).map(Punctured);
            let allowed = all.filter(|one| one.is_allowed_on(width)).count();
            assert_eq!(allowed, patterns, "{width:?}");
        }
        for (width, bits, is_allowed) in [
            (Mhz80, 0x8, true),
            (Mhz80, 0x3, false),
            (Mhz80, 0x10, false),
            (Mhz160, 0x30, true),
            (Mhz160, 0x18, false),
            (Mhz160, 0xf0, false),
            (Mhz320, 0x1, false),
            (Mhz320, 0x0f00, true),
            (Mhz320, 0x3c00, false),
            (Mhz320, 0xf030, true),
            (Mhz320, 0xc00f, true),
            (Mhz320, 0x0f03, false),
            (Mhz320, 0xff00, false),
        ] {
            let found = Punctured(bits).is_allowed_on(width);
            assert_eq!(found, is_allowed, "{width:?} {bits:#x}");
        }
    }

    /// N_SD and N_SD,short of the units of 242, 484 and 996 tones together (802.11be-2024 tables 36-19,
    /// 36-47).
    #[test]
    fn the_rest_has_the_tones_of_multiple_units() {
        for (width, bits, data, short) in [
            (Mhz80, 0x2, 702, 180),
            (Mhz160, 0xc, 1448, 360),
            (Mhz160, 0x20, 1682, 420),
            (Mhz320, 0xf00c, 2428, 612),
            (Mhz320, 0xf0, 2940, 732),
            (Mhz320, 0x300, 3408, 852),
            (Mhz20, 0, 234, 60),
            (Mhz40, 0, 468, 120),
            (Mhz80, 0, 980, 240),
            (Mhz160, 0, 1960, 492),
            (Mhz320, 0, 3920, 984),
        ] {
            let punctured = Punctured(bits);
            let tones = (punctured.data_tones(width), punctured.short_tones(width));
            assert_eq!(tones, (data, short), "{width:?} {bits:#x}");
        }
    }

    #[test]
    fn a_narrower_part_keeps_what_is_punctured_in_it() {
        // The primary subchannel is the third of 160 MHz, and the second 80 MHz lack their first 40.
        let channel = Subchannels {
            width: Mhz160,
            primary: 2,
            punctured: Punctured(0x30),
        };
        assert_eq!(channel.part(Mhz80).punctured, Punctured::NONE);
        assert_eq!(channel.part(Mhz40).primary, 0);
        let other = Subchannels {
            primary: 6,
            ..channel
        };
        assert_eq!(other.part(Mhz80).punctured, Punctured(0x3));
        // No PPDU of 80 MHz leaves 40 out.
        assert_eq!(other.widest(Mhz160, true), other);
        assert_eq!(other.widest(Mhz80, true), other.part(Mhz40));
        assert_eq!(other.widest(Mhz160, false), other.part(Mhz40));
    }

    /// Of every pattern and primary subchannel: a part is never wider, keeps the primary subchannel,
    /// and has a pattern that its width allows.
    #[test]
    fn every_part_is_one_that_a_ppdu_may_take() {
        for width in Width::ALL {
            let count = width.subchannels();
            let patterns = (0..=u16::MAX).map(Punctured);
            for punctured in patterns.filter(|one| one.is_allowed_on(width)) {
                for primary in (0..count).filter(|one| punctured.within(*one, 1).is_none()) {
                    let channel = Subchannels {
                        width,
                        primary,
                        punctured,
                    };
                    for most in Width::ALL {
                        let part = channel.widest(most, true);
                        assert!(part.width <= most && part.width <= width);
                        assert!(part.punctured.is_allowed_on(part.width));
                        assert!(part.punctured.within(part.primary, 1).is_none());
                    }
                    assert_eq!(channel.widest(width, true), channel);
                }
            }
        }
    }
}

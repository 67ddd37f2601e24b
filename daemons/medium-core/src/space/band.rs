// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which frequencies a PPDU takes, and what a radio of another width or primary channel hears of it
//! (IEEE 802.11-2020 21.3.14, 21.3.18.5).

use crate::dbm::to_db;
use crate::{Mhz, Punctured, Subchannels, Width};

const SUBCHANNEL: u16 = 20;

/// Frequencies in MHz, from and to, without those of punctured subchannels. All of them where both are
/// 0: of radios with one common channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    low: u16,
    high: u16,
    punctured: Punctured,
}

impl Span {
    const fn new(low: u16, width: u16) -> Self {
        Self {
            low,
            high: low + width,
            punctured: Punctured::NONE,
        }
    }

    /// Punctured subchannels included.
    fn width(self) -> u16 {
        self.high - self.low
    }

    fn mhz(self) -> u16 {
        self.width() - SUBCHANNEL * self.punctured.count()
    }

    /// Channels that overlap have subchannels in common.
    fn common(self, other: Self) -> Option<Self> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        if low >= high {
            return None;
        }
        let within = |one: Self| {
            let first = (low - one.low) / SUBCHANNEL;
            one.punctured.within(first, (high - low) / SUBCHANNEL).0
        };
        let common = Self {
            low,
            high,
            punctured: Punctured(within(self) | within(other)),
        };
        (common.mhz() > 0).then_some(common)
    }

    /// The share of a signal on these frequencies that falls into others. Its power is spread evenly.
    pub fn share_in(self, other: Self) -> f64 {
        if self == other || self == Self::default() || other == Self::default() {
            return 1.0;
        }
        let common = self.common(other).map_or(0, Self::mhz);
        f64::from(common) / f64::from(self.mhz())
    }
}

/// Secondary channels of 20, 40, 80 and 160 MHz, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides(u8);

impl Sides {
    pub const COUNT: usize = 4;

    pub fn has(self, side: usize) -> bool {
        self.0 & 1 << side != 0
    }
}

/// How a radio hears a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hear {
    /// It can receive it.
    Frame,
    /// It finds the preamble on its primary channel, and not the rest: that takes more than its own
    /// channel.
    Preamble,
    /// Energy that counts as a signal of no channel (see [`crate::Leakage`]).
    Leak,
    /// Energy on these secondary channels, and none on the primary.
    Beside(Sides),
}

/// What a radio hears of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    pub hear: Hear,
    /// The part of it in the radio's channel.
    pub span: Span,
    /// The power of that part over the whole, in dB.
    pub db: f64,
}

impl Heard {
    /// By a radio on the same channel.
    pub const WHOLE: Self = Self {
        hear: Hear::Frame,
        span: Span::new(0, 0),
        db: 0.0,
    };

    /// By what a sender leaks to the radio's channel.
    pub const fn leak(db: f64) -> Self {
        Self {
            hear: Hear::Leak,
            db,
            ..Self::WHOLE
        }
    }
}

/// A PPDU's width, and whether each 20 MHz of it carry the same (a non-HT duplicate, 17.3.8.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub width: Width,
    pub is_duplicate: bool,
}

impl Extent {
    pub const NARROW: Self = Self {
        width: Width::Mhz20,
        is_duplicate: false,
    };
}

/// The channel of a radio, of 20 to 320 MHz. One 20 MHz channel of it is the primary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    primary: Span,
    whole: Span,
}

impl Band {
    /// By the primary channel's centre, the lowest frequency of the widest channel that contains it,
    /// and the channel's width.
    pub fn new(primary: Mhz, low: Mhz, width: Width) -> Self {
        let mut band = Self {
            primary: Span::new(primary.0 as u16 - SUBCHANNEL / 2, SUBCHANNEL),
            whole: Span::new(low.0 as u16, u16::MAX - low.0 as u16),
        };
        band.whole = band.part(width);
        band
    }

    /// The same without these subchannels, of which none is the primary one.
    pub fn without(mut self, punctured: Punctured) -> Self {
        self.whole.punctured = punctured.within(0, self.whole.width() / SUBCHANNEL);
        self
    }

    /// The part of it that is no wider.
    pub fn narrowed(self, width: Width) -> Self {
        Self {
            whole: self.part(width),
            ..self
        }
    }

    pub fn subchannels(self) -> Subchannels {
        let mhz = self.whole.width();
        let width = Width::ALL.into_iter().find(|width| width.mhz() >= mhz);
        Subchannels {
            width: width.unwrap_or(Width::Mhz320),
            primary: (self.primary.low - self.whole.low) / SUBCHANNEL,
            punctured: self.whole.punctured,
        }
    }

    /// What a PPDU of this width takes: the channel of that width that has the primary one in it.
    fn part(self, width: Width) -> Span {
        let mhz = width.mhz();
        if mhz >= self.whole.width() {
            return self.whole;
        }
        let steps = (self.primary.low - self.whole.low) / mhz;
        let part = Span::new(self.whole.low + steps * mhz, mhz);
        part.common(self.whole).unwrap_or(part)
    }

    /// Secondary channels with a part of `span`.
    fn sides(self, span: Span) -> Sides {
        let mut sides = 0;
        for (side, pair) in Width::ALL.windows(2).enumerate() {
            let (inner, outer) = (self.part(pair[0]), self.part(pair[1]));
            let below = Span::new(outer.low, inner.low - outer.low);
            let above = Span::new(inner.high, outer.high - inner.high);
            let is_hit = |part: Span| part.common(span).is_some();
            sides |= u8::from(is_hit(below) || is_hit(above)) << side;
        }
        Sides(sides)
    }

    /// What this radio hears of a PPDU of another one; none if that is on other frequencies.
    pub fn hears(self, sender: Self, extent: Extent) -> Option<Heard> {
        let sent = sender.part(extent.width);
        let span = sent.common(self.whole)?;
        let covers_primary = sent.common(self.primary) == Some(self.primary);
        let hear = match (covers_primary, span == sent || extent.is_duplicate) {
            (true, true) => Hear::Frame,
            (true, false) => Hear::Preamble,
            (false, _) => Hear::Beside(self.sides(span)),
        };
        Some(Heard {
            hear,
            span,
            db: to_db(sent.share_in(self.whole)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On channels 36 to 48.
    fn band(primary: u32, width: Width) -> Band {
        Band::new(Mhz(primary), Mhz(5170), width)
    }

    fn wide(width: Width) -> Extent {
        Extent {
            width,
            is_duplicate: false,
        }
    }

    #[test]
    fn a_narrow_station_of_the_cell_gets_what_is_as_narrow() {
        let (point, station) = (band(5180, Width::Mhz80), band(5180, Width::Mhz20));
        for (from, to) in [(point, station), (station, point)] {
            let heard = to.hears(from, wide(Width::Mhz20)).unwrap();
            assert_eq!((heard.hear, heard.db), (Hear::Frame, 0.0));
        }
        let heard = station.hears(point, wide(Width::Mhz80)).unwrap();
        assert_eq!((heard.hear, heard.db), (Hear::Preamble, to_db(0.25)));
        let duplicate = Extent {
            width: Width::Mhz80,
            is_duplicate: true,
        };
        let heard = station.hears(point, duplicate).unwrap();
        assert_eq!((heard.hear, heard.db), (Hear::Frame, to_db(0.25)));
    }

    #[test]
    fn neighbours_are_on_secondary_channels() {
        let wide_one = band(5180, Width::Mhz80);
        let on = |primary, width| {
            let other = band(primary, width);
            wide_one.hears(other, wide(width)).unwrap()
        };
        let sides = |primary, width| match on(primary, width).hear {
            Hear::Beside(sides) => [0, 1, 2].map(|side| sides.has(side)),
            other => panic!("{other:?}"),
        };
        assert_eq!(sides(5200, Width::Mhz20), [true, false, false]);
        assert_eq!(sides(5220, Width::Mhz20), [false, true, false]);
        assert_eq!(sides(5220, Width::Mhz40), [false, true, false]);
        // Its own 40 MHz contain the primary channel of 36.
        let heard = on(5200, Width::Mhz40);
        assert_eq!((heard.hear, heard.db), (Hear::Frame, 0.0));
    }

    /// 80 MHz on channel 36 without channel 48.
    fn punctured() -> Band {
        band(5180, Width::Mhz80).without(Punctured(0x8))
    }

    #[test]
    fn a_punctured_subchannel_is_neither_sensed_nor_occupied() {
        let (own, on_48) = (punctured(), band(5240, Width::Mhz20));
        assert_eq!(own.hears(on_48, wide(Width::Mhz20)), None);
        assert_eq!(on_48.hears(own, wide(Width::Mhz80)), None);
        let duplicate = Extent {
            width: Width::Mhz80,
            is_duplicate: true,
        };
        assert_eq!(on_48.hears(own, duplicate), None);
        // Half of it is on channel 44, which counts as one of the secondary 40 MHz.
        let heard = own.hears(band(5240, Width::Mhz40), wide(Width::Mhz40));
        let heard = heard.expect("half of it");
        assert!(matches!(heard.hear, Hear::Beside(sides) if sides.has(1) && !sides.has(0)));
        assert_eq!(heard.db, to_db(0.5));
    }

    #[test]
    fn stations_of_a_punctured_cell_hear_all_of_each_other() {
        let heard = punctured().hears(punctured(), wide(Width::Mhz80));
        let heard = heard.expect("the whole frame");
        assert_eq!((heard.hear, heard.db), (Hear::Frame, 0.0));
        // One whose channel is whole sends on more than they listen to.
        let other = band(5180, Width::Mhz80);
        let heard = punctured().hears(other, wide(Width::Mhz80)).unwrap();
        assert_eq!((heard.hear, heard.db), (Hear::Preamble, to_db(0.75)));
        let heard = other.hears(punctured(), wide(Width::Mhz80)).unwrap();
        assert_eq!((heard.hear, heard.db), (Hear::Frame, 0.0));
    }

    #[test]
    fn power_is_spread_over_what_is_left() {
        let sent = punctured().whole;
        assert_eq!(sent.share_in(Span::new(5230, 20)), 0.0);
        assert_eq!(sent.share_in(Span::new(5170, 40)), 2.0 / 3.0);
        assert_eq!(Span::new(5170, 80).share_in(sent), 0.75);
    }

    #[test]
    fn a_narrower_station_has_a_part_of_a_punctured_channel() {
        let upper = band(5220, Width::Mhz80).without(Punctured(0x2));
        let part = upper.narrowed(Width::Mhz40).subchannels();
        assert_eq!(part, Width::Mhz40.into());
        let whole = upper.subchannels();
        assert_eq!((whole.primary, whole.punctured), (2, Punctured(0x2)));
    }

    #[test]
    fn channels_that_share_nothing_hear_nothing() {
        let (one, other) = (band(5180, Width::Mhz40), band(5220, Width::Mhz40));
        assert_eq!(one.hears(other, wide(Width::Mhz40)), None);
        // The one on 44 sends 80 MHz, and is heard on 36 by its preamble.
        let other = band(5220, Width::Mhz80);
        let heard = one.hears(other, wide(Width::Mhz80)).unwrap();
        assert_eq!((heard.hear, heard.db), (Hear::Preamble, to_db(0.5)));
    }

    #[test]
    fn a_signal_disturbs_what_is_on_its_frequencies() {
        let (narrow, wide) = (Span::new(5170, 20), Span::new(5170, 80));
        assert_eq!((narrow.share_in(wide), wide.share_in(narrow)), (1.0, 0.25));
        assert_eq!(narrow.share_in(Span::new(5190, 20)), 0.0);
        assert_eq!(narrow.share_in(Span::default()), 1.0);
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How links deviate from the mean path loss: the same both ways, and for the whole run.
//!
//! Without a distance of correlation each pair of radios has a deviation of its own, wherever they
//! are. With one the places decide, by a field of two places `S(a, b) = S(b, a)` with mean 0 and
//! variance 1. While one end moves by `d`, its autocorrelation is `exp(-d / d_corr)` (Gudmundson
//! 1991). While both move, it is the product of both ends' (Wang, Tameh, Nix 2008).
//!
//! The field is a sum of sinusoids of both places, as in their simulator (Wang, Tameh, Nix 2005):
//!
//! ```text
//! G(a, b) = sqrt(2 / N) sum cos(k a + l b + phase)
//! S(a, b) = (G(a, b) + G(b, a)) / sqrt(2 (1 + exp(-2 |a - b| / d_corr)))
//! ```
//!
//! `exp(-r)` is the characteristic function of the multivariate Cauchy distribution, so the
//! wavenumbers `k` and `l` are drawn from that.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::f64::consts::PI;

use hoplab_base::Stream;

use super::mobility::{Position, Station};
use crate::RadioId;

/// Deviations beyond this many standard deviations (1 link in 16 000) are cut, so that reach is
/// bounded.
pub const LIMIT: f64 = 4.0;

/// Sinusoids of a field. Their sum has a kurtosis of `3 - 0.75 / N`, a normal variate has 3.
const WAVES: usize = 64;

/// The divisor of a Cauchy variate is at least this, so that the variate is a number.
const LEAST_DIVISOR: f64 = 1e-9;

struct Wave {
    /// Of the middle between both places, in 1/m.
    middle: [f64; 3],
    /// Of half the way from one to the other.
    half: [f64; 3],
    phase: f64,
}

impl Wave {
    fn draw(random: &mut Stream, correlation_m: f64) -> Self {
        let mut cauchy = || {
            let divisor = libm::fabs(random.gaussian()).max(LEAST_DIVISOR) * correlation_m;
            [(); 3].map(|()| random.gaussian() / divisor)
        };
        let (k, l) = (cauchy(), cauchy());
        Self {
            middle: [0, 1, 2].map(|axis| k[axis] + l[axis]),
            half: [0, 1, 2].map(|axis| k[axis] - l[axis]),
            phase: 2.0 * PI * random.unit(),
        }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A deviation of each two places, in standard deviations.
struct Field {
    waves: Vec<Wave>,
    correlation_m: f64,
}

impl Field {
    fn new(seed: u64, correlation_m: f64) -> Self {
        let mut random = Stream::new(seed, "medium/shadowing");
        let waves = (0..WAVES).map(|_| Wave::draw(&mut random, correlation_m));
        Self {
            waves: waves.collect(),
            correlation_m,
        }
    }

    fn between(&self, a: Position, b: Position) -> f64 {
        let (a_m, b_m) = ([a.x_m, a.y_m, a.z_m], [b.x_m, b.y_m, b.z_m]);
        let middle = [0, 1, 2].map(|axis| (a_m[axis] + b_m[axis]) / 2.0);
        let half = [0, 1, 2].map(|axis| (a_m[axis] - b_m[axis]) / 2.0);
        // cos(x + y) + cos(x - y) = 2 cos x cos y. The order of the places changes a sign only,
        // which the cosine does not see.
        let sum: f64 = (self.waves.iter())
            .map(|wave| {
                let along = libm::cos(dot(wave.middle, middle) + wave.phase);
                along * libm::cos(libm::fabs(dot(wave.half, half)))
            })
            .sum();
        let both = libm::exp(-2.0 * a.distance_m(b) / self.correlation_m);
        let scale = libm::sqrt(2.0 / WAVES as f64) * 2.0 / libm::sqrt(2.0 * (1.0 + both));
        (sum * scale).clamp(-LIMIT, LIMIT)
    }
}

pub struct Shadowing {
    seed: u64,
    deviation_db: f64,
    field: Option<Field>,
    /// What each pair was given, where places do not decide.
    drawn: BTreeMap<(RadioId, RadioId), f64>,
}

impl Shadowing {
    pub fn new(seed: u64, deviation_db: f64, correlation_m: Option<f64>) -> Self {
        Self {
            seed,
            deviation_db,
            field: correlation_m
                .filter(|_| deviation_db > 0.0)
                .map(|correlation_m| Field::new(seed, correlation_m)),
            drawn: BTreeMap::new(),
        }
    }

    pub fn is_none(&self) -> bool {
        self.deviation_db == 0.0
    }

    /// Of a pair of radios at these places, in dB.
    pub fn db(
        &mut self,
        pair: (RadioId, RadioId),
        here: Position,
        there: Position,
        stations: &[Station],
    ) -> f64 {
        if self.field.is_some() {
            return self.between_db(here, there);
        }
        let pair = (pair.0.min(pair.1), pair.0.max(pair.1));
        let seed = self.seed;
        let deviation = self.drawn.entry(pair).or_insert_with(|| {
            let name = |radio: RadioId| &stations[radio.index()].name;
            let name = format!("medium/shadowing/{}/{}", name(pair.0), name(pair.1));
            // A stream for each pair: its deviation does not depend on which link is used first.
            Stream::new(seed, &name).gaussian().clamp(-LIMIT, LIMIT)
        });
        *deviation * self.deviation_db
    }

    /// Of two places, in dB; 0 where places do not decide.
    pub fn between_db(&self, here: Position, there: Position) -> f64 {
        let field = self.field.as_ref();
        field.map_or(0.0, |field| field.between(here, there)) * self.deviation_db
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D_M: f64 = 20.0;
    const FIELDS: u64 = 4000;

    /// Of many fields, the correlation of two links, and the variance of the first.
    fn moments(first: (Position, Position), second: (Position, Position)) -> (f64, f64) {
        let pairs = (0..FIELDS).map(|seed| {
            let field = Field::new(seed, D_M);
            let one = field.between(first.0, first.1);
            (one * one, one * field.between(second.0, second.1))
        });
        let sums = pairs.fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
        (sums.0 / FIELDS as f64, sums.1 / FIELDS as f64)
    }

    /// Five standard deviations of the mean of products of two normal variates.
    fn bound(correlation: f64) -> f64 {
        5.0 * libm::sqrt((1.0 + correlation * correlation) / FIELDS as f64)
    }

    #[test]
    fn correlation_falls_with_the_way_of_each_end() {
        let at = |x_m, y_m, z_m| Position { x_m, y_m, z_m };
        let (here, there) = (at(0.0, 0.0, 0.0), at(300.0, 40.0, 2.0));
        let far = |way: f64| libm::exp(-way / D_M);
        for (second, expected) in [
            ((here, at(300.0, 45.0, 2.0)), far(5.0)),
            ((here, at(320.0, 40.0, 2.0)), far(20.0)),
            ((at(0.0, 0.0, 10.0), there), far(10.0)),
            ((at(-40.0, 0.0, 0.0), there), far(40.0)),
            ((at(6.0, 8.0, 0.0), at(306.0, 32.0, 2.0)), far(20.0)),
            ((there, at(6.0, 8.0, 0.0)), far(10.0)),
        ] {
            let (variance, correlation) = moments((here, there), second);
            assert!((variance - 1.0).abs() < bound(1.0), "{variance}");
            let away = (correlation - expected).abs();
            assert!(away < bound(expected), "{correlation}, not {expected}");
        }
    }

    #[test]
    fn a_short_link_deviates_as_much_as_a_long_one() {
        for x_m in [0.0, 1.0, 10.0, 100.0] {
            let link = (Position::new(7.0, 7.0), Position::new(7.0 + x_m, 7.0));
            let (variance, _) = moments(link, link);
            assert!((variance - 1.0).abs() < bound(1.0), "{x_m} m: {variance}");
        }
    }

    #[test]
    fn a_share_of_places_is_beyond_each_deviation() {
        // P(S > 1) = 0.15866, P(S > 2) = 0.02275 of a normal distribution.
        let link = (Position::new(3.0, 4.0), Position::new(203.0, 4.0));
        let found: Vec<f64> = (0..FIELDS)
            .map(|seed| Field::new(seed, D_M).between(link.0, link.1))
            .collect();
        for (least, expected) in [(-1.0, 0.84134), (0.0, 0.5), (1.0, 0.15866), (2.0, 0.02275)] {
            let above = found.iter().filter(|value| **value > least).count();
            let share = above as f64 / FIELDS as f64;
            let deviation = libm::sqrt(expected * (1.0 - expected) / FIELDS as f64);
            assert!((share - expected).abs() < 5.0 * deviation, "{share}");
        }
    }

    #[test]
    fn it_is_the_same_both_ways_and_at_each_visit() {
        let field = Field::new(1, 0.1);
        let (a, b) = (Position::new(-1e6, 17.3), Position::new(123.4, 1e6));
        let value = field.between(a, b);
        assert!(value.is_finite());
        assert_eq!(value.to_bits(), field.between(b, a).to_bits());
        assert_eq!(value.to_bits(), Field::new(1, 0.1).between(a, b).to_bits());
        assert_ne!(value, Field::new(2, 0.1).between(a, b));
    }

    /// These octets were recorded once.
    #[test]
    fn a_field_is_the_same_on_each_machine() {
        let field = Field::new(1, D_M);
        let value = field.between(Position::new(0.0, 0.0), Position::new(100.0, 50.0));
        assert_eq!(value.to_bits(), 4_604_820_740_618_889_289);
    }
}

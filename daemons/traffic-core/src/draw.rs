// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of a distribution, the same for the same seed.

use crate::twister::Twister;
use alloc::boxed::Box;
use alloc::format;
use hoplab_base::Duration;

const NS_PER_S: f64 = 1e9;

/// A distribution. What is drawn above `high` becomes it; None is no bound.
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Always the mean.
    Fixed {
        mean: f64,
    },
    Uniform {
        low: f64,
        high: f64,
    },
    Exponential {
        mean: f64,
        high: Option<f64>,
    },
    /// Of this mean; `shape` is its exponent, above 1.
    Pareto {
        mean: f64,
        shape: f64,
        high: Option<f64>,
    },
}

/// Draws without end.
#[derive(Clone, Debug)]
pub struct Draws {
    draw: Draw,
    chance: Box<Twister>,
}

impl Draws {
    /// Those of the stream `name` of a flow's seed.
    pub fn new(draw: Draw, seed: u64, name: &str) -> Self {
        Draws {
            draw,
            chance: Twister::of_text(&format!("{seed}/{name}")).into(),
        }
    }

    /// The next number.
    pub fn number(&mut self) -> f64 {
        let at_most = |value: f64, high: Option<f64>| value.min(high.unwrap_or(f64::INFINITY));
        match self.draw {
            Draw::Fixed { mean } => mean,
            Draw::Uniform { low, high } => low + (high - low) * self.chance.unit(),
            Draw::Exponential { mean, high } => {
                at_most(-libm::log(1.0 - self.chance.unit()) * mean, high)
            }
            Draw::Pareto { mean, shape, high } => {
                // The least value of Pareto's law with this mean.
                let least = mean * (shape - 1.0) / shape;
                let above = libm::pow(1.0 - self.chance.unit(), -1.0 / shape);
                at_most(least * above, high)
            }
        }
    }

    /// The next number as octets: whole, at least one.
    pub fn octets(&mut self) -> u64 {
        (libm::rint(self.number()) as u64).max(1)
    }

    /// The next number, seconds, rounded up to nanoseconds.
    pub fn time(&mut self) -> Duration {
        up(self.number())
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

    const COUNT: usize = 40_000;

    fn drawn(draw: Draw) -> Vec<f64> {
        let mut draws = Draws::new(draw, 7, "think");
        (0..COUNT).map(|_| draws.number()).collect()
    }

    /// The mean, asked to be within three deviations of the mean of so many.
    fn assert_mean(values: &[f64], mean: f64, deviation: f64) {
        let found = values.iter().sum::<f64>() / COUNT as f64;
        let most = 3.0 * deviation / (COUNT as f64).sqrt();
        assert!((found - mean).abs() < most, "{found}, expected {mean}");
    }

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn numbers_are_of_their_distribution() {
        assert!(drawn(Draw::Fixed { mean: 3.0 }).iter().all(|x| *x == 3.0));
        let uniform = sorted(drawn(Draw::Uniform {
            low: 2.0,
            high: 6.0,
        }));
        assert!(2.0 <= uniform[0] && uniform[COUNT - 1] <= 6.0);
        assert_mean(&uniform, 4.0, 4.0 / 12f64.sqrt());
        let exponential = drawn(Draw::Exponential {
            mean: 5.0,
            high: None,
        });
        assert_mean(&exponential, 5.0, 5.0);
        let pareto = sorted(drawn(Draw::Pareto {
            mean: 3.0,
            shape: 3.0,
            high: None,
        }));
        // Its least value is (shape - 1) / shape of the mean, its median 2^(1 / shape) of that.
        assert!((pareto[0] - 2.0).abs() < 1e-3);
        assert!((pareto[COUNT / 2] / (2.0 * 2f64.cbrt()) - 1.0).abs() < 0.01);
        assert_mean(&pareto, 3.0, 3f64.sqrt());
        let cut = sorted(drawn(Draw::Pareto {
            mean: 3.0,
            shape: 1.1,
            high: Some(50.0),
        }));
        assert_eq!(cut[COUNT - 1], 50.0);
    }

    /// From Python: `r = random.Random("5/request")`, then three of
    /// `r.expovariate(1.0) * 100`, of `r.uniform(2, 6)` and of `1.8 * r.paretovariate(2.5)`.
    #[test]
    fn they_are_those_of_pythons_generator() {
        let three = |draw| {
            let mut draws = Draws::new(draw, 5, "request");
            core::array::from_fn::<f64, 3, _>(|_| draws.number())
        };
        assert_eq!(
            three(Draw::Exponential {
                mean: 100.0,
                high: None
            }),
            [10.632722283694484, 50.983349477576866, 67.0739138702964]
        );
        assert_eq!(
            three(Draw::Uniform {
                low: 2.0,
                high: 6.0
            }),
            [2.4034784642457554, 3.5976177088488215, 3.954678024330059]
        );
        let pareto = Draw::Pareto {
            mean: 3.0,
            shape: 2.5,
            high: None,
        };
        assert_eq!(
            three(pareto),
            [1.8782069167631879, 2.2071896678814733, 2.3539206987132233]
        );
    }

    #[test]
    fn octets_are_whole_and_at_least_one() {
        let mut draws = Draws::new(Draw::Fixed { mean: 2.5 }, 1, "request");
        assert_eq!(draws.octets(), 2, "to the even one");
        let mut draws = Draws::new(Draw::Fixed { mean: 0.1 }, 1, "request");
        assert_eq!(draws.octets(), 1);
        assert_eq!(draws.time(), Duration::from_millis(100));
    }
}

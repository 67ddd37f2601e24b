// SPDX-License-Identifier: Apache-2.0
//! Received power over distance and from frame to frame.

use core::f64::consts::PI;

use hoplab_base::Stream;

/// Variation of a signal's power from frame to frame and from receiver to receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fading {
    None,
    /// Gamma-distributed power of shape `m` and mean 1 (Nakagami 1960); Rayleigh is m = 1.
    Nakagami {
        m: f64,
    },
}

/// Gains above this are cut, so that reach is bounded: 1 frame in 7 million at m = 1.
const FADING_LIMIT_DB: f64 = 12.0;

impl Fading {
    pub fn fades(&self) -> bool {
        *self != Self::None
    }

    pub fn limit_db(&self) -> f64 {
        if self.fades() {
            FADING_LIMIT_DB
        } else {
            0.0
        }
    }

    /// A frame's power over its mean.
    pub fn gain(&self, random: &mut Stream) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Nakagami { m } => {
                let limit = from_db(FADING_LIMIT_DB);
                // Zero would have no decibels.
                (random.gamma(*m) / m).clamp(1e-30, limit)
            }
        }
    }
}

/// Received power from distance.
#[derive(Clone, Debug)]
pub struct Propagation {
    pub model: Model,
    pub tx_power_dbm: f64,
    pub frequency_mhz: f64,
    pub antenna_height_m: f64,
    pub antenna_gain_dbi: f64,
}

/// How power falls with distance.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    Friis,
    TwoRay,
    LogDistance { exponent: f64, reference_m: f64 },
}

const SPEED_OF_LIGHT: f64 = 299_792_458.0;

impl Propagation {
    /// Received power in dBm at `distance_m`.
    pub fn received_dbm(&self, distance_m: f64) -> f64 {
        let d = distance_m.max(0.1);
        let wavelength = SPEED_OF_LIGHT / (self.frequency_mhz * 1e6);
        let gains = self.tx_power_dbm + 2.0 * self.antenna_gain_dbi;
        let friis = |d: f64| gains + 20.0 * libm::log10(wavelength / (4.0 * PI * d));
        match self.model {
            Model::Friis => friis(d),
            Model::TwoRay => {
                // Two-ray ground beyond the crossover distance, as in ns-2 and Rappaport 1996.
                let h = self.antenna_height_m;
                let crossover = 4.0 * PI * h * h / wavelength;
                if d < crossover {
                    friis(d)
                } else {
                    gains + 10.0 * libm::log10(h * h * h * h / (d * d * d * d))
                }
            }
            Model::LogDistance {
                exponent,
                reference_m,
            } => friis(reference_m) - 10.0 * exponent * libm::log10(d / reference_m),
        }
    }

    /// Distance in m at which the mean power has fallen to `dbm`.
    pub fn reach_m(&self, dbm: f64) -> f64 {
        let (mut near, mut far) = (0.1, 1e7);
        while far - near > 1e-6 * far {
            let middle = (near + far) / 2.0;
            if self.received_dbm(middle) >= dbm {
                near = middle;
            } else {
                far = middle;
            }
        }
        // A cell must have a width, and the limit itself must be inside.
        far.max(1.0)
    }
}

/// A ratio of powers, or mW, from decibels.
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Decibels of a ratio of powers, or dBm of mW.
pub fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

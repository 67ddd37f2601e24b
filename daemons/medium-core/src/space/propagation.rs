// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Received power over distance and from frame to frame.

use core::f64::consts::PI;

use hoplab_base::Stream;

use crate::dbm::{from_db, Dbm};

/// Variation of a signal's power from frame to frame and from receiver to receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Fading {
    None,
    /// Gamma-distributed power of shape `m` and mean 1 (Nakagami 1960); Rayleigh is m = 1.
    Nakagami {
        m: f64,
    },
    /// Decibels of this standard deviation.
    Normal {
        deviation_db: f64,
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
            Self::Normal { deviation_db } => {
                let gain_db = random.gaussian() * deviation_db;
                from_db(gain_db.clamp(-100.0, FADING_LIMIT_DB))
            }
        }
    }
}

/// Received power from distance.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Propagation {
    pub model: Model,
    pub tx_power_dbm: Dbm,
    pub frequency_mhz: f64,
    pub antenna_height_m: f64,
    pub antenna_gain_dbi: f64,
}

/// A radio's own, where it is not that of the channel's [`Propagation`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Antenna {
    pub tx_power_dbm: Dbm,
    pub gain_dbi: f64,
    pub height_m: f64,
    /// Of what it sends.
    pub frequency_mhz: f64,
    /// Radios that send to it use its power. An access point's range is then the same both ways.
    pub sets_power: bool,
}

/// How power falls with distance.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Model {
    Friis,
    TwoRay,
    LogDistance {
        exponent: f64,
        reference_m: f64,
    },
    /// Friis with losses of the system itself.
    FreeSpace {
        loss_db: f64,
    },
    /// ITU-R P.1238, indoors: distance power loss coefficient, and what the floors between take.
    Itu {
        /// None: 28 within 16 m, 38 beyond.
        coefficient: Option<f64>,
        floors_db: f64,
    },
}

/// Where the coefficient of [`Model::Itu`] changes by itself.
const ITU_NEAR_M: f64 = 16.0;

const SPEED_OF_LIGHT: f64 = 299_792_458.0;

impl Propagation {
    /// Received power at `distance_m`.
    pub fn received_dbm(&self, distance_m: f64) -> Dbm {
        let own = self.antenna();
        self.between(&own, &own, distance_m)
    }

    /// The antenna of radios without one of their own.
    pub fn antenna(&self) -> Antenna {
        Antenna {
            tx_power_dbm: self.tx_power_dbm,
            gain_dbi: self.antenna_gain_dbi,
            height_m: self.antenna_height_m,
            frequency_mhz: self.frequency_mhz,
            sets_power: false,
        }
    }

    /// Received power at `distance_m` of two radios with their own antennas.
    pub fn between(&self, from: &Antenna, to: &Antenna, distance_m: f64) -> Dbm {
        // The models hold in the far field only. Without a least distance the power would grow
        // beyond all bounds.
        let d = distance_m.max(0.1);
        let wavelength = SPEED_OF_LIGHT / (from.frequency_mhz * 1e6);
        let power = if to.sets_power { to } else { from }.tx_power_dbm;
        let gains = power + (from.gain_dbi + to.gain_dbi);
        let friis = |d: f64| gains + 20.0 * libm::log10(wavelength / (4.0 * PI * d));
        match self.model {
            Model::Friis => friis(d),
            Model::TwoRay => {
                // Two-ray ground beyond the crossover distance, as in ns-2 and Rappaport 1996.
                let (h, g) = (from.height_m, to.height_m);
                let crossover = 4.0 * PI * h * g / wavelength;
                if d < crossover {
                    friis(d)
                } else {
                    gains + 10.0 * libm::log10(h * h * g * g / (d * d * d * d))
                }
            }
            Model::LogDistance {
                exponent,
                reference_m,
            } => friis(reference_m) - 10.0 * exponent * libm::log10(d / reference_m),
            Model::FreeSpace { loss_db } => friis(d) - loss_db,
            Model::Itu {
                coefficient,
                floors_db,
            } => {
                let near = if d <= ITU_NEAR_M { 28.0 } else { 38.0 };
                let distance_db = coefficient.unwrap_or(near) * libm::log10(d);
                let loss_db =
                    20.0 * libm::log10(from.frequency_mhz) + distance_db + floors_db - 28.0;
                gains - loss_db
            }
        }
    }

    /// Distance in m at which the mean power has fallen to `dbm`.
    pub fn reach_m(&self, dbm: Dbm) -> f64 {
        // Bisection: by every model the power falls with distance.
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

// SPDX-License-Identifier: Apache-2.0
//! Durations of frames and received power over distance.

use crate::{Nanos, Stream};

/// Which PHY's preambles and rates apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// DSSS and CCK, 1 to 11 Mbit/s (IEEE 802.11-2020 clauses 15 and 16).
    Dsss,
    /// OFDM, 6 to 54 Mbit/s (clause 17), with the 6 us signal extension in the 2.4 GHz band
    /// (18.3.2.4).
    Ofdm { signal_extension: bool },
}

/// Timing of the PHY.
#[derive(Clone, Debug)]
pub struct Phy {
    pub standard: Standard,
    pub preamble_bits: u32,
    pub plcp_rate_mbps: f64,
    pub basic_rate_mbps: f64,
    pub slot: Nanos,
    pub sifs: Nanos,
    pub cw_min: u32,
    pub cw_max: u32,
}

pub const PLCP_HEADER_BITS: u32 = 48;

/// Length of the OFDM preamble and SIGNAL field (17.3.2.1).
const OFDM_PREAMBLE: Nanos = 20_000;

fn is_dsss(rate_mbps: f64) -> bool {
    [1.0, 2.0, 5.5, 11.0].contains(&rate_mbps)
}

impl Phy {
    /// Whether the standard has this rate.
    pub fn supports(&self, rate_mbps: f64) -> bool {
        let ofdm = [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0].contains(&rate_mbps);
        match self.standard {
            Standard::Dsss => is_dsss(rate_mbps),
            // 802.11g knows the rates of 802.11b too, 802.11a does not.
            Standard::Ofdm { signal_extension } => ofdm || signal_extension && is_dsss(rate_mbps),
        }
    }

    /// Time of preamble and PLCP header at `rate_mbps`.
    pub fn preamble(&self, rate_mbps: f64) -> Nanos {
        if is_dsss(rate_mbps) {
            let bits = f64::from(self.preamble_bits + PLCP_HEADER_BITS);
            (bits / self.plcp_rate_of(rate_mbps) * 1000.0).round() as Nanos
        } else {
            OFDM_PREAMBLE
        }
    }

    /// Rate at which the header of a frame at `rate_mbps` is sent.
    pub fn header_rate_mbps(&self, rate_mbps: f64) -> f64 {
        if is_dsss(rate_mbps) {
            self.plcp_rate_of(rate_mbps)
        } else {
            6.0
        }
    }

    /// In an 802.11g network DSSS frames have 802.11b's own header.
    fn plcp_rate_of(&self, rate_mbps: f64) -> f64 {
        if is_dsss(rate_mbps) && !is_dsss(self.plcp_rate_mbps) {
            1.0
        } else {
            self.plcp_rate_mbps
        }
    }

    /// Time on the air of `bytes` (MAC header to FCS) at `rate_mbps`.
    pub fn duration(&self, bytes: usize, rate_mbps: f64) -> Nanos {
        if is_dsss(rate_mbps) {
            // The PLCP header tells the length in whole microseconds (16.3.4).
            let body = (bytes as f64 * 8.0 / rate_mbps).ceil() as Nanos * 1000;
            return self.preamble(rate_mbps) + body;
        }
        // 16 service and 6 tail bits, padded to whole 4 us symbols (17.4.3).
        let symbols = ((22.0 + bytes as f64 * 8.0) / (4.0 * rate_mbps)).ceil() as Nanos;
        let extension = match self.standard {
            Standard::Ofdm { signal_extension } if signal_extension => 6_000,
            _ => 0,
        };
        OFDM_PREAMBLE + 4_000 * symbols + extension
    }

    /// DIFS = SIFS + 2 slots (10.3.7).
    pub fn difs(&self) -> Nanos {
        self.sifs + 2 * self.slot
    }

    /// EIFS = SIFS + DIFS + the time of an ACK at the lowest basic rate (10.3.7).
    pub fn eifs(&self) -> Nanos {
        self.sifs + self.difs() + self.duration(14, self.basic_rate_mbps)
    }
}

/// How it is decided whether a frame is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// Power at least the receive threshold, ratio to interference at least the capture ratio.
    Threshold,
    /// Probability that all bits are right at their signal to interference and noise ratio.
    ErrorRate,
}

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
    pub(crate) fn fades(&self) -> bool {
        *self != Self::None
    }

    pub(crate) fn limit_db(&self) -> f64 {
        if self.fades() {
            FADING_LIMIT_DB
        } else {
            0.0
        }
    }

    /// A frame's power over its mean.
    pub(crate) fn gain(&self, random: &mut Stream) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Nakagami { m } => {
                let limit = libm::pow(10.0, FADING_LIMIT_DB / 10.0);
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
        let friis = |d: f64| gains + 20.0 * (wavelength / (4.0 * std::f64::consts::PI * d)).log10();
        match self.model {
            Model::Friis => friis(d),
            Model::TwoRay => {
                // Two-ray ground beyond the crossover distance, as in ns-2 and Rappaport 1996.
                let h = self.antenna_height_m;
                let crossover = 4.0 * std::f64::consts::PI * h * h / wavelength;
                if d < crossover {
                    friis(d)
                } else {
                    gains + 10.0 * (h * h * h * h / (d * d * d * d)).log10()
                }
            }
            Model::LogDistance {
                exponent,
                reference_m,
            } => friis(reference_m) - 10.0 * exponent * (d / reference_m).log10(),
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

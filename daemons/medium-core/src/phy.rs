// SPDX-License-Identifier: Apache-2.0
//! Durations of frames and received power over distance.

use crate::Nanos;

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

impl Phy {
    /// Time on the air of `bytes` (MAC header to FCS) at `rate_mbps`.
    pub fn duration(&self, bytes: usize, rate_mbps: f64) -> Nanos {
        match self.standard {
            Standard::Dsss => {
                let header = f64::from(self.preamble_bits + PLCP_HEADER_BITS) / self.plcp_rate_mbps;
                ((header + bytes as f64 * 8.0 / rate_mbps) * 1000.0).round() as Nanos
            }
            Standard::Ofdm { signal_extension } => {
                // 16 service and 6 tail bits, padded to whole 4 us symbols (17.4.3).
                let symbols = ((22.0 + bytes as f64 * 8.0) / (4.0 * rate_mbps)).ceil() as Nanos;
                20_000 + 4_000 * symbols + if signal_extension { 6_000 } else { 0 }
            }
        }
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
}

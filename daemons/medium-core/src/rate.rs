// SPDX-License-Identifier: Apache-2.0
//! The rates of IEEE 802.11, as values that can be compared.

use core::fmt;

/// How bits become signals: which preamble, which receiver, and later which further parameters (HT
/// and VHT have guard interval, width and streams) a rate comes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// DSSS and CCK (IEEE 802.11-2020 clauses 15 and 16).
    Dsss,
    /// OFDM on 20 MHz (clause 17).
    Ofdm,
}

/// A rate that the standard has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    /// As in the Supported Rates element (9.4.2.3), 500 kbit/s each.
    units: u16,
    modulation: Modulation,
}

const fn dsss(units: u16) -> Rate {
    Rate {
        units,
        modulation: Modulation::Dsss,
    }
}

const fn ofdm(units: u16) -> Rate {
    Rate {
        units,
        modulation: Modulation::Ofdm,
    }
}

impl Rate {
    pub const DSSS_1: Self = dsss(2);
    pub const DSSS_2: Self = dsss(4);
    pub const CCK_5_5: Self = dsss(11);
    pub const CCK_11: Self = dsss(22);
    pub const OFDM_6: Self = ofdm(12);
    pub const OFDM_9: Self = ofdm(18);
    pub const OFDM_12: Self = ofdm(24);
    pub const OFDM_18: Self = ofdm(36);
    pub const OFDM_24: Self = ofdm(48);
    pub const OFDM_36: Self = ofdm(72);
    pub const OFDM_48: Self = ofdm(96);
    pub const OFDM_54: Self = ofdm(108);

    /// DSSS and CCK, then OFDM, each in order of speed.
    pub const ALL: [Self; 12] = [
        Self::DSSS_1,
        Self::DSSS_2,
        Self::CCK_5_5,
        Self::CCK_11,
        Self::OFDM_6,
        Self::OFDM_9,
        Self::OFDM_12,
        Self::OFDM_18,
        Self::OFDM_24,
        Self::OFDM_36,
        Self::OFDM_48,
        Self::OFDM_54,
    ];

    /// The rate of so many Mbit/s, as configurations name it.
    pub fn from_mbps(mbps: f64) -> Option<Self> {
        // Multiples of 500 kbit/s are exact in floating point.
        Self::ALL.into_iter().find(|rate| rate.mbps() == mbps)
    }

    pub fn mbps(self) -> f64 {
        f64::from(self.units) / 2.0
    }

    /// In units of 500 kbit/s.
    pub fn units(self) -> u16 {
        self.units
    }

    pub fn modulation(self) -> Modulation {
        self.modulation
    }

    pub fn is_dsss(self) -> bool {
        self.modulation == Modulation::Dsss
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.mbps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_found_by_their_speed_and_nothing_else_is() {
        for rate in Rate::ALL {
            assert_eq!(Rate::from_mbps(rate.mbps()), Some(rate));
        }
        for none in [0.0, 6.5, 5.500_001, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::from_mbps(none), None);
        }
    }
}

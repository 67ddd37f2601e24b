// SPDX-License-Identifier: Apache-2.0
//! How long frames are on the air.

use hoplab_base::Duration;

use crate::Rate;

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
    pub plcp_rate: Rate,
    pub basic_rate: Rate,
    pub slot: Duration,
    pub sifs: Duration,
    pub cw_min: u32,
    pub cw_max: u32,
}

const PLCP_HEADER_BITS: u32 = 48;
/// Length of the OFDM preamble and SIGNAL field (17.3.2.1).
const OFDM_PREAMBLE: Duration = Duration::from_micros(20);
const OFDM_SYMBOL: Duration = Duration::from_micros(4);
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
/// Service and tail bits of an OFDM frame (17.3.2.2).
const OFDM_EXTRA_BITS: u64 = 22;

impl Standard {
    /// Whether it has this rate.
    pub fn has(self, rate: Rate) -> bool {
        match self {
            Self::Dsss => rate.is_dsss(),
            // 802.11g knows the rates of 802.11b too, 802.11a does not.
            Self::Ofdm { signal_extension } => signal_extension || !rate.is_dsss(),
        }
    }
}

impl Phy {
    /// Time of preamble and PLCP header of a frame at `rate`.
    pub fn preamble(&self, rate: Rate) -> Duration {
        if !rate.is_dsss() {
            return OFDM_PREAMBLE;
        }
        // A unit is half a bit a microsecond.
        let half_bits = 2 * u64::from(self.preamble_bits + PLCP_HEADER_BITS);
        let units = u64::from(self.header_rate(rate).units());
        Duration::from_nanos((half_bits * 1000 + units / 2) / units)
    }

    /// Rate at which the header of a frame at `rate` is sent.
    pub fn header_rate(&self, rate: Rate) -> Rate {
        match (rate.is_dsss(), self.plcp_rate.is_dsss()) {
            (false, _) => Rate::OFDM_6,
            (true, true) => self.plcp_rate,
            // In an 802.11g network DSSS frames have 802.11b's own header.
            (true, false) => Rate::DSSS_1,
        }
    }

    /// Time on the air of `bytes` (MAC header to FCS) at `rate`.
    pub fn duration(&self, bytes: usize, rate: Rate) -> Duration {
        let (bits, units) = (8 * bytes as u64, u64::from(rate.units()));
        if rate.is_dsss() {
            // The PLCP header tells the length in whole microseconds (16.3.4).
            return self.preamble(rate) + Duration::from_micros((2 * bits).div_ceil(units));
        }
        // Padded to whole symbols (17.4.3).
        let symbols = (OFDM_EXTRA_BITS + bits).div_ceil(2 * units);
        let extension = match self.standard {
            Standard::Ofdm { signal_extension } if signal_extension => SIGNAL_EXTENSION,
            _ => Duration::ZERO,
        };
        OFDM_PREAMBLE + OFDM_SYMBOL * symbols + extension
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What describes a channel and its radios.

use alloc::vec::Vec;

use hoplab_base::Duration;

use crate::space::{Fading, Floor, Interferer, Model, Propagation, Wall};
use crate::{Dbm, Edca, Energy, Mhz, Nic, Ofdma, Phy, Punctured, Rate, Standard, Width};

/// Whose rules radios follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Rules {
    /// IEEE 802.11-2020.
    #[default]
    Standard,
    /// ns-2.35's `Mac802_11`.
    Ns2,
}

/// How it is decided whether a frame is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Reception {
    /// Power at least the receive threshold, ratio to interference at least the capture ratio.
    Threshold,
    /// Probability that all bits are right at their signal to interference and noise ratio.
    ErrorRate,
    /// Probability by [`Params::table`] at the worst such ratio of the frame.
    Table,
}

/// Probability that a frame is lost, by rate and signal to noise ratio.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorTable {
    /// Ratio in dB of the first row; each next one is 1 dB better. Below, every frame is lost, and
    /// above the last row none.
    pub first_db: i32,
    /// In the order of [`Rate::LEGACY`]; others go by their non-HT reference rate.
    pub rows: Vec<[f64; Rate::LEGACY.len()]>,
}

impl ErrorTable {
    /// Probability of losing a frame at `rate` and `ratio_db`.
    pub fn loss(&self, rate: Rate, ratio_db: f64) -> f64 {
        let like = rate.reference();
        let column = Rate::LEGACY.iter().position(|known| *known == like);
        let row = libm::floor(ratio_db + 0.5) - f64::from(self.first_db);
        if row < 0.0 {
            return 1.0;
        }
        let found = self.rows.get(row as usize);
        found.map_or(0.0, |row| row[column.unwrap_or(0)])
    }
}

/// What reaches radios on other channels. It is energy alone: no receiver finds a preamble in it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Leakage {
    /// Least power of all signals together that makes the channel busy, whatever they are: CCA by
    /// energy (17.3.10.6).
    pub ed_threshold_dbm: Dbm,
    /// Other pairs of channels are too far apart.
    pub pairs: Vec<Leak>,
}

/// How much of a signal on one channel falls into another.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Leak {
    #[cfg_attr(feature = "serde", serde(rename = "from_mhz"))]
    pub from: Mhz,
    #[cfg_attr(feature = "serde", serde(rename = "to_mhz"))]
    pub to: Mhz,
    /// Over the power of the whole signal, so below 0.
    pub db: f64,
}

/// A channel that radios use, where they have different widths or primary channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Block {
    #[cfg_attr(feature = "serde", serde(rename = "primary_mhz"))]
    pub primary: Mhz,
    /// Lowest frequency of the widest channel that contains it.
    #[cfg_attr(feature = "serde", serde(rename = "low_mhz"))]
    pub low: Mhz,
    #[cfg_attr(feature = "serde", serde(rename = "width_mhz"))]
    pub width: Width,
    /// Of the channel of that width. None of them is the primary one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub punctured: Punctured,
}

/// Channel and MAC parameters that all radios share.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Params {
    pub seed: u64,
    pub rules: Rules,
    pub phy: Phy,
    pub propagation: Propagation,
    /// Standard deviation of a link's deviation from the mean path loss, in dB.
    pub shadowing_db: f64,
    /// The way after which it is correlated by 1/e. None: each link has its own, wherever it is.
    #[cfg_attr(feature = "serde", serde(default))]
    pub shadowing_correlation_m: Option<f64>,
    #[cfg_attr(feature = "serde", serde(default))]
    pub walls: Vec<Wall>,
    #[cfg_attr(feature = "serde", serde(default))]
    pub floors: Vec<Floor>,
    /// Other transmitters.
    #[cfg_attr(feature = "serde", serde(default))]
    pub interferers: Vec<Interferer>,
    pub fading: Fading,
    pub reception: Reception,
    /// What [`Reception::Table`] goes by.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub table: ErrorTable,
    pub rx_threshold_dbm: Dbm,
    pub cs_threshold_dbm: Dbm,
    /// Signal to interference (and noise) ratio that a reception by threshold needs, in dB.
    pub capture_db: f64,
    /// Whether a receiver drops a frame for a later one that is stronger by `capture_db`.
    pub capture_later: bool,
    /// A signal takes 3.34 ns a metre (EDCA only); else it is everywhere at once.
    #[cfg_attr(feature = "serde", serde(default))]
    pub delay: bool,
    /// Power of the receiver's noise; none leaves noise out of the decision (ns-2).
    pub noise_dbm: Option<Dbm>,
    /// None where channels do not hear each other.
    pub leakage: Option<Leakage>,
    /// Empty where all radios of a channel use all of it, and channels share no frequencies.
    #[cfg_attr(feature = "serde", serde(default))]
    pub blocks: Vec<Block>,
    pub retry_short: u32,
    pub retry_long: u32,
    /// Retry as often as the kernel's rate table says instead of the retry limits.
    pub kernel_retries: bool,
    pub queue_packets: usize,
    /// Routing frames go before all others in the interface queue.
    pub routing_priority: bool,
    pub nic: Nic,
    pub energy: Energy,
    /// Access by categories; none for DCF.
    pub edca: Option<Edca>,
    /// Frames of EDCA's A-MPDUs to several receivers go together, where their rate is HE's.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ofdma: Option<Ofdma>,
    /// Pre-standard WaveLAN: no acknowledgement, no retry.
    pub no_ack: bool,
}

/// How long a receiver takes to find a signal (aCCATime, table 17-21).
const CCA: Duration = Duration::from_micros(4);

impl Params {
    /// How long nobody notices a signal. Where signals are everywhere at once, that is no time:
    /// only frames that begin in one instant collide.
    pub(crate) fn cca(&self) -> Duration {
        if self.delay {
            CCA
        } else {
            Duration::ZERO
        }
    }

    /// Mean power below which a signal neither is sensed nor disturbs: the carrier-sense
    /// threshold or, where noise counts, the noise if that is less.
    pub(crate) fn floor_dbm(&self) -> Dbm {
        let sensed = self.cs_threshold_dbm;
        self.noise_dbm.map_or(sensed, |noise| sensed.min(noise))
    }
}

/// ns-2's 914 MHz WaveLAN at standard DCF: 250 m reception, 550 m carrier sense.
impl Default for Params {
    fn default() -> Self {
        Self {
            seed: 1,
            rules: Rules::Standard,
            phy: Phy {
                standard: Standard::Dsss,
                short_preamble: false,
                plcp_rate: Rate::DSSS_1,
                basic_rate: Rate::DSSS_1,
                slot: Duration::from_micros(20),
                sifs: Duration::from_micros(10),
                cw_min: 31,
                cw_max: 1023,
            },
            propagation: Propagation {
                model: Model::TwoRay,
                tx_power_dbm: Dbm(24.5),
                frequency_mhz: 914.0,
                antenna_height_m: 1.5,
                antenna_gain_dbi: 0.0,
            },
            shadowing_db: 0.0,
            shadowing_correlation_m: None,
            walls: Vec::new(),
            floors: Vec::new(),
            interferers: Vec::new(),
            fading: Fading::None,
            reception: Reception::Threshold,
            table: ErrorTable::default(),
            rx_threshold_dbm: Dbm(-64.37),
            cs_threshold_dbm: Dbm(-78.07),
            capture_db: 10.0,
            capture_later: false,
            delay: false,
            noise_dbm: None,
            leakage: None,
            blocks: Vec::new(),
            retry_short: 7,
            retry_long: 4,
            kernel_retries: false,
            queue_packets: 50,
            routing_priority: false,
            nic: Nic::default(),
            energy: Energy::default(),
            edca: None,
            ofdma: None,
            no_ack: false,
        }
    }
}

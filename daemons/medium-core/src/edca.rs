// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What enhanced distributed channel access is configured with (IEEE 802.11-2020 10.23.2).

use hoplab_base::Duration;

/// Access categories, the one of highest priority first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Voice,
    Video,
    BestEffort,
    Background,
}

impl Category {
    pub const ALL: [Self; 4] = [Self::Voice, Self::Video, Self::BestEffort, Self::Background];

    /// Of a user priority, as which a TID below 8 is read (table 10-1).
    pub fn of(tid: u8) -> Self {
        match tid {
            1 | 2 => Self::Background,
            4 | 5 => Self::Video,
            6 | 7 => Self::Voice,
            _ => Self::BestEffort,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Video => "video",
            Self::BestEffort => "best-effort",
            Self::Background => "background",
        }
    }
}

/// How a category contends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct CategoryParams {
    /// Slots after SIFS.
    pub aifsn: u32,
    pub cw_min: u32,
    pub cw_max: u32,
    /// For how long it may send after it won the channel; 0 for one exchange.
    #[cfg_attr(feature = "serde", serde(rename = "txop_ns"))]
    pub txop: Duration,
}

/// How frames are put together in A-MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Aggregation {
    /// Frames that an agreement has outstanding at most.
    pub window: usize,
    /// Octets of an A-MPDU at most, where the PHY allows more.
    pub octets: usize,
    /// From the start of one frame to the start of the next at least (table 9-185).
    #[cfg_attr(feature = "serde", serde(rename = "start_spacing_ns"))]
    pub start_spacing: Duration,
    /// The hosts make the agreements. Their frames come numbered, and their receivers reorder.
    #[cfg_attr(feature = "serde", serde(default))]
    pub by_hosts: bool,
}

/// Access by categories, and what goes with it. Answers go at the fastest mandatory rate that is no
/// faster than what they answer (10.6.6.5), and carrier sense goes by the sum of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Edca {
    /// In the order of [`Category::ALL`].
    pub categories: [CategoryParams; 4],
    /// None where every frame goes alone.
    pub aggregation: Option<Aggregation>,
    /// An RTS goes before a PSDU with more octets.
    pub rts_threshold: usize,
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Enhanced multi-link single-radio operation (EMLSR, IEEE 802.11be-2024 35.3.17): what a device
//! announces of it, and the standard's times.

use hoplab_base::Duration;

/// How fast a device's one radio goes to a link, and back to listening on all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Emlsr {
    /// Padding of the frame that calls it to a link (table 9-417i).
    #[cfg_attr(feature = "serde", serde(rename = "padding_ns"))]
    pub padding: Duration,
    /// From the end of an exchange until it listens again (table 9-417j).
    #[cfg_attr(feature = "serde", serde(rename = "transition_ns"))]
    pub transition: Duration,
}

/// A radio that was deaf on a link for longer has lost that link's NAV (aMediumSyncThreshold,
/// 35.3.16.8).
pub const SYNC_THRESHOLD: Duration = Duration::from_micros(72);
/// Then it is careful for so long (dot11MSDTimerDuration, by default aPPDUMaxTime), unless it
/// receives a frame before.
pub const SYNC_DELAY: Duration = Duration::from_micros(5484);

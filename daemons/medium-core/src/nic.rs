// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network card and the host's work with it.

use hoplab_base::Duration;

/// Time that something takes for a frame: so much for any, and the frame's bits at a rate in Mbit/s,
/// both 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Cost {
    pub frame_us: f64,
    pub mbps: f64,
}

impl Cost {
    pub fn is_none(&self) -> bool {
        self.frame_us <= 0.0 && self.mbps <= 0.0
    }

    pub(crate) fn of(&self, bytes: usize) -> Duration {
        let bits_us = if self.mbps > 0.0 {
            bytes as f64 * 8.0 / self.mbps
        } else {
            0.0
        };
        let micros = self.frame_us + bits_us;
        Duration::from_nanos(libm::round(micros * 1000.0) as u64)
    }
}

/// The network card and the host's work with it; 0 switches a part of the model off.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Nic {
    /// What a frame costs the host before it waits in the interface queue.
    pub tx: Cost,
    /// Frames that wait in the interface queue; 0 is [`Params::queue_packets`](crate::Params).
    pub queue_packets: usize,
    /// Frames that the card holds, the one in service included: routing frames do not overtake
    /// those. 0 is 1.
    pub tx_ring: usize,
    /// What it costs to copy a frame into a free buffer of the card, one after the other. A card
    /// with a single buffer is quiet meanwhile.
    pub load: Cost,
    /// What a received frame costs the host, one after the other.
    pub rx: Cost,
    /// Received frames that wait for the host, the one being taken included; more are lost after
    /// their acknowledgement. 0 is any number.
    pub rx_buffer_packets: usize,
}

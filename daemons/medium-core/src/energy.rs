// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What radios draw and have spent.

use hoplab_base::Duration;

use crate::StateTimes;

/// Power draw of a radio in W in its states, and what its battery holds in J.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Energy {
    pub tx_w: f64,
    pub rx_w: f64,
    pub idle_w: f64,
    pub sleep_w: f64,
    pub battery_j: Option<f64>,
}

/// Energy in J by state of power.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Joules {
    pub tx: f64,
    pub rx: f64,
    pub idle: f64,
    pub sleep: f64,
}

impl Joules {
    pub fn sum(&self) -> f64 {
        self.tx + self.rx + self.idle + self.sleep
    }
}

impl Energy {
    /// Energy spent in these times.
    pub(crate) fn spent(&self, times: &StateTimes) -> Joules {
        let spent = |watts: f64, time: Duration| watts * time.as_secs_f64();
        Joules {
            tx: spent(self.tx_w, times.tx),
            rx: spent(self.rx_w, times.rx),
            idle: spent(self.idle_w, times.idle),
            sleep: spent(self.sleep_w, times.sleep),
        }
    }

    /// Power of the state that draws most.
    pub(crate) fn most_w(&self) -> f64 {
        let most_w = self.tx_w.max(self.rx_w).max(self.idle_w);
        most_w.max(self.sleep_w)
    }
}

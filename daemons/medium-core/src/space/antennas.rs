// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The antennas and powers of radios, where they are not all the same.

use alloc::vec::Vec;

use super::propagation::{Antenna, Propagation};
use crate::RadioId;

pub struct Antennas {
    common: Antenna,
    /// Of each radio, once one has its own.
    own: Vec<Antenna>,
}

impl Antennas {
    pub fn new(propagation: &Propagation) -> Self {
        Self {
            common: propagation.antenna(),
            own: Vec::new(),
        }
    }

    /// From now on `radio`, of so many, has this one.
    pub fn fit(&mut self, radio: RadioId, radios: usize, antenna: Antenna) {
        self.own.resize(radios, self.common);
        self.own[radio.index()] = antenna;
    }

    /// There are so many radios; a new one has the antenna that all have.
    pub fn grow(&mut self, radios: usize) {
        if !self.own.is_empty() {
            self.own.resize(radios, self.common);
        }
    }

    pub fn of(&self, radio: RadioId) -> Antenna {
        self.own.get(radio.index()).copied().unwrap_or(self.common)
    }

    /// Those of two radios; none where all have the same.
    pub fn pair(&self, from: RadioId, to: RadioId) -> Option<(&Antenna, &Antenna)> {
        Some((self.own.get(from.index())?, self.own.get(to.index())?))
    }

    /// One that reaches as far as the strongest of each could; `first` is one of them.
    pub fn strongest(&self, first: Antenna) -> Antenna {
        let mut best = first;
        for other in &self.own {
            best.tx_power_dbm = best.tx_power_dbm.max(other.tx_power_dbm);
            best.gain_dbi = best.gain_dbi.max(other.gain_dbi);
            best.height_m = best.height_m.max(other.height_m);
            best.frequency_mhz = best.frequency_mhz.min(other.frequency_mhz);
        }
        best
    }
}

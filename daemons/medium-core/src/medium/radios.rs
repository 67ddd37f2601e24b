// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All radios of a channel.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::parts::Setup;
use crate::radio::Radio;
use crate::space::Station;
use crate::RadioId;

pub struct Radios(Vec<Radio>);

impl Radios {
    pub fn new(stations: &[Station], setup: &Setup) -> Self {
        let stations = stations.iter().enumerate();
        let radio = |(index, station): (usize, &Station)| {
            Radio::new(RadioId::new(index), &station.name, setup)
        };
        Self(stations.map(radio).collect())
    }

    /// One more, with the next number.
    pub fn add(&mut self, name: &str, setup: &Setup) -> RadioId {
        let radio = RadioId::new(self.0.len());
        self.0.push(Radio::new(radio, name, setup));
        radio
    }

    pub fn ids(&self) -> impl Iterator<Item = RadioId> {
        (0..self.0.len()).map(RadioId::new)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Radio> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Radio> {
        self.0.iter_mut()
    }
}

impl Index<RadioId> for Radios {
    type Output = Radio;

    fn index(&self, radio: RadioId) -> &Radio {
        &self.0[radio.index()]
    }
}

impl IndexMut<RadioId> for Radios {
    fn index_mut(&mut self, radio: RadioId) -> &mut Radio {
        &mut self.0[radio.index()]
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All radios of a channel.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::parts::{Devices, Setup};
use crate::radio::Radio;
use crate::space::Station;
use crate::RadioId;

/// What the radios of a multi-link device have in common is with the one that acts.
pub struct Radios {
    all: Vec<Radio>,
    /// Of each radio, once there are devices with several: which radio of its device has it.
    holders: Vec<RadioId>,
    /// The device of each.
    devices: Vec<RadioId>,
}

impl Radios {
    pub fn new(stations: &[Station], setup: &Setup) -> Self {
        let stations = stations.iter().enumerate();
        let radio = |(index, station): (usize, &Station)| {
            Radio::new(RadioId::new(index), &station.name, setup)
        };
        Self {
            all: stations.map(radio).collect(),
            holders: Vec::new(),
            devices: Vec::new(),
        }
    }

    /// One more, with the next number.
    pub fn add(&mut self, name: &str, setup: &Setup) -> RadioId {
        let radio = RadioId::new(self.all.len());
        self.all.push(Radio::new(radio, name, setup));
        self.affiliate(&setup.devices);
        radio
    }

    /// From now on these are the devices. The newest radio has nothing yet.
    pub fn affiliate(&mut self, devices: &Devices) {
        if devices.are_single() {
            return;
        }
        let known = self.holders.len();
        self.holders.extend(self.ids().skip(known));
        self.devices = self.ids().map(|radio| devices.device(radio)).collect();
    }

    /// The radio that has what its device's radios have in common.
    pub fn holder(&self, device: RadioId) -> &Radio {
        let holder = self.holders.get(device.index()).copied();
        &self[holder.unwrap_or(device)]
    }

    /// Give this radio what its device's radios have in common.
    fn hold(&mut self, radio: RadioId) {
        let Some(device) = self.devices.get(radio.index()) else {
            return;
        };
        let holder = core::mem::replace(&mut self.holders[device.index()], radio);
        if holder == radio {
            return;
        }
        let (low, high) = (holder.min(radio).index(), holder.max(radio).index());
        let (before, from) = self.all.split_at_mut(high);
        before[low].hand_over(&mut from[0]);
    }

    pub fn ids(&self) -> impl Iterator<Item = RadioId> {
        (0..self.all.len()).map(RadioId::new)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Radio> {
        self.all.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Radio> {
        self.all.iter_mut()
    }
}

impl Index<RadioId> for Radios {
    type Output = Radio;

    fn index(&self, radio: RadioId) -> &Radio {
        &self.all[radio.index()]
    }
}

impl IndexMut<RadioId> for Radios {
    fn index_mut(&mut self, radio: RadioId) -> &mut Radio {
        self.hold(radio);
        &mut self.all[radio.index()]
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Multi-link devices (802.11be-2024 35.3): radios on several channels that are one to their host.
//!
//! The host knows a device by its first radio. Link `n` of one device is with link `n` of others.

use alloc::vec::Vec;

use super::Part;
use crate::{Emlsr, RadioId, Width};

/// A radio's place in its device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affiliation {
    pub device: RadioId,
    pub link: u8,
    /// How wide its channel is, of a further link.
    pub width: Option<Width>,
    /// Of what it sends, unless that is as its device's first radio has it.
    pub frequency_mhz: Option<f64>,
}

impl Affiliation {
    /// Of a radio that is first in its device.
    fn first(device: RadioId) -> Self {
        Self {
            device,
            link: 0,
            width: None,
            frequency_mhz: None,
        }
    }
}

#[derive(Default)]
pub struct Devices {
    /// Of each radio, once there is a further link.
    of: Vec<Affiliation>,
    /// First radio of each device with several links, and its further ones.
    further: Vec<(RadioId, Vec<RadioId>)>,
    /// Devices with a single radio for all links, by their first ones.
    single: Vec<(RadioId, Emlsr)>,
}

impl Devices {
    /// Whether no device has several links.
    pub fn are_single(&self) -> bool {
        self.further.is_empty()
    }

    /// `radio` is a further link of `device`, as wide as this.
    pub fn affiliate(
        &mut self,
        device: RadioId,
        radio: RadioId,
        width: Width,
        frequency_mhz: Option<f64>,
    ) {
        let lone = (self.of.len()..=radio.index()).map(RadioId::new);
        self.of.extend(lone.map(Affiliation::first));
        let at = self.place(device).unwrap_or_else(|at| {
            self.further.insert(at, (device, Vec::new()));
            at
        });
        let further = &mut self.further[at].1;
        further.push(radio);
        self.of[radio.index()] = Affiliation {
            device,
            link: further.len() as u8,
            width: Some(width),
            frequency_mhz,
        };
    }

    fn place(&self, device: RadioId) -> Result<usize, usize> {
        self.further.binary_search_by_key(&device, |one| one.0)
    }

    pub fn affiliation(&self, radio: RadioId) -> Affiliation {
        let known = self.of.get(radio.index()).copied();
        known.unwrap_or_else(|| Affiliation::first(radio))
    }

    /// As its host names it.
    pub fn device(&self, radio: RadioId) -> RadioId {
        self.affiliation(radio).device
    }

    /// Further links of the device that this radio is the first of.
    pub fn further(&self, device: RadioId) -> &[RadioId] {
        let place = self.place(device);
        place.map_or(&[], |at| &self.further[at].1)
    }

    /// All radios of the device that this radio is of.
    pub fn radios(&self, radio: RadioId) -> impl Iterator<Item = RadioId> + '_ {
        let device = self.device(radio);
        core::iter::once(device).chain(self.further(device).iter().copied())
    }

    /// The device has a single radio for its links.
    pub fn make_single(&mut self, device: RadioId, emlsr: Emlsr) {
        self.single.push((device, emlsr));
    }

    /// What the device of this radio announces of its single radio; none where it has one a link.
    pub fn emlsr(&self, radio: RadioId) -> Option<Emlsr> {
        let device = self.device(radio);
        let mut single = self.single.iter();
        single.find(|one| one.0 == device).map(|one| one.1)
    }

    /// Which part of its device's radio listens on this link.
    pub fn part(&self, radio: RadioId) -> Part {
        match self.emlsr(radio) {
            Some(_) => Part::OneOf(self.radios(radio).count() as u64),
            None => Part::Whole,
        }
    }

    /// Whether this radio is one of several of its device.
    pub fn has_several(&self, radio: RadioId) -> bool {
        !self.are_single() && !self.further(self.device(radio)).is_empty()
    }

    /// The radio of a device on this link. Another radio than a first one stays itself.
    pub fn on(&self, device: RadioId, link: u8) -> Option<RadioId> {
        if self.device(device) != device {
            return Some(device);
        }
        self.radios(device).nth(link.into())
    }
}

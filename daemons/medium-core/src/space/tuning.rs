// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where radios send and listen.

use alloc::vec::Vec;

use crate::{MediumId, Mhz, RadioId};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tuned {
    medium: MediumId,
    /// None: it has not sent yet, and listens everywhere.
    channel: Option<Mhz>,
}

/// Of each radio, once one was tuned.
#[derive(Default)]
pub struct Tuning(Vec<Tuned>);

impl Tuning {
    /// From now on `radio`, of so many, is on this channel; returns whether that is new.
    pub fn tune(&mut self, radio: RadioId, radios: usize, channel: Mhz) -> bool {
        let tuned = self.of(radio, radios);
        tuned.channel.replace(channel) != Some(channel)
    }

    /// From now on only radios of the same medium hear it, and it them.
    pub fn assign(&mut self, radio: RadioId, radios: usize, medium: MediumId) {
        self.of(radio, radios).medium = medium;
    }

    /// There are so many radios.
    pub fn grow(&mut self, radios: usize) {
        if !self.0.is_empty() {
            self.0.resize(radios, Tuned::default());
        }
    }

    fn of(&mut self, radio: RadioId, radios: usize) -> &mut Tuned {
        self.0.resize(radios, Tuned::default());
        &mut self.0[radio.index()]
    }

    /// Whether `to` listens where `from` sends.
    pub fn listens(&self, from: RadioId, to: RadioId) -> bool {
        match (self.0.get(from.index()), self.0.get(to.index())) {
            (Some(from), Some(to)) => {
                from.medium == to.medium && (to.channel.is_none() || from.channel == to.channel)
            }
            // Nothing was tuned or assigned yet, so all radios hear each other.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_not_sent_yet_listens_everywhere() {
        let mut tuning = Tuning::default();
        let [a, b] = [0, 1].map(RadioId::new);
        assert!(tuning.listens(a, b));
        assert!(tuning.tune(a, 2, Mhz(2412)));
        assert!(!tuning.tune(a, 2, Mhz(2412)));
        assert!(tuning.listens(a, b));
        tuning.tune(b, 2, Mhz(2437));
        assert!(!tuning.listens(a, b));
    }

    #[test]
    fn media_do_not_hear_each_other() {
        let mut tuning = Tuning::default();
        let [a, b] = [0, 1].map(RadioId::new);
        tuning.assign(a, 2, MediumId(1));
        assert!(!tuning.listens(a, b));
        tuning.assign(b, 2, MediumId(1));
        assert!(tuning.listens(a, b));
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where radios send and listen.

use alloc::vec::Vec;

use crate::{Leak, MediumId, Mhz, Params, RadioId};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tuned {
    medium: MediumId,
    /// None: it has not sent yet, and listens everywhere.
    channel: Option<Mhz>,
}

/// How one radio hears another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coupling {
    /// They are on one channel.
    Full,
    /// By what the sender leaks to the listener's channel, in dB over its power.
    Leak(f64),
}

pub struct Tuning {
    /// Of each radio, once one was tuned.
    radios: Vec<Tuned>,
    leaks: Vec<Leak>,
}

impl Tuning {
    pub fn new(params: &Params) -> Self {
        let leakage = params.leakage.as_ref();
        Self {
            radios: Vec::new(),
            leaks: leakage.map_or_else(Vec::new, |leakage| leakage.pairs.clone()),
        }
    }

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
        if !self.radios.is_empty() {
            self.radios.resize(radios, Tuned::default());
        }
    }

    fn of(&mut self, radio: RadioId, radios: usize) -> &mut Tuned {
        self.radios.resize(radios, Tuned::default());
        &mut self.radios[radio.index()]
    }

    /// How `to` hears `from`; none if it does not.
    pub fn coupling(&self, from: RadioId, to: RadioId) -> Option<Coupling> {
        let (Some(from), Some(to)) = (self.radios.get(from.index()), self.radios.get(to.index()))
        else {
            // Nothing was tuned or assigned yet, so all radios hear each other.
            return Some(Coupling::Full);
        };
        if from.medium != to.medium {
            return None;
        }
        if to.channel.is_none() || from.channel == to.channel {
            return Some(Coupling::Full);
        }
        let between = |leak: &&Leak| Some(leak.from) == from.channel && Some(leak.to) == to.channel;
        let leak = self.leaks.iter().find(between)?;
        Some(Coupling::Leak(leak.db))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dbm, Leakage};

    fn tuning(pairs: &[Leak]) -> Tuning {
        Tuning::new(&Params {
            leakage: Some(Leakage {
                ed_threshold_dbm: Dbm(-58.0),
                pairs: pairs.into(),
            }),
            ..Params::default()
        })
    }

    #[test]
    fn who_has_not_sent_yet_listens_everywhere() {
        let mut tuning = tuning(&[]);
        let [a, b] = [0, 1].map(RadioId::new);
        assert_eq!(tuning.coupling(a, b), Some(Coupling::Full));
        assert!(tuning.tune(a, 2, Mhz(2412)));
        assert!(!tuning.tune(a, 2, Mhz(2412)));
        assert_eq!(tuning.coupling(a, b), Some(Coupling::Full));
        tuning.tune(b, 2, Mhz(2437));
        assert_eq!(tuning.coupling(a, b), None);
    }

    #[test]
    fn a_channel_leaks_to_those_that_the_table_names() {
        let leak = |from, to, db| Leak {
            from: Mhz(from),
            to: Mhz(to),
            db,
        };
        let mut tuning = tuning(&[leak(5180, 5200, -26.0), leak(5200, 5180, -27.0)]);
        let [a, b] = [0, 1].map(RadioId::new);
        tuning.tune(a, 2, Mhz(5180));
        tuning.tune(b, 2, Mhz(5200));
        assert_eq!(tuning.coupling(a, b), Some(Coupling::Leak(-26.0)));
        assert_eq!(tuning.coupling(b, a), Some(Coupling::Leak(-27.0)));
        tuning.tune(b, 2, Mhz(5240));
        assert_eq!(tuning.coupling(a, b), None);
    }

    #[test]
    fn media_do_not_hear_each_other() {
        let mut tuning = tuning(&[]);
        let [a, b] = [0, 1].map(RadioId::new);
        tuning.assign(a, 2, MediumId(1));
        assert_eq!(tuning.coupling(a, b), None);
        tuning.assign(b, 2, MediumId(1));
        assert_eq!(tuning.coupling(a, b), Some(Coupling::Full));
    }
}

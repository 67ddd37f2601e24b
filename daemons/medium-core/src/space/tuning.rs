// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where radios send and listen.

use alloc::vec::Vec;

use super::band::{Band, Extent, Heard};
use crate::{Block, Leak, MediumId, Mhz, Params, RadioId, Subchannels, Width};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tuned {
    medium: MediumId,
    /// None: it has not sent yet, and listens everywhere.
    channel: Option<Mhz>,
    /// None: as wide as its channel.
    widest: Option<Width>,
}

pub struct Tuning {
    /// Of each radio, once one was tuned.
    radios: Vec<Tuned>,
    leaks: Vec<Leak>,
    blocks: Vec<Block>,
}

impl Tuning {
    pub fn new(params: &Params) -> Self {
        let leakage = params.leakage.as_ref();
        Self {
            radios: Vec::new(),
            leaks: leakage.map_or_else(Vec::new, |leakage| leakage.pairs.clone()),
            blocks: params.blocks.clone(),
        }
    }

    /// From now on `radio`, of so many, is on this channel; returns whether that is new.
    pub fn tune(&mut self, radio: RadioId, radios: usize, channel: Mhz) -> bool {
        let tuned = self.of(radio, radios);
        tuned.channel.replace(channel) != Some(channel)
    }

    /// From now on the radio, of so many, sends and receives on this much of its channel at most.
    pub fn narrow(&mut self, radio: RadioId, radios: usize, widest: Width) {
        self.of(radio, radios).widest = Some(widest);
    }

    /// Whether radios on one channel may hear different parts of it.
    pub fn has_widths(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// The radio's channel; none where all have the same.
    pub fn subchannels(&self, radio: RadioId) -> Option<Subchannels> {
        self.band(radio).map(Band::subchannels)
    }

    /// Where the radio is; none if it was not tuned.
    pub fn channel(&self, radio: RadioId) -> Option<Mhz> {
        self.radios.get(radio.index())?.channel
    }

    fn block(&self, tuned: &Tuned) -> Option<&Block> {
        let channel = tuned.channel?;
        self.blocks.iter().find(|block| block.primary == channel)
    }

    fn band(&self, radio: RadioId) -> Option<Band> {
        let tuned = self.radios.get(radio.index())?;
        let block = self.block(tuned)?;
        let band = Band::new(block.primary, block.low, block.width);
        let band = band.without(block.punctured);
        Some(tuned.widest.map_or(band, |own| band.narrowed(own)))
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

    /// How `to` hears what `from` sends; none if it does not.
    pub fn heard(&self, from: RadioId, to: RadioId, extent: Extent) -> Option<Heard> {
        let pair = (self.radios.get(from.index()), self.radios.get(to.index()));
        let (Some(sender), Some(listener)) = pair else {
            // Nothing was tuned or assigned yet, so all radios hear each other.
            return Some(Heard::WHOLE);
        };
        if sender.medium != listener.medium {
            return None;
        }
        if let (Some(sending), Some(listening)) = (self.band(from), self.band(to)) {
            if let Some(heard) = listening.hears(sending, extent) {
                return Some(heard);
            }
        } else if listener.channel.is_none() || sender.channel == listener.channel {
            return Some(Heard::WHOLE);
        }
        let between =
            |leak: &&Leak| Some(leak.from) == sender.channel && Some(leak.to) == listener.channel;
        let leak = self.leaks.iter().find(between)?;
        Some(Heard::leak(leak.db))
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
        assert_eq!(tuning.heard(a, b, Extent::NARROW), Some(Heard::WHOLE));
        assert!(tuning.tune(a, 2, Mhz(2412)));
        assert!(!tuning.tune(a, 2, Mhz(2412)));
        assert_eq!(tuning.heard(a, b, Extent::NARROW), Some(Heard::WHOLE));
        tuning.tune(b, 2, Mhz(2437));
        assert_eq!(tuning.heard(a, b, Extent::NARROW), None);
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
        assert_eq!(tuning.heard(a, b, Extent::NARROW), Some(Heard::leak(-26.0)));
        assert_eq!(tuning.heard(b, a, Extent::NARROW), Some(Heard::leak(-27.0)));
        tuning.tune(b, 2, Mhz(5240));
        assert_eq!(tuning.heard(a, b, Extent::NARROW), None);
    }

    #[test]
    fn media_do_not_hear_each_other() {
        let mut tuning = tuning(&[]);
        let [a, b] = [0, 1].map(RadioId::new);
        tuning.assign(a, 2, MediumId(1));
        assert_eq!(tuning.heard(a, b, Extent::NARROW), None);
        tuning.assign(b, 2, MediumId(1));
        assert_eq!(tuning.heard(a, b, Extent::NARROW), Some(Heard::WHOLE));
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hosts get frames for others: a wrapper around radios, which know nothing of it.

use hoplab_base::Duration;

use super::Medium;
use crate::air::{Ended, Transmission};
use crate::parts::{Effect, Ppdu};
use crate::radio::arrived;
use crate::step::Step;
use crate::timing::Answer;
use crate::{Fate, To};

impl Medium {
    /// With hosts that get unicast frames also for other radios, where their own decoded them.
    pub fn overheard(mut self) -> Self {
        self.overhears = true;
        self
    }

    /// How many frames of an A-MPDU a radio looks at which they are not for. The first one tells
    /// whether the PPDU sets its NAV; where several users share it, its header does.
    pub(super) fn looked_at(&self, ppdu: &Ppdu) -> usize {
        match ppdu.subframes.len() {
            _ if !ppdu.beside.is_empty() => 0,
            all if self.overhears => all,
            all => all.min(1),
        }
    }

    /// What came through at a bystander is to be handed up as well.
    pub(super) fn overhear(&mut self, tx: &Transmission, ended: &Ended) {
        let (ppdu, to) = (&tx.ppdu, ended.radio);
        let for_others = ppdu.to != To::Everyone && ppdu.part_of(to).is_none();
        if !self.overhears || !for_others || ended.fate != Fate::Delivered {
            return;
        }
        let alone = ppdu.payload.map(|payload| (payload, ppdu.bytes));
        let fates = ppdu.subframes.iter().zip(&ended.fates);
        let through = fates.filter(|(_, fate)| **fate == Fate::Delivered);
        let together = through.map(|(subframe, _)| (subframe.payload, subframe.bytes));
        let params = &self.setup.params;
        for (payload, bytes) in alone.into_iter().chain(together) {
            let mut arrived = arrived((tx.from, ppdu), payload, bytes, ended.dbm);
            // It may come here after its sender is done with it.
            if params.delay {
                arrived.held = true;
                self.effects.push(Effect::Hold(arrived.frame));
            }
            // A bystander's host gets the frame with its receiver's, or now where no acknowledgement
            // ends the exchange.
            self.effects.push(match params.no_ack {
                true => Effect::HandUp { to, arrived },
                false => Effect::Overhear(arrived),
            });
        }
    }

    /// From the end of a PPDU to the first output at a bystander's host, which learns of it at the
    /// timeout at the latest.
    pub(super) fn ahead_of_bystanders(&self, ppdu: &Ppdu) -> Option<Duration> {
        let overheard = self.overhears && ppdu.step == Step::Data;
        overheard.then(|| self.setup.timing.timeout(Answer::Ack, ppdu.rate))
    }
}

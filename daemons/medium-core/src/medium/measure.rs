// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters, and the start of counting.

use hoplab_base::{Duration, Instant};

use super::{Event, Medium};
use crate::{AirKind, Audit, Counters, Joules, LinkCounters, LinkId, LinkView, RadioId};

impl Medium {
    /// Forget at `at` what was counted until then: counters, links, energy and batteries, and
    /// the numbers of data frames. The audit stays.
    pub fn schedule_measure(&mut self, at: Instant) {
        self.agenda.push(at, Event::Measure);
    }

    /// Counts and times until now, of all links of a device.
    pub fn counters(&self, radio: RadioId) -> Counters {
        let mut radios = self.setup.devices.radios(radio);
        let first = radios.next().map(|radio| self.counters_of(radio));
        radios.fold(first.unwrap_or_default(), |sum, radio| {
            sum.plus(&self.counters_of(radio))
        })
    }

    fn counters_of(&self, radio: RadioId) -> Counters {
        let station = &self.radios[radio];
        let mut counters = station.counters;
        counters.times = station.power.times(self.now, station.activity());
        if let Some((kind, left)) = self.ongoing(radio) {
            counters.airtime[kind as usize] -= left;
        }
        counters
    }

    /// Energy spent since measuring began.
    pub fn joules(&self, radio: RadioId) -> Joules {
        let times = self.counters(radio).times;
        self.setup.params.energy.spent(&times)
    }

    pub fn link(&self, link: LinkId) -> LinkCounters {
        self.links.count_of(link)
    }

    /// Links of data frames that `from` sent, in order of their receivers.
    pub fn links(&self, from: RadioId) -> impl Iterator<Item = LinkView<'_>> {
        self.links.used(from)
    }

    /// Frames that wait for their turn on the air, the one in service included.
    pub fn queue_len(&self, radio: RadioId) -> usize {
        self.radios.holder(radio).queue_len()
    }

    /// Frames by what became of them, since the start.
    pub fn audit(&self) -> Audit {
        let open = self.radios.iter().map(|radio| radio.queue_len() as u64);
        Audit {
            open: open.sum(),
            ..self.ledger.audit()
        }
    }

    /// Kind of the radio's present transmission, and the time left of it.
    pub(super) fn ongoing(&self, radio: RadioId) -> Option<(AirKind, Duration)> {
        let slot = self.radios[radio].transceiver.sending()?;
        let tx = self.air.get(slot)?;
        Some((tx.ppdu.kind(), tx.end.since(self.now)))
    }
}

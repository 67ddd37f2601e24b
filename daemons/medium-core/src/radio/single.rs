// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices with a single radio for all their links (EMLSR, IEEE 802.11be-2024 35.3.17), and access
//! points that call them to a link.

use hoplab_base::{Duration, Instant};

use super::{Moment, Radio};
use crate::parts::{Activity, Effect, Effects, Part, SingleStep, Timer, Wake};
use crate::{Fate, RadioId};

impl Radio {
    /// An exchange begins on this link. A device with a single radio is there as a whole.
    pub(super) fn engage(&mut self, at: Moment<'_>, effects: &mut Effects) {
        let is_single = at.setup.devices.emlsr(self.id).is_some();
        if is_single && self.single.engage() {
            self.have(Part::Whole, at);
            effects.push(Effect::Engage);
        }
    }

    /// It has this part of its device's radio from now on.
    fn have(&mut self, part: Part, at: Moment<'_>) {
        self.book(at.now);
        self.power.have(part);
    }

    /// Another link of its device has the radio.
    pub fn lose_radio(&mut self, at: Moment<'_>) {
        self.single.lose(at.now);
        self.fall_deaf(Part::Nothing, at);
    }

    fn fall_deaf(&mut self, part: Part, at: Moment<'_>) {
        self.freeze(Duration::ZERO, at);
        self.have(part, at);
        self.transceiver.spoil(Fate::Deaf);
    }

    /// It listens from now on with its part of the radio. One that was deaf for long does not know
    /// the NAV, and is sure again later.
    pub fn listen(&mut self, at: Moment<'_>, effects: &mut Effects) {
        self.have(at.setup.devices.part(self.id), at);
        if let Some(sure) = self.single.listen(at.now) {
            effects.push(wake(sure, Timer::Sure));
        }
        if self.activity() == Activity::Quiet {
            self.sense.idle_again(at.now);
        }
    }

    /// It has answered, and its part of an exchange is over unless a frame follows within this time.
    pub(super) fn leave_after(&mut self, time: Duration, at: Moment<'_>, effects: &mut Effects) {
        if self.single.is_engaged() {
            effects.push(Effect::Wake(self.single.leave_at(at.now + time)));
        }
    }

    /// Its TXOP is over. A client waits for a next frame for a while.
    pub(super) fn leave(&mut self, at: Moment<'_>, effects: &mut Effects) {
        self.leave_after(Duration::ZERO, at, effects);
        let until = at.now + at.setup.timing.next_frame();
        if self.clients.are_left(self.id, until) {
            effects.push(wake(until, Timer::Client));
        }
    }

    /// Its exchange may be over, or the radio listens on all links again.
    pub(super) fn switch_links(&mut self, generation: u64, at: Moment<'_>, effects: &mut Effects) {
        match self.single.come(generation) {
            // What it is amid of ends by another event of this kind.
            Some(SingleStep::Leave) if !self.is_amid_exchange() => self.give_back(at, effects),
            Some(SingleStep::Listen) => effects.push(Effect::Listen),
            _ => {}
        }
    }

    /// Its exchange is over, unless a frame has begun that may be for it.
    fn give_back(&mut self, at: Moment<'_>, effects: &mut Effects) {
        let ends = self.transceiver.reception().map(|reception| reception.ends);
        if let Some(ends) = ends {
            return self.leave_after(ends.since(at.now), at, effects);
        }
        let emlsr = at.setup.devices.emlsr(self.id).unwrap_or_default();
        let until = at.now + emlsr.transition;
        effects.push(Effect::Wake(self.single.give_back(at.now, until)));
        self.fall_deaf(Part::Whole, at);
    }

    /// A frame has come from another radio. A device with a single one is on this link then. It stays
    /// until what the frame reserves is over, and no other has followed.
    pub(super) fn hears_client(
        &mut self,
        from: RadioId,
        reserved: Duration,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        if at.setup.devices.emlsr(from).is_none() {
            return;
        }
        let client = at.setup.devices.device(from);
        let until = at.now + reserved + at.setup.timing.next_frame();
        if self.clients.has_sent(client, self.id, until) {
            effects.push(wake(until, Timer::Client));
        }
    }

    /// Clients with single radios may listen again.
    pub(super) fn look_after_clients(&mut self, at: Moment<'_>, effects: &mut Effects) {
        let busy_until = self.transceiver.reception().map(|reception| reception.ends);
        let devices = &at.setup.devices;
        let transition = |client| devices.emlsr(client).unwrap_or_default().transition;
        let listens = |client| at.now + transition(client);
        let again = self.clients.look(self.id, at.now, busy_until, listens);
        effects.extend(again.into_iter().map(|again| wake(again, Timer::Client)));
        self.offer(at, effects);
    }
}

fn wake(at: Instant, timer: Timer) -> Effect {
    Effect::Wake(Wake {
        at,
        timer,
        generation: 0,
    })
}

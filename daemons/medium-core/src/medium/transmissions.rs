// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transmissions from their beginning to their end, at all radios that they reach.

use alloc::boxed::Box;
use core::ops::Range;

use super::observers::End;
use super::{Event, Medium};
use crate::air::Transmission;
use crate::dbm::to_db;
use crate::parts::{Arriving, Ppdu};
use crate::radio::Moment;
use crate::step::Step;
use crate::{Fate, FrameId, RadioId, To};

impl Medium {
    /// A host names a device by its first radio. A further link's frames go to the other device's
    /// radio on that link (802.11be-2024 35.3.2).
    fn address(&self, radio: RadioId, ppdu: &mut Ppdu) {
        let link = self.setup.devices.affiliation(radio).link;
        if let (To::Radio(to), 1..) = (ppdu.to, link) {
            ppdu.to = To::Radio(self.setup.devices.on(to, link).unwrap_or(to));
        }
    }

    pub(super) fn transmit(&mut self, radio: RadioId, mut ppdu: Ppdu) {
        self.address(radio, &mut ppdu);
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let phy = &at.setup.params.phy;
        // The octets of an A-MPDU include all delimiters. `duration` adds the one of a lone VHT or
        // HE frame.
        let lasts = match (ppdu.shape, ppdu.subframes.is_empty()) {
            (Some(shape), _) => shape.lasts,
            (None, true) => phy.duration(ppdu.bytes, ppdu.rate),
            (None, false) => phy.psdu_duration(ppdu.bytes, ppdu.rate),
        };
        let slot = self.air.reserve();
        let wake = self.radios[radio].begin_sending(slot, &ppdu, lasts, at);
        self.agenda.wake(radio, wake);
        let mut tx = self.air.transmission(radio, ppdu, self.now, lasts);
        tx.looked_at = self.looked_at(&tx.ppdu);
        let extent = tx.ppdu.extent();
        (self.space).neighbours(radio, extent, self.now, tx.reached.radios());
        // The frame is needed for as long as it is under way.
        if let Some(frame) = self.kept(&tx) {
            self.ledger.hold(frame);
        }
        self.agenda.push(tx.end, Event::End { slot: slot as u32 });
        self.reach(slot, tx);
    }

    /// A frame that nobody acknowledges: its sender is done with it while it is still under way.
    fn kept(&self, tx: &Transmission) -> Option<FrameId> {
        let late = !tx.reached.longest_delay().is_zero();
        let unacknowledged = !self.setup.acknowledges(tx.ppdu.to);
        let payload = tx.ppdu.payload.filter(|_| late && unacknowledged);
        payload.map(|payload| payload.id)
    }

    /// A transmission comes to the next of those it reaches.
    pub(super) fn come(&mut self, slot: usize) {
        let now = self.now;
        let comes = self.air.take_if(slot, |tx| {
            let next = tx.reached.next_delay();
            next.is_some_and(|delay| tx.start + delay == now)
        });
        if let Some(tx) = comes {
            self.reach(slot, tx);
        }
    }

    /// Let a transmission begin to be heard wherever it has come by now.
    fn reach(&mut self, slot: usize, mut tx: Box<Transmission>) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let floor_dbm = at.setup.params.floor_dbm();
        let fading = at.setup.params.fading;
        let delay = self.now.since(tx.start);
        let before = tx.reached.hearing().len();
        while let Some(mut signal) = tx.reached.next(delay) {
            let station = &mut self.radios[signal.radio];
            // A radio that comes up during the frame has missed its preamble, and neither senses it
            // nor counts it as interference.
            if !station.power.is_up() {
                continue;
            }
            if fading.fades() {
                let gain = fading.gain(station.transceiver.fading());
                signal.dbm += to_db(gain);
                signal.mw *= gain;
                if signal.dbm < floor_dbm {
                    continue;
                }
            }
            tx.reached.hears(signal);
            let ppdu = tx.ppdu.part_of(signal.radio).unwrap_or(&tx.ppdu);
            let phy = &at.setup.params.phy;
            let arriving = Arriving {
                signal,
                tx: slot,
                rate: ppdu.rate,
                begins: tx.start + signal.delay,
                ends: tx.end + signal.delay,
                preamble: (tx.ppdu.shape).map_or_else(|| phy.preamble(ppdu.rate), |it| it.preamble),
                aggregate: !ppdu.subframes.is_empty(),
                beams: tx.ppdu.beams(),
                together: ppdu.triggered.then_some(ppdu.to),
            };
            let wake = station.signal_begins(&arriving, at);
            self.agenda.wake(signal.radio, wake);
        }
        let number = slot as u32;
        if !delay.is_zero() && tx.reached.hearing().len() > before {
            let end = tx.end + delay;
            self.agenda.push(end, Event::Leave { slot: number });
        }
        if let Some(delay) = tx.reached.next_delay() {
            let come = tx.start + delay;
            self.agenda.push(come, Event::Come { slot: number });
        }
        // It may have ended before it came to the last, and those did not hear it.
        if tx.is_over() {
            self.observe(&tx);
        }
        self.put_back(slot, tx);
    }

    /// The slot's transmission has been handled for now.
    fn put_back(&mut self, slot: usize, tx: Box<Transmission>) {
        if !tx.is_over() {
            return self.air.put(slot, tx);
        }
        if let Some(frame) = self.kept(&tx) {
            self.ledger.release(frame);
        }
        self.air.end(slot, tx);
    }

    /// A transmission ends at its sender, and where it is heard without delay.
    pub(super) fn end(&mut self, slot: usize) {
        let now = self.now;
        let ends = self
            .air
            .take_if(slot, |tx| !tx.sent && (tx.end == now || tx.cut));
        if let Some(tx) = ends {
            self.cease(slot, tx, true);
        }
    }

    /// A transmission ends where its delay is over.
    pub(super) fn leave(&mut self, slot: usize) {
        let now = self.now;
        if let Some(tx) = self.air.take_if(slot, |tx| tx.end < now) {
            self.cease(slot, tx, false);
        }
    }

    fn cease(&mut self, slot: usize, mut tx: Box<Transmission>, at_sender: bool) {
        tx.sent |= at_sender;
        let over = tx.leave(self.now);
        // The order matters. The channel falls quiet at all radios before one of them reacts.
        // Records see the final fates. Backoffs resume last, when NAV, EIFS and pending answers are
        // known.
        let before = tx.ended.len();
        self.signals_end(&mut tx, slot, over.clone(), at_sender);
        self.receive(&mut tx, before, at_sender);
        if tx.is_over() {
            self.observe(&tx);
        }
        self.go_on(&tx, over, at_sender);
        if at_sender && self.radios[tx.from].is_to_rest() {
            self.doze(tx.from, true);
        }
        self.put_back(slot, tx);
    }

    /// The channel falls quiet at the sender and at radios that heard it. `tx.ended` gets the
    /// fate at each of them that is on the channel.
    fn signals_end(
        &mut self,
        tx: &mut Transmission,
        slot: usize,
        over: Range<usize>,
        at_sender: bool,
    ) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        // Bits up to now were disturbed by this signal, or are its own. They count before it is
        // removed.
        if !at.setup.hearing.by_threshold() {
            for heard in &tx.reached.hearing()[over.clone()] {
                let transceiver = &mut self.radios[heard.radio].transceiver;
                transceiver.count_bits(self.now, &at.setup.params.phy, &at.setup.hearing);
            }
        }
        if at_sender {
            let wake = self.radios[tx.from].end_sending(at);
            self.agenda.wake(tx.from, wake);
        }
        for place in over {
            let heard = tx.reached.hearing()[place];
            let station = &mut self.radios[heard.radio];
            let (ended, wake) = station.signal_ends(slot, heard, tx, at);
            self.agenda.wake(heard.radio, wake);
            // Records list no frame where it came as energy.
            if heard.has_preamble() {
                tx.ended.push(ended);
            }
        }
    }

    /// Radios receive the frames that came through, those from `first` of `tx.ended` on. When an
    /// acknowledgement ends, hosts get its frames.
    fn receive(&mut self, tx: &mut Transmission, first: usize, at_sender: bool) {
        if at_sender && matches!(tx.ppdu.step, Step::Ack | Step::BlockAck) {
            self.hand_up_acknowledged(tx);
        }
        let mut heard = core::mem::take(&mut tx.ended);
        for ended in &mut heard[first..] {
            // `receive` may still change the fate, to a loss of the error model.
            if ended.fate != Fate::Delivered {
                continue;
            }
            let radio = ended.radio;
            let at = Moment {
                now: self.now,
                setup: &self.setup,
            };
            let (losses, effects) = (&mut self.losses, &mut self.effects);
            self.radios[radio].receive(tx, ended, losses, at, effects);
            self.overhear(tx, ended);
            self.carry_out(radio);
        }
        tx.ended = heard;
    }

    /// An acknowledgement has ended. The frame reaches its receiver's host and those of bystanders.
    /// This comes before the sender's status, which ends the frame's life.
    fn hand_up_acknowledged(&mut self, ack: &Transmission) {
        self.radios[ack.from].acknowledgement_ends(ack.cut, &mut self.effects);
        for part in ack.ppdu.parts() {
            if let To::Radio(sender) = part.to {
                let exchange = &mut self.radios[sender].exchange;
                exchange.hand_up_overheard(&mut self.effects);
            }
        }
        self.carry_out(ack.from);
    }

    fn observe(&mut self, transmission: &Transmission) {
        if !transmission.ppdu.step.is_data() && self.observers.is_empty() {
            return;
        }
        for part in transmission.ppdu.parts() {
            let missed = match part.to {
                To::Radio(to) if !transmission.ended.iter().any(|ended| ended.radio == to) => {
                    let up = self.radios[to].power.is_up();
                    Some((to, if up { Fate::Weak } else { Fate::Off }))
                }
                _ => None,
            };
            let end = End {
                transmission,
                part,
                at: transmission.end.min(self.now),
                heard: &transmission.ended,
                missed,
            };
            self.links.observe(&end, &self.setup, &mut self.space);
            for observer in &self.observers {
                observer(&end, &self.setup, &mut self.ledger);
            }
        }
    }

    /// The sender goes on with its exchange, and radios that heard it with their backoffs.
    fn go_on(&mut self, tx: &Transmission, over: Range<usize>, at_sender: bool) {
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        // The sender first: it may draw a backoff, which then counts like the others.
        if at_sender && !tx.cut {
            self.radios[tx.from].sent(&tx.ppdu, at, &mut self.effects);
            self.carry_out(tx.from);
        }
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let heard = tx.reached.hearing()[over].iter().map(|heard| heard.radio);
        for radio in heard.chain(at_sender.then_some(tx.from)) {
            let wake = |wake| self.agenda.wake(radio, Some(wake));
            self.radios[radio].count_down_all(at, wake);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reception of a frame by a radio.

use alloc::vec::Vec;

use hoplab_base::Duration;

use super::{Moment, Radio};
use crate::air::{Ended, Transmission};
use crate::loss::Losses;
use crate::parts::{Arrival, Arrived, Effect, Effects, Payload, Ppdu, Response, Timer, Wake};
use crate::step::Step;
use crate::timing::{Answer, MU_RTS_ANSWERED};
use crate::{Dbm, Fate, LinkId, Outcome, RadioId, Rate, To};

impl Radio {
    /// The channel let a frame through, or some of an A-MPDU; their fates get the radio's own say.
    pub fn receive(
        &mut self,
        tx: &Transmission,
        ended: &mut Ended,
        losses: &mut Losses,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        if !self.power.is_up() {
            ended.fate = Fate::Off;
            return;
        }
        let now = at.now;
        let part = tx.ppdu.part_of(self.id);
        let (ppdu, mine) = (part.unwrap_or(&tx.ppdu), part.is_some());
        if !mine && !ppdu.nav.is_zero() {
            self.sense.set_nav(now + ppdu.nav);
        }
        self.single.is_told();
        if mine {
            self.hears_client(tx.from, ppdu.nav, at, effects);
        }
        let link = self.link_from(tx.from, at);
        if mine && ppdu.waiting.is_some() && ppdu.step != Step::BufferStatus {
            if ppdu.triggered {
                self.exchange.answered(Answer::Frames);
            }
            self.told(tx.from, ppdu, at, effects);
        }
        let counted = (ppdu.step, ppdu.data_number);
        if mine && !ppdu.step.is_data() && losses.take(link, counted, false, now) {
            ended.fate = Fate::ErrorModel;
            return;
        }
        match ppdu.step {
            Step::Data if mine || ppdu.to == To::Everyone => {
                ended.fate = self.receive_data(tx, ended.dbm, losses, at, effects);
            }
            Step::Aggregate | Step::Shared if mine => {
                self.receive_aggregate((tx.from, ppdu), ended, losses, at, effects);
            }
            Step::Rts if mine => self.answer_rts(tx.from, ppdu, ppdu.rate, at, effects),
            Step::Call if mine => self.answer_rts(tx.from, ppdu, MU_RTS_ANSWERED, at, effects),
            Step::Cts if mine && self.exchange.answered(Answer::Cts) => {
                self.cleared();
                self.answer(response(ppdu, tx.from), at, effects);
            }
            Step::Ack if mine && self.exchange.answered(Answer::Ack) => {
                self.finish(Outcome::Acked, at, effects);
            }
            Step::BlockAckRequest | Step::Trigger if mine => {
                if let Some(agreement) = ppdu.agreement {
                    let device = at.setup.devices.device(tx.from);
                    self.agreements.asked(device, agreement, at.setup);
                    self.answer_block(tx.from, ppdu, at, effects);
                }
            }
            Step::Poll | Step::Bsrp if mine => self.polled(tx.from, ppdu, at, effects),
            Step::BufferStatus if mine => self.status_told(tx.from, ppdu, at, effects),
            Step::Announcement | Step::Ndp | Step::NdpShared | Step::ReportPoll if mine => {
                self.sounded(tx.from, ppdu, at, effects);
            }
            Step::Report if mine => self.reported(tx.from, at, effects),
            Step::BlockAck if mine && self.is_block_ack_due() => {
                if let Some(block_ack) = ppdu.block_ack {
                    self.block_acked(tx.from, &block_ack, at, effects);
                }
            }
            _ => {}
        }
    }

    /// A CTS goes only if the NAV is not set (10.3.2.9). It goes as the answer to a frame at `rate`. A
    /// radio owes one answer at a time.
    fn answer_rts(
        &mut self,
        from: RadioId,
        ppdu: &Ppdu,
        rate: Rate,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        if self.sense.nav_counts(at.now) || self.exchange.response().is_some() {
            return;
        }
        let nav = at.setup.timing.nav_of_cts(ppdu.nav, rate);
        let cts = response(ppdu, from).map(|cts| Response { nav, rate, ..cts });
        self.engage(at, effects);
        self.answer(cts, at, effects);
    }

    /// As hosts know it.
    fn link_from(&self, from: RadioId, at: Moment<'_>) -> LinkId {
        let devices = &at.setup.devices;
        LinkId {
            from: devices.device(from),
            to: devices.device(self.id),
        }
    }

    fn receive_data(
        &mut self,
        tx: &Transmission,
        dbm: Dbm,
        losses: &mut Losses,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Fate {
        let ppdu = &tx.ppdu;
        let Some(payload) = ppdu.payload else {
            return Fate::Delivered;
        };
        let no_ack = at.setup.params.no_ack;
        let (link, counted) = (self.link_from(tx.from, at), (ppdu.step, ppdu.data_number));
        let mut is_lost = |up| losses.take(link, counted, up, at.now);
        let sender = link.from;
        let mine = ppdu.part_of(self.id).is_some();
        let losable = !payload.class.is_beacon();
        if losable && is_lost(false) {
            return Fate::ErrorModel;
        }
        let agreement = ppdu.agreement.filter(|_| mine);
        let repeat = mine
            && match agreement {
                Some(place) => self.agreements.repeats(sender, place, at.setup),
                None => self
                    .duplicates
                    .repeats((sender, ppdu.function), ppdu.number),
            };
        let spoiled = losable && !repeat && is_lost(true);
        let arrived = arrived((tx.from, ppdu), payload, ppdu.bytes, dbm);
        let acknowledged = mine && !no_ack;
        let wanted = !repeat && !spoiled;
        let to = self.id;
        let mut deliver = Vec::new();
        if let Some(place) = agreement {
            self.receive_in_agreement((sender, place), arrived, spoiled, at);
            (_, deliver) = self
                .agreements
                .answer(sender, place.0, at.now, at.setup, effects);
            if at.setup.devices.has_several(self.id) {
                self.hand_up(core::mem::take(&mut deliver), effects);
            }
        } else if wanted {
            self.counters.rx_frames += 1;
            self.counters.rx_bytes += ppdu.bytes as u64;
            if acknowledged {
                deliver.push(arrived);
            } else {
                effects.push(Effect::HandUp { to, arrived });
            }
        }
        // A repeat is acknowledged again, since its sender has missed the first ACK.
        if acknowledged {
            let ack = response(ppdu, tx.from).map(|ack| Response { deliver, ..ack });
            self.answer(ack, at, effects);
        }
        if spoiled {
            Fate::ErrorModel
        } else {
            Fate::Delivered
        }
    }

    fn receive_aggregate(
        &mut self,
        (from, ppdu): (RadioId, &Ppdu),
        ended: &mut Ended,
        losses: &mut Losses,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let Some((tid, _)) = ppdu.agreement else {
            return;
        };
        let link = self.link_from(from, at);
        let sender = link.from;
        let mut some = false;
        for (subframe, fate) in ppdu.subframes.iter().zip(&mut ended.fates) {
            if *fate != Fate::Delivered {
                continue;
            }
            let arrived = arrived((from, ppdu), subframe.payload, subframe.bytes, ended.dbm);
            let place = (tid, subframe.sequence);
            let counted = (Step::Data, subframe.data_number);
            if losses.take(link, counted, false, at.now) {
                *fate = Fate::ErrorModel;
                continue;
            }
            some = true;
            let repeat = self.agreements.repeats(sender, place, at.setup);
            let spoiled = !repeat && losses.take(link, counted, true, at.now);
            self.receive_in_agreement((sender, place), arrived, spoiled, at);
            if spoiled {
                *fate = Fate::ErrorModel;
            }
        }
        match ppdu.step {
            _ if !some => ended.fate = Fate::ErrorModel,
            Step::Shared => {
                // It is asked for its BlockAck later, so the host gets what has come now.
                let (_, arrived) = (self.agreements).answer(sender, tid, at.now, at.setup, effects);
                self.hand_up(arrived, effects);
            }
            _ => self.answer_block(from, ppdu, at, effects),
        }
    }

    /// A received frame of an agreement.
    fn receive_in_agreement(
        &mut self,
        (sender, place): (RadioId, (u8, u64)),
        arrived: Arrived,
        lost: bool,
        at: Moment<'_>,
    ) {
        let arrival = (self.agreements).receive(sender, place, (arrived, lost), at.now, at.setup);
        if arrival == Arrival::New && !lost {
            self.counters.rx_frames += 1;
            self.counters.rx_bytes += arrived.bytes as u64;
        }
    }

    fn hand_up(&self, arrived: Vec<Arrived>, effects: &mut Effects) {
        let to = self.id;
        let arrived = arrived.into_iter();
        effects.extend(arrived.map(|arrived| Effect::HandUp { to, arrived }));
    }

    /// A trigger asks this radio for its frames, or what waits (802.11ax-2021 26.5.2.3). One whose NAV
    /// is set by others, or that is amid an exchange of its own, does not answer.
    fn polled(&mut self, from: RadioId, ppdu: &Ppdu, at: Moment<'_>, effects: &mut Effects) {
        let busy = self.is_amid_exchange() || self.sense.nav_counts(at.now);
        let asks_for_frames = ppdu.step == Step::Poll;
        if busy || (asks_for_frames && !self.serve_trigger(from, ppdu, at)) {
            return;
        }
        let asked = ppdu.asked.filter(|_| !asks_for_frames);
        let answer = response(ppdu, from).map(|answer| Response { asked, ..answer });
        self.answer(answer, at, effects);
    }

    /// What an access point sends to sound the channel to this radio.
    pub(super) fn sounded(
        &mut self,
        from: RadioId,
        ppdu: &Ppdu,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        match ppdu.step {
            Step::Announcement => (self.announced, self.measured) = (Some(from), None),
            Step::Ndp | Step::NdpShared => {
                self.measured = self.announced.take().filter(|announced| *announced == from);
            }
            _ => {}
        }
        if self.measured == Some(from) && ppdu.asked.is_some() {
            let asked = ppdu.asked;
            let report = response(ppdu, from);
            let report = report.map(|report| Response { asked, ..report });
            self.answer(report, at, effects);
        }
    }

    /// Answer with a BlockAck.
    fn answer_block(&mut self, from: RadioId, ppdu: &Ppdu, at: Moment<'_>, effects: &mut Effects) {
        let Some((tid, _)) = ppdu.agreement else {
            return;
        };
        let sender = at.setup.devices.device(from);
        let (block_ack, mut deliver) =
            (self.agreements).answer(sender, tid, at.now, at.setup, effects);
        // Answers to several radios are one frame, which waits for none of them. Several links
        // would end their answers in another order than that of the frames.
        let beside = ppdu.triggered.then(Vec::new);
        if beside.is_some() || at.setup.devices.has_several(self.id) {
            self.hand_up(core::mem::take(&mut deliver), effects);
        }
        // More than its own time is reserved where the sender asks others for theirs next.
        let own = at.setup.timing.answered(Answer::BlockAck, ppdu.rate);
        let nav = match ppdu.asked {
            None if !ppdu.triggered && ppdu.nav > own => ppdu.nav - own,
            _ => Duration::ZERO,
        };
        let answer = response(ppdu, from).map(|answer| Response {
            nav,
            block_ack: Some(block_ack),
            agreement: ppdu.agreement,
            asked: ppdu.asked,
            beside,
            deliver,
            ..answer
        });
        self.answer(answer, at, effects);
    }

    /// Answer after a SIFS.
    pub(super) fn answer(
        &mut self,
        response: Option<Response>,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let Some(response) = response else { return };
        // No access function may send between the frame and its answer.
        self.freeze(Duration::ZERO, at);
        self.exchange.respond_with(response);
        effects.push(Effect::Wake(Wake {
            at: at.now + at.setup.timing.sifs,
            timer: Timer::Respond,
            generation: 0,
        }));
    }
}

pub fn arrived(
    (from, ppdu): (RadioId, &Ppdu),
    payload: Payload,
    bytes: usize,
    dbm: Dbm,
) -> Arrived {
    Arrived {
        from,
        frame: payload.id,
        bytes,
        dbm,
        rate: ppdu.rate,
        held: false,
    }
}

/// The answer to a frame that asks for one.
pub(super) fn response(ppdu: &Ppdu, to: RadioId) -> Option<Response> {
    Some(Response {
        step: ppdu.step.next(true)?,
        to,
        rate: ppdu.rate,
        width: ppdu.width,
        nav: Duration::ZERO,
        block_ack: None,
        agreement: None,
        asked: None,
        beside: None,
        deliver: Vec::new(),
    })
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an access function sends when it has won the channel, and what follows from the answer
//! (IEEE 802.11-2020 10.3.4.4, 10.23.2). DCF is one function whose TXOP has one exchange.

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::sound::Sounding;
use super::{Moment, Radio};
use crate::parts::{
    Asked, Batch, BlockAck, Due, Effect, Effects, Link, Ppdu, Setup, Timer, Together, Wake,
};
use crate::space::Sides;
use crate::step::Step;
use crate::timing::{Answer, BLOCK_ACK_REQUEST_BYTES, MU_RTS_ANSWERED, RTS_BYTES};
use crate::{Acknowledgement, Outcome, RadioId, Rate, Subchannels, To, Width};

/// What has won the channel.
#[derive(Default)]
pub struct Txop {
    /// The function that won last.
    pub function: usize,
    /// The batch of its line that is in service: it or its RTS is on the air, or awaits its answer.
    pub batch: Option<Batch>,
    /// Of further receivers, which are served together with it.
    beside: Vec<Batch>,
    /// A receiver of them has answered.
    some_answered: bool,
    /// It asks for their answers when a SIFS is over.
    asks: bool,
    /// It has asked stations for their frames, or polled their queues.
    pub polls: bool,
    /// It knows more of their queues, and goes on when a SIFS is over.
    pub(super) learns: bool,
    /// Those of them that have not answered.
    pub(super) polled: Vec<RadioId>,
    /// The last TXOP was for their frames, so the next one is for those of this radio.
    pub(super) polled_last: bool,
    /// It sounds the channels to stations.
    pub(super) sounding: Option<Sounding>,
    /// A trigger has asked for the batch.
    pub(super) triggered: Option<Asked>,
    begun: Instant,
    ends: Instant,
    /// What its PPDUs may take of the channel.
    pub(super) widest: Option<Subchannels>,
    /// It goes on sending when a SIFS is over.
    pub goes_on: bool,
}

impl Txop {
    /// All batches in service.
    pub fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.batch.iter().chain(&self.beside)
    }

    /// A batch is in service no longer: the one for this receiver, of several.
    fn take(&mut self, from: RadioId) -> Option<Batch> {
        if self.beside.is_empty() {
            return self.batch.take();
        }
        let to = To::Radio(from);
        if let Some(at) = self.beside.iter().position(|batch| batch.to == to) {
            return Some(self.beside.remove(at));
        }
        let answered = self.batch.take_if(|batch| batch.to == to);
        self.next_beside();
        answered
    }

    /// The next receiver's batch takes the place of one that is done.
    fn next_beside(&mut self) {
        if self.batch.is_none() && !self.beside.is_empty() {
            self.batch = Some(self.beside.remove(0));
        }
    }

    /// It ends in the midst, as its radio goes off.
    pub fn stop(&mut self) {
        self.batch = None;
        self.beside.clear();
        self.goes_on = false;
        self.asks = false;
        self.polls = false;
        self.learns = false;
        self.polled.clear();
        self.sounding = None;
        self.triggered = None;
    }

    /// What is left of it. A limit of 0 is for one exchange, however long.
    pub fn time(&self, now: Instant) -> Option<Duration> {
        let is_limited = self.ends > self.begun;
        is_limited.then(|| self.ends.since(now))
    }

    /// Whether it is not over.
    pub fn is_under_way(&self) -> bool {
        self.serves() || self.goes_on
    }

    /// Whether something of it is on the air, or awaits an answer.
    pub fn serves(&self) -> bool {
        self.batch.is_some() || self.polls || self.sounding.is_some()
    }
}

impl Radio {
    /// The turn of an access function on the channel may have come.
    pub(super) fn turn(
        &mut self,
        function: usize,
        generation: u64,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Option<Ppdu> {
        let access = &mut self.functions[function].access;
        if let Due::Later(wake) = access.come(at.now, generation) {
            effects.extend(wake.map(Effect::Wake));
            return None;
        }
        if !self.has_work(function, at.setup) {
            return None;
        }
        if self.single.is_deaf() {
            // Another link of its device has won in this instant.
            self.functions[function].access.again(at.now);
            return None;
        }
        if self.loses_turn(function, at) {
            self.collide_within(function, at, effects);
            return None;
        }
        if self.exchange.response().is_some() {
            return None;
        }
        let params = self.functions[function].params.filter(|_| self.qos);
        let txop = params.map_or(Duration::ZERO, |params| params.txop);
        self.txop.function = function;
        self.txop.begun = at.now;
        self.txop.ends = at.now + txop;
        self.txop.widest = self.clear_part(at);
        let ppdu = self.bsrp(at, effects);
        let ppdu = ppdu.or_else(|| self.first_exchange(at));
        if ppdu.is_some() {
            self.single.tries();
            self.engage(at, effects);
        }
        ppdu
    }

    /// Of a TXOP, but that it may have polled queues before.
    fn first_exchange(&mut self, at: Moment<'_>) -> Option<Ppdu> {
        if let Some(trigger) = self.poll(at) {
            return Some(trigger);
        }
        self.txop.polled_last = false;
        let time = self.txop.time(at.now);
        let first = self.next_batch(time, true, at);
        self.bsrp_after(first.as_ref());
        first
    }

    /// A function's turn has gone to another one of this radio, which counts as a collision
    /// (10.23.2.4). By the standard's limits that is a failed try of its first frame; the kernel's
    /// table of rates counts only what went on the air.
    fn collide_within(&mut self, number: usize, at: Moment<'_>, effects: &mut Effects) {
        let link = Link::new(self.id, &self.clients, at.setup);
        let function = &mut self.functions[number];
        let given_up = at.setup.retry_limits.is_some_and(|limits| {
            function.line.collide(limits, link, at.setup, |finished| {
                effects.push(Effect::Conclude(finished));
            })
        });
        if given_up {
            self.counters.retry_limit += 1;
            function.access.finish(at.now);
        } else {
            function.access.retry(at.now);
        }
        self.resume(at, effects);
    }

    /// The part of the channel whose secondary channels have been idle for PIFS (10.23.2.5). None where
    /// that is all of it, and no subchannel is punctured.
    fn clear_part(&self, at: Moment<'_>) -> Option<Subchannels> {
        let timing = &at.setup.timing;
        let pifs = timing.sifs + timing.slot;
        let sides = (self.transceiver).idle_sides(pifs, at.now, &at.setup.hearing);
        let idle = Width::ALL.get(sides).filter(|_| sides < Sides::COUNT);
        let whole = self.subchannels;
        match idle {
            Some(&width) => Some(whole.map_or(width.into(), |whole| whole.part(width))),
            None => whole.filter(|whole| !whole.punctured.is_none()),
        }
    }

    /// The next batch of its line, or the RTS before it.
    fn next_batch(
        &mut self,
        time: Option<Duration>,
        is_first: bool,
        at: Moment<'_>,
    ) -> Option<Ppdu> {
        let link = Link {
            protects: self.single.is_unsure(at.now),
            ..Link::new(self.id, &self.clients, at.setup)
        };
        let (txop, setup) = (&mut self.txop, at.setup);
        let line = &mut self.functions[txop.function].line;
        let numbers = &mut self.exchange.numbers;
        txop.some_answered = false;
        if let Some(mimo) = setup.params.ofdma.and_then(|ofdma| ofdma.mimo) {
            self.soundings.pass(mimo, at.now);
        }
        let together = match self.is_access_point {
            true => line.next_together(numbers, time, txop.widest, &self.soundings, setup),
            false => None,
        };
        self.soundings.rests = false;
        match together {
            Some(Together::Batches(together)) => {
                together.iter().for_each(|batch| line.try_once(batch));
                txop.beside = together;
                txop.next_beside();
                return self.together(at);
            }
            Some(Together::Sound(stations)) if is_first => return self.sound(&stations, at),
            Some(Together::Late) if !is_first => return None,
            _ => {}
        }
        let batch = line.next(numbers, time, is_first, txop.widest, link, setup)?;
        // The try counts from its RTS on, whether or not a CTS lets the data follow.
        line.try_once(&batch);
        let batch = &*txop.batch.insert(batch);
        let rate = batch.attempts.rate;
        if let Some(padding) = batch.call {
            return self.call(padding, at);
        }
        if !batch.attempts.rts {
            return self.batch(at);
        }
        let nav = setup.timing.nav_of_rts(batch.exchange(setup), rate);
        let rts = (self.exchange).control(Step::Rts, batch.to, RTS_BYTES, nav, setup);
        Some(Ppdu {
            attempt: line.attempt(batch),
            rate: setup.timing.control_rate(rate),
            width: rate.width(),
            function: txop.function as u8,
            ..rts
        })
    }

    /// The frame that calls the receiver of the batch, which has a single radio, to this link. It
    /// goes as an RTS does (802.11be-2024 35.3.17).
    fn call(&mut self, padding: Duration, at: Moment<'_>) -> Option<Ppdu> {
        let timing = &at.setup.timing;
        let batch = self.txop.batch.as_ref()?;
        if let To::Radio(client) = batch.to {
            self.clients.call(client, self.id);
        }
        let rate = batch.attempts.rate;
        let answered = timing.answered(Answer::Cts, MU_RTS_ANSWERED);
        let nav = timing.nav_of_rts(batch.exchange(at.setup), MU_RTS_ANSWERED);
        let bytes = timing.call_bytes(padding, rate);
        let call = (self.exchange).control(Step::Call, batch.to, bytes, nav, at.setup);
        Some(Ppdu {
            attempt: self.functions[self.txop.function].line.attempt(batch),
            rate: timing.control_rate(rate),
            width: rate.width(),
            function: self.txop.function as u8,
            answered: Some(answered),
            ..call
        })
    }

    /// The frames of the batch whose turn it is, or the request.
    pub(super) fn batch(&mut self, at: Moment<'_>) -> Option<Ppdu> {
        let (setup, batch) = (at.setup, self.txop.batch.as_ref()?);
        let rate = batch.attempts.rate;
        let nav = batch
            .answer
            .map(|answer| setup.timing.answered(answer, rate));
        let step = match () {
            () if batch.is_request() => Step::BlockAckRequest,
            () if batch.is_aggregate() || batch.shape.is_some() => Step::Aggregate,
            () => Step::Data,
        };
        if let Some(asked) = self.txop.triggered {
            return Some(Ppdu {
                triggered: true,
                answered: Some(asked.answered),
                ..self.carry(batch, step, asked.answered, setup)
            });
        }
        let mut ppdu = self.carry(batch, step, nav.unwrap_or_default(), setup);
        if step == Step::Data {
            let only = ppdu.subframes.pop()?;
            ppdu.agreement = batch.tid.map(|tid| (tid, only.sequence));
            ppdu.payload = Some(only.payload);
            ppdu.number = only.number;
            ppdu.data_number = only.data_number;
            ppdu.attempt = only.attempt;
        }
        Some(ppdu)
    }

    /// The PPDU of a batch, with all its frames as those of an A-MPDU.
    fn carry(&self, batch: &Batch, step: Step, nav: Duration, setup: &Setup) -> Ppdu {
        let rate = batch.attempts.rate;
        let line = &self.functions[self.txop.function].line;
        Ppdu {
            subframes: line.carried(batch, setup),
            agreement: batch.tid.map(|tid| (tid, batch.start)),
            function: self.txop.function as u8,
            rate,
            width: rate.width(),
            shape: batch.shape,
            waiting: setup.polls().then(|| line.waiting_behind(batch, setup)),
            ..(self.exchange).control(step, batch.to, batch.bytes, nav, setup)
        }
    }

    /// Rates of the batches in service, if receivers are served together.
    fn rates(&self) -> Vec<Rate> {
        let batches = self.txop.batches();
        batches.map(|batch| batch.attempts.rate).collect()
    }

    /// The batches of several receivers, in one PPDU.
    fn together(&self, at: Moment<'_>) -> Option<Ppdu> {
        let by = at.setup.params.ofdma?.acknowledgement;
        let nav = at.setup.timing.answered_together(by, &self.rates());
        let mut parts = self.txop.batches().enumerate().map(|(number, batch)| {
            let at_once = number == 0 && by == Acknowledgement::Sequential;
            let step = if at_once {
                Step::Aggregate
            } else {
                Step::Shared
            };
            self.carry(batch, step, nav, at.setup)
        });
        let first = parts.next()?;
        let beside = parts.collect();
        Some(Ppdu { beside, ..first })
    }

    /// Those that were served together are asked for their answers at this time.
    pub(super) fn ask_next(&mut self, at: Instant, effects: &mut Effects) {
        self.txop.asks = true;
        effects.push(Effect::Wake(Wake {
            at,
            timer: Timer::Respond,
            generation: 0,
        }));
    }

    /// All of them by a trigger, or the next one by a BlockAckReq.
    fn ask(&mut self, at: Moment<'_>) -> Option<Ppdu> {
        if self.txop.sounding.is_some() {
            return self.sound_on(at);
        }
        let (setup, timing) = (at.setup, &at.setup.timing);
        let rates = self.rates();
        let request = |batch: &Batch, step, bytes, nav, rate| Ppdu {
            agreement: batch.tid.map(|tid| (tid, batch.start)),
            function: self.txop.function as u8,
            rate,
            width: batch.attempts.rate.width(),
            ..(self.exchange).control(step, batch.to, bytes, nav, setup)
        };
        if setup.params.ofdma?.acknowledgement == Acknowledgement::Sequential {
            let (batch, (first, others)) = (self.txop.batch.as_ref()?, rates.split_first()?);
            let others = others.iter().map(|rate| timing.sifs + timing.asked(*rate));
            let own = timing.answered(Answer::BlockAck, *first);
            let nav = others.fold(own, |sum, one| sum + one);
            let rate = timing.control_rate(*first);
            let step = Step::BlockAckRequest;
            return Some(request(batch, step, BLOCK_ACK_REQUEST_BYTES, nav, rate));
        }
        let answers = timing.triggered_rates(&rates);
        let shape = timing.triggered_block_acks(&answers);
        let nav = timing.sifs + shape.lasts;
        let (rate, _) = timing.mu_bar(&rates);
        let answered = Duration::ZERO;
        let bytes = timing.mu_bar_bytes(rates.len());
        let asks = self.txop.batches().zip(answers);
        let mut parts = asks.map(|(batch, answer)| Ppdu {
            asked: Some(Asked {
                rate: answer,
                shape,
                answered,
            }),
            answered: Some(timing.sifs + shape.lasts),
            ..request(batch, Step::Trigger, bytes, nav, rate)
        });
        let first = parts.next()?;
        let beside = parts.collect();
        Some(Ppdu { beside, ..first })
    }

    /// Its TXOP goes on a SIFS after the last answer.
    pub(super) fn next_of_txop(&mut self, at: Moment<'_>, effects: &mut Effects) -> Option<Ppdu> {
        if core::mem::take(&mut self.txop.asks) {
            return self.ask(at);
        }
        if core::mem::take(&mut self.txop.learns) {
            return self.after_bsrp(at, effects);
        }
        if !core::mem::take(&mut self.txop.goes_on) || !self.power.is_up() {
            return None;
        }
        let time = self.txop.ends.since(at.now);
        let next = match self.transceiver.is_sending() {
            true => None,
            false => self.next_batch(Some(time), false, at),
        };
        if next.is_none() {
            self.end_txop(at, effects);
        }
        next
    }

    /// It knows what waits at stations. It asks for that in the same TXOP, or sends its own.
    fn after_bsrp(&mut self, at: Moment<'_>, effects: &mut Effects) -> Option<Ppdu> {
        self.txop.polls = false;
        self.count_silent(at);
        let next = match self.transceiver.is_sending() {
            true => None,
            false => self.first_exchange(at),
        };
        if next.is_none() {
            self.end_txop(at, effects);
        }
        next
    }

    /// The post-backoff is drawn before the next frame comes into service, so that frame waits for
    /// it (10.3.4.3).
    fn end_txop(&mut self, at: Moment<'_>, effects: &mut Effects) {
        self.leave(at, effects);
        self.functions[self.txop.function].access.finish(at.now);
        self.resume(at, effects);
    }

    /// Its functions go on with their backoffs.
    pub(super) fn resume(&mut self, at: Moment<'_>, effects: &mut Effects) {
        self.refill(at, effects);
        self.count_down_all(at, |wake| effects.push(Effect::Wake(wake)));
    }

    /// The exchange of the batch has succeeded: the TXOP goes on, or the next backoff begins.
    pub(super) fn after_exchange(&mut self, at: Moment<'_>, effects: &mut Effects) {
        if self.txop.triggered.take().is_some() {
            self.trigger_served(at, effects);
            return self.resume(at, effects);
        }
        let link = Link::new(self.id, &self.clients, at.setup);
        let (txop, sifs) = (&mut self.txop, at.setup.timing.sifs);
        let more = (self.functions[txop.function].line).has_work(link, at.setup);
        // A TXOP of 0 ended when it began: one exchange, then a backoff.
        if more && at.now + sifs < txop.ends {
            txop.goes_on = true;
            effects.push(Effect::Wake(Wake {
                at: at.now + sifs,
                timer: Timer::Respond,
                generation: 0,
            }));
        } else {
            self.end_txop(at, effects);
        }
    }

    /// A station's report on the channel has come.
    pub(super) fn reported(&mut self, from: RadioId, at: Moment<'_>, effects: &mut Effects) {
        let Some(sounding) = &mut self.txop.sounding else {
            return;
        };
        if self.exchange.awaited() != Some(Answer::Report) {
            return;
        }
        sounding.take(from);
        self.soundings.report(from);
        if sounding.is_answered() {
            self.exchange.answered(Answer::Report);
            self.next_reports(at.now + at.setup.timing.sifs, at, effects);
        }
    }

    /// Reports have come, or have not: others follow at this time, or the sounding is over.
    pub(super) fn next_reports(&mut self, next: Instant, at: Moment<'_>, effects: &mut Effects) {
        let Some(mut sounding) = self.txop.sounding.take() else {
            return;
        };
        if sounding.goes_on() {
            self.txop.sounding = Some(sounding);
            return self.ask_next(next, effects);
        }
        self.soundings.rests = true;
        if sounding.has_reports {
            return self.after_exchange(at, effects);
        }
        self.functions[self.txop.function].access.retry(at.now);
        self.resume(at, effects);
    }

    /// A CTS has answered the RTS of the batch.
    pub(super) fn cleared(&mut self) {
        if let Some(batch) = &self.txop.batch {
            self.functions[self.txop.function].line.cleared(batch);
        }
    }

    /// The one frame of the batch is done.
    pub(super) fn finish(&mut self, outcome: Outcome, at: Moment<'_>, effects: &mut Effects) {
        let Some(batch) = self.txop.batch.take() else {
            return;
        };
        let line = &mut self.functions[self.txop.function].line;
        line.conclude(&batch, outcome, |finished| {
            effects.push(Effect::Conclude(finished));
        });
        self.after_exchange(at, effects);
    }

    /// Whether a BlockAck is what it waits for. Of several that a trigger has asked for, further ones
    /// may follow.
    pub(super) fn is_block_ack_due(&mut self) -> bool {
        let is_first_of_several =
            !self.txop.beside.is_empty() && self.exchange.awaited() == Some(Answer::BlockAck);
        is_first_of_several || self.exchange.answered(Answer::BlockAck)
    }

    /// A BlockAck of what it sent to that radio.
    pub(super) fn block_acked(
        &mut self,
        from: RadioId,
        block_ack: &BlockAck,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let Some(batch) = self.txop.take(from) else {
            return;
        };
        let limits = at.setup.retry_limits;
        let line = &mut self.functions[self.txop.function].line;
        let counters = &mut self.counters;
        let again = line.settle(&batch, block_ack, limits, |finished| {
            counters.retry_limit += u64::from(finished.outcome == Outcome::RetryLimit);
            effects.push(Effect::Conclude(finished));
        });
        counters.retries += again as u64;
        self.txop.some_answered = true;
        if self.txop.batch.is_none() {
            self.after_exchange(at, effects);
        } else if self.asks_one_by_one(at) {
            self.exchange.answered(Answer::BlockAck);
            self.ask_next(at.now + at.setup.timing.sifs, effects);
        }
    }

    fn asks_one_by_one(&self, at: Moment<'_>) -> bool {
        let ofdma = at.setup.params.ofdma;
        ofdma.is_some_and(|ofdma| ofdma.acknowledgement == Acknowledgement::Sequential)
    }

    /// No answer came to the batch or to its RTS: retry with a doubled window, or give up
    /// (10.3.4.4, 10.23.2.12). Of receivers that are served together one answer is enough.
    pub(super) fn timeout(&mut self, generation: u64, at: Moment<'_>, effects: &mut Effects) {
        let Some(missing) = self.exchange.overdue(generation) else {
            return;
        };
        self.exchange.hand_up_overheard(effects);
        if self.txop.polls {
            self.poll_ends(false, at);
            return self.resume(at, effects);
        }
        if self.txop.sounding.is_some() {
            return self.next_reports(at.now, at, effects);
        }
        let Some(batch) = self.txop.batch.take() else {
            return;
        };
        if let (Answer::Cts, Some(_), To::Radio(client)) = (missing, batch.call, batch.to) {
            self.clients.is_silent(client, self.id);
        }
        self.leave(at, effects);
        let mut given_up = self.fail(&batch, missing, at, effects);
        if self.asks_one_by_one(at) {
            self.txop.next_beside();
            if self.txop.batch.is_some() {
                return self.ask_next(at.now, effects);
            }
        }
        for batch in core::mem::take(&mut self.txop.beside) {
            given_up += self.fail(&batch, missing, at, effects);
        }
        if self.txop.triggered.take().is_some() {
            // Its own contention has not failed.
            return self.resume(at, effects);
        }
        let access = &mut self.functions[self.txop.function].access;
        if given_up > 0 || self.txop.some_answered {
            access.finish(at.now);
        } else {
            access.retry(at.now);
        }
        self.resume(at, effects);
    }

    /// No answer came to a batch; returns how many of its frames are given up.
    fn fail(
        &mut self,
        batch: &Batch,
        missing: Answer,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> u64 {
        let limits = at.setup.retry_limits;
        let mut given_up = 0;
        let line = &mut self.functions[self.txop.function].line;
        line.fail(batch, missing, limits, |finished| {
            given_up += 1;
            effects.push(Effect::Conclude(finished));
        });
        self.counters.retry_limit += given_up;
        self.counters.retries += u64::from(given_up == 0);
        given_up
    }

    /// The exchange of the batch starts over with a wider window.
    pub(super) fn start_over(&mut self, at: Moment<'_>) {
        let function = &mut self.functions[self.txop.function];
        if let Some(batch) = self.txop.batch.take() {
            function.line.withdraw(&batch);
        }
        function.access.retry(at.now);
    }
}

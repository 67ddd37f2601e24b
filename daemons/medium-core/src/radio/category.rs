// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending by access categories (IEEE 802.11-2020 10.23.2): which function of a radio sends, what
//! it sends in its TXOP, and what follows from the answer.

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::{Moment, Radio};
use crate::parts::Arrived;
use crate::parts::{
    Arrival, Batch, BlockAck, Effect, Effects, Finished, Line, Ppdu, Reorder, Setup, Timer, Wake,
};
use crate::step::Step;
use crate::timing::RTS_BYTES;
use crate::{Category, CategoryParams, Frame, FrameId, Outcome, RadioId, To, Width};

/// How long Linux's receivers wait for a frame that others came after (mac80211's
/// HT_RX_REORDER_BUF_TIMEOUT).
const REORDER_TIMEOUT: Duration = Duration::from_millis(100);

/// An agreement with a sender, about one of its TIDs.
struct Recipient {
    from: RadioId,
    tid: u8,
    reorder: Reorder,
}

/// Parts of a radio with access categories. They are empty by DCF.
#[derive(Default)]
pub struct Categories {
    /// Waiting frames, by access function.
    lines: Vec<Line>,
    /// How they contend, in the order of [`Category::ALL`], once `qos` is set.
    params: Option<[CategoryParams; 4]>,
    /// It has sent a frame with a QoS header; before, it is a station of DCF.
    qos: bool,
    /// The function that won the channel last.
    active: usize,
    /// The batch of its line that is on the air.
    batch: Option<Batch>,
    txop_ends: Instant,
    /// How wide its PPDUs may be in this TXOP.
    widest: Option<Width>,
    /// It goes on sending when a SIFS is over.
    goes_on: bool,
    recipients: Vec<Recipient>,
    /// Frames that were held, and whose acknowledgement broke off with the radio.
    orphans: Vec<FrameId>,
}

impl Categories {
    pub fn new(setup: &Setup) -> Self {
        let lines = match setup.params.edca {
            Some(_) => setup.functions(),
            None => 0,
        };
        Self {
            lines: (0..lines).map(|_| Line::default()).collect(),
            params: setup.params.edca.map(|edca| edca.categories),
            ..Self::default()
        }
    }

    /// How a function contends; none while the radio is a station of DCF.
    fn params(&self, function: usize) -> Option<CategoryParams> {
        let all = self.params.filter(|_| self.qos)?;
        Some(all[function])
    }

    pub fn waiting(&self) -> usize {
        self.lines.iter().map(Line::waiting).sum()
    }

    pub fn has_work(&self, function: usize) -> bool {
        self.lines.get(function).is_some_and(Line::has_work)
    }

    /// Whether a function is in the midst of its TXOP.
    pub fn holds(&self, function: usize) -> bool {
        self.active == function && (self.batch.is_some() || self.goes_on)
    }

    /// The batch, or its RTS, is on the air for so long.
    pub fn spend(&mut self, lasts: Duration) {
        if let Some(batch) = &self.batch {
            self.lines[self.active].spend(batch, lasts);
        }
    }

    /// A CTS has answered the RTS of the batch.
    pub fn cleared(&mut self) {
        if let Some(batch) = &self.batch {
            self.lines[self.active].cleared(batch);
        }
    }

    /// An acknowledgement will not end. The frames that it would have delivered are lost with the
    /// radio.
    pub fn orphan(&mut self, lost: impl Iterator<Item = Arrived>) {
        let held = lost.filter(|arrived| arrived.held);
        self.orphans.extend(held.map(|arrived| arrived.frame));
    }

    /// The radio has gone off.
    pub fn abandon(&mut self, effects: &mut Effects) {
        self.batch = None;
        self.goes_on = false;
        for line in &mut self.lines {
            line.abandon(|frame| {
                let lost = Finished::untried(frame, Outcome::Off);
                effects.push(Effect::Conclude(lost));
            });
        }
        let released = self.orphans.drain(..);
        effects.extend(released.map(Effect::Release));
        for recipient in &mut self.recipients {
            let held = recipient.reorder.forget();
            effects.extend(held.map(|arrived| Effect::Release(arrived.frame)));
        }
    }

    fn reorder(&mut self, from: RadioId, tid: u8, setup: &Setup) -> &mut Reorder {
        let key = |recipient: &Recipient| (recipient.from, recipient.tid);
        let found = self.recipients.binary_search_by_key(&(from, tid), key);
        let at = found.unwrap_or_else(|at| {
            let reorder = Reorder::new(setup.window(), !setup.hosts_agree());
            let recipient = Recipient { from, tid, reorder };
            self.recipients.insert(at, recipient);
            at
        });
        &mut self.recipients[at].reorder
    }

    /// A frame of an agreement has come. `lost` is whether an error above the MAC takes it.
    pub fn receive(
        &mut self,
        (tid, sequence): (u8, u64),
        arrived: Arrived,
        lost: bool,
        at: Moment<'_>,
    ) -> Arrival {
        let reorder = self.reorder(arrived.from, tid, at.setup);
        reorder.receive(sequence, arrived, lost, at.now)
    }

    /// Whether this frame of an agreement has come before.
    pub fn repeats(&mut self, from: RadioId, (tid, sequence): (u8, u64), setup: &Setup) -> bool {
        self.reorder(from, tid, setup).has(sequence)
    }

    /// A sender asks which frames have come, and has given up those missing before `start`.
    pub fn asked(&mut self, from: RadioId, (tid, start): (u8, u64), setup: &Setup) {
        self.reorder(from, tid, setup).move_to(start);
    }

    /// The BlockAck for a sender, and the frames that the host gets now. Frames that still wait are
    /// held.
    pub fn answer(
        &mut self,
        from: RadioId,
        tid: u8,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> (BlockAck, Vec<Arrived>) {
        let reorder = self.reorder(from, tid, at.setup);
        let block_ack = reorder.block_ack();
        let before = effects.len();
        let hold = |arrived: &Arrived| effects.push(Effect::Hold(arrived.frame));
        let released = reorder.take_released(hold);
        if effects.len() > before {
            // One generation is enough: each wake-up releases what has waited long, and leaves the
            // rest.
            effects.push(Effect::Wake(Wake {
                at: at.now + REORDER_TIMEOUT,
                timer: Timer::Reorder,
                generation: 0,
            }));
        }
        (block_ack, released)
    }
}

impl Radio {
    /// From now on it is a station with QoS.
    fn learn_qos(&mut self, setup: &Setup) {
        self.categories.qos = true;
        for (function, access) in self.accesses.iter_mut().enumerate() {
            access.contend(setup.contention(self.categories.params(function)));
        }
    }

    /// From now on a category contends like this. A backoff that is being counted goes on as it was
    /// drawn; the next one has the new window.
    pub fn contend_by(&mut self, category: Category, params: CategoryParams, setup: &Setup) {
        let Some(all) = &mut self.categories.params else {
            return;
        };
        let (function, before) = (category as usize, all[category as usize]);
        all[function] = params;
        if self.categories.qos && params != before {
            self.accesses[function].contend(setup.contention(Some(params)));
        }
    }

    /// A frame comes to the line of its category.
    pub(super) fn queue_in_category(
        &mut self,
        frame: Frame,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        if frame.tid.is_some() && !self.categories.qos {
            self.learn_qos(at.setup);
        }
        let function = at.setup.function(&frame, self.categories.qos);
        let urgent = self.limits.is_urgent(&frame);
        let line = &mut self.categories.lines[function];
        if !self.limits.has_room(line.waiting()) {
            let pushed_out = if urgent { line.push_out() } else { None };
            self.counters.queue_full += 1;
            let lost = Finished::untried(pushed_out.unwrap_or(frame.id), Outcome::QueueFull);
            effects.push(Effect::Conclude(lost));
            if pushed_out.is_none() {
                return;
            }
        }
        let aggregates = at.setup.aggregates(&frame);
        line.push(frame, aggregates, urgent);
        self.contend_with_line(function, at, effects);
    }

    /// A beacon goes next; one that has waited since the last beacon's time is stale.
    pub(super) fn schedule_in_category(
        &mut self,
        beacon: Frame,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let function = at.setup.function(&beacon, self.categories.qos);
        let line = &mut self.categories.lines[function];
        if let Some(stale) = line.take_untried_beacon() {
            self.counters.queue_full += 1;
            let lost = Finished::untried(stale, Outcome::QueueFull);
            effects.push(Effect::Conclude(lost));
        }
        line.push(beacon, false, true);
        self.contend_with_line(function, at, effects);
    }

    fn contend_with_line(&mut self, function: usize, at: Moment<'_>, effects: &mut Effects) {
        let contends = self.accesses[function].at().is_some();
        if !contends && !self.categories.holds(function) {
            self.contend(function, at, effects);
        }
    }

    /// A category's turn has come, unless one of higher priority of this radio has its own in the
    /// same instant: that counts as a collision (10.23.2.4).
    pub(super) fn turn_of_category(
        &mut self,
        function: usize,
        at: Moment<'_>,
        effects: &mut Effects,
    ) -> Option<Ppdu> {
        let comes_too = |other: usize| {
            self.accesses[other].at() == Some(at.now) && self.categories.has_work(other)
        };
        if !self.categories.has_work(function) {
            return None;
        }
        // The higher category's event may come before this one or after it. Before, this radio is
        // sending already; after, that category's `at` is still now.
        if self.transceiver.is_sending() || (0..function).any(comes_too) {
            self.collide_within(function, at, effects);
            return None;
        }
        if self.exchange.response().is_some() {
            return None;
        }
        let params = self.categories.params(function);
        // 0 for one exchange.
        let txop = params.map_or(Duration::ZERO, |params| params.txop);
        self.categories.active = function;
        self.categories.txop_ends = at.now + txop;
        let time = (!txop.is_zero()).then_some(txop);
        self.categories.widest = self.clear_width(at);
        self.next_batch(time, true, at)
    }

    /// A category's turn has gone to another one of this radio. By the standard's limits that is a
    /// failed try of its first frame; the kernel's table of rates counts only what went on the air.
    fn collide_within(&mut self, function: usize, at: Moment<'_>, effects: &mut Effects) {
        let line = &mut self.categories.lines[function];
        let given_up = at.setup.retry_limits.is_some_and(|limits| {
            line.collide(limits, at.setup, |finished| {
                effects.push(Effect::Conclude(finished));
            })
        });
        if given_up {
            self.counters.retry_limit += 1;
            self.accesses[function].finish(at.now);
        } else {
            self.accesses[function].retry(at.now);
        }
        effects.extend(self.count_down(function, at).map(Effect::Wake));
    }

    /// As wide as secondary channels have been idle for PIFS (10.23.2.5). None where all are.
    fn clear_width(&self, at: Moment<'_>) -> Option<Width> {
        let timing = &at.setup.timing;
        let pifs = timing.sifs + timing.slot;
        let sides = (self.transceiver).idle_sides(pifs, at.now, &at.setup.hearing);
        [Width::Mhz20, Width::Mhz40, Width::Mhz80]
            .get(sides)
            .copied()
    }

    /// The next batch of its line, or the RTS before it.
    fn next_batch(
        &mut self,
        time: Option<Duration>,
        is_first: bool,
        at: Moment<'_>,
    ) -> Option<Ppdu> {
        let (categories, setup) = (&mut self.categories, at.setup);
        let widest = categories.widest;
        let line = &mut categories.lines[categories.active];
        let batch = line.next(&mut self.exchange.numbers, time, is_first, widest, setup)?;
        // An RTS begins the try, as by DCF.
        line.try_once(&batch);
        self.exchange.serve_batch(true);
        let (to, rate, protected) = (batch.to, batch.attempts.rate, batch.attempts.rts);
        let nav = setup.timing.nav_of_rts(batch.exchange(setup), rate);
        let batch = &*categories.batch.insert(batch);
        if !protected {
            return self.batch(at);
        }
        let rts = self.exchange.control(Step::Rts, to, RTS_BYTES, nav, setup);
        Some(Ppdu {
            attempt: categories.lines[categories.active].attempt(batch),
            rate: setup.timing.control_rate(rate),
            width: rate.width(),
            function: categories.active as u8,
            ..rts
        })
    }

    /// The frames of the batch whose turn it is, or the request.
    pub(super) fn batch(&mut self, at: Moment<'_>) -> Option<Ppdu> {
        let (categories, setup) = (&self.categories, at.setup);
        let batch = categories.batch.as_ref()?;
        let mut subframes = categories.lines[categories.active].carried(batch, setup);
        let rate = batch.attempts.rate;
        let nav = batch
            .answer
            .map(|answer| setup.timing.answered(answer, rate));
        let step = match () {
            () if batch.is_request() => Step::BlockAckRequest,
            () if batch.is_aggregate() => Step::Aggregate,
            () => Step::Data,
        };
        let plain =
            self.exchange
                .control(step, batch.to, batch.bytes, nav.unwrap_or_default(), setup);
        let mut ppdu = Ppdu {
            agreement: batch.tid.map(|tid| (tid, batch.start)),
            function: categories.active as u8,
            rate,
            width: rate.width(),
            ..plain
        };
        if step == Step::Data {
            let only = subframes.pop()?;
            ppdu.payload = Some(only.payload);
            ppdu.number = only.number;
            ppdu.data_number = only.data_number;
            ppdu.attempt = only.attempt;
        }
        ppdu.subframes = subframes;
        Some(ppdu)
    }

    /// Its TXOP goes on a SIFS after the last answer.
    pub(super) fn next_of_txop(&mut self, at: Moment<'_>, effects: &mut Effects) -> Option<Ppdu> {
        if !core::mem::take(&mut self.categories.goes_on) || !self.power.is_up() {
            return None;
        }
        let time = self.categories.txop_ends.since(at.now);
        let next = match self.transceiver.is_sending() {
            true => None,
            false => self.next_batch(Some(time), false, at),
        };
        if next.is_none() {
            self.end_txop(at, effects);
        }
        next
    }

    fn end_txop(&mut self, at: Moment<'_>, effects: &mut Effects) {
        self.accesses[self.categories.active].finish(at.now);
        self.count_down_all(at, effects);
    }

    /// The exchange of the batch has succeeded: the TXOP goes on, or the next backoff begins.
    fn after_exchange(&mut self, at: Moment<'_>, effects: &mut Effects) {
        let (categories, sifs) = (&mut self.categories, at.setup.timing.sifs);
        let more = categories.lines[categories.active].has_work();
        // A TXOP of 0 ended when it began: one exchange, then a backoff.
        if more && at.now + sifs < categories.txop_ends {
            categories.goes_on = true;
            effects.push(Effect::Wake(Wake {
                at: at.now + sifs,
                timer: Timer::Respond,
                generation: 0,
            }));
        } else {
            self.end_txop(at, effects);
        }
    }

    /// Take the batch that was on the air, with its function.
    fn take_batch(&mut self) -> Option<(usize, Batch)> {
        self.exchange.serve_batch(false);
        let batch = self.categories.batch.take()?;
        Some((self.categories.active, batch))
    }

    /// The one frame of the batch is done.
    pub(super) fn finish_batch(&mut self, outcome: Outcome, at: Moment<'_>, effects: &mut Effects) {
        let Some((function, batch)) = self.take_batch() else {
            return;
        };
        let line = &mut self.categories.lines[function];
        line.conclude(&batch, outcome, |finished| {
            effects.push(Effect::Conclude(finished));
        });
        self.after_exchange(at, effects);
    }

    /// A BlockAck of what it sent.
    pub(super) fn block_acked(
        &mut self,
        block_ack: &BlockAck,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let Some((function, batch)) = self.take_batch() else {
            return;
        };
        let limits = at.setup.retry_limits;
        let line = &mut self.categories.lines[function];
        let counters = &mut self.counters;
        let again = line.settle(&batch, block_ack, limits, |finished| {
            counters.retry_limit += u64::from(finished.outcome == Outcome::RetryLimit);
            effects.push(Effect::Conclude(finished));
        });
        counters.retries += again as u64;
        self.after_exchange(at, effects);
    }

    /// No answer came to the batch or to its RTS (10.23.2.12).
    pub(super) fn timeout_of_batch(
        &mut self,
        generation: u64,
        at: Moment<'_>,
        effects: &mut Effects,
    ) {
        let Some(missing) = self.exchange.overdue(generation) else {
            return;
        };
        self.exchange.hand_up_overheard(effects);
        let Some((function, batch)) = self.take_batch() else {
            return;
        };
        let limits = at.setup.retry_limits;
        let mut given_up = 0;
        let line = &mut self.categories.lines[function];
        line.fail(&batch, missing, limits, |finished| {
            given_up += 1;
            effects.push(Effect::Conclude(finished));
        });
        self.counters.retry_limit += given_up;
        if given_up > 0 {
            self.accesses[function].finish(at.now);
        } else {
            self.counters.retries += 1;
            self.accesses[function].retry(at.now);
        }
        self.count_down_all(at, effects);
    }

    /// A received frame of an agreement.
    pub(super) fn receive_in_agreement(
        &mut self,
        place: (u8, u64),
        arrived: Arrived,
        lost: bool,
        at: Moment<'_>,
    ) {
        let is_new = self.categories.receive(place, arrived, lost, at) == Arrival::New;
        if is_new && !lost {
            self.counters.rx_frames += 1;
            self.counters.rx_bytes += arrived.bytes as u64;
        }
    }

    /// Frames that have waited long for one before them go to the host.
    pub(super) fn release_waiting(&mut self, at: Moment<'_>, effects: &mut Effects) {
        let to = self.id;
        for recipient in &mut self.categories.recipients {
            // Whatever waits is held already, as each reception ends with `answer`. So there is
            // nothing to hold.
            recipient.reorder.expire(at.now - REORDER_TIMEOUT);
            let released = recipient.reorder.take_released(|_| ());
            effects.extend(
                released
                    .into_iter()
                    .map(|arrived| Effect::HandUp { to, arrived }),
            );
        }
    }

    /// Whether a PPDU is for this radio.
    pub(super) fn is_mine(&self, ppdu: &Ppdu) -> bool {
        ppdu.to == To::Radio(self.id)
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an access function has to send, by receiver and TID. It builds A-MPDUs, repeats frames and asks
//! for a BlockAck (IEEE 802.11-2020 10.25, 10.12). A window moves only past frames that were
//! acknowledged or abandoned.
//!
//! Receivers take turns. Frames on the air stay in their line until they are done.
//!
//! Frames that a batch has numbered come before all others in their flow. Each link of a multi-link
//! device may have a batch of a flow in service, and those of one link are in order. With one link
//! a batch in service is a prefix of its flow.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hoplab_base::Duration;

use super::clients::ALL_LISTEN;
use super::effect::Finished;
use super::exchange::{Asked, Numbers, Payload, Subframe};
use super::host::{Limits, Queued};
use super::reorder::BlockAck;
use super::{Clients, Setup};
use crate::mimo::Soundings;
use crate::ofdma::{Candidate, Served};
use crate::phy::{Shape, DELIMITER_BYTES, LONGEST_PPDU};
use crate::timing::{Answer, BLOCK_ACK_REQUEST_BYTES};
use crate::{
    Acknowledgement, Aggregate, Agreement, Attempts, Class, Frame, FrameId, Modulation, Numbered,
    Ofdma, Outcome, RadioId, Rate, Subchannels, To, Unit, Width, MAX_RATES,
};

/// How often the sender asks for a BlockAck, if the kernel's rate table has the retry limits.
const SHORT_RETRY_LIMIT: u32 = 7;
const WORD_BYTES: usize = 4;
/// Sequence numbers have 12 bits (9.2.4.4.2).
const NUMBERS: u64 = 1 << 12;

/// Retry limits; none where the kernel's rate table counts instead.
#[derive(Clone, Copy, Debug)]
pub struct RetryLimits {
    pub short: u32,
    pub long: u32,
}

/// A unit that shares a window, and has a turn of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// Frames that go alone, in their order.
    Alone,
    Agreement(RadioId, u8),
}

/// A frame on its way through the radio.
#[derive(Clone, Debug)]
struct Mpdu {
    frame: Frame,
    /// Its place among all frames, and data frames, of its radio. Both are 0 until a batch first
    /// takes it: `numbers.frame > 0` marks frames that may be on the air.
    numbers: Numbers,
    /// In its agreement: by the medium from its first batch on, by a host from the beginning. 64
    /// bits never wrap, unlike the standard's 12.
    sequence: Option<u64>,
    tries: [u32; MAX_RATES],
    airtime: Duration,
    /// The link whose batch it is in, while that is in service.
    on: Option<u8>,
    /// Failed tries without and with an RTS's protection.
    short_retries: u32,
    long_retries: u32,
}

/// Whether the sender must send a BlockAckReq next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    No,
    /// After so many requests without an answer.
    Due(u32),
}

/// How much an A-MPDU may hold at a rate.
#[derive(Clone, Copy, Debug)]
pub struct AggregateLimits {
    pub window: usize,
    pub octets: usize,
    /// Least distance from the start of one frame to that of the next (10.12.3).
    pub spacing_bytes: usize,
}

/// A link of a device: its radio there, and how wide its channel is if it is a further one.
#[derive(Clone, Copy)]
pub struct Link<'a> {
    pub radio: RadioId,
    pub number: u8,
    pub width: Option<Width>,
    /// Of receivers with a single radio, those that do not listen.
    pub clients: &'a Clients,
    /// An RTS goes first, whatever follows.
    pub protects: bool,
}

impl<'a> Link<'a> {
    pub fn new(radio: RadioId, clients: &'a Clients, setup: &Setup) -> Self {
        let own = setup.devices.affiliation(radio);
        Self {
            radio,
            number: own.link,
            width: own.width,
            clients,
            protects: false,
        }
    }

    /// Of a device that has one, to receivers with one.
    pub fn only() -> Link<'static> {
        Link {
            radio: RadioId::new(0),
            number: 0,
            width: None,
            clients: &ALL_LISTEN,
            protects: false,
        }
    }

    /// Whether a receiver has this link, and hears there what this radio sends.
    fn reaches(&self, to: RadioId, setup: &Setup) -> bool {
        setup.devices.on(to, self.number).is_some() && self.clients.is_there(to, self.radio)
    }

    /// The padding of the frame that must call a receiver with a single radio to this link first.
    fn call(&self, to: To, setup: &Setup) -> Option<Duration> {
        let To::Radio(to) = to else { return None };
        let emlsr = setup.devices.emlsr(to)?;
        (!self.clients.is_called(to, self.radio)).then_some(emlsr.padding)
    }
}

/// What a batch may take of the channel and of the time.
#[derive(Clone, Copy)]
struct Room<'a> {
    link: Link<'a>,
    /// Until the end of its answer.
    time: Option<Duration>,
    widest: Option<Subchannels>,
    share: Option<&'a Share>,
}

/// What receivers that are served together have in common.
struct Share {
    rate: On,
    preamble: Duration,
    /// From the end of the PPDU to that of the last acknowledgement.
    answered: Duration,
}

/// At which rate frames go beside others'.
#[derive(Clone, Copy)]
enum On {
    /// At their own, on this resource unit.
    Unit(Unit),
    /// At their own, on the whole channel.
    Whole,
    /// As a trigger says.
    Asked(Rate),
}

impl Room<'_> {
    /// A frame's rate, and whether an RTS goes first.
    fn attempts(&self, mpdu: &Mpdu) -> Attempts {
        let mut attempts = mpdu.attempts(None);
        if let Some(width) = self.link.width {
            attempts.rate = attempts.rate.over(width);
        }
        if let Some(widest) = self.widest {
            attempts.rate = attempts.rate.at_most(widest);
        }
        let narrow = |share: &Share| match share.rate {
            On::Unit(unit) => attempts.rate.within(unit),
            On::Whole => None,
            On::Asked(rate) => Some(rate),
        };
        Attempts {
            rate: self.share.and_then(narrow).unwrap_or(attempts.rate),
            ..attempts
        }
    }

    /// How long a PSDU of so many octets is on the air.
    fn lasts(&self, bytes: usize, rate: Rate, setup: &Setup) -> Duration {
        let phy = &setup.params.phy;
        match self.share {
            Some(share) => phy.shared_duration(share.preamble, core::iter::once((bytes, rate))),
            None => phy.psdu_duration(bytes, rate),
        }
    }

    fn holds(&self, batch: &Batch, setup: &Setup) -> bool {
        let whole = match self.share {
            Some(share) => batch.lasts + share.answered,
            None => batch.whole(setup),
        };
        self.time.is_none_or(|time| whole <= time)
    }
}

/// Octets from the start of a subframe to that of the next: delimiter, frame and padding. It pads
/// to whole words and to the spacing that the receiver needs (9.7.1, 10.12.3).
fn subframe_bytes(bytes: usize, spacing_bytes: usize) -> usize {
    (DELIMITER_BYTES + bytes)
        .max(spacing_bytes)
        .next_multiple_of(WORD_BYTES)
}

#[derive(Debug)]
struct Flow {
    key: Key,
    /// Frames that a batch has numbered come first, in ascending order.
    mpdus: VecDeque<Mpdu>,
    /// Sequence number of the next frame that gets one.
    next: u64,
    request: Request,
    /// None where the medium makes the agreement.
    host: Option<Host>,
    served: Served,
    /// Among those that were served together while others were left out.
    place: Option<usize>,
}

/// What a flow's host is to learn of the agreement that it has made.
#[derive(Debug, Default)]
struct Host {
    /// Frames that the agreement has outstanding at most.
    window: usize,
    /// The rate of each A-MPDU of which the host has not heard, in their order.
    untold: Vec<Rate>,
    /// Frames of the last of them.
    frames: usize,
    /// Frames before this number were abandoned, and the receiver's host still waits for them.
    gap: Option<u64>,
}

impl Host {
    /// How often A-MPDUs went of which the host has not heard, by the entries of this rate table.
    fn tell(&mut self, rates: &[Attempts]) -> [u32; MAX_RATES] {
        let mut tries = [0; MAX_RATES];
        let mut entry = 0;
        for rate in self.untold.drain(..) {
            // A rate may stand in a table twice. Tries go through it from its first entry on.
            let same = (entry..rates.len()).find(|at| rates[*at].rate == rate);
            entry = same.unwrap_or(entry);
            tries[entry] += 1;
        }
        tries
    }
}

impl Mpdu {
    /// Tries made.
    fn attempt(&self) -> u32 {
        self.tries.iter().sum()
    }

    /// Index of the rate entry for the next try.
    fn entry(&self) -> usize {
        self.entry_after(self.attempt())
    }

    /// Index of the rate entry for the try that follows so many.
    fn entry_after(&self, made: u32) -> usize {
        let mut total = 0;
        let rates = self.frame.rates.iter();
        let entry = rates.take_while(|attempts| {
            total += attempts.tries;
            total <= made
        });
        // The standard's limits may allow more tries than the table has. Then its last entry
        // repeats.
        entry.count().min(self.frame.rates.len() - 1)
    }

    /// Rate and protection of the next try, on a channel no wider than this.
    fn attempts(&self, widest: Option<Subchannels>) -> Attempts {
        let attempts = self.frame.rates[self.entry()];
        Attempts {
            rate: widest.map_or(attempts.rate, |channel| attempts.rate.at_most(channel)),
            ..attempts
        }
    }

    /// A try has failed, of a kind that RTS protects or not.
    fn fails(&mut self, long: bool) {
        self.short_retries += u32::from(!long);
        self.long_retries += u32::from(long);
    }

    fn is_given_up(&self, limits: Option<RetryLimits>) -> bool {
        self.is_given_up_at((self.short_retries, self.long_retries), limits)
    }

    /// Whether it is given up with so many short and long retries.
    fn is_given_up_at(&self, (short, long): (u32, u32), limits: Option<RetryLimits>) -> bool {
        match limits {
            Some(limits) => short >= limits.short || long >= limits.long,
            None => {
                let allowed: u32 = self.frame.rates.iter().map(|entry| entry.tries).sum();
                // By the kernel's limits only tries count. `u32::MAX` is how `fail` gives a frame
                // up before that.
                short == u32::MAX || self.attempt() >= allowed
            }
        }
    }

    fn finish(self, outcome: Outcome) -> Finished {
        Finished {
            frame: self.frame.id,
            outcome,
            tries: self.tries,
            airtime: self.airtime,
            agreement: Agreement::default(),
        }
    }
}

impl Flow {
    /// The BlockAckReq of this flow.
    fn ask(&self, at: usize, to: RadioId, tid: u8, link: Link<'_>, setup: &Setup) -> Option<Batch> {
        // The flow may be empty: after its last frame was abandoned, a request still moves the
        // receiver's window.
        let rate = match self.mpdus.front() {
            Some(mpdu) => mpdu.frame.rates[mpdu.entry()].rate,
            None => setup.params.phy.basic_rate,
        };
        let rate = setup.timing.control_rate(rate);
        Some(Batch {
            flow: at,
            link: link.number,
            frames: 0,
            to: To::Radio(to),
            call: link.call(To::Radio(to), setup),
            tid: Some(tid),
            start: self.start(),
            attempts: Attempts {
                rate,
                tries: 1,
                rts: false,
            },
            bytes: BLOCK_ACK_REQUEST_BYTES,
            lasts: setup.params.phy.duration(BLOCK_ACK_REQUEST_BYTES, rate),
            answer: Some(Answer::BlockAck),
            shape: None,
        })
    }

    /// The first frame, and as many more as may go with it.
    fn collect(
        &mut self,
        at: usize,
        numbers: &mut Numbers,
        room: Room<'_>,
        setup: &Setup,
    ) -> Option<Batch> {
        let head = self.idle().next()?;
        let to = head.frame.to;
        let mut attempts = room.attempts(head);
        let acknowledged = setup.acknowledges(to);
        let limits = match self.key {
            Key::Agreement(..) => setup.limits(attempts.rate),
            Key::Alone => None,
        };
        let mut batch = Batch {
            flow: at,
            link: room.link.number,
            frames: 1,
            to,
            call: room.link.call(to, setup),
            tid: None,
            start: 0,
            attempts,
            // A frame that goes alone: `duration` adds the delimiter that its VHT or HE PSDU has.
            bytes: head.frame.bytes,
            lasts: setup.params.phy.duration(head.frame.bytes, attempts.rate),
            answer: acknowledged.then_some(Answer::Ack),
            shape: None,
        };
        if room.share.is_some() {
            batch.bytes += DELIMITER_BYTES;
            batch.lasts = room.lasts(batch.bytes, attempts.rate, setup);
            batch.answer = Some(Answer::BlockAck);
        }
        // Without acknowledgements (`no_ack`) no window can move, so frames stay out of agreements.
        if let (Key::Agreement(_, tid), true) = (self.key, acknowledged) {
            batch.tid = Some(tid);
            batch.start = self.start();
        }
        if let Some(limits) = limits.filter(|_| batch.tid.is_some()) {
            self.extend(&mut batch, room, &limits, setup);
        }
        // Numbers are given when the size of the batch is final. A repeat keeps its own, by which
        // the receiver knows it as one (10.3.2.14).
        let idle = self.mpdus.iter_mut().filter(|mpdu| mpdu.on.is_none());
        let batched = idle.take(batch.frames);
        for mpdu in batched.filter(|mpdu| mpdu.numbers.frame == 0) {
            numbers.count(mpdu.frame.class);
            mpdu.numbers = *numbers;
            if batch.tid.is_some() && self.host.is_none() {
                mpdu.sequence = Some(self.next);
                self.next += 1;
            }
        }
        // The threshold is compared with the whole PSDU.
        let alone = room.share.is_none();
        let protected = attempts.rts || room.link.protects || setup.protects(batch.bytes);
        attempts.rts = batch.call.is_some() || alone && acknowledged && protected;
        batch.attempts = attempts;
        Some(batch)
    }

    /// Add further frames, as long as all limits allow.
    fn extend(&self, batch: &mut Batch, room: Room<'_>, limits: &AggregateLimits, setup: &Setup) {
        let rate = batch.attempts.rate;
        let own = self.host.as_ref().map_or(usize::MAX, |host| host.window);
        // The first sequence number beyond the window.
        let last = batch.start + limits.window.min(own) as u64;
        let mut octets = 0;
        // The sequence number that the next frame without one would get.
        let mut fresh = self.next;
        for (at, mpdu) in self.idle().enumerate() {
            let sequence = mpdu.sequence.unwrap_or(fresh);
            fresh = fresh.max(sequence + 1);
            // The PSDU ends with this frame, so its padding is left out. `octets` includes it for
            // the next one.
            let bytes = octets + DELIMITER_BYTES + mpdu.frame.bytes;
            octets += subframe_bytes(mpdu.frame.bytes, limits.spacing_bytes);
            if at == 0 {
                continue;
            }
            // A PSDU has one rate. A frame with which rate control tries another rate heads a PSDU
            // of its own.
            if room.attempts(mpdu).rate != rate {
                return;
            }
            let longer = Batch {
                frames: at + 1,
                bytes,
                lasts: room.lasts(bytes, rate, setup),
                answer: Some(Answer::BlockAck),
                ..batch.clone()
            };
            // The TXOP must hold the answer too, and an RTS and CTS in front.
            let is_late = !room.holds(&longer, setup);
            // Stop at the first frame that does not fit. A shorter one behind it must not overtake
            // it.
            if sequence >= last || bytes > limits.octets || longer.lasts > LONGEST_PPDU || is_late {
                return;
            }
            *batch = longer;
        }
    }

    /// Its receiver; none of frames that go alone.
    fn to(&self) -> Option<RadioId> {
        match self.key {
            Key::Agreement(to, _) => Some(to),
            Key::Alone => None,
        }
    }

    /// Whether its first frames may go beside others', as far as they know. They are of an agreement,
    /// without RTS, at a rate that has PPDUs of several users. No trigger asks stations of VHT.
    fn candidate(
        &self,
        at: usize,
        widest: Option<Subchannels>,
        setup: &Setup,
    ) -> Option<Candidate> {
        let ofdma = setup.params.ofdma?;
        let head = self.mpdus.front().filter(|_| self.request == Request::No)?;
        let attempts = head.attempts(widest);
        let shares = self.to().is_some() && setup.acknowledges(head.frame.to) && !attempts.rts;
        let rate = attempts.rate;
        let has_shared = match rate.modulation() {
            Modulation::Vht(_) => {
                ofdma.mimo.is_some() && ofdma.acknowledgement == Acknowledgement::Sequential
            }
            _ => rate.has_units(),
        };
        (shares && has_shared).then_some(Candidate {
            flow: at,
            rate: attempts.rate,
            served: self.served,
        })
    }

    fn has_work(&self) -> bool {
        !self.mpdus.is_empty() || matches!(self.request, Request::Due(_))
    }

    /// Frames that are in no batch in service.
    fn idle(&self) -> impl Iterator<Item = &Mpdu> {
        self.mpdus.iter().filter(|mpdu| mpdu.on.is_none())
    }

    /// Those of a batch in service.
    fn batched(&self, batch: &Batch) -> impl Iterator<Item = &Mpdu> {
        let on = Some(batch.link);
        let of_link = self.mpdus.iter().filter(move |mpdu| mpdu.on == on);
        of_link.take(batch.frames)
    }

    fn batched_mut(&mut self, batch: &Batch) -> impl Iterator<Item = &mut Mpdu> {
        let on = Some(batch.link);
        let of_link = self.mpdus.iter_mut().filter(move |mpdu| mpdu.on == on);
        of_link.take(batch.frames)
    }

    /// Whether it has something that may go on a link beside what others have in service. Frames
    /// that go alone take the first link. All links share the window (802.11be-2024 35.3.8).
    fn is_ready(&self, link: Link<'_>, setup: &Setup) -> bool {
        let head = self.idle().next();
        let reaches = match (self.to(), head.map(|head| head.frame.to)) {
            (Some(to), _) => link.reaches(to, setup),
            (None, Some(To::Radio(to))) => link.number == 0 && link.reaches(to, setup),
            (None, _) => link.number == 0,
        };
        let next = head.map(|head| head.sequence.unwrap_or(self.next));
        let last = self.start() + setup.window() as u64;
        let is_within = next.is_some_and(|next| self.to().is_none() || next < last);
        reaches && (is_within || matches!(self.request, Request::Due(_)))
    }

    /// The place in the agreement of a frame that its host has numbered: the next one with those
    /// 12 bits.
    fn place(&mut self, numbered: Numbered) -> u64 {
        let host = self.host.get_or_insert_default();
        host.window = numbered.window;
        let ahead = u64::from(numbered.sequence).wrapping_sub(self.next) % NUMBERS;
        let sequence = self.next + ahead;
        self.next = sequence + 1;
        sequence
    }

    /// A frame of this number was abandoned: its receiver waits for it no longer than for a
    /// request (10.25.6.6.3). It is the medium's, or that of the host that made the agreement.
    fn pass(&mut self, sequence: u64) {
        match &mut self.host {
            Some(host) => host.gap = host.gap.max(Some(sequence + 1)),
            None => self.request = Request::Due(0),
        }
    }

    /// Conclude frames that are no longer in the flow, each by `conclude`. With the last one, the
    /// host learns of its agreement.
    fn finish(&mut self, done: Vec<(Mpdu, Outcome)>, mut conclude: impl FnMut(Finished)) {
        let acked = |(_, outcome): &&(Mpdu, Outcome)| *outcome == Outcome::Acked;
        let acked = done.iter().filter(acked).count();
        let start = self.start();
        let mut agreement = Agreement::default();
        if let (Some(host), Some((last, _))) = (&mut self.host, done.last()) {
            agreement.aggregate = (!host.untold.is_empty()).then(|| Aggregate {
                frames: host.frames,
                acked: acked.min(host.frames),
                tries: host.tell(&last.frame.rates),
            });
            // A request moves the receiver past all frames before it, also past those that go
            // again. So it waits for these.
            let passed = host.gap.take_if(|gap| *gap <= start);
            agreement.gap = passed.map(|_| (start % NUMBERS) as u16);
        }
        let mut left = done.len();
        for (mpdu, outcome) in done {
            left -= 1;
            conclude(Finished {
                agreement: if left == 0 {
                    agreement
                } else {
                    Agreement::default()
                },
                ..mpdu.finish(outcome)
            });
        }
    }

    /// How many frames batches have numbered.
    fn tried(&self) -> usize {
        let tried = self.mpdus.iter();
        tried.take_while(|mpdu| mpdu.numbers.frame > 0).count()
    }

    /// Start of the sender's window: its oldest frame that is not done.
    fn start(&self) -> u64 {
        let first = self.mpdus.front().and_then(|mpdu| mpdu.sequence);
        first.unwrap_or(self.next)
    }
}

/// What one turn sends: a frame, an A-MPDU or a BlockAckReq.
#[derive(Clone, Debug)]
pub struct Batch {
    flow: usize,
    /// Of its device.
    link: u8,
    /// How many of the flow's first idle frames it takes. 0 marks a request.
    frames: usize,
    pub to: To,
    /// The padding of the frame that calls its receiver to the link, if one must.
    pub call: Option<Duration>,
    pub tid: Option<u8>,
    /// First sequence number of an agreement.
    pub start: u64,
    /// Rate, and whether an RTS goes first.
    pub attempts: Attempts,
    /// Octets of the PSDU.
    pub bytes: usize,
    pub lasts: Duration,
    pub answer: Option<Answer>,
    /// Of the PPDU, where further receivers have batches in it.
    pub shape: Option<Shape>,
}

impl Batch {
    pub fn is_request(&self) -> bool {
        self.frames == 0
    }

    pub fn is_aggregate(&self) -> bool {
        self.frames > 1
    }

    /// From the start of its RTS or call, or of itself if it has none, to the end of its answer.
    fn whole(&self, setup: &Setup) -> Duration {
        let (timing, rate) = (&setup.timing, self.attempts.rate);
        let is_protected = self.attempts.rts || setup.protects(self.bytes);
        let protection = match (self.call, is_protected && self.answer.is_some()) {
            (Some(padding), _) => timing.called(padding, rate) + timing.sifs,
            (None, true) => timing.cleared(rate) + timing.sifs,
            (None, false) => Duration::ZERO,
        };
        protection + self.exchange(setup)
    }

    /// From its start to the end of its answer.
    pub fn exchange(&self, setup: &Setup) -> Duration {
        let rate = self.attempts.rate;
        self.answer.map_or(self.lasts, |answer| {
            setup.timing.acknowledged(answer, self.lasts, rate)
        })
    }
}

/// What an access point does for several receivers at once.
pub enum Together {
    /// It sends them these.
    Batches(Vec<Batch>),
    /// It sounds the channels to them, which have these rates.
    Sound(Vec<(RadioId, Rate)>),
    /// Several wait, but the time does not hold a frame of each. In what is left of a TXOP one of them
    /// alone would use up its turn.
    Late,
}

/// Receivers that are served together.
struct Chosen {
    /// In the scheduler's order.
    candidates: Vec<Candidate>,
    /// Of each. None: each has streams of its own.
    unit: Option<Unit>,
    /// Others wait that could have been served as well.
    leaves_some: bool,
}

#[derive(Default)]
pub struct Line {
    flows: Vec<Flow>,
    /// Flows with work, the next one first.
    turns: VecDeque<usize>,
    waiting: usize,
}

impl Line {
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether it has nothing to send, on any link.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether there is something that may go on this link of its device.
    pub fn has_work(&self, link: Link<'_>, setup: &Setup) -> bool {
        match setup.devices.are_single() {
            true => !self.turns.is_empty(),
            false => self.turn(link, setup).is_some(),
        }
    }

    /// The flow whose turn it is on a link.
    fn turn(&self, link: Link<'_>, setup: &Setup) -> Option<usize> {
        let mut turns = self.turns.iter().copied();
        match setup.devices.are_single() {
            true => turns.next(),
            false => turns.find(|flow| self.flows[*flow].is_ready(link, setup)),
        }
    }

    /// A card without queues takes this frame into service, so it counts from now on.
    pub fn serve(&mut self, frame: Frame, numbers: &mut Numbers) {
        numbers.count(frame.class);
        self.push(frame, false, false);
        let alone = self.flow(Key::Alone);
        if let Some(mpdu) = self.flows[alone].mpdus.back_mut() {
            mpdu.numbers = *numbers;
        }
    }

    /// Queue a frame. An `urgent` one goes before all frames that no batch has numbered.
    fn push(&mut self, frame: Frame, aggregates: bool, urgent: bool) {
        let key = match (frame.to, frame.tid) {
            (To::Radio(to), Some(tid)) if aggregates => Key::Agreement(to, tid),
            _ => Key::Alone,
        };
        let flow = self.flow(key);
        let numbered = frame.numbered.filter(|_| key != Key::Alone);
        let mpdu = Mpdu {
            sequence: numbered.map(|numbered| self.flows[flow].place(numbered)),
            frame,
            numbers: Numbers::default(),
            tries: [0; MAX_RATES],
            airtime: Duration::ZERO,
            on: None,
            short_retries: 0,
            long_retries: 0,
        };
        // Never before a numbered frame: that would break the order of sequence numbers, and the
        // prefix that is on the air.
        let place = match urgent && numbered.is_none() {
            true => self.flows[flow].tried(),
            false => self.flows[flow].mpdus.len(),
        };
        self.flows[flow].mpdus.insert(place, mpdu);
        self.waiting += 1;
        if !self.turns.contains(&flow) {
            // One that comes again has no claim to the time in which it had nothing to send.
            let others = self
                .turns
                .iter()
                .map(|flow| self.flows[*flow].served.airtime);
            let least = others.min().unwrap_or_default();
            let served = &mut self.flows[flow].served;
            served.airtime = served.airtime.max(least);
            if urgent {
                self.turns.push_front(flow);
            } else {
                self.turns.push_back(flow);
            }
        }
    }

    /// A frame from the host, into the queue of this category. A scheduled beacon goes next.
    pub fn queue(&mut self, frame: Frame, aggregates: bool, limits: &Limits) -> Queued {
        let urgent = limits.is_urgent(&frame);
        if frame.class == Class::ScheduledBeacon {
            let stale = self.take_untried_beacon();
            self.push(frame, false, true);
            return stale.map_or(Queued::Waits, Queued::PushedOut);
        }
        let mut queued = Queued::Waits;
        if !limits.has_room(self.waiting) {
            match if urgent { self.push_out() } else { None } {
                Some(loser) => queued = Queued::PushedOut(loser),
                None => return Queued::Refused,
            }
        }
        self.push(frame, aggregates, urgent);
        queued
    }

    /// Drop a frame that no batch has numbered: the last one of the newest flow that ends with such
    /// a frame. Routing frames stay.
    fn push_out(&mut self) -> Option<FrameId> {
        let flow = self.flows.iter_mut().rev();
        let mut loaded = flow.filter(|flow| {
            let last = flow.mpdus.back();
            last.is_some_and(|mpdu| mpdu.numbers.frame == 0 && !mpdu.frame.routing)
        });
        let loser = loaded.next()?.mpdus.pop_back()?;
        self.waiting -= 1;
        self.drop_idle();
        Some(loser.frame.id)
    }

    /// Drop a waiting beacon that no batch has numbered.
    fn take_untried_beacon(&mut self) -> Option<FrameId> {
        let alone = self.flow(Key::Alone);
        let mpdus = &mut self.flows[alone].mpdus;
        let at = mpdus.iter().position(|mpdu| {
            mpdu.numbers.frame == 0 && mpdu.frame.class == Class::ScheduledBeacon
        })?;
        let stale = mpdus.remove(at)?;
        self.waiting -= 1;
        self.drop_idle();
        Some(stale.frame.id)
    }

    fn flow(&mut self, key: Key) -> usize {
        let known = self.flows.iter().position(|flow| flow.key == key);
        known.unwrap_or_else(|| {
            self.flows.push(Flow {
                key,
                mpdus: VecDeque::new(),
                next: 0,
                request: Request::No,
                host: None,
                served: Served::default(),
                place: None,
            });
            self.flows.len() - 1
        })
    }

    fn drop_idle(&mut self) {
        let flows = &self.flows;
        self.turns.retain(|flow| flows[*flow].has_work());
    }

    /// The next batch, if it fits into `time` with its answer. The first frame of a TXOP may exceed
    /// the limit if it goes alone (10.23.2.9).
    pub fn next(
        &mut self,
        numbers: &mut Numbers,
        time: Option<Duration>,
        is_first: bool,
        widest: Option<Subchannels>,
        link: Link<'_>,
        setup: &Setup,
    ) -> Option<Batch> {
        let at = self.turn(link, setup)?;
        let flow = &mut self.flows[at];
        let room = Room {
            link,
            time,
            widest,
            share: None,
        };
        // A request goes before data: only its answer shows which frames must be repeated.
        let batch = match (flow.key, flow.request) {
            (Key::Agreement(to, tid), Request::Due(_)) => flow.ask(at, to, tid, link, setup)?,
            _ => flow.collect(at, numbers, room, setup)?,
        };
        (room.holds(&batch, setup) || is_first && !batch.is_aggregate()).then_some(batch)
    }

    /// The next batches of several receivers, which go together: of the first that waits and of
    /// others with its width and guard interval. None where it goes alone, or they do not fit into
    /// `time` with their answers. Receivers whose channels are not known are to be sounded first.
    pub fn next_together(
        &mut self,
        numbers: &mut Numbers,
        time: Option<Duration>,
        widest: Option<Subchannels>,
        soundings: &Soundings,
        setup: &Setup,
    ) -> Option<Together> {
        let ofdma = setup.params.ofdma?;
        let Chosen {
            candidates,
            unit,
            leaves_some,
        } = self.candidates(ofdma, widest, soundings, setup)?;
        if unit.is_none() {
            let unknown = |candidate: &Candidate| {
                let to = self.flows[candidate.flow].to()?;
                soundings.is_due(to).then_some((to, candidate.rate))
            };
            let unknown: Vec<_> = candidates.iter().filter_map(unknown).collect();
            if !unknown.is_empty() {
                return Some(Together::Sound(unknown));
            }
        }
        let narrow = |candidate: &Candidate| match unit {
            Some(unit) => candidate.rate.within(unit),
            None => Some(candidate.rate),
        };
        let rates: Vec<Rate> = candidates.iter().filter_map(narrow).collect();
        let share = Share {
            rate: unit.map_or(On::Whole, On::Unit),
            preamble: setup.params.phy.shared_preamble(&rates),
            answered: setup
                .timing
                .answered_together(ofdma.acknowledgement, &rates),
        };
        let room = Room {
            link: Link::only(),
            time,
            widest,
            share: Some(&share),
        };
        let mut batches = Vec::with_capacity(candidates.len());
        self.flows.iter_mut().for_each(|flow| flow.place = None);
        for (place, Candidate { flow, .. }) in candidates.into_iter().enumerate() {
            self.flows[flow].place = leaves_some.then_some(place);
            let Some(batch) = self.flows[flow].collect(flow, numbers, room, setup) else {
                return Some(Together::Late);
            };
            batches.push(batch);
        }
        let users = (batches.iter()).map(|batch| (batch.bytes, batch.attempts.rate));
        let lasts = (setup.params.phy).shared_duration(share.preamble, users);
        let shape = Shape {
            preamble: share.preamble,
            lasts,
        };
        for batch in &mut batches {
            batch.lasts = lasts;
            batch.shape = Some(shape);
        }
        Some(match batches.iter().all(|batch| room.holds(batch, setup)) {
            true => Together::Batches(batches),
            false => Together::Late,
        })
    }

    /// The batch for this receiver that a trigger asks for. It has frames that fit into its time, or is
    /// the request that must go before them.
    pub fn answer_trigger(
        &mut self,
        to: RadioId,
        asked: &Asked,
        numbers: &mut Numbers,
        setup: &Setup,
    ) -> Option<Batch> {
        let mut turns = self.turns.iter();
        let at = *turns.find(|at| self.flows[**at].to() == Some(to))?;
        let flow = &mut self.flows[at];
        let Asked { rate, shape, .. } = *asked;
        let share = Share {
            rate: On::Asked(rate),
            preamble: shape.preamble,
            answered: asked.answered,
        };
        let room = Room {
            link: Link::only(),
            time: Some(shape.lasts + asked.answered),
            widest: None,
            share: Some(&share),
        };
        let batch = match (flow.key, flow.request) {
            (Key::Agreement(_, tid), Request::Due(_)) => {
                let request = flow.ask(at, to, tid, room.link, setup)?;
                let lasts = room.lasts(request.bytes + DELIMITER_BYTES, rate, setup);
                let attempts = Attempts {
                    rate,
                    ..request.attempts
                };
                Batch {
                    lasts,
                    attempts,
                    ..request
                }
            }
            _ => {
                flow.candidate(at, None, setup)?;
                flow.collect(at, numbers, room, setup)?
            }
        };
        let shape = Some(shape);
        room.holds(&batch, setup)
            .then_some(Batch { shape, ..batch })
    }

    /// Octets of an A-MPDU to this receiver that a trigger may ask for, a request before it included.
    pub fn waiting_for(&self, to: RadioId, setup: &Setup) -> usize {
        let mut flows = self.turns.iter().map(|at| &self.flows[*at]);
        let Some(flow) = flows.find(|flow| flow.to() == Some(to)) else {
            return 0;
        };
        let request = match flow.request {
            Request::Due(_) => BLOCK_ACK_REQUEST_BYTES,
            Request::No if flow.candidate(0, None, setup).is_none() => return 0,
            Request::No => 0,
        };
        let rate = flow.mpdus.front().map(|head| head.attempts(None).rate);
        let limits = rate.and_then(|rate| setup.limits(rate));
        let spacing = limits.map_or(0, |limits| limits.spacing_bytes);
        let frames = flow.mpdus.iter();
        let octets = frames.map(|mpdu| subframe_bytes(mpdu.frame.bytes, spacing));
        request + octets.sum::<usize>()
    }

    /// Octets of an A-MPDU that wait behind a batch in its flow.
    pub fn waiting_behind(&self, batch: &Batch, setup: &Setup) -> usize {
        let limits = setup.limits(batch.attempts.rate);
        let spacing = limits.map_or(0, |limits| limits.spacing_bytes);
        let behind = self.flows[batch.flow].mpdus.iter().skip(batch.frames);
        behind
            .map(|mpdu| subframe_bytes(mpdu.frame.bytes, spacing))
            .sum()
    }

    /// Receivers that are served together with the first one that waits.
    fn candidates(
        &mut self,
        ofdma: Ofdma,
        widest: Option<Subchannels>,
        soundings: &Soundings,
        setup: &Setup,
    ) -> Option<Chosen> {
        let of_turn = |flow: &usize| {
            let found = self.flows[*flow].candidate(*flow, widest, setup)?;
            let to = self.flows[*flow].to()?;
            (!soundings.is_silent(to)).then_some(found)
        };
        let first = of_turn(self.turns.front()?)?;
        let mut found: Vec<Candidate> = Vec::new();
        for candidate in self.turns.iter().filter_map(of_turn) {
            let to = self.flows[candidate.flow].to();
            let is_new = found.iter().all(|other| self.flows[other.flow].to() != to);
            if is_new && candidate.goes_with(&first) {
                found.push(candidate);
            }
        }
        let units = Unit::shared(found.len(), first.channel().0);
        if found.len() < 2 || (ofdma.mimo.is_none() && units.is_none()) {
            return None;
        }
        for candidate in &found {
            self.flows[candidate.flow].served.pass_round();
        }
        ofdma.scheduler.order(&mut found);
        let all = found.len();
        let unit = match ofdma.mimo {
            Some(mimo) => {
                mimo.admit(&mut found);
                None
            }
            None => {
                let (unit, units) = units?;
                found.truncate(units);
                Some(unit)
            }
        };
        (found.len() > 1).then_some(Chosen {
            leaves_some: found.len() < all,
            candidates: found,
            unit,
        })
    }

    /// Tries of the first frame of a batch.
    pub fn attempt(&self, batch: &Batch) -> u32 {
        let first = self.flows[batch.flow].batched(batch).next();
        first.map_or(1, Mpdu::attempt)
    }

    /// The frames of a batch, as they go on the air.
    pub fn carried(&self, batch: &Batch, setup: &Setup) -> Vec<Subframe> {
        let flow = &self.flows[batch.flow];
        let mut offset = 0;
        let limits = setup.limits(batch.attempts.rate);
        let spacing = limits.map_or(0, |limits| limits.spacing_bytes);
        let subframe = |mpdu: &Mpdu| {
            let begins = offset
                + if batch.is_aggregate() || batch.shape.is_some() {
                    DELIMITER_BYTES
                } else {
                    0
                };
            offset += subframe_bytes(mpdu.frame.bytes, spacing);
            Subframe {
                payload: Payload {
                    id: mpdu.frame.id,
                    class: mpdu.frame.class,
                },
                bytes: mpdu.frame.bytes,
                offset: begins,
                sequence: mpdu.sequence.unwrap_or_default(),
                number: mpdu.numbers.frame,
                data_number: mpdu.numbers.data,
                attempt: mpdu.attempt(),
            }
        };
        flow.batched(batch).map(subframe).collect()
    }

    /// A batch comes into service: count a try of each of its frames, at its present rate entry.
    pub fn try_once(&mut self, batch: &Batch) {
        let flow = &mut self.flows[batch.flow];
        let idle = flow.mpdus.iter_mut().filter(|mpdu| mpdu.on.is_none());
        for mpdu in idle.take(batch.frames) {
            mpdu.on = Some(batch.link);
            let entry = mpdu.entry();
            mpdu.tries[entry] += 1;
        }
        if let Some(host) = flow.host.as_mut().filter(|_| !batch.is_request()) {
            host.untold.push(batch.attempts.rate);
            host.frames = batch.frames;
        }
    }

    /// The RTS of a batch got through: failed ones count from 0 again (10.3.4.4).
    pub fn cleared(&mut self, batch: &Batch) {
        let flow = &mut self.flows[batch.flow];
        flow.batched_mut(batch)
            .for_each(|mpdu| mpdu.short_retries = 0);
    }

    /// A batch is in service no longer, and nothing follows from it.
    pub fn withdraw(&mut self, batch: &Batch) {
        let flow = &mut self.flows[batch.flow];
        flow.batched_mut(batch).for_each(|mpdu| mpdu.on = None);
    }

    /// Measuring begins: data frames are counted anew, and those tried before have no number.
    pub fn forget_data_numbers(&mut self) {
        let mpdus = self.flows.iter_mut().flat_map(|flow| &mut flow.mpdus);
        mpdus.for_each(|mpdu| mpdu.numbers.data = 0);
    }

    /// Charge the air time of a batch, or of its RTS, to its frames in equal shares.
    pub fn spend(&mut self, batch: &Batch, lasts: Duration) {
        let flow = &mut self.flows[batch.flow];
        flow.served.airtime += lasts;
        let frames = batch.frames.max(1) as u64;
        for mpdu in flow.batched_mut(batch) {
            mpdu.airtime += lasts / frames;
        }
    }

    /// Another category of the radio had its turn in the same instant. The frame at the head has
    /// failed as by a collision (10.23.2.4), before its RTS if it has one, so by the short counter.
    /// Whether it is given up for that.
    pub fn collide(
        &mut self,
        limits: RetryLimits,
        link: Link<'_>,
        setup: &Setup,
        done: impl FnMut(Finished),
    ) -> bool {
        let Some(at) = self.turn(link, setup) else {
            return false;
        };
        let flow = &mut self.flows[at];
        // While a request is due, only its answer shows whether the frames have arrived.
        let is_idle = |mpdu: &Mpdu| mpdu.on.is_none() && flow.request == Request::No;
        let Some(place) = flow.mpdus.iter().position(is_idle) else {
            return false;
        };
        let head = &mut flow.mpdus[place];
        if !setup.acknowledges(head.frame.to) {
            return false;
        }
        head.fails(false);
        if !head.is_given_up(Some(limits)) {
            return false;
        }
        let given_up = flow.mpdus.remove(place);
        let abandoned = given_up.as_ref().and_then(|mpdu| mpdu.sequence);
        self.waiting -= 1;
        if let Some(sequence) = abandoned {
            flow.pass(sequence);
        }
        let given_up = given_up.map(|mpdu| (mpdu, Outcome::RetryLimit));
        flow.finish(given_up.into_iter().collect(), done);
        self.drop_idle();
        true
    }

    /// The one frame of a batch is done.
    pub fn conclude(&mut self, batch: &Batch, outcome: Outcome, done: impl FnMut(Finished)) {
        let flow = &mut self.flows[batch.flow];
        let on = Some(batch.link);
        let place = flow.mpdus.iter().position(|mpdu| mpdu.on == on);
        let only = place.and_then(|place| flow.mpdus.remove(place));
        let only = only.map(|mpdu| (mpdu, outcome));
        self.waiting -= usize::from(only.is_some());
        flow.finish(only.into_iter().collect(), done);
        self.rotate(batch.flow);
    }

    /// Apply a BlockAck. Frames that it covers are done, as are uncovered frames at their retry
    /// limit. Returns how many frames of the batch go again.
    pub fn settle(
        &mut self,
        batch: &Batch,
        block_ack: &BlockAck,
        limits: Option<RetryLimits>,
        done: impl FnMut(Finished),
    ) -> usize {
        let flow = &mut self.flows[batch.flow];
        // All numbered frames, not the batch alone: the answer to a request is about frames of
        // earlier batches.
        let tried = flow.tried();
        let mut left = VecDeque::with_capacity(tried);
        let mut finished = Vec::with_capacity(tried);
        let (mut abandoned, mut again) = (None, 0);
        for mut mpdu in flow.mpdus.drain(..tried) {
            let in_batch = mpdu.on.take_if(|on| *on == batch.link).is_some();
            // What another link has in service its own answer concludes.
            if mpdu.on.is_some() {
                left.push_back(mpdu);
                continue;
            }
            let covered = mpdu
                .sequence
                .is_some_and(|sequence| block_ack.covers(sequence));
            // Frames behind the batch were not on the air this time, so they have not failed.
            if !covered && in_batch {
                mpdu.fails(batch.attempts.rts);
            }
            if covered {
                flow.served.gets(8.0 * mpdu.frame.bytes as f64);
                finished.push((mpdu, Outcome::Acked));
            } else if mpdu.is_given_up(limits) {
                abandoned = mpdu.sequence;
                finished.push((mpdu, Outcome::RetryLimit));
            } else {
                again += usize::from(in_batch);
                left.push_back(mpdu);
            }
        }
        self.waiting -= tried - left.len();
        while let Some(mpdu) = left.pop_back() {
            flow.mpdus.push_front(mpdu);
        }
        flow.request = Request::No;
        if let Some(sequence) = abandoned {
            flow.pass(sequence);
        }
        flow.finish(finished, done);
        self.rotate(batch.flow);
        again
    }

    /// No answer came to a batch or to its RTS. Frames at their retry limit are done.
    pub fn fail(
        &mut self,
        batch: &Batch,
        missing: Answer,
        limits: Option<RetryLimits>,
        done: impl FnMut(Finished),
    ) {
        let flow = &mut self.flows[batch.flow];
        let asked = batch.is_request();
        if asked {
            // Another link may have got the answer meanwhile.
            let Request::Due(asked) = &mut flow.request else {
                return self.drop_idle();
            };
            *asked += 1;
            let most = limits.map_or(SHORT_RETRY_LIMIT, |limits| limits.short);
            // The flow keeps its turn, so the request goes again after the backoff.
            if *asked < most {
                return;
            }
            // The receiver does not answer. Give up all frames whose fate only its answer could
            // show. The receiver waits for them only until its reorder timeout.
            flow.request = Request::No;
            let tried = flow.tried();
            let tried = flow.mpdus.iter_mut().take(tried);
            for mpdu in tried.filter(|mpdu| mpdu.on.is_none()) {
                mpdu.short_retries = u32::MAX;
            }
        } else {
            // An RTS without CTS is a short retry, since the data did not go. Data after a CTS
            // count as long (10.3.4.4).
            let long = missing != Answer::Cts && batch.attempts.rts;
            flow.batched_mut(batch).for_each(|mpdu| mpdu.fails(long));
            if missing == Answer::BlockAck {
                // Some frames may have arrived. Only the answer to a request shows which, so none
                // is given up before it.
                self.withdraw(batch);
                let flow = &mut self.flows[batch.flow];
                if flow.request == Request::No {
                    flow.request = Request::Due(0);
                }
                return;
            }
        }
        // `kept` has the frames in reverse, and the second loop reverses them back.
        let mut kept = VecDeque::new();
        let mut finished = Vec::new();
        let mut abandoned = None;
        let tried = flow.tried();
        for mut mpdu in flow.mpdus.drain(..tried) {
            let in_batch = mpdu.on.take_if(|on| *on == batch.link).is_some();
            let concerned = in_batch || (asked && mpdu.on.is_none());
            if concerned && mpdu.is_given_up(limits) {
                abandoned = mpdu.sequence;
                finished.push((mpdu, Outcome::RetryLimit));
            } else {
                kept.push_front(mpdu);
            }
        }
        self.waiting -= finished.len();
        for mpdu in kept {
            flow.mpdus.push_front(mpdu);
        }
        // The medium sends no further request to a receiver that has answered none.
        if let Some(sequence) = abandoned.filter(|_| flow.host.is_some() || !asked) {
            flow.pass(sequence);
        }
        flow.finish(finished, done);
        // No `rotate`: a failed flow keeps its turn, and goes again before other receivers.
        self.drop_idle();
    }

    fn head(&self) -> Option<&Mpdu> {
        self.flows[*self.turns.front()?].mpdus.front()
    }

    /// The frame at the head, with the rate of its next try.
    pub fn next_try(&self) -> Option<(&Frame, Attempts)> {
        let head = self.head()?;
        Some((&head.frame, head.attempts(None)))
    }

    /// The frame at the head, with the rate of its last try.
    pub fn last_try(&self) -> Option<(&Frame, Attempts)> {
        let head = self.head()?;
        let entry = head.entry_after(head.attempt().saturating_sub(1));
        Some((&head.frame, head.frame.rates[entry]))
    }

    /// Whether the frame at the head is given up if this answer to its last try does not come.
    pub fn gives_up(&self, missing: Answer, limits: Option<RetryLimits>) -> bool {
        let (Some(head), Some((_, last))) = (self.head(), self.last_try()) else {
            return true;
        };
        let long = missing != Answer::Cts && last.rts;
        let short = head.short_retries.saturating_add(u32::from(!long));
        head.is_given_up_at((short, head.long_retries + u32::from(long)), limits)
    }

    /// The radio goes off. Waiting frames are lost, in their order.
    pub fn abandon(&mut self, mut lost: impl FnMut(FrameId)) {
        for flow in &mut self.flows {
            flow.request = Request::No;
            flow.host = None;
            // `next` counts on, so the receiver does not take later frames for repeats.
            flow.mpdus.drain(..).for_each(|mpdu| lost(mpdu.frame.id));
        }
        self.turns.clear();
        self.waiting = 0;
    }

    /// The next receiver's turn. Those that were served together line up as they were served, in
    /// whatever order they answered.
    fn rotate(&mut self, served: usize) {
        self.turns.retain(|flow| *flow != served);
        if !self.flows[served].has_work() {
            return;
        }
        let place = self.flows[served].place;
        let is_later = |flow: &&usize| place.is_some() && self.flows[**flow].place > place;
        let later = self.turns.iter().rev().take_while(is_later).count();
        self.turns.insert(self.turns.len() - later, served);
    }
}

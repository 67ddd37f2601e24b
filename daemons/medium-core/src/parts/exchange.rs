// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The exchange of the frame in service: its tries, the answer that it awaits, and the answer that
//! this radio owes others (IEEE 802.11-2020 10.3.2, 10.3.4.4).

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::effect::{Effect, Effects, Finished, Timer, Wake};
use super::reorder::BlockAck;
use super::{Arrived, Setup};
use crate::space::Extent;
use crate::step::Step;
use crate::timing::{Answer, RTS_BYTES};
use crate::{
    Agreement, AirKind, Attempts, Class, Frame, FrameId, Outcome, RadioId, Rate, To, Width,
    MAX_RATES,
};

/// Retry limits; none where the kernel's rate table counts instead.
#[derive(Clone, Copy, Debug)]
pub struct RetryLimits {
    pub short: u32,
    pub long: u32,
}

/// The host's frame that a transmission carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    pub id: FrameId,
    pub class: Class,
}

/// A frame of an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subframe {
    pub payload: Payload,
    /// MAC header to FCS.
    pub bytes: usize,
    /// Where it begins in the PSDU, its delimiter left out.
    pub offset: usize,
    /// In its agreement.
    pub sequence: u64,
    /// Its place among all frames, and data frames, of its sender.
    pub number: u64,
    pub data_number: u64,
    /// 1 at the first try.
    pub attempt: u32,
}

/// A PPDU, as its sender builds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ppdu {
    pub step: Step,
    pub to: To,
    /// Of a frame that goes alone.
    pub payload: Option<Payload>,
    /// Frames that go together, in the order of their sequence.
    pub subframes: Vec<Subframe>,
    /// Block ack agreement of its frames or of the request: the sender's TID and a sequence number.
    /// The number is that of a lone frame, or the start of the sender's window.
    pub agreement: Option<(u8, u64)>,
    pub block_ack: Option<BlockAck>,
    /// Which access function of the sender it comes from.
    pub function: u8,
    pub bytes: usize,
    /// Sender's count of frames, by which a receiver knows a repeat.
    pub number: u64,
    /// Sender's count of data frames, by which lists of losses name them.
    pub data_number: u64,
    /// 1 at the first try.
    pub attempt: u32,
    pub rate: Rate,
    /// Of its channel. A rate before HT takes each 20 MHz of it alike.
    pub width: Width,
    /// The duration field. It sets the NAV of others, and counts from the end of the PPDU.
    pub nav: Duration,
}

impl Ppdu {
    /// Its name in records.
    pub fn kind(&self) -> AirKind {
        let class = self.payload.map(|payload| payload.class);
        self.step.kind(class, self.to)
    }

    pub fn extent(&self) -> Extent {
        Extent {
            width: self.width,
            is_duplicate: self.rate.scheme().is_none(),
        }
    }
}

/// An answer, which goes on the air a SIFS after its frame. Data count as the answer to a CTS.
#[derive(Clone, Debug)]
pub struct Response {
    pub step: Step,
    pub to: RadioId,
    /// Of the frame that it answers.
    pub rate: Rate,
    pub width: Width,
    /// Its duration field.
    pub nav: Duration,
    pub block_ack: Option<BlockAck>,
    /// Agreement of the frames that it acknowledges together.
    pub agreement: Option<(u8, u64)>,
    /// Handed to the host when this acknowledgement has ended.
    pub deliver: Vec<Arrived>,
}

/// How many frames a radio has taken into service, and how many of them were data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    pub frame: u64,
    pub data: u64,
}

impl Numbers {
    /// One more of this class.
    pub fn count(&mut self, class: Class) {
        self.frame += 1;
        self.data += u64::from(class == Class::Data);
    }
}

/// Next step of a sender whose transmission has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Waits(Wake),
    /// No answer belongs to it.
    IsOver,
    /// It was an answer itself.
    Nothing,
}

#[derive(Default)]
pub struct Exchange {
    frame: Option<Frame>,
    pub numbers: Numbers,
    /// By EDCA: a batch or its RTS is on the air, or awaits its answer. Its frames stay in their
    /// line, and `frame` is none.
    batch: bool,
    tries: [u32; MAX_RATES],
    /// For how long it was on the air, its RTS included.
    airtime: Duration,
    short_retries: u32,
    long_retries: u32,
    awaited: Option<Answer>,
    /// Number of the present wait for an answer. A timeout with another number is void.
    generation: u64,
    /// The one answer that this radio owes. While there is one, its backoffs do not count.
    response: Option<Response>,
    /// Radios that overheard the frame in service and get it when its exchange is over.
    overheard: Vec<(RadioId, Arrived)>,
}

impl Exchange {
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.as_ref()
    }

    /// Data frames are counted anew.
    pub fn forget_data_number(&mut self) {
        self.numbers.data = 0;
    }

    /// Tries made.
    fn attempt(&self) -> u32 {
        self.tries.iter().sum()
    }

    pub fn begin(&mut self, frame: Frame) {
        self.numbers.count(frame.class);
        self.tries = [0; MAX_RATES];
        self.airtime = Duration::ZERO;
        self.short_retries = 0;
        self.long_retries = 0;
        self.frame = Some(frame);
    }

    /// The frame in service, or its RTS, is on the air for so long.
    pub fn spend(&mut self, lasts: Duration) {
        self.airtime += lasts;
    }

    /// Rate entry of the try that follows the first `attempt() - back` tries.
    fn entry(&self, frame: &Frame, back: u32) -> usize {
        let done = self.attempt().saturating_sub(back);
        let mut total = 0;
        for (i, attempts) in frame.rates.iter().enumerate() {
            total += attempts.tries;
            if done < total {
                return i;
            }
        }
        frame.rates.len() - 1
    }

    /// Rate of the data after a CTS. The RTS has counted their try, so the entry is one back.
    fn try_after_rts(&self) -> Option<Attempts> {
        let frame = self.frame.as_ref()?;
        Some(frame.rates[self.entry(frame, 1)])
    }

    /// The radio's turn has come: the frame in service, or its RTS.
    pub fn turn(&mut self, setup: &Setup) -> Option<Ppdu> {
        let frame = self.frame.as_ref()?;
        let (to, bytes) = (frame.to, frame.bytes);
        let entry = self.entry(frame, 0);
        let attempts = frame.rates[entry];
        // The try counts from its RTS on, whether or not a CTS lets the data follow.
        self.tries[entry] += 1;
        if !attempts.rts || !setup.acknowledges(to) {
            return self.data(attempts, setup);
        }
        let rate = attempts.rate;
        let data = setup.params.phy.duration(bytes, rate);
        let attempt = self.attempt();
        let data = setup.timing.acknowledged(Answer::Ack, data, rate);
        let nav = setup.timing.nav_of_rts(data, rate);
        Some(Ppdu {
            attempt,
            rate: setup.timing.control_rate(rate),
            width: rate.width(),
            ..self.control(Step::Rts, to, RTS_BYTES, nav, setup)
        })
    }

    fn data(&self, attempts: Attempts, setup: &Setup) -> Option<Ppdu> {
        let frame = self.frame.as_ref()?;
        let nav = if setup.acknowledges(frame.to) {
            setup.timing.answered(Answer::Ack, attempts.rate)
        } else {
            Duration::ZERO
        };
        Some(Ppdu {
            payload: Some(Payload {
                id: frame.id,
                class: frame.class,
            }),
            rate: attempts.rate,
            width: attempts.rate.width(),
            attempt: self.attempt(),
            ..self.control(Step::Data, frame.to, frame.bytes, nav, setup)
        })
    }

    /// A frame without payload, at the lowest basic rate on 20 MHz.
    pub fn control(&self, step: Step, to: To, bytes: usize, nav: Duration, setup: &Setup) -> Ppdu {
        Ppdu {
            step,
            to,
            payload: None,
            subframes: Vec::new(),
            agreement: None,
            block_ack: None,
            function: 0,
            bytes,
            number: self.numbers.frame,
            data_number: self.numbers.data,
            attempt: 1,
            rate: setup.params.phy.basic_rate,
            width: Width::Mhz20,
            nav,
        }
    }

    /// The PPDU of this answer. None if the frame that a CTS cleared is gone.
    pub fn answer(&self, response: &Response, setup: &Setup) -> Option<Ppdu> {
        let Some(answer) = response.step.answers() else {
            return self.data(self.try_after_rts()?, setup);
        };
        let bytes = setup.timing.answer_bytes(answer);
        let to = To::Radio(response.to);
        Some(Ppdu {
            rate: setup.timing.control_rate(response.rate),
            width: response.width,
            block_ack: response.block_ack,
            agreement: response.agreement,
            ..self.control(response.step, to, bytes, response.nav, setup)
        })
    }

    /// A transmission of its own has ended; `up` is whether the radio is on.
    pub fn sent(&mut self, ppdu: &Ppdu, up: bool, now: Instant, setup: &Setup) -> Sent {
        let acknowledged = setup.acknowledges(ppdu.to);
        let Some(answer) = ppdu.step.awaits(acknowledged) else {
            return match ppdu.step {
                Step::Data => Sent::IsOver,
                _ => Sent::Nothing,
            };
        };
        // With nothing in service nothing can be repeated, so no timeout runs.
        if !up || !(self.batch || self.frame.is_some()) {
            return Sent::Nothing;
        }
        self.awaited = Some(answer);
        self.generation += 1;
        Sent::Waits(Wake {
            at: now + setup.timing.timeout(answer, ppdu.rate),
            timer: Timer::Timeout,
            generation: self.generation,
        })
    }

    /// Whether a batch of an access category is in service from now on.
    pub fn serve_batch(&mut self, is_served: bool) {
        self.batch = is_served;
    }

    /// The answer that did not come by the timeout of `generation`; nobody awaits it any longer.
    /// None if the timeout is void.
    pub fn overdue(&mut self, generation: u64) -> Option<Answer> {
        let answer = self.awaits(generation)?;
        self.awaited = None;
        Some(answer)
    }

    pub fn awaited(&self) -> Option<Answer> {
        self.awaited
    }

    /// The answer that a timeout of `generation` is about, if it is still awaited.
    fn awaits(&self, generation: u64) -> Option<Answer> {
        self.awaited.filter(|_| self.generation == generation)
    }

    /// `answer` has come; returns whether it was awaited.
    pub fn answered(&mut self, answer: Answer) -> bool {
        if self.awaited != Some(answer) {
            return false;
        }
        // The timeout stays in the agenda. The new generation makes it void.
        self.awaited = None;
        self.generation += 1;
        // A CTS shows that RTS get through: failed RTS count from 0 again. The data count long
        // retries.
        if answer == Answer::Cts {
            self.short_retries = 0;
        }
        true
    }

    /// The awaited answer did not come by the timeout of `generation`. Returns whether the frame is
    /// given up; none if the timeout is void.
    pub fn timeout(&mut self, generation: u64, limits: Option<RetryLimits>) -> Option<bool> {
        self.frame.as_ref()?;
        let answer = self.overdue(generation)?;
        // `gives_up` adds this failure itself, so it comes before the counts change.
        let over = self.gives_up(answer, limits);
        (self.short_retries, self.long_retries) = self.retries_after(answer);
        Some(over)
    }

    /// Short and long retries after `answer` did not come. Frames above the RTS threshold have an
    /// RTS, and their data count long retries (10.3.4.4).
    fn retries_after(&self, answer: Answer) -> (u32, u32) {
        let rates = self.frame.iter().flat_map(|frame| &frame.rates);
        let protected = rates.into_iter().any(|attempts| attempts.rts);
        let long = answer == Answer::Ack && protected;
        (
            self.short_retries + u32::from(!long),
            self.long_retries + u32::from(long),
        )
    }

    /// Whether the frame is given up if the answer to this try does not come.
    fn gives_up(&self, answer: Answer, limits: Option<RetryLimits>) -> bool {
        let Some(frame) = &self.frame else {
            return true;
        };
        let Some(limits) = limits else {
            let allowed: u32 = frame.rates.iter().map(|attempts| attempts.tries).sum();
            return self.attempt() >= allowed;
        };
        let (short, long) = self.retries_after(answer);
        short >= limits.short || long >= limits.long
    }

    /// The frame is done.
    pub fn finish(&mut self, outcome: Outcome) -> Option<Finished> {
        let frame = self.frame.take()?.id;
        let tries = core::mem::take(&mut self.tries);
        Some(Finished {
            frame,
            outcome,
            tries,
            airtime: self.airtime,
            agreement: Agreement::default(),
        })
    }

    pub fn response(&self) -> Option<&Response> {
        self.response.as_ref()
    }

    pub fn respond_with(&mut self, response: Response) {
        self.response = Some(response);
    }

    pub fn take_response(&mut self) -> Option<Response> {
        self.response.take()
    }

    /// The received frames whose acknowledgement is pending, if they came from `sender`.
    pub fn give_up_delivery(&mut self, sender: RadioId) -> Vec<Arrived> {
        match &mut self.response {
            Some(response) if response.to == sender => core::mem::take(&mut response.deliver),
            _ => Vec::new(),
        }
    }

    pub fn overheard_by(&mut self, radio: RadioId, arrived: Arrived) {
        self.overheard.push((radio, arrived));
    }

    /// Hosts of bystanders get the frame together with its receiver's host. A driver can then serve
    /// all of them with one system call.
    pub fn hand_up_overheard(&mut self, effects: &mut Effects) {
        let overheard = self.overheard.drain(..);
        effects.extend(overheard.map(|(to, arrived)| Effect::HandUp { to, arrived }));
    }

    /// The radio goes off, or comes up: no answer is due either way.
    /// Returns the received frames whose acknowledgement was pending.
    pub fn forget(&mut self) -> Vec<Arrived> {
        self.generation += 1;
        self.awaited = None;
        self.batch = false;
        let response = self.response.take();
        response.map_or_else(Vec::new, |response| response.deliver)
    }

    /// The frame in service, which the radio that went off will not send.
    pub fn abandon(&mut self) -> Option<Frame> {
        self.frame.take()
    }
}

/// How soon a host may learn something, by the transitions above. All results are lower bounds. A
/// bound that is too early costs a driver a system call; one that is too late would delay an
/// output.
impl Exchange {
    /// From the radio's turn on the channel to the first output that can come of it; none if it has
    /// nothing to send.
    pub fn ahead_of_turn(&self, setup: &Setup) -> Option<Duration> {
        let frame = self.frame.as_ref()?;
        let attempts = frame.rates[self.entry(frame, 0)];
        Some(ahead_of(frame, attempts, setup))
    }

    /// From the start of the data that answers a CTS to the first output.
    fn ahead_of_answer(&self, setup: &Setup) -> Duration {
        let (Some(frame), Some(attempts)) = (self.frame.as_ref(), self.try_after_rts()) else {
            return Duration::ZERO;
        };
        let data = setup.params.phy.duration(frame.bytes, attempts.rate);
        let data = setup.timing.acknowledged(Answer::Ack, data, attempts.rate);
        // By ns-2's rules a busy medium makes the sender start over.
        let again = self.ahead_of_turn(setup);
        again.map_or(data, |again| data.min(again))
    }

    /// From the start of the pending answer to the first output.
    pub fn ahead_of_response(&self, setup: &Setup) -> Option<Duration> {
        let response = self.response.as_ref()?;
        Some(match response.step.answers() {
            Some(answer) => setup.timing.answer(answer, response.rate),
            None => self.ahead_of_answer(setup),
        })
    }

    /// From a timeout of `generation` to the first output; none where it was overtaken.
    pub fn ahead_of_timeout(&self, generation: u64, setup: &Setup) -> Option<Duration> {
        let answer = self.awaits(generation)?;
        Some(self.ahead_without(answer, setup))
    }

    /// From a timeout to the first output: at once if hosts learn of it, else the next try.
    fn ahead_without(&self, answer: Answer, setup: &Setup) -> Duration {
        if self.gives_up(answer, setup.retry_limits) || !self.overheard.is_empty() {
            return Duration::ZERO;
        }
        self.ahead_of_turn(setup).unwrap_or_default()
    }

    /// From the end of this sender's `step` to the first output of its exchange. `receiver` is that
    /// of the radio that receives it; none where that does not.
    pub fn ahead_of_end(&self, ppdu: &Ppdu, receiver: Option<&Self>, setup: &Setup) -> Duration {
        let (step, acknowledged) = (ppdu.step, setup.acknowledges(ppdu.to));
        if step.concludes(acknowledged) {
            return Duration::ZERO;
        }
        let timing = &setup.timing;
        let answered = receiver
            .zip(step.next(acknowledged))
            .map(|(receiver, next)| {
                timing.sifs
                    + match next {
                        Step::Cts => {
                            timing.answer(Answer::Cts, ppdu.rate)
                                + timing.sifs
                                + self.ahead_of_answer(setup)
                        }
                        // An ACK is shorter than a BlockAck, so its time bounds both.
                        Step::Ack | Step::BlockAck => timing.answer(Answer::Ack, ppdu.rate),
                        _ => receiver.ahead_of_answer(setup),
                    }
            });
        let unanswered = step.awaits(acknowledged).map(|answer| {
            // Bystanders may have got it: their hosts learn of it at the timeout.
            let overheard = step == Step::Data && setup.params.overhear;
            let after = match overheard {
                true => Duration::ZERO,
                false => self.ahead_without(answer, setup),
            };
            timing.timeout(answer, ppdu.rate) + after
        });
        let both = answered.into_iter().chain(unanswered);
        // The answer may be lost, so the timeout counts as well. Without either, no host learns of
        // it.
        both.min().unwrap_or(Duration::MAX)
    }
}

/// From the start of a frame's try to the first output.
pub fn ahead_of(frame: &Frame, attempts: Attempts, setup: &Setup) -> Duration {
    let acknowledged = setup.acknowledges(frame.to);
    if attempts.rts && acknowledged {
        // The sender may give up a slot after the CTS was due, before any data.
        return setup.timing.cleared(attempts.rate);
    }
    let data = setup.params.phy.duration(frame.bytes, attempts.rate);
    if acknowledged {
        setup.timing.acknowledged(Answer::Ack, data, attempts.rate)
    } else {
        data
    }
}

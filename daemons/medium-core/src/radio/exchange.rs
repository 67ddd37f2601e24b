// SPDX-License-Identifier: Apache-2.0
//! The frame in service: its tries, the answer that is awaited, the answer that is owed
//! (IEEE 802.11-2020 10.3.2, 10.3.4.4).

use alloc::vec::Vec;

use hoplab_base::Duration;

use super::host::Arrived;
use crate::timing::Answer;
use crate::{Attempts, Class, Frame, FrameId, MAX_RATES};

/// Retry limits; none where the kernel's rate table counts instead.
#[derive(Clone, Copy, Debug)]
pub struct RetryLimits {
    pub short: u32,
    pub long: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    Cts,
    Ack,
    /// Of the frame in service, after its CTS.
    Data,
}

/// What goes on the air a SIFS after a frame.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    pub kind: ResponseKind,
    pub to: usize,
    /// Its duration field.
    pub reserve: Duration,
    /// Handed to the host when this acknowledgement has ended.
    pub deliver: Option<Arrived>,
}

/// A frame whose exchange is over.
pub struct Finished {
    pub frame: FrameId,
    pub tries: [u32; MAX_RATES],
}

#[derive(Default)]
pub struct Exchange {
    frame: Option<Frame>,
    /// Counts of frames and of data frames that were in service.
    number: u64,
    data_number: u64,
    tries: [u32; MAX_RATES],
    short_retries: u32,
    long_retries: u32,
    awaited: Option<Answer>,
    /// Which wait for an answer a timeout belongs to.
    generation: u64,
    response: Option<Response>,
    /// Radios that overheard the frame in service and get it when its exchange is over.
    overheard: Vec<(usize, Arrived)>,
}

impl Exchange {
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.as_ref()
    }

    /// Count of the frame in service, by which a receiver knows a repeat.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Count of data frames, by which lists of losses name them.
    pub fn data_number(&self) -> u64 {
        self.data_number
    }

    pub fn forget_data_number(&mut self) {
        self.data_number = 0;
    }

    /// Tries made.
    pub fn attempt(&self) -> u32 {
        self.tries.iter().sum()
    }

    pub fn begin(&mut self, frame: Frame) {
        self.number += 1;
        if frame.class == Class::Data {
            self.data_number += 1;
        }
        self.tries = [0; MAX_RATES];
        self.short_retries = 0;
        self.long_retries = 0;
        self.frame = Some(frame);
    }

    /// Rate entry of the frame's try after all but the last `back` that were made.
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

    /// How the next try goes.
    pub fn next_try(&self) -> Option<Attempts> {
        let frame = self.frame.as_ref()?;
        Some(frame.rates[self.entry(frame, 0)])
    }

    /// How the try goes that an RTS has counted already.
    pub fn try_after_rts(&self) -> Option<Attempts> {
        let frame = self.frame.as_ref()?;
        Some(frame.rates[self.entry(frame, 1)])
    }

    pub fn count_try(&mut self) {
        if let Some(frame) = &self.frame {
            let entry = self.entry(frame, 0);
            self.tries[entry] += 1;
        }
    }

    pub fn awaited(&self) -> Option<Answer> {
        self.awaited
    }

    /// Wait for an answer; returns what its timeout bears.
    pub fn wait_for(&mut self, answer: Answer) -> u64 {
        self.awaited = Some(answer);
        self.generation += 1;
        self.generation
    }

    /// The answer that a timeout of `generation` is about, if it is still awaited.
    pub fn awaits(&self, generation: u64) -> Option<Answer> {
        self.awaited.filter(|_| self.generation == generation)
    }

    /// `answer` has come; returns whether it was awaited.
    pub fn answered(&mut self, answer: Answer) -> bool {
        if self.awaited != Some(answer) {
            return false;
        }
        self.awaited = None;
        self.generation += 1;
        if answer == Answer::Cts {
            self.short_retries = 0;
        }
        true
    }

    /// The awaited answer will not come; returns whether the frame is given up.
    pub fn unanswered(&mut self, answer: Answer, limits: Option<RetryLimits>) -> bool {
        self.awaited = None;
        let over = self.gives_up(answer, limits);
        (self.short_retries, self.long_retries) = self.retries_after(answer);
        over
    }

    /// Short and long retries once `answer` has not come. Frames above the RTS threshold, which
    /// are those that RTS protects, count long retries.
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
    pub fn gives_up(&self, answer: Answer, limits: Option<RetryLimits>) -> bool {
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
    pub fn finish(&mut self) -> Option<Finished> {
        let frame = self.frame.take()?.id;
        let tries = core::mem::take(&mut self.tries);
        Some(Finished { frame, tries })
    }

    pub fn response(&self) -> Option<&Response> {
        self.response.as_ref()
    }

    pub fn response_mut(&mut self) -> Option<&mut Response> {
        self.response.as_mut()
    }

    pub fn owe(&mut self, response: Response) {
        self.response = Some(response);
    }

    pub fn take_response(&mut self) -> Option<Response> {
        self.response.take()
    }

    pub fn overheard_by(&mut self, radio: usize, arrived: Arrived) {
        self.overheard.push((radio, arrived));
    }

    pub fn was_overheard(&self) -> bool {
        !self.overheard.is_empty()
    }

    pub fn take_overheard(&mut self) -> Vec<(usize, Arrived)> {
        core::mem::take(&mut self.overheard)
    }

    /// The memory of what was taken, to be used again.
    pub fn give_back(&mut self, mut overheard: Vec<(usize, Arrived)>) {
        overheard.clear();
        self.overheard = overheard;
    }

    /// The radio goes off, or comes up: no answer is due either way.
    pub fn forget(&mut self) {
        self.generation += 1;
        self.awaited = None;
        self.response = None;
    }

    /// The frame in service, which the radio that went off will not send.
    pub fn abandon(&mut self) -> Option<Frame> {
        self.frame.take()
    }
}

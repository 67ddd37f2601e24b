// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a radio's exchanges hang on: the answer that it awaits, and the answer that it owes others
//! (IEEE 802.11-2020 10.3.2).

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::effect::{Effect, Effects, Timer, Wake};
use super::reorder::BlockAck;
use super::{Arrived, Setup};
use crate::phy::Shape;
use crate::space::Extent;
use crate::step::Step;
use crate::timing::Answer;
use crate::{AirKind, Class, FrameId, RadioId, Rate, To, Width};

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
    /// Times of one that several users share; none where the PHY alone knows them.
    pub shape: Option<Shape>,
    /// What further receivers get in it, each on a resource unit of its own.
    pub beside: Vec<Ppdu>,
    /// What a trigger asks its receiver for.
    pub asked: Option<Asked>,
    /// It answers a trigger, at the same time as other radios.
    pub triggered: bool,
    /// From its end to that of what answers it, where that is not one radio's answer.
    pub answered: Option<Duration>,
    /// Octets of an A-MPDU that wait behind these frames at their sender (9.2.4.5.6: queue size).
    pub waiting: Option<usize>,
}

/// How a radio has to answer a trigger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    pub rate: Rate,
    pub shape: Shape,
    /// From its end to that of what acknowledges it.
    pub answered: Duration,
}

impl Ppdu {
    /// The part of each receiver.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        core::iter::once(self).chain(&self.beside)
    }

    /// How many users its power is divided among: those who have streams of their own on the whole
    /// channel.
    pub fn beams(&self) -> usize {
        let scheme = self.rate.scheme();
        match scheme.is_some_and(|scheme| scheme.unit.is_none()) {
            true => self.parts().count(),
            false => 1,
        }
    }

    /// What is for this radio alone.
    pub fn part_of(&self, radio: RadioId) -> Option<&Self> {
        self.parts().find(|part| part.to == To::Radio(radio))
    }

    /// Whether this part is for that radio.
    pub fn is_for(&self, radio: RadioId) -> bool {
        self.to == To::Everyone || self.to == To::Radio(radio)
    }

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
    pub asked: Option<Asked>,
    /// It goes together with answers to others, which are here.
    pub beside: Option<Vec<Response>>,
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
    /// Its receivers are asked for their answers next.
    Asks,
    /// It was an answer itself.
    Nothing,
}

#[derive(Default)]
pub struct Exchange {
    pub numbers: Numbers,
    awaited: Option<Answer>,
    /// Number of the present wait for an answer. A timeout with another number is void.
    generation: u64,
    /// The one answer that this radio owes. While there is one, its backoffs do not count.
    response: Option<Response>,
    /// Radios that overheard the frame in service and get it when its exchange is over.
    overheard: Vec<(RadioId, Arrived)>,
}

impl Exchange {
    /// Data frames are counted anew.
    pub fn forget_data_number(&mut self) {
        self.numbers.data = 0;
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
            shape: None,
            beside: Vec::new(),
            asked: None,
            triggered: false,
            answered: None,
            waiting: None,
        }
    }

    /// The PPDU of this response, which counts as `answer`.
    pub fn answer(&self, response: &Response, answer: Answer, setup: &Setup) -> Ppdu {
        if let Some(others) = response.beside.as_ref().filter(|others| !others.is_empty()) {
            return self.answer_all(response, others, setup);
        }
        let asked = response.asked;
        let bytes = match (answer, asked) {
            (Answer::Report, Some(asked)) => setup.report_bytes(asked.rate),
            _ => setup.timing.answer_bytes(answer),
        };
        let to = To::Radio(response.to);
        let control = || setup.timing.control_rate(response.rate);
        Ppdu {
            rate: asked.map_or_else(control, |asked| asked.rate),
            shape: asked.map(|asked| asked.shape),
            triggered: asked.is_some(),
            width: response.width,
            block_ack: response.block_ack,
            agreement: response.agreement,
            ..self.control(response.step, to, bytes, response.nav, setup)
        }
    }

    /// A BlockAck to several radios.
    fn answer_all(&self, response: &Response, others: &[Response], setup: &Setup) -> Ppdu {
        let all = || core::iter::once(response).chain(others);
        let rate = setup.timing.common_rate(all().map(|one| one.rate));
        let bytes = setup.timing.block_ack_bytes_of(1 + others.len());
        let part = |one: &Response| Ppdu {
            rate,
            width: one.width,
            block_ack: one.block_ack,
            agreement: one.agreement,
            ..self.control(one.step, To::Radio(one.to), bytes, one.nav, setup)
        };
        Ppdu {
            beside: others.iter().map(part).collect(),
            ..part(response)
        }
    }

    /// A transmission of its own has ended; `waits` is whether it waits for an answer to it.
    pub fn sent(&mut self, ppdu: &Ppdu, waits: bool, now: Instant, setup: &Setup) -> Sent {
        let acknowledged = setup.acknowledges(ppdu.to);
        let Some(answer) = ppdu.step.awaits(acknowledged) else {
            return match ppdu.step {
                Step::Data => Sent::IsOver,
                Step::Shared | Step::Announcement | Step::NdpShared if waits => Sent::Asks,
                _ => Sent::Nothing,
            };
        };
        if !waits {
            return Sent::Nothing;
        }
        self.awaited = Some(answer);
        self.generation += 1;
        let timing = &setup.timing;
        let timeout = match ppdu.answered {
            Some(answered) => answered + timing.slot,
            None => timing.timeout(answer, ppdu.rate),
        };
        Sent::Waits(Wake {
            at: now + timeout,
            timer: Timer::Timeout,
            generation: self.generation,
        })
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
    pub fn awaits(&self, generation: u64) -> Option<Answer> {
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
        true
    }

    pub fn response(&self) -> Option<&Response> {
        self.response.as_ref()
    }

    /// This is what it owes now, beside others of its kind that go together with it.
    pub fn respond_with(&mut self, response: Response) {
        let owed = self.response.as_mut().and_then(|owed| owed.beside.as_mut());
        match (owed, &response.beside) {
            (Some(others), Some(_)) => others.push(response),
            _ => self.response = Some(response),
        }
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

    pub fn is_overheard(&self) -> bool {
        !self.overheard.is_empty()
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
        let response = self.response.take();
        response.map_or_else(Vec::new, |response| response.deliver)
    }
}

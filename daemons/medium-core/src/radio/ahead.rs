// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How soon a host may learn something of a radio that sends frames one by one (DCF). All results
//! are lower bounds. A bound that is too early costs a driver a system call; one that is too late
//! would delay an output.

use hoplab_base::{Duration, Instant};

use super::Radio;
use crate::parts::{Line, Ppdu, Setup};
use crate::step::Step;
use crate::timing::Answer;
use crate::{Attempts, Frame};

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

impl Radio {
    fn line(&self) -> &Line {
        &self.functions[0].line
    }

    /// When it will send if the channel stays idle.
    pub fn turn_at(&self) -> Option<Instant> {
        self.functions[0].access.at()
    }

    /// Slots that it has still to count.
    pub fn slots(&self) -> u64 {
        self.functions[0].access.slots()
    }

    /// From the radio's turn on the channel to the first output that can come of it; none if it has
    /// nothing to send.
    pub fn ahead_of_turn(&self, setup: &Setup) -> Option<Duration> {
        let (frame, attempts) = self.line().next_try()?;
        Some(ahead_of(frame, attempts, setup))
    }

    /// From the start of the data that answers a CTS to the first output.
    fn ahead_of_answer(&self, setup: &Setup) -> Duration {
        // The RTS has counted the try.
        let Some((frame, Attempts { rate, .. })) = self.line().last_try() else {
            return Duration::ZERO;
        };
        let data = setup.params.phy.duration(frame.bytes, rate);
        let data = setup.timing.acknowledged(Answer::Ack, data, rate);
        // By ns-2's rules a busy medium makes the sender start over.
        let again = self.ahead_of_turn(setup);
        again.map_or(data, |again| data.min(again))
    }

    /// From the start of the pending answer to the first output.
    pub fn ahead_of_response(&self, setup: &Setup) -> Option<Duration> {
        let response = self.exchange.response()?;
        Some(match response.step.answers() {
            Some(answer) => setup.timing.answer(answer, response.rate),
            None => self.ahead_of_answer(setup),
        })
    }

    /// From a timeout of `generation` to the first output; none where it was overtaken.
    pub fn ahead_of_timeout(&self, generation: u64, setup: &Setup) -> Option<Duration> {
        let answer = self.exchange.awaits(generation)?;
        Some(self.ahead_without(answer, setup))
    }

    /// From a timeout to the first output: at once if hosts learn of it, else the next try.
    fn ahead_without(&self, answer: Answer, setup: &Setup) -> Duration {
        let given_up = self.line().gives_up(answer, setup.retry_limits);
        if given_up || self.exchange.is_overheard() {
            return Duration::ZERO;
        }
        self.ahead_of_turn(setup).unwrap_or_default()
    }

    /// From the end of this sender's PPDU to the first output of its exchange. `receiver` is the
    /// radio that receives it; none where that does not.
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
        let unanswered = step
            .awaits(acknowledged)
            .map(|answer| timing.timeout(answer, ppdu.rate) + self.ahead_without(answer, setup));
        let both = answered.into_iter().chain(unanswered);
        // The answer may be lost, so the timeout counts as well. Without either, no host learns of
        // it.
        both.min().unwrap_or(Duration::MAX)
    }
}

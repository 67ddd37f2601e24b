// SPDX-License-Identifier: Apache-2.0
//! Frame exchanges: RTS, CTS, data, ACK, timeouts and retries (IEEE 802.11-2020 10.3.2, 10.3.4.4).

use hoplab_base::Duration;

use super::signals::Sending;
use super::{Event, Medium};
use crate::air::{Kind, Transmission};
use crate::radio::{Response, ResponseKind};
use crate::rules::Turn;
use crate::timing::{Answer, ACK_BYTES, CTS_BYTES, RTS_BYTES};
use crate::{Attempts, Frame, Outcome, To};

impl Medium {
    /// Whether a frame is acknowledged, and may have an RTS before it.
    pub(super) fn is_acknowledged(&self, frame: &Frame) -> bool {
        frame.to != To::Everyone && !self.params.no_ack
    }

    /// The radio's turn has come: send the frame in service, or its RTS.
    pub(super) fn send_frame(&mut self, radio: usize) {
        let exchange = &self.radios[radio].exchange;
        let (Some(frame), Some(attempts)) = (exchange.frame(), exchange.next_try()) else {
            return;
        };
        let (to, bytes) = (frame.to, frame.bytes);
        let protected = attempts.rts && self.is_acknowledged(frame);
        self.radios[radio].exchange.count_try();
        if !protected {
            self.send_data(radio, attempts);
            return;
        }
        let phy = &self.params.phy;
        let data = phy.duration(bytes, attempts.rate);
        let rts = Sending {
            kind: Kind::Rts,
            to,
            rate: phy.basic_rate,
            bytes: RTS_BYTES,
            reserve: self.timing.reserve_of_rts(data),
        };
        self.transmit(radio, rts);
    }

    fn send_data(&mut self, radio: usize, attempts: Attempts) {
        let Some(frame) = self.radios[radio].exchange.frame() else {
            return;
        };
        let reserve = if self.is_acknowledged(frame) {
            self.timing.reserve_of_data()
        } else {
            Duration::ZERO
        };
        let data = Sending {
            kind: Kind::Data,
            to: frame.to,
            rate: attempts.rate,
            bytes: frame.bytes,
            reserve,
        };
        self.transmit(radio, data);
    }

    /// Answer `response.to` after a SIFS.
    pub(super) fn owe(&mut self, radio: usize, response: Response) {
        self.freeze(radio);
        self.radios[radio].exchange.owe(response);
        self.after(self.timing.sifs, Event::Respond { radio });
    }

    pub(super) fn respond(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        let Some(response) = station.exchange.take_response() else {
            return;
        };
        if !station.power.is_up() || station.transceiver.is_sending() {
            return;
        }
        match self.params.rules.answer(station, response.kind, self.now) {
            Turn::Goes => self.send_answer(radio, &response),
            Turn::IsDropped => self.count_down(radio),
            Turn::StartsOver => {
                station.access.widen(self.params.phy.cw_max);
                station.access.draw(self.now);
                self.count_down(radio);
            }
        }
    }

    fn send_answer(&mut self, radio: usize, response: &Response) {
        let station = &mut self.radios[radio];
        let (kind, bytes) = match response.kind {
            ResponseKind::Ack => (Kind::Ack, ACK_BYTES),
            ResponseKind::Cts => (Kind::Cts, CTS_BYTES),
            ResponseKind::Data => {
                if let Some(attempts) = station.exchange.try_after_rts() {
                    self.send_data(radio, attempts);
                }
                return;
            }
        };
        // The host gets the frame when its acknowledgement has ended, in the same instant in which
        // the sender's host learns of it; its radio is busy until then.
        if let Some(arrived) = response.deliver {
            station.host.acknowledge(arrived);
        }
        let answer = Sending {
            kind,
            to: To::Radio(response.to),
            rate: self.params.phy.basic_rate,
            bytes,
            reserve: response.reserve,
        };
        self.transmit(radio, answer);
    }

    pub(super) fn after_sending(&mut self, radio: usize, transmission: &Transmission) {
        if transmission.cut {
            return;
        }
        match transmission.kind {
            Kind::Rts => self.wait_for(radio, Answer::Cts),
            Kind::Data if transmission.to == To::Everyone || self.params.no_ack => {
                self.finish(radio, Outcome::Sent);
            }
            Kind::Data => self.wait_for(radio, Answer::Ack),
            Kind::Ack | Kind::Cts => {}
        }
    }

    fn wait_for(&mut self, radio: usize, answer: Answer) {
        let station = &mut self.radios[radio];
        if !station.power.is_up() || station.exchange.frame().is_none() {
            return;
        }
        let generation = station.exchange.wait_for(answer);
        self.after(
            self.timing.timeout(answer),
            Event::Timeout { generation, radio },
        );
    }

    /// No CTS or ACK came: retry with a doubled window, or give up (10.3.4.4).
    pub(super) fn timeout(&mut self, radio: usize, generation: u64) {
        let exchange = &mut self.radios[radio].exchange;
        let Some(answer) = exchange.awaits(generation) else {
            return;
        };
        if exchange.frame().is_none() {
            return;
        }
        let over = exchange.unanswered(answer, self.retry_limits);
        self.hand_up_overheard(radio);
        let station = &mut self.radios[radio];
        if over {
            station.counters.retry_limit += 1;
            self.finish(radio, Outcome::RetryLimit);
            return;
        }
        station.counters.retries += 1;
        station.access.widen(self.params.phy.cw_max);
        station.access.draw(self.now);
        self.count_down(radio);
    }

    /// The frame in service is done; the next one waits for a backoff in any case (post-backoff).
    pub(super) fn finish(&mut self, radio: usize, outcome: Outcome) {
        let station = &mut self.radios[radio];
        let Some(finished) = station.exchange.finish() else {
            return;
        };
        station.access.reset(self.params.phy.cw_min);
        self.conclude(radio, finished.frame, outcome, finished.tries);
        self.radios[radio].access.draw(self.now);
        self.next_frame(radio);
        self.load(radio);
        self.count_down(radio);
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of a frame exchange (IEEE 802.11-2020 10.3), in one place. Sending and looking ahead
//! both read them here.

use hoplab_base::Duration;

use crate::{Phy, Rate};

/// OFDM's mandatory rates (17.2.2), the fastest first: all stations receive answers at them.
const MANDATORY: [Rate; 3] = [Rate::OFDM_24, Rate::OFDM_12, Rate::OFDM_6];

pub const ACK_BYTES: usize = 14;
pub const CTS_BYTES: usize = 14;
pub const RTS_BYTES: usize = 20;
/// Of a block acknowledgement request of one TID (9.3.1.7.2).
pub const BLOCK_ACK_REQUEST_BYTES: usize = 24;
/// Of a compressed BlockAck (9.3.1.8.2) but its bitmap.
const BLOCK_ACK_BYTES: usize = 24;

/// The answer that a sender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Cts,
    Ack,
    BlockAck,
}

/// Times that follow from the PHY and from whether frames are acknowledged, worked out once.
#[derive(Clone, Debug)]
pub struct Timing {
    phy: Phy,
    /// Answers go at the fastest mandatory rate that is no faster than what they answer (10.6.6.5),
    /// not all at the lowest basic rate.
    by_rate: bool,
    pub slot: Duration,
    pub sifs: Duration,
    /// SIFS + 2 slots (10.3.7).
    pub difs: Duration,
    /// SIFS + DIFS + the time of an ACK at the lowest basic rate (10.3.7). It leaves room for the
    /// ACK of a frame that a station could not decode. Without acknowledgements it is DIFS.
    pub eifs: Duration,
    block_ack_bytes: usize,
    // On the air, at the lowest basic rate.
    rts: Duration,
    cts: Duration,
    ack: Duration,
}

impl Timing {
    /// `window` is how many frames a BlockAck covers. None for DCF, where answers go at the lowest
    /// basic rate.
    pub fn new(phy: &Phy, no_ack: bool, window: Option<usize>) -> Self {
        let control = |bytes| phy.duration(bytes, phy.basic_rate);
        let difs = phy.sifs + 2 * phy.slot;
        let ack = control(ACK_BYTES);
        Self {
            phy: phy.clone(),
            by_rate: window.is_some(),
            // A bit for each frame, in steps of 64: 8 octets, 32 for a window of 256, 128 for one of 1024.
            block_ack_bytes: BLOCK_ACK_BYTES + window.unwrap_or_default().div_ceil(64) * 8,
            slot: phy.slot,
            sifs: phy.sifs,
            difs,
            eifs: if no_ack { difs } else { phy.sifs + difs + ack },
            rts: control(RTS_BYTES),
            cts: control(CTS_BYTES),
            ack,
        }
    }

    /// The rate of an answer to what is sent at `rate`, and of an RTS before it.
    pub fn control_rate(&self, rate: Rate) -> Rate {
        let like = rate.reference();
        if !self.by_rate || like.is_dsss() {
            return self.phy.basic_rate;
        }
        // Both are OFDM rates, whose order is that of their speed.
        let slower = MANDATORY.into_iter().find(|basic| *basic <= like);
        slower.unwrap_or(self.phy.basic_rate)
    }

    /// Octets of an answer.
    pub fn answer_bytes(&self, answer: Answer) -> usize {
        match answer {
            Answer::Cts => CTS_BYTES,
            Answer::Ack => ACK_BYTES,
            Answer::BlockAck => self.block_ack_bytes,
        }
    }

    /// Time on the air of an answer to what was sent at `rate`.
    pub fn answer(&self, answer: Answer, rate: Rate) -> Duration {
        match answer {
            Answer::Cts if !self.by_rate => self.cts,
            Answer::Ack if !self.by_rate => self.ack,
            _ => self
                .phy
                .duration(self.answer_bytes(answer), self.control_rate(rate)),
        }
    }

    /// Time on the air of an RTS before data at `rate`.
    pub fn rts(&self, rate: Rate) -> Duration {
        if self.by_rate {
            self.phy.duration(RTS_BYTES, self.control_rate(rate))
        } else {
            self.rts
        }
    }

    /// From the end of a frame at `rate` to the end of its answer.
    pub fn answered(&self, answer: Answer, rate: Rate) -> Duration {
        self.sifs + self.answer(answer, rate)
    }

    /// From the end of a frame at `rate` until its sender gives the answer up (10.3.2.9, 10.3.2.11).
    pub fn timeout(&self, answer: Answer, rate: Rate) -> Duration {
        // The standard gives up if no preamble begins within SIFS + slot + aRxPHYStartDelay. This
        // waits for the whole answer instead, so a failed try takes longer.
        self.answered(answer, rate) + self.slot
    }

    /// From the start of data at `rate`, on the air for `lasts`, to the end of what acknowledges it.
    pub fn acknowledged(&self, answer: Answer, lasts: Duration, rate: Rate) -> Duration {
        lasts + self.answered(answer, rate)
    }

    /// From the start of an RTS before data at `rate` to the end of its CTS.
    pub fn cleared(&self, rate: Rate) -> Duration {
        self.rts(rate) + self.answered(Answer::Cts, rate)
    }

    /// Of an RTS (9.2.5) before data at `rate` that end, acknowledged, after so long.
    pub fn nav_of_rts(&self, acknowledged: Duration, rate: Rate) -> Duration {
        self.answered(Answer::Cts, rate) + self.sifs + acknowledged
    }

    /// Of the CTS that answers an RTS at `rate` with this duration field.
    pub fn nav_of_cts(&self, rts: Duration, rate: Rate) -> Duration {
        rts - self.answered(Answer::Cts, rate)
    }
}

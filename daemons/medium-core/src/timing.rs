// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of a frame exchange (IEEE 802.11-2020 10.3), in one place. Sending and looking ahead
//! both read them here.

use alloc::vec::Vec;

use hoplab_base::Duration;

use crate::phy::{Shape, DELIMITER_BYTES};
use crate::units::Plan;
use crate::{Acknowledgement, Phy, Rate, Standard, Unit};

/// OFDM's mandatory rates (17.2.2), the fastest first: all stations receive answers at them.
const MANDATORY: [Rate; 3] = [Rate::OFDM_24, Rate::OFDM_12, Rate::OFDM_6];

pub const ACK_BYTES: usize = 14;
pub const CTS_BYTES: usize = 14;
pub const RTS_BYTES: usize = 20;
/// Of a block acknowledgement request of one TID (9.3.1.7.2).
pub const BLOCK_ACK_REQUEST_BYTES: usize = 24;
/// Of a compressed BlockAck (9.3.1.8.2) but its bitmap.
const BLOCK_ACK_BYTES: usize = 24;

/// Of a trigger frame without users (802.11ax-2021 9.3.1.22). One for EHT has a special user field that
/// is for none (802.11be-2024 9.3.1.22.3).
const TRIGGER_BYTES: usize = 28;
const SPECIAL_USER_BYTES: usize = 5;
/// For each user that it asks for a BlockAck of one TID.
const MU_BAR_USER_BYTES: usize = 5 + 4;

/// Of an MU-RTS trigger frame, for each user (802.11ax-2021 9.3.1.22.5).
const MU_RTS_USER_BYTES: usize = 5;
/// All CTS that answer one go at this rate (802.11ax-2021 26.2.6.3).
pub const MU_RTS_ANSWERED: Rate = Rate::OFDM_6;
/// How long a receiver takes to tell that a PPDU begins (aRxPHYStartDelay, table 17-21).
const RX_PHY_START_DELAY: Duration = Duration::from_micros(20);

/// Of a trigger frame that asks for frames, for each user (9.3.1.22.2).
const POLL_USER_BYTES: usize = 5 + 1;
/// Of one that polls queues, for each user (9.3.1.22.6).
const BSRP_USER_BYTES: usize = 5;
/// Of a QoS Null frame with a BSR Control field: MAC header with QoS and HT control, and FCS (9.3.2.1).
const BUFFER_STATUS_BYTES: usize = 30 + 4;
/// Of a BlockAck to several users: without users, and for each but his bitmap (9.3.1.8.6).
const MULTI_STA_BYTES: usize = 22;
const MULTI_STA_USER_BYTES: usize = 4;

/// The answer that a sender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Cts,
    Ack,
    BlockAck,
    /// Frames that a trigger asks for, which last as it says.
    Frames,
    BufferStatus,
    /// On the channel, as long as what asks for it says.
    Report,
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
            Answer::Frames | Answer::Report => 0,
            Answer::BufferStatus => BUFFER_STATUS_BYTES,
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

    fn trigger_bytes(&self) -> usize {
        match self.phy.standard {
            Standard::Eht { .. } => TRIGGER_BYTES + SPECIAL_USER_BYTES,
            _ => TRIGGER_BYTES,
        }
    }

    /// Octets of a trigger frame that asks so many users for their frames.
    pub fn poll_bytes(&self, users: usize) -> usize {
        self.trigger_bytes() + POLL_USER_BYTES * users
    }

    /// Octets of a trigger frame that polls the queues of so many users.
    pub fn bsrp_bytes(&self, users: usize) -> usize {
        self.trigger_bytes() + BSRP_USER_BYTES * users
    }

    /// Octets of a BlockAck to so many users.
    pub fn block_ack_bytes_of(&self, users: usize) -> usize {
        match users {
            1 => self.block_ack_bytes,
            _ => {
                let bitmap = self.block_ack_bytes - BLOCK_ACK_BYTES;
                MULTI_STA_BYTES + (MULTI_STA_USER_BYTES + bitmap) * users
            }
        }
    }

    /// From the end of frames that a trigger has asked so many users for, to that of their BlockAck
    /// at this rate.
    pub fn answered_all(&self, users: usize, rate: Rate) -> Duration {
        self.sifs + self.phy.duration(self.block_ack_bytes_of(users), rate)
    }

    /// The rate of frames to users with these rates that all of them have to hear.
    pub fn common_rate(&self, rates: impl Iterator<Item = Rate>) -> Rate {
        let slowest = rates.map(|rate| self.control_rate(rate)).min();
        slowest.unwrap_or(self.phy.basic_rate)
    }

    /// Octets of a trigger frame that asks so many users for a BlockAck.
    pub fn mu_bar_bytes(&self, users: usize) -> usize {
        self.trigger_bytes() + MU_BAR_USER_BYTES * users
    }

    /// The rate of a BlockAck that a trigger asks so many users for, after data at `rate`. Its MCS is
    /// that of the control rate (10.6.6.5). It goes on the resource unit of the data. After data on the
    /// whole channel each user has a unit.
    pub fn triggered_rate(&self, rate: Rate, users: usize) -> Option<Rate> {
        let scheme = rate.scheme()?;
        let mcs = match self.control_rate(rate) {
            Rate::OFDM_24 => 3,
            Rate::OFDM_12 => 1,
            _ => 0,
        };
        let of_all = || Unit::for_each(users, Plan::of(rate)).0;
        let unit = scheme.unit.unwrap_or_else(of_all);
        rate.with(mcs, 1, scheme.guard)?.asked_on(unit)
    }

    /// Of the BlockAcks at these rates that a trigger asks for.
    pub fn triggered_block_acks(&self, rates: &[Rate]) -> Shape {
        self.triggered(Answer::BlockAck, rates)
    }

    /// Of such answers at these rates that a trigger asks for.
    pub fn triggered(&self, answer: Answer, rates: &[Rate]) -> Shape {
        let bytes = self.answer_bytes(answer) + DELIMITER_BYTES;
        let preamble = self.phy.triggered_preamble(rates);
        let users = rates.iter().map(|rate| (bytes, *rate));
        Shape {
            preamble,
            lasts: self.phy.shared_duration(preamble, users),
        }
    }

    /// Time on the air of such a trigger frame, before BlockAcks of data at these rates. All of its
    /// receivers have to hear it, so it goes at the control rate of the slowest.
    pub fn mu_bar(&self, rates: &[Rate]) -> (Rate, Duration) {
        let rate = self.common_rate(rates.iter().copied());
        let bytes = self.mu_bar_bytes(rates.len());
        (rate, self.phy.duration(bytes, rate))
    }

    /// Time from a BlockAckReq to the end of its BlockAck, after data at `rate`.
    pub fn asked(&self, rate: Rate) -> Duration {
        let control = self.control_rate(rate);
        self.phy.duration(BLOCK_ACK_REQUEST_BYTES, control) + self.answered(Answer::BlockAck, rate)
    }

    /// From the end of data to several receivers at these rates to the end of the last
    /// acknowledgement.
    pub fn answered_together(&self, by: Acknowledgement, rates: &[Rate]) -> Duration {
        match (by, rates.split_first()) {
            (Acknowledgement::MuBar, _) => {
                let answers = self.triggered_block_acks(&self.triggered_rates(rates));
                self.sifs + self.mu_bar(rates).1 + self.sifs + answers.lasts
            }
            (Acknowledgement::Sequential, Some((first, others))) => {
                let others = others.iter().map(|rate| self.sifs + self.asked(*rate));
                let first = self.answered(Answer::BlockAck, *first);
                others.fold(first, |sum, one| sum + one)
            }
            (Acknowledgement::Sequential, None) => Duration::ZERO,
        }
    }

    /// Of all BlockAcks of a trigger, after data at these rates.
    pub fn triggered_rates(&self, rates: &[Rate]) -> Vec<Rate> {
        let of = |rate: &Rate| self.triggered_rate(*rate, rates.len());
        rates.iter().filter_map(of).collect()
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

    /// Octets of the MU-RTS that calls a device with a single radio to a link, before data at `rate`.
    /// Its padding lasts for `padding` at least (802.11be-2024 35.3.17).
    pub fn call_bytes(&self, padding: Duration, rate: Rate) -> usize {
        let bits = padding.as_nanos() as f64 / 1000.0 * self.control_rate(rate).mbps();
        self.trigger_bytes() + MU_RTS_USER_BYTES + libm::ceil(bits / 8.0) as usize
    }

    /// From the start of that to the end of its CTS.
    pub fn called(&self, padding: Duration, rate: Rate) -> Duration {
        let bytes = self.call_bytes(padding, rate);
        let call = self.phy.duration(bytes, self.control_rate(rate));
        call + self.answered(Answer::Cts, MU_RTS_ANSWERED)
    }

    /// How long a device with a single radio waits on a link for a next frame (35.3.17).
    pub fn next_frame(&self) -> Duration {
        self.sifs + self.slot + RX_PHY_START_DELAY
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

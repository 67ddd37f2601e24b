// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of a frame exchange (IEEE 802.11-2020 10.3), in one place: what sends by them and what
//! looks ahead for a driver read them here.

use hoplab_base::Duration;

use crate::Phy;

pub const ACK_BYTES: usize = 14;
pub const CTS_BYTES: usize = 14;
pub const RTS_BYTES: usize = 20;

/// The answer that a sender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Cts,
    Ack,
}

/// Times that follow from the PHY and from whether frames are acknowledged, worked out once.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub slot: Duration,
    pub sifs: Duration,
    /// SIFS + 2 slots (10.3.7).
    pub difs: Duration,
    /// SIFS + DIFS + the time of an ACK at the lowest basic rate (10.3.7); DIFS where no frame is
    /// acknowledged, as it leaves room for an acknowledgement that a station could not make out.
    pub eifs: Duration,
    /// On the air.
    pub rts: Duration,
    cts: Duration,
    ack: Duration,
}

impl Timing {
    pub fn new(phy: &Phy, no_ack: bool) -> Self {
        let control = |bytes| phy.duration(bytes, phy.basic_rate);
        let difs = phy.sifs + 2 * phy.slot;
        let ack = control(ACK_BYTES);
        Self {
            slot: phy.slot,
            sifs: phy.sifs,
            difs,
            eifs: if no_ack { difs } else { phy.sifs + difs + ack },
            rts: control(RTS_BYTES),
            cts: control(CTS_BYTES),
            ack,
        }
    }

    /// Time on the air of an answer.
    pub fn answer(&self, answer: Answer) -> Duration {
        match answer {
            Answer::Cts => self.cts,
            Answer::Ack => self.ack,
        }
    }

    /// From the end of a frame to the end of its answer.
    pub fn answered(&self, answer: Answer) -> Duration {
        self.sifs + self.answer(answer)
    }

    /// From the end of a frame until its sender gives the answer up (10.3.2.9, 10.3.2.11).
    pub fn timeout(&self, answer: Answer) -> Duration {
        self.answered(answer) + self.slot
    }

    /// From the start of a data frame, on the air for `data`, to the end of its acknowledgement.
    pub fn acknowledged(&self, data: Duration) -> Duration {
        data + self.answered(Answer::Ack)
    }

    /// From the start of an RTS to the end of its CTS.
    pub fn cleared(&self) -> Duration {
        self.rts + self.answered(Answer::Cts)
    }

    /// Duration field of a data frame that is acknowledged (9.2.5).
    pub fn nav_of_data(&self) -> Duration {
        self.answered(Answer::Ack)
    }

    /// Of an RTS before a data frame of this length.
    pub fn nav_of_rts(&self, data: Duration) -> Duration {
        self.answered(Answer::Cts) + self.sifs + self.acknowledged(data)
    }

    /// Of the CTS that answers an RTS with this duration field.
    pub fn nav_of_cts(&self, rts: Duration) -> Duration {
        rts - self.answered(Answer::Cts)
    }
}

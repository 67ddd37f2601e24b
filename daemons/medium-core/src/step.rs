// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The steps of a frame exchange and their transitions (IEEE 802.11-2020 10.3.2), in one table.
//! Sending and looking ahead both use it.

use crate::timing::Answer;
use crate::{AirKind, Class, Sounding, To};

/// A transmission's place in its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Rts,
    /// Calls a device with a single radio to a link (802.11be-2024 35.3.17: initial control frame).
    /// It is an MU-RTS (802.11ax-2021 9.3.1.22.5).
    Call,
    Cts,
    /// A frame of a host.
    Data,
    Ack,
    /// Frames of a host, in an A-MPDU.
    Aggregate,
    /// The same, beside those of other receivers. Its receiver is asked for a BlockAck later.
    Shared,
    /// Asks several receivers at once for BlockAcks of those (802.11ax-2021 9.3.1.22.4: MU-BAR).
    Trigger,
    /// Asks several stations at once for their frames (9.3.1.22.2: basic trigger).
    Poll,
    /// Asks several stations at once what waits at them (9.3.1.22.6: BSRP trigger).
    Bsrp,
    /// Tells that (26.5.5: a QoS Null frame with a BSR Control field).
    BufferStatus,
    /// A request for a BlockAck of earlier frames (9.3.1.7).
    BlockAckRequest,
    BlockAck,
    /// Names the stations that a null data packet is for (9.3.1.20).
    Announcement,
    /// A null data packet: preamble alone. Its receiver reports on the channel at once.
    Ndp,
    /// The same, and its receiver is asked for that later.
    NdpShared,
    /// Asks stations for their reports (9.3.1.21; several: 802.11ax-2021 9.3.1.22.3).
    ReportPoll,
    /// A station's report on the channel.
    Report,
}

impl Step {
    /// The receiver's answer, a SIFS later. `acknowledged` is whether such frames are acknowledged.
    pub fn next(self, acknowledged: bool) -> Option<Self> {
        match self {
            Self::Rts | Self::Call => Some(Self::Cts),
            Self::Cts => Some(Self::Data),
            Self::Data => acknowledged.then_some(Self::Ack),
            Self::Aggregate | Self::BlockAckRequest | Self::Trigger => Some(Self::BlockAck),
            Self::Poll => Some(Self::Aggregate),
            Self::Bsrp => Some(Self::BufferStatus),
            Self::Ndp | Self::ReportPoll => Some(Self::Report),
            Self::Shared | Self::Ack | Self::BlockAck | Self::BufferStatus => None,
            Self::Announcement | Self::NdpShared | Self::Report => None,
        }
    }

    /// The answer that its sender awaits, up to a timeout.
    pub fn awaits(self, acknowledged: bool) -> Option<Answer> {
        match self {
            Self::Rts | Self::Call => Some(Answer::Cts),
            Self::Data => acknowledged.then_some(Answer::Ack),
            Self::Aggregate | Self::BlockAckRequest | Self::Trigger => Some(Answer::BlockAck),
            Self::Poll => Some(Answer::Frames),
            Self::Bsrp => Some(Answer::BufferStatus),
            Self::Ndp | Self::ReportPoll => Some(Answer::Report),
            Self::Shared | Self::Cts | Self::Ack | Self::BlockAck | Self::BufferStatus => None,
            Self::Announcement | Self::NdpShared | Self::Report => None,
        }
    }

    /// Whether it carries frames of a host.
    pub fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Aggregate | Self::Shared)
    }

    /// Whether the exchange is over when it ends: hosts learn of it.
    pub fn concludes(self, acknowledged: bool) -> bool {
        self.next(acknowledged).is_none()
    }

    /// The answer that it counts as.
    pub fn answers(self) -> Option<Answer> {
        match self {
            Self::Cts => Some(Answer::Cts),
            Self::Ack => Some(Answer::Ack),
            Self::BlockAck => Some(Answer::BlockAck),
            Self::BufferStatus => Some(Answer::BufferStatus),
            Self::Report => Some(Answer::Report),
            Self::Rts
            | Self::Call
            | Self::Data
            | Self::Aggregate
            | Self::Shared
            | Self::Trigger
            | Self::Poll
            | Self::Bsrp
            | Self::Announcement
            | Self::Ndp
            | Self::NdpShared
            | Self::ReportPoll
            | Self::BlockAckRequest => None,
        }
    }

    /// Which frame of a sounding it is.
    pub fn sounding(self) -> Option<Sounding> {
        match self {
            Self::Announcement => Some(Sounding::Announcement),
            Self::Ndp | Self::NdpShared => Some(Sounding::NullData),
            Self::ReportPoll => Some(Sounding::Poll),
            Self::Report => Some(Sounding::Report),
            _ => None,
        }
    }

    /// Its name in records. `class` is that of the host's frame.
    pub fn kind(self, class: Option<Class>, to: To) -> AirKind {
        match self {
            Self::Ack => AirKind::Ack,
            Self::Rts => AirKind::Rts,
            Self::Cts => AirKind::Cts,
            Self::Data if class.is_some_and(Class::is_beacon) => AirKind::Beacon,
            Self::Data if to == To::Everyone => AirKind::Broadcast,
            Self::Data | Self::Aggregate | Self::Shared => AirKind::Data,
            Self::Call | Self::Poll | Self::Bsrp => AirKind::Trigger,
            Self::BufferStatus => AirKind::BufferStatus,
            Self::Trigger | Self::BlockAckRequest => AirKind::BlockAckRequest,
            Self::BlockAck => AirKind::BlockAck,
            Self::Announcement | Self::Ndp | Self::NdpShared | Self::ReportPoll | Self::Report => {
                AirKind::Sounding
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every step of an exchange is answered by the one that its sender waits for.
    #[test]
    fn what_is_awaited_is_what_comes_next() {
        for acknowledged in [false, true] {
            for step in [
                Step::Rts,
                Step::Call,
                Step::Data,
                Step::Aggregate,
                Step::Shared,
                Step::Trigger,
                Step::Bsrp,
                Step::BlockAckRequest,
                Step::Ndp,
                Step::NdpShared,
                Step::ReportPoll,
            ] {
                let next = step.next(acknowledged);
                assert_eq!(next.and_then(Step::answers), step.awaits(acknowledged));
            }
        }
    }

    #[test]
    fn an_exchange_comes_to_its_end() {
        let walk = |acknowledged| {
            let next = |step: &Step| step.next(acknowledged);
            core::iter::successors(Some(Step::Rts), next).last()
        };
        assert_eq!(walk(true), Some(Step::Ack));
        assert_eq!(walk(false), Some(Step::Data));
    }
}

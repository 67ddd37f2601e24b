// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Input of the channel from its driver, and its output.

use alloc::boxed::Box;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use crate::parts::BlockAck;
use crate::{AirKind, Dbm, Fate, Outcome, RadioId, Rate};

/// The driver's name of a frame.
pub type FrameId = u64;

/// Entries of a frame's rate table, as in mac80211.
pub const MAX_RATES: usize = 4;

/// Where a frame is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Everyone,
    Radio(RadioId),
    /// An address that no radio has.
    Nobody,
}

/// What kind of frame a host sends; loss models leave beacons alone, and lists of losses count
/// data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Data,
    Management,
    Beacon,
    /// An access point's, which goes next at its time (IEEE 802.11-2020 11.1.3.2), however many
    /// frames wait.
    ScheduledBeacon,
}

impl Class {
    pub fn is_beacon(self) -> bool {
        matches!(self, Class::Beacon | Class::ScheduledBeacon)
    }
}

/// An entry of a frame's rate table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts {
    pub rate: Rate,
    pub tries: u32,
    /// An RTS goes first.
    pub rts: bool,
}

/// A frame as its host hands it over.
#[derive(Clone, Debug)]
pub struct Frame {
    pub id: FrameId,
    pub to: To,
    /// MAC header to FCS.
    pub bytes: usize,
    /// One to [`MAX_RATES`] entries; a frame without is refused.
    pub rates: Vec<Attempts>,
    pub class: Class,
    /// A routing protocol's own frame.
    pub routing: bool,
    /// Traffic identifier of a frame with a QoS header.
    pub tid: Option<u8>,
    /// Its place in an agreement of its host, where hosts make the agreements.
    pub numbered: Option<Numbered>,
}

/// A frame's place in a block ack agreement that its host has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Of 12 bits. Within an agreement it grows by one from frame to frame.
    pub sequence: u16,
    /// Frames that may be outstanding.
    pub window: usize,
}

/// What a host that makes agreements learns of them with a frame's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// An A-MPDU that ended with it. None of the A-MPDU's other frames tells of it.
    pub aggregate: Option<Aggregate>,
    /// The receiver's host still waits for frames before this number, of 12 bits, which were
    /// abandoned.
    pub gap: Option<u16>,
}

/// What became of an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    pub frames: usize,
    pub acked: usize,
    /// How often it was sent, per entry of the rate table of the frame that tells of it.
    pub tries: [u32; MAX_RATES],
}

/// A transmission that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aired {
    /// When it began.
    pub at: Instant,
    /// When it ended or broke off.
    pub until: Instant,
    pub from: RadioId,
    /// Of a multi-link device; 0 for its first.
    pub link: u8,
    pub to: To,
    pub kind: AirKind,
    /// The host's frame that it carried.
    pub frame: Option<FrameId>,
    pub bytes: usize,
    pub rate: Rate,
    /// 1 at the first try.
    pub attempt: u32,
    /// The duration field: what it sets the NAV of others to, from its end.
    pub nav: Duration,
    /// At the receiver; of a broadcast delivered where at least one received it.
    pub fate: Fate,
    /// There; none where nobody sensed it.
    pub signal_dbm: Option<Dbm>,
    /// Which access function of its radio sent it: of a radio with access categories, the place in
    /// [`Category::ALL`](crate::Category::ALL). 0 of answers.
    pub function: u8,
    /// In an A-MPDU; none of a frame that went alone.
    pub place: Option<Place>,
    /// The block ack agreement that it belongs to.
    pub agreement: Option<Agreed>,
    /// What a BlockAck says.
    pub block_ack: Option<BlockAck>,
    /// Of a PPDU or a control frame that several users share: which of them this is.
    pub share: Option<Portion>,
    /// It answers a trigger, at the same time as other radios (HE TB PPDU).
    pub triggered: bool,
    /// What it asks its receiver for, if it is a trigger.
    pub asks: Option<Asks>,
    /// Octets that wait at a station, as it answers a poll.
    pub waiting: Option<usize>,
    /// Which frame of a sounding it is.
    pub sounding: Option<Sounding>,
}

/// A frame that sounds channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sounding {
    /// Names the stations, and asks each for the report that it will be asked for later.
    Announcement,
    /// A preamble alone.
    NullData,
    /// Asks for reports.
    Poll,
    Report,
}

/// One user's portion of what several share. Each has a row of its own, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// From 0.
    pub number: u8,
    /// At most as many as 160 MHz have units.
    pub users: u8,
}

/// What a trigger asks a station for (802.11ax-2021 9.3.1.22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asks {
    pub what: Asked,
    pub rate: Rate,
    /// Of the PPDU that all of its answers make, preamble included.
    pub lasts: Duration,
}

/// Of which kind a trigger is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Basic.
    Frames,
    /// MU-BAR.
    BlockAck,
    /// BSRP.
    BufferStatus,
    /// BFRP, or another frame of a sounding.
    Report,
}

/// Where a frame is in a block ack agreement of its sender, or of a BlockAck's receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    pub tid: u8,
    /// Its place among the frames of the agreement; of a request the first one that counts. It grows
    /// by one from frame to frame, as the host's sequence number does.
    pub sequence: u64,
}

/// A frame's place in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 0.
    pub number: u32,
    pub frames: u32,
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// `frame` reached radio `to`.
    Deliver {
        frame: FrameId,
        from: RadioId,
        to: RadioId,
        signal_dbm: Dbm,
        rate: Rate,
    },
    /// The sender is done with `frame`; `tries` per entry of its rate table. Where it is `kept`,
    /// deliveries of it may follow until it is [`Output::Released`].
    Status {
        frame: FrameId,
        radio: RadioId,
        /// When.
        at: Instant,
        outcome: Outcome,
        tries: [u32; MAX_RATES],
        /// For how long the frame was on the air, all tries and their RTS together.
        airtime: Duration,
        agreement: Agreement,
        kept: bool,
    },
    /// Nothing more will be said of a frame that was kept.
    Released { frame: FrameId },
    /// Something was on the air (with [`Medium::traced`](crate::Medium::traced)); comes before the
    /// frame's status.
    Aired(Box<Aired>),
    /// The radio's battery is empty; it is off for good.
    Exhausted { radio: RadioId, at: Instant },
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control frames of an access point to several stations, without their FCS: a trigger (IEEE
//! 802.11ax-2021 9.3.1.22), and a BlockAck to all of them (9.3.1.8.6).
//!
//! ```text
//! | 0x0024 | duration (2) | receiver (6) | transmitter (6) | common (8) | users (5 and what they are asked for)
//! | 0x0094 | duration (2) | broadcast (6) | transmitter (6) | control (2) | users (4 and a bitmap)
//! ```

use crate::ieee80211::{Bitmap, Control};
use crate::Mac;
use alloc::vec::Vec;

const TRIGGER: [u8; 2] = [0x24, 0];
/// Of the control field: the type of a BlockAck to several stations.
const MULTI_STA: u16 = 11 << 1;
/// Which segments of a report are to come, a bit each.
pub(crate) const ALL_SEGMENTS: u8 = 0xff;

/// A trigger frame. Its stations send as loud as they can, with LDPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub transmitter: Mac,
    pub asks: Asks,
    /// What the answers' L-SIG says of their length (UL Length).
    pub length: u16,
    /// A station answers only if it finds the channel idle.
    pub carrier_sense: bool,
    /// 0 to 3 are 20, 40, 80 and 160 MHz.
    pub bandwidth: u8,
    /// 1 is a guard interval of 1.6 us with LTF of 6.4 us, 2 one of 3.2 us with LTF of 12.8 us.
    pub guard: u8,
    /// How many LTF: 0 to 4 are 1, 2, 4, 6 and 8.
    pub trainings: u8,
    /// Of the access point on 20 MHz, in dBm.
    pub power_dbm: i8,
    pub users: Vec<User>,
}

/// What a trigger asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Frames (basic trigger).
    Frames,
    /// BlockAcks (MU-BAR).
    BlockAcks,
    /// What waits at them (BSRP).
    BufferStatus,
    /// Their reports on the channel (BFRP).
    Reports,
}

impl Asks {
    fn number(self) -> u64 {
        match self {
            Self::Frames => 0,
            Self::Reports => 1,
            Self::BlockAcks => 2,
            Self::BufferStatus => 4,
        }
    }
}

/// One station of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub receiver: Mac,
    /// Its association identifier.
    pub association: u16,
    /// Its RU Allocation, without the bit of the secondary 80 MHz.
    pub unit: u8,
    /// The unit is in the secondary 80 MHz.
    pub is_secondary: bool,
    pub mcs: u8,
    /// From 1 on, behind those of others who have the same unit.
    pub streams: u8,
    pub first_stream: u8,
    pub of: Of,
}

/// What of a station's a trigger asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    All,
    /// Each segment of its report.
    Segments,
    /// Frames of one TID, rather of this access category: best effort, background, video, voice
    /// (ACI of 9.4.2.28).
    Category(u8),
    /// A BlockAck from this number on, of 12 bits.
    Agreement {
        tid: u8,
        sequence: u16,
    },
}

impl Trigger {
    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        /// Reserved bits of the answers' HE-SIG-A, all ones (9.3.1.22.1).
        const SIG_A_RESERVED: u64 = 0x1ff << 54;
        let receiver = match self.users.as_slice() {
            [only] => only.receiver,
            _ => Mac::BROADCAST,
        };
        let mut out = begin(TRIGGER, duration_us, receiver, self.transmitter);
        let power = (i16::from(self.power_dbm) + 20).clamp(0, 60) as u64;
        let common = self.asks.number()
            | u64::from(self.length & 0xfff) << 4
            | u64::from(self.carrier_sense) << 17
            | u64::from(self.bandwidth & 3) << 18
            | u64::from(self.guard & 3) << 20
            | u64::from(self.trainings & 7) << 23
            | power << 28
            | SIG_A_RESERVED;
        out.extend(common.to_le_bytes());
        for user in &self.users {
            user.emit(&mut out);
        }
        out
    }
}

impl User {
    fn emit(&self, out: &mut Vec<u8>) {
        const LDPC: u64 = 1 << 20;
        /// Its greatest power.
        const TARGET_POWER: u64 = 127 << 32;
        const ONE_TID: u8 = 1 << 2;
        let info = u64::from(self.association & 0xfff)
            | u64::from(self.is_secondary) << 12
            | u64::from(self.unit & 0x7f) << 13
            | LDPC
            | u64::from(self.mcs & 0xf) << 21
            | u64::from(self.first_stream & 7) << 26
            | u64::from(self.streams.saturating_sub(1) & 7) << 29
            | TARGET_POWER;
        out.extend_from_slice(&info.to_le_bytes()[..5]);
        match self.of {
            Of::All => {}
            Of::Segments => out.push(ALL_SEGMENTS),
            Of::Category(category) => out.push(ONE_TID | category << 6),
            Of::Agreement { tid, sequence } => {
                let control = Control::COMPRESSED | u16::from(tid & 0xf) << 12;
                out.extend(control.to_le_bytes());
                out.extend((sequence << 4).to_le_bytes());
            }
        }
    }
}

/// A BlockAck to several stations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockAcks {
    pub transmitter: Mac,
    pub users: Vec<Acknowledged>,
}

/// What a BlockAck says to one of its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    pub association: u16,
    pub tid: u8,
    /// The first frame, of 12 bits.
    pub sequence: u16,
    /// Of 8 or 32 octets.
    pub bitmap: Bitmap,
}

impl BlockAcks {
    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        let receiver = Mac::BROADCAST;
        let mut out = begin(Control::BLOCK_ACK, duration_us, receiver, self.transmitter);
        out.extend(MULTI_STA.to_le_bytes());
        for user in &self.users {
            let who = (user.association & 0x7ff) | u16::from(user.tid & 0xf) << 12;
            out.extend(who.to_le_bytes());
            let start = user.sequence << 4 | user.bitmap.fragment_number();
            out.extend(start.to_le_bytes());
            let words = user.bitmap.words().iter();
            out.extend(words.flat_map(|word| word.to_le_bytes()));
        }
        out
    }
}

/// A QoS Null frame to an access point in which a station tells how much waits at it (26.5.5). A BSR
/// Control field says so (9.2.4.6a.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferStatus {
    pub receiver: Mac,
    pub transmitter: Mac,
    pub tid: u8,
    /// As [`Of::Category`].
    pub category: u8,
    pub octets: usize,
}

impl BufferStatus {
    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        /// To the access point, with an HT Control field.
        const KIND: [u8; 2] = [0xc8, 0x81];
        /// Not acknowledged; a queue size follows, which the control field tells instead.
        const NO_ACK_QUEUE: u8 = 1 << 5 | 1 << 4;
        const UNKNOWN: u8 = 255;
        /// The variant of HE, and the identifier of BSR.
        const BSR: u32 = 0x3 | 3 << 2;
        /// The units of queue sizes by the scaling factor.
        const UNITS: [usize; 4] = [16, 256, 2048, 32_768];
        const LARGEST: usize = 254;
        let mut out = begin(KIND, duration_us, self.receiver, self.transmitter);
        out.extend_from_slice(&self.receiver.0);
        out.extend([0, 0, NO_ACK_QUEUE | self.tid & 0xf, UNKNOWN]);
        let sizes = UNITS.iter().map(|unit| self.octets.div_ceil(*unit));
        let (factor, size) = (sizes.enumerate())
            .find(|(_, size)| *size < LARGEST)
            .unwrap_or((UNITS.len() - 1, LARGEST));
        let (category, size) = (u32::from(self.category & 3), size as u32);
        let info = 1 << category | category << 6 | (factor as u32) << 8 | size << 10 | size << 18;
        out.extend((BSR | info << 6).to_le_bytes());
        out
    }
}

pub(crate) fn begin(kind: [u8; 2], duration_us: u16, receiver: Mac, transmitter: Mac) -> Vec<u8> {
    let mut out = kind.to_vec();
    out.extend(duration_us.to_le_bytes());
    out.extend_from_slice(&receiver.0);
    out.extend_from_slice(&transmitter.0);
    out
}

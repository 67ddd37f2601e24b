// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames by which an access point sounds the channels to stations, without their FCS. The null data
//! packet is announced first (IEEE 802.11-2020 9.3.1.20, 802.11ax-2021 9.3.1.19). Stations of VHT are
//! polled (9.3.1.21). Each reports (9.6.22.2, 802.11ax-2021 9.6.31.2).
//!
//! ```text
//! | 0x0054 | duration (2) | receiver (6) | transmitter (6) | token (1) | stations (2, of HE 4) |
//! | 0x0044 | duration (2) | receiver (6) | transmitter (6) | segments (1) |
//! | 0x00e0 | duration (2) | receiver (6) | transmitter (6) | network (6) | sequence (2) |
//!   category (1) | action (1) | MIMO control (3, of HE 5) | report |
//! ```

use crate::trigger::{begin, ALL_SEGMENTS};
use crate::Mac;
use alloc::vec::Vec;

/// Which generation's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Vht,
    He,
}

/// Names the stations that a null data packet is for. Their reports are those for several users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    pub kind: Kind,
    pub transmitter: Mac,
    /// Of 6 bits.
    pub token: u8,
    /// 0 to 3 are 20, 40, 80 and 160 MHz.
    pub bandwidth: u8,
    pub stations: Vec<Announced>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    pub receiver: Mac,
    pub association: u16,
    /// Of its report, from 1 on.
    pub columns: u8,
}

impl Announcement {
    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        const KIND: [u8; 2] = [0x54, 0];
        const IS_HE: u8 = 1 << 1;
        let receiver = match self.stations.as_slice() {
            [only] => only.receiver,
            _ => Mac::BROADCAST,
        };
        let mut out = begin(KIND, duration_us, receiver, self.transmitter);
        let kind = if self.kind == Kind::He { IS_HE } else { 0 };
        out.push(self.token << 2 | kind);
        for station in &self.stations {
            match self.kind {
                Kind::Vht => out.extend(station.vht()),
                Kind::He => out.extend(station.he(self.bandwidth)),
            }
        }
        out
    }
}

impl Announced {
    fn vht(&self) -> [u8; 2] {
        const SEVERAL_USERS: u16 = 1 << 12;
        let columns = u16::from(self.columns.saturating_sub(1) & 7);
        (self.association & 0xfff | SEVERAL_USERS | columns << 13).to_le_bytes()
    }

    fn he(&self, bandwidth: u8) -> [u8; 4] {
        /// Of several users, with a grouping of 4 and the finest codebook.
        const FEEDBACK: u32 = 2 << 25 | 1 << 28;
        /// No VHT station takes it for its own.
        const DISAMBIGUATION: u32 = 1 << 27;
        let columns = u32::from(self.columns.saturating_sub(1) & 7);
        let last = u32::from(last_unit(bandwidth));
        let info = u32::from(self.association & 0x7ff)
            | last << 18
            | FEEDBACK
            | DISAMBIGUATION
            | columns << 29;
        info.to_le_bytes()
    }
}

/// The last unit of 26 tones of the channel, where a report ends.
fn last_unit(bandwidth: u8) -> u8 {
    [8, 17, 36, 73][usize::from(bandwidth.min(3))]
}

/// Asks a VHT station for its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    pub receiver: Mac,
    pub transmitter: Mac,
}

impl Poll {
    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        const KIND: [u8; 2] = [0x44, 0];
        let mut out = begin(KIND, duration_us, self.receiver, self.transmitter);
        out.push(ALL_SEGMENTS);
        out
    }
}

/// A station's compressed beamforming report, in one segment. Its ratios and angles are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub kind: Kind,
    pub receiver: Mac,
    pub transmitter: Mac,
    /// Of the announcement.
    pub token: u8,
    pub bandwidth: u8,
    /// Streams and antennas, from 1 on.
    pub columns: u8,
    pub rows: u8,
    /// Of the whole frame, without FCS.
    pub octets: usize,
}

impl Report {
    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        /// An action frame that nobody acknowledges.
        const KIND: [u8; 2] = [0xe0, 0];
        /// Category and action.
        const OF_VHT: [u8; 2] = [21, 0];
        const OF_HE: [u8; 2] = [30, 0];
        let mut out = begin(KIND, duration_us, self.receiver, self.transmitter);
        out.extend_from_slice(&self.receiver.0);
        out.extend([0, 0]);
        match self.kind {
            Kind::Vht => {
                out.extend(OF_VHT);
                out.extend_from_slice(&self.vht_control().to_le_bytes()[..3]);
            }
            Kind::He => {
                out.extend(OF_HE);
                out.extend_from_slice(&self.he_control().to_le_bytes()[..5]);
            }
        }
        out.resize(self.octets.max(out.len()), 0);
        out
    }

    /// Matrix and channel, the same of both.
    fn sizes(&self) -> u64 {
        let less_one = |count: u8| u64::from(count.saturating_sub(1) & 7);
        less_one(self.columns) | less_one(self.rows) << 3 | u64::from(self.bandwidth & 3) << 6
    }

    /// 9.4.1.48. Without grouping, with the finest codebook, of several users, the first segment.
    fn vht_control(&self) -> u64 {
        self.sizes() | 1 << 10 | 1 << 11 | 1 << 15 | u64::from(self.token & 0x3f) << 18
    }

    /// 802.11ax-2021 9.4.1.64. The same, but with a grouping of 4, and with the units that it is about.
    fn he_control(&self) -> u64 {
        let last = u64::from(last_unit(self.bandwidth));
        self.sizes() | 1 << 9 | 1 << 10 | 1 << 15 | last << 23 | u64::from(self.token & 0x3f) << 30
    }
}

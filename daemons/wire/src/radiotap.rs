// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The radiotap header (radiotap.org), which stands before an 802.11 frame and tells how it was
//! sent or received. Fields follow in the order of their bits, each aligned to its size:
//!
//! ```text
//! | version = 0 | pad | length (2) | present (4), more while bit 31 is set | fields ...
//! bit 0 TSFT (8, us)   1 flags (1)   2 rate (1, 500 kbit/s)   3 channel (2, MHz) and its flags (2)
//! bit 4 FHSS (2)       5 signal (1, dBm)       6 noise (1, dBm)
//! bit 15 flags of what was sent (2)
//! bit 19 HT: known, flags, MCS      21 VHT: known (2), flags, bandwidth, MCS and streams (4), ...
//! bit 20 A-MPDU: number (4), flags (2), CRC of the delimiter, reserved        23 HE: data 1 to 6 (2 each)
//! bit 24 HE-MU: flags 1 and 2 (2 each), allocations of units in either content of HE-SIG-B (4 each)
//! bit 25 HE-MU of other users (6)         26 a PSDU without octets: why (1)
//! bit 28 TLVs behind the other fields, aligned to 4: type (2), length (2), value
//! ```
//!
//! Two TLVs tell of EHT. 33 is U-SIG: common (4), value (4) and mask (4). 34 is EHT: known (4), data
//! 0 to 8 (4 each), and one word for each user.

use crate::{le16, le32, octets};
use alloc::vec::Vec;

const EXTENDED: u32 = 1 << 31;
/// Size and alignment of the fields of bits 0 to 26.
const FIELDS: [(usize, usize); 27] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (4, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (8, 4),
    (3, 1),
    (8, 4),
    (12, 2),
    (12, 8),
    (12, 2),
    (12, 2),
    (6, 2),
    (1, 1),
];
const TX_FLAGS: usize = 15;
const HT: usize = 19;
const AMPDU: usize = 20;
const VHT: usize = 21;
const HE: usize = 23;
const HE_MU: usize = 24;
const NO_PSDU: usize = 26;
/// It is a null data packet, which sounds the channel.
const SOUNDS: u8 = 0;
const TLVS: usize = 28;
const TLV_HEADER: usize = 4;
const TLV_USIG: u16 = 33;
const TLV_EHT: u16 = 34;
/// What is known of HT: bandwidth, MCS, guard interval, that it is of mixed format, with a
/// convolutional code and without space-time blocks.
const HT_KNOWN: u8 = 0x3f;
/// The first three of them.
const HT_NEEDED: u8 = 0x07;
/// Of VHT: guard interval, bandwidth.
const VHT_KNOWN: u16 = 0x0044;
/// The same flag of both.
const SHORT_GUARD: u8 = 0x04;
/// Of an A-MPDU: which of its frames is the last, and whether this one is.
const LAST_KNOWN: u16 = 0x0004;
const LAST: u16 = 0x0008;
/// Of HE, in data 1: MCS, coding and bandwidth; in data 2: guard interval.
const HE_KNOWN: u16 = 0x40a0;
const HE_FORMAT: u16 = 0x0003;
const HE_GUARD_KNOWN: u16 = 0x0002;
/// In data 3.
const HE_LDPC: u16 = 0x2000;
/// Whether an access point or a station has sent it: known, in data 1, and in data 3.
const HE_WAY_KNOWN: u16 = 0x0010;
const HE_UPLINK: u16 = 0x0080;
/// Whose part of it this is: known, in data 1, and its place in data 4.
const HE_USER_KNOWN: u16 = 0x0800;
const HE_USER: u32 = 4;
const HE_USERS: u16 = 0x07ff;
/// Which of the channel's units: known, and its place, in data 2.
const HE_OFFSET_KNOWN: u16 = 0x4000;
const HE_OFFSET: u32 = 8;
const HE_OFFSETS: u16 = 0x003f;
/// Of HE-MU's flags 1: units of either content, and whether the middle unit of the first and of the
/// second 80 MHz has a user.
const MU_UNITS_KNOWN: [u16; 2] = [0x0100, 0x0200];
const MU_MIDDLES_KNOWN: [u16; 2] = [0x1000, 0x0080];
const MU_MIDDLE: u16 = 0x2000;
/// Of flags 2: width, and whether the second of those middle units has a user.
const MU_BANDWIDTH_KNOWN: u16 = 0x0004;
const MU_SECOND_MIDDLE: u16 = 0x0800;

/// Of U-SIG: which PHY (0 is EHT), and how wide.
const USIG_KNOWN: u32 = 0x0003;
const USIG_BANDWIDTH: u32 = 15;
/// Type of PPDU and compression: 1 is to one user.
const USIG_TYPE_MASK: u32 = 0x00c0;
const USIG_ONE_USER: u32 = 0x0040;
/// By OFDMA, or what a trigger has asked for.
const USIG_SEVERAL_USERS: u32 = 0;
/// Punctured subchannels of a PPDU to one user, by the rows of 802.11be-2024 table 36-30.
const USIG_PUNCTURED: u32 = 9;
const USIG_PUNCTURED_MASK: u32 = 0x3e00;
const USIG_UPLINK_KNOWN: u32 = 0x0004;
const USIG_UPLINK: u32 = 0x0004_0000;
/// Of EHT: guard interval, in data 0.
const EHT_KNOWN: u32 = 0x0004;
const EHT_GUARD: u32 = 7;
/// Size of the resource unit, in data 1.
const EHT_UNIT_KNOWN: u32 = 0x0040_0000;
const EHT_UNIT: u32 = 0x001f;
/// Of a user: MCS, coding, streams, and that the frame is this user's.
const USER_KNOWN: u32 = 0x0096;
const USER_LDPC: u32 = 1 << 19;
const USER_MCS: u32 = 20;
/// Less one.
const USER_STREAMS: u32 = 24;
const USIG_OCTETS: usize = 12;
const EHT_OCTETS: usize = 44;
const EHT_USER: usize = 40;

/// Of [`Header::flags`]: sent with the short preamble.
pub const SHORT_PREAMBLE: u8 = 0x02;

/// Of [`Header::tx_flags`]: every attempt failed, none was acknowledged.
pub const TX_FAILED: u16 = 0x0001;

/// Modulation and band, of the channel field.
pub const CHANNEL_CCK: u16 = 0x0020;
pub const CHANNEL_OFDM: u16 = 0x0040;
pub const CHANNEL_2_GHZ: u16 = 0x0080;
/// Of 6 GHz too, which has no flag of its own: as mac80211 does in its captures.
pub const CHANNEL_5_GHZ: u16 = 0x0100;

/// Some of the fields; others are passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub time_us: Option<u64>,
    pub flags: Option<u8>,
    /// In steps of 500 kbit/s.
    pub rate: Option<u8>,
    pub channel: Option<Channel>,
    pub signal_dbm: Option<i8>,
    pub noise_dbm: Option<i8>,
    /// What became of a frame that this radio sent.
    pub tx_flags: Option<u16>,
    pub ht: Option<Ht>,
    pub ampdu: Option<Ampdu>,
    pub vht: Option<Vht>,
    pub he: Option<He>,
    pub he_mu: Option<HeMu>,
    pub eht: Option<Eht>,
    /// A null data packet, of which nothing follows.
    pub is_null: bool,
}

/// Which A-MPDU a frame was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ampdu {
    /// The same of all its frames.
    pub number: u32,
    pub is_last: bool,
}

impl Ampdu {
    fn parse(field: &[u8]) -> Option<Self> {
        let flags = le16(field, 4)?;
        (flags & LAST_KNOWN != 0).then_some(Self {
            number: le32(field, 0)?,
            is_last: flags & LAST != 0,
        })
    }

    fn emit(self) -> [u8; 8] {
        let mut field = [0; 8];
        let flags = LAST_KNOWN | if self.is_last { LAST } else { 0 };
        field[..4].copy_from_slice(&self.number.to_le_bytes());
        field[4..6].copy_from_slice(&flags.to_le_bytes());
        field
    }
}

/// How an HT frame was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ht {
    pub index: u8,
    pub is_40_mhz: bool,
    pub short_guard: bool,
}

impl Ht {
    fn parse(field: &[u8]) -> Option<Self> {
        let &[known, flags, index] = field else {
            return None;
        };
        (known & HT_NEEDED == HT_NEEDED).then_some(Self {
            index,
            is_40_mhz: flags & 3 == 1,
            short_guard: flags & SHORT_GUARD != 0,
        })
    }

    fn emit(self) -> [u8; 3] {
        let guard = u8::from(self.short_guard) * SHORT_GUARD;
        [HT_KNOWN, u8::from(self.is_40_mhz) | guard, self.index]
    }
}

/// How a VHT frame was sent, to one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vht {
    /// Less than 16, as the streams.
    pub mcs: u8,
    pub streams: u8,
    /// 0, 1, 4 and 11 are 20, 40, 80 and 160 MHz.
    pub bandwidth: u8,
    pub short_guard: bool,
}

impl Vht {
    fn parse(field: &[u8]) -> Option<Self> {
        let user = *field.get(4)?;
        (le16(field, 0)? & VHT_KNOWN == VHT_KNOWN).then_some(Self {
            mcs: user >> 4,
            streams: user & 0xf,
            bandwidth: *field.get(3)?,
            short_guard: field.get(2)? & SHORT_GUARD != 0,
        })
    }

    fn emit(self) -> [u8; 12] {
        let mut field = [0; 12];
        field[..2].copy_from_slice(&VHT_KNOWN.to_le_bytes());
        field[2] = u8::from(self.short_guard) * SHORT_GUARD;
        field[3] = self.bandwidth;
        field[4] = self.mcs << 4 | self.streams;
        field
    }
}

/// How an HE frame was sent, with LDPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct He {
    /// 0 is to one user, 2 to several, and 3 an answer to a trigger.
    pub format: u8,
    /// Less than 16, as the streams.
    pub mcs: u8,
    pub streams: u8,
    /// 0 to 3 are 20, 40, 80 and 160 MHz, 4 to 9 units of 26, 52, 106, 242, 484 and 996 tones.
    pub bandwidth: u8,
    /// 0, 1 and 2 are 0.8, 1.6 and 3.2 us.
    pub guard: u8,
    /// A station sent it to its access point.
    pub uplink: Option<bool>,
    /// Of a frame to several users: the association identifier of this one.
    pub user: Option<u16>,
    /// Which of the channel's units of this size.
    pub offset: Option<u8>,
}

impl He {
    fn parse(field: &[u8]) -> Option<Self> {
        let data = |number: usize| le16(field, 2 * (number - 1));
        let is_known = data(1)? & HE_KNOWN == HE_KNOWN && data(2)? & HE_GUARD_KNOWN != 0;
        let known = |number, bit| Some(data(number)? & bit != 0);
        let uplink = data(3)? & HE_UPLINK != 0;
        let user = data(4)? >> HE_USER & HE_USERS;
        let offset = (data(2)? >> HE_OFFSET & HE_OFFSETS) as u8;
        (is_known && data(3)? & HE_LDPC != 0).then_some(Self {
            format: (data(1)? & HE_FORMAT) as u8,
            mcs: (data(3)? >> 8 & 0xf) as u8,
            streams: (data(6)? & 0xf) as u8,
            bandwidth: (data(5)? & 0xf) as u8,
            guard: (data(5)? >> 4 & 3) as u8,
            uplink: known(1, HE_WAY_KNOWN)?.then_some(uplink),
            user: known(1, HE_USER_KNOWN)?.then_some(user),
            offset: known(2, HE_OFFSET_KNOWN)?.then_some(offset),
        })
    }

    fn emit(self) -> [u8; 12] {
        let bits = |is: bool, bits: u16| if is { bits } else { 0 };
        let offset = (self.offset).map(|at| u16::from(at) << HE_OFFSET | HE_OFFSET_KNOWN);
        let data = [
            HE_KNOWN
                | u16::from(self.format)
                | bits(self.uplink.is_some(), HE_WAY_KNOWN)
                | bits(self.user.is_some(), HE_USER_KNOWN),
            HE_GUARD_KNOWN | offset.unwrap_or_default(),
            u16::from(self.mcs) << 8 | HE_LDPC | bits(self.uplink == Some(true), HE_UPLINK),
            self.user.unwrap_or_default() << HE_USER,
            u16::from(self.guard) << 4 | u16::from(self.bandwidth),
            u16::from(self.streams),
        ];
        let mut field = [0; 12];
        for (place, value) in field.chunks_exact_mut(2).zip(data) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        field
    }
}

/// How users share an HE frame: what HE-SIG-A and HE-SIG-B say (802.11ax-2021 27.3.11.7, 27.3.11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeMu {
    /// 0 to 3 are 20, 40, 80 and 160 MHz.
    pub bandwidth: u8,
    /// The allocation of each 20 MHz, in both contents of HE-SIG-B, which have them by turns.
    pub units: [[u8; 4]; 2],
    /// The unit of 26 tones in the middle of each 80 MHz has a user.
    pub middle: bool,
}

impl HeMu {
    fn parse(field: &[u8]) -> Option<Self> {
        let (known, more) = (le16(field, 0)?, le16(field, 2)?);
        let units = [octets(field, 4)?, octets(field, 8)?];
        let is_known = more & MU_BANDWIDTH_KNOWN != 0 && known & MU_UNITS_KNOWN[0] != 0;
        is_known.then_some(Self {
            bandwidth: (more & 3) as u8,
            units,
            middle: known & MU_MIDDLE != 0,
        })
    }

    fn emit(self) -> [u8; 12] {
        let mut flags = [
            MU_UNITS_KNOWN[0],
            MU_BANDWIDTH_KNOWN | u16::from(self.bandwidth),
        ];
        if self.bandwidth > 0 {
            flags[0] |= MU_UNITS_KNOWN[1];
        }
        // Each 80 MHz has such a unit.
        for known in &MU_MIDDLES_KNOWN[..usize::from(self.bandwidth.saturating_sub(1)).min(2)] {
            flags[0] |= known;
        }
        if self.middle {
            flags[0] |= MU_MIDDLE;
            flags[1] |= if self.bandwidth > 2 {
                MU_SECOND_MIDDLE
            } else {
                0
            };
        }
        let mut field = [0; 12];
        for (place, flags) in field.chunks_exact_mut(2).zip(flags) {
            place.copy_from_slice(&flags.to_le_bytes());
        }
        field[4..8].copy_from_slice(&self.units[0]);
        field[8..].copy_from_slice(&self.units[1]);
        field
    }
}

/// How an EHT frame was sent, to one user and with LDPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eht {
    /// Less than 16.
    pub mcs: u8,
    /// 1 to 16.
    pub streams: u8,
    /// 0 to 3 are 20, 40, 80 and 160 MHz, 4 is 320 MHz that begin at channel 1, 65 or 129.
    pub bandwidth: u8,
    /// 0, 1 and 2 are 0.8, 1.6 and 3.2 us.
    pub guard: u8,
    /// Of one user of several, or of one on a punctured channel. 0 to 7 are resource units of 26, 52,
    /// 106, 242, 484, 996, twice and four times 996 tones. 10 to 15 are multiple ones: 484 + 242,
    /// 996 + 484, 996 + 484 + 242, 2 x 996 + 484, 3 x 996 and 3 x 996 + 484.
    pub unit: Option<u8>,
    /// Punctured subchannels of a PPDU to one user, by the rows of table 36-30; 0 for none.
    pub punctured: u8,
    /// It answers a trigger.
    pub uplink: bool,
}

impl Eht {
    /// From all TLVs; none without both of EHT's, or of another kind of frame.
    fn parse(mut tlvs: &[u8]) -> Option<Self> {
        let (mut usig, mut eht) = (None, None);
        while let Some((kind, length)) = le16(tlvs, 0).zip(le16(tlvs, 2)) {
            let length = usize::from(length);
            let value = tlvs.get(TLV_HEADER..TLV_HEADER + length)?;
            match kind {
                TLV_USIG => usig = Some(value),
                TLV_EHT => eht = Some(value),
                _ => {}
            }
            tlvs = tlvs.get(TLV_HEADER + length.next_multiple_of(4)..)?;
        }
        let (usig, eht) = usig.zip(eht)?;
        let (common, user) = (le32(usig, 0)?, le32(eht, EHT_USER)?);
        let is_known = common & USIG_KNOWN == USIG_KNOWN
            && le32(eht, 0)? & EHT_KNOWN != 0
            && user & (USER_KNOWN | USER_LDPC) == USER_KNOWN | USER_LDPC;
        let of_type = le32(usig, 4)? & USIG_TYPE_MASK;
        let has_unit = le32(eht, 0)? & EHT_UNIT_KNOWN != 0;
        let unit = (le32(eht, 8)? & EHT_UNIT) as u8;
        let is_known_pattern = le32(usig, 8)? & USIG_PUNCTURED_MASK == USIG_PUNCTURED_MASK;
        let punctured = match is_known_pattern {
            true => (le32(usig, 4)? & USIG_PUNCTURED_MASK) >> USIG_PUNCTURED,
            false => 0,
        };
        let is_one = of_type == USIG_ONE_USER && has_unit == (punctured > 0);
        let is_some = of_type == USIG_SEVERAL_USERS && has_unit && punctured == 0;
        (is_known && (is_one || is_some)).then_some(Self {
            mcs: (user >> USER_MCS & 0xf) as u8,
            streams: (user >> USER_STREAMS & 0xf) as u8 + 1,
            bandwidth: (common >> USIG_BANDWIDTH & 7) as u8,
            guard: (le32(eht, 4)? >> EHT_GUARD & 3) as u8,
            unit: has_unit.then_some(unit),
            punctured: punctured as u8,
            uplink: common & USIG_UPLINK != 0,
        })
    }

    /// Both TLVs.
    fn emit(self) -> [u8; 2 * TLV_HEADER + USIG_OCTETS + EHT_OCTETS] {
        let kind = |kind: u16, length: usize| u32::from(kind) | (length as u32) << 16;
        let user = USER_KNOWN
            | USER_LDPC
            | u32::from(self.mcs) << USER_MCS
            | u32::from(self.streams - 1) << USER_STREAMS;
        let mut words = [0; 16];
        words[0] = kind(TLV_USIG, USIG_OCTETS);
        words[1] = USIG_KNOWN | u32::from(self.bandwidth) << USIG_BANDWIDTH;
        if self.uplink {
            words[1] |= USIG_UPLINK_KNOWN | USIG_UPLINK;
        }
        words[2] = match self.unit {
            Some(_) if self.punctured == 0 => USIG_SEVERAL_USERS,
            _ => USIG_ONE_USER | u32::from(self.punctured) << USIG_PUNCTURED,
        };
        words[3] = match self.punctured {
            0 => USIG_TYPE_MASK,
            _ => USIG_TYPE_MASK | USIG_PUNCTURED_MASK,
        };
        words[4] = kind(TLV_EHT, EHT_OCTETS);
        words[5] = EHT_KNOWN;
        words[6] = u32::from(self.guard) << EHT_GUARD;
        if let Some(unit) = self.unit {
            words[5] |= EHT_UNIT_KNOWN;
            words[7] = u32::from(unit) & EHT_UNIT;
        }
        words[15] = user;
        let mut tlvs = [0; 64];
        for (place, word) in tlvs.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        tlvs
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    pub mhz: u16,
    pub flags: u16,
}

impl Header {
    /// Parses a header; returns it and the frame behind it.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let length = usize::from(le16(bytes, 2)?);
        if *bytes.first()? != 0 {
            return None;
        }
        let (header, frame) = bytes.split_at_checked(length)?;
        let present = le32(header, 4)?;
        let (mut at, mut word) = (8, present);
        while word & EXTENDED != 0 {
            word = le32(header, at)?;
            at += 4;
        }
        let mut parsed = Header::default();
        for (bit, (size, align)) in FIELDS.into_iter().enumerate() {
            if present & 1 << bit == 0 {
                continue;
            }
            at = at.next_multiple_of(align);
            parsed.set(bit, header.get(at..at + size)?);
            at += size;
        }
        // Fields between, which this does not know, would shift them.
        let unknown = (1 << TLVS) - (1 << FIELDS.len());
        if present & 1 << TLVS != 0 && present & unknown == 0 {
            let tlvs = header.get(at.next_multiple_of(TLV_HEADER)..);
            parsed.eht = tlvs.and_then(Eht::parse);
        }
        Some((parsed, frame))
    }

    fn set(&mut self, bit: usize, field: &[u8]) {
        let octet = field.first().copied();
        match bit {
            0 => self.time_us = octets(field, 0).map(u64::from_le_bytes),
            1 => self.flags = octet,
            2 => self.rate = octet,
            3 => {
                let (mhz, flags) = (le16(field, 0), le16(field, 2));
                self.channel = mhz.zip(flags).map(|(mhz, flags)| Channel { mhz, flags });
            }
            5 => self.signal_dbm = octet.map(|value| value as i8),
            6 => self.noise_dbm = octet.map(|value| value as i8),
            TX_FLAGS => self.tx_flags = le16(field, 0),
            HT => self.ht = Ht::parse(field),
            AMPDU => self.ampdu = Ampdu::parse(field),
            VHT => self.vht = Vht::parse(field),
            HE => self.he = He::parse(field),
            HE_MU => self.he_mu = HeMu::parse(field),
            NO_PSDU => self.is_null = octet == Some(SOUNDS),
            _ => {}
        }
    }

    /// Appends the header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        let mut present: u32 = 0;
        let mut field = |bit: usize, value: Option<&[u8]>| {
            if let Some(value) = value {
                present |= 1 << bit;
                let align = FIELDS.get(bit).map_or(TLV_HEADER, |field| field.1);
                let at = (out.len() - start).next_multiple_of(align);
                out.resize(start + at, 0);
                out.extend_from_slice(value);
            }
        };
        field(
            0,
            self.time_us.map(u64::to_le_bytes).as_ref().map(|v| &v[..]),
        );
        field(1, self.flags.map(u8::to_le_bytes).as_ref().map(|v| &v[..]));
        field(2, self.rate.map(u8::to_le_bytes).as_ref().map(|v| &v[..]));
        let channel = self.channel.map(|channel| {
            let ([a, b], [c, d]) = (channel.mhz.to_le_bytes(), channel.flags.to_le_bytes());
            [a, b, c, d]
        });
        field(3, channel.as_ref().map(|v| &v[..]));
        field(
            5,
            self.signal_dbm
                .map(i8::to_le_bytes)
                .as_ref()
                .map(|v| &v[..]),
        );
        field(
            6,
            self.noise_dbm.map(i8::to_le_bytes).as_ref().map(|v| &v[..]),
        );
        field(
            TX_FLAGS,
            self.tx_flags.map(u16::to_le_bytes).as_ref().map(|v| &v[..]),
        );
        field(HT, self.ht.map(Ht::emit).as_ref().map(|v| &v[..]));
        field(AMPDU, self.ampdu.map(Ampdu::emit).as_ref().map(|v| &v[..]));
        field(VHT, self.vht.map(Vht::emit).as_ref().map(|v| &v[..]));
        field(HE, self.he.map(He::emit).as_ref().map(|v| &v[..]));
        field(HE_MU, self.he_mu.map(HeMu::emit).as_ref().map(|v| &v[..]));
        let null = self.is_null.then_some([SOUNDS]);
        field(NO_PSDU, null.as_ref().map(|v| &v[..]));
        field(TLVS, self.eht.map(Eht::emit).as_ref().map(|v| &v[..]));
        let length = (out.len() - start) as u16;
        out[start + 2..start + 4].copy_from_slice(&length.to_le_bytes());
        out[start + 4..start + 8].copy_from_slice(&present.to_le_bytes());
    }
}

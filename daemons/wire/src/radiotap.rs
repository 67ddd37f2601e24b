// SPDX-License-Identifier: Apache-2.0
//! The radiotap header (radiotap.org), which stands before an 802.11 frame and tells how it was
//! sent or received. Fields follow in the order of their bits, each aligned to its size:
//!
//! ```text
//! | version = 0 | pad | length (2) | present (4), more while bit 31 is set | fields ...
//! bit 0 TSFT (8, us)   1 flags (1)   2 rate (1, 500 kbit/s)   3 channel (2, MHz) and its flags (2)
//! bit 4 FHSS (2)       5 signal (1, dBm)       6 noise (1, dBm)
//! ```

use crate::{le16, le32, octets};
use alloc::vec::Vec;

const EXTENDED: u32 = 1 << 31;
/// Size and alignment of the fields of bits 0 to 6.
const FIELDS: [(usize, usize); 7] = [(8, 8), (1, 1), (1, 1), (4, 2), (2, 2), (1, 1), (1, 1)];

/// Of [`Header::flags`]: sent with the short preamble.
pub const SHORT_PREAMBLE: u8 = 0x02;

/// Modulation and band, of the channel field.
pub const CHANNEL_CCK: u16 = 0x0020;
pub const CHANNEL_OFDM: u16 = 0x0040;
pub const CHANNEL_2_GHZ: u16 = 0x0080;
pub const CHANNEL_5_GHZ: u16 = 0x0100;

/// The fields of bits 0 to 6 but FHSS; others are passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub time_us: Option<u64>,
    pub flags: Option<u8>,
    /// In steps of 500 kbit/s.
    pub rate: Option<u8>,
    pub channel: Option<Channel>,
    pub signal_dbm: Option<i8>,
    pub noise_dbm: Option<i8>,
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
                let at = (out.len() - start).next_multiple_of(FIELDS[bit].1);
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
        let length = (out.len() - start) as u16;
        out[start + 2..start + 4].copy_from_slice(&length.to_le_bytes());
        out[start + 4..start + 8].copy_from_slice(&present.to_le_bytes());
    }
}

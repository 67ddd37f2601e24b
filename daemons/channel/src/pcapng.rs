// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A capture of what was on the air: pcapng (draft-ietf-opsawg-pcapng) of 802.11 frames with
//! radiotap headers (radiotap.org).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use hoplab_medium_core::{Dbm, Guard, Modulation, Phy, Place, RadioId, Rate, Scheme, Unit, Width};
use hoplab_wire::radiotap;

use crate::units;

const LINKTYPE_IEEE802_11_RADIOTAP: u16 = 127;
/// A frame can begin before one that ended earlier, but by no more than the longest lasts.
const LONGEST_NS: u64 = 40_000_000;

/// A frame and what radiotap tells of it.
pub struct Captured {
    pub at_ns: u64,
    /// Centre of the channel of the radio that sent it.
    pub channel_mhz: u16,
    pub rate: Rate,
    pub signal_dbm: Option<Dbm>,
    /// The A-MPDU that it was in, by number, and whether it was the last of it.
    pub ampdu: Option<(u32, bool)>,
    /// Of one that several users share.
    pub user: Option<User>,
    /// A preamble alone, which sounds the channel.
    pub is_null: bool,
    pub octets: Octets,
}

/// One of several users of a PPDU, or of several radios that send at once.
#[derive(Clone, Copy, Debug)]
pub struct User {
    /// It answers a trigger.
    pub triggered: bool,
    /// Which of the channel's units it has; none of one with streams of its own.
    pub unit: Option<usize>,
    /// Association identifier of its receiver.
    pub association: Option<u16>,
}

/// What was on the air.
pub enum Octets {
    /// A frame that a radio made itself.
    Radio(Vec<u8>),
    /// A host's, held once for all of its tries, which differ in how they `begin`.
    Host {
        begin: Option<[u8; 4]>,
        frame: Arc<[u8]>,
    },
}

impl Octets {
    /// One behind the other.
    fn parts(&self) -> [&[u8]; 2] {
        match self {
            Octets::Radio(frame) => [frame, &[]],
            Octets::Host { begin, frame } => {
                let begin = begin.as_ref().map_or(&[][..], |begin| begin);
                [begin, &frame[begin.len()..]]
            }
        }
    }
}

pub struct Capture {
    file: BufWriter<File>,
    /// Of each radio.
    channels_mhz: Vec<u16>,
    /// Those of each radio's further links.
    links_mhz: Vec<Vec<u16>>,
    noise_dbm: Dbm,
    phy: Phy,
    /// Frames come in order of their ends and are written in order of their beginnings.
    waiting: BinaryHeap<Reverse<(u64, u64)>>,
    frames: BTreeMap<u64, Captured>,
    count: u64,
    /// The A-MPDU that each radio sent last on a link, by number, and how many there were.
    ampdu_of: BTreeMap<(RadioId, u8), u32>,
    ampdus: u32,
}

impl Capture {
    pub fn create(
        path: &Path,
        (channels_mhz, links_mhz): (Vec<u16>, Vec<Vec<u16>>),
        noise_dbm: Dbm,
        phy: Phy,
    ) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = BufWriter::with_capacity(1 << 16, hoplab_records::file::create(path)?);
        // Section header: byte order, version 1.0, unknown length.
        let mut section = Vec::new();
        section.extend(0x1a2b_3c4du32.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        section.extend([0xff; 8]);
        block(&mut file, 0x0a0d_0d0a, &[&section])?;
        // Interface: no snap length; times in nanoseconds (option if_tsresol 9).
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_IEEE802_11_RADIOTAP.to_le_bytes());
        interface.extend([0; 6]);
        interface.extend([9, 0, 1, 0, 9, 0, 0, 0]);
        interface.extend([0; 4]);
        block(&mut file, 1, &[&interface])?;
        Ok(Self {
            file,
            channels_mhz,
            links_mhz,
            noise_dbm,
            phy,
            waiting: BinaryHeap::new(),
            frames: std::collections::BTreeMap::new(),
            count: 0,
            ampdu_of: BTreeMap::new(),
            ampdus: 0,
        })
    }

    /// A radio more, on the channel of the first until it is tuned.
    pub fn grow(&mut self) {
        let first = self.channels_mhz.first().copied();
        self.channels_mhz.push(first.unwrap_or_default());
    }

    /// From now on the radio is on the channel with this centre.
    pub fn tuned(&mut self, radio: RadioId, mhz: u16) {
        self.channels_mhz[radio.index()] = mhz;
    }

    /// Centre of the channel that the radio is on with this link.
    pub fn channel_mhz(&self, radio: RadioId, link: u8) -> u16 {
        let further = self.links_mhz.get(radio.index());
        match (usize::from(link).checked_sub(1), further) {
            (Some(link), Some(further)) => further[link],
            _ => self.channels_mhz[radio.index()],
        }
    }

    /// The A-MPDU in which a radio sent a frame at this place, by number, and whether it is the last of
    /// it. A link's frames come in order.
    pub fn ampdu(&mut self, from: (RadioId, u8), place: Place) -> (u32, bool) {
        if place.number == 0 {
            self.ampdus += 1;
            self.ampdu_of.insert(from, self.ampdus);
        }
        let number = self.ampdu_of.get(&from).copied().unwrap_or_default();
        (number, place.number + 1 == place.frames)
    }

    /// Take a frame that has ended by `now_ns`.
    pub fn add(&mut self, now_ns: u64, captured: Captured) -> io::Result<()> {
        self.count += 1;
        self.waiting.push(Reverse((captured.at_ns, self.count)));
        self.frames.insert(self.count, captured);
        self.write_before(now_ns.saturating_sub(LONGEST_NS))
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.write_before(u64::MAX)?;
        self.file.flush()
    }

    fn write_before(&mut self, time_ns: u64) -> io::Result<()> {
        while let Some(Reverse((at_ns, number))) = self.waiting.peek().copied() {
            if at_ns >= time_ns {
                break;
            }
            self.waiting.pop();
            if let Some(captured) = self.frames.remove(&number) {
                let radiotap = self.radiotap(&captured);
                packet(&mut self.file, &radiotap, &captured)?;
            }
        }
        Ok(())
    }

    fn radiotap(&self, captured: &Captured) -> Vec<u8> {
        let dbm = |level: Dbm| level.rounded().clamp(-127, 127) as i8;
        let dsss = captured.rate.is_dsss();
        let modulation = if dsss {
            radiotap::CHANNEL_CCK
        } else {
            radiotap::CHANNEL_OFDM
        };
        let mhz = captured.channel_mhz;
        let band = if mhz < 4000 {
            radiotap::CHANNEL_2_GHZ
        } else {
            radiotap::CHANNEL_5_GHZ
        };
        let short = self.phy.is_short(captured.rate);
        let header = radiotap::Header {
            time_us: Some(captured.at_ns / 1000),
            flags: Some(if short { radiotap::SHORT_PREAMBLE } else { 0 }),
            rate: captured.rate.units(),
            channel: Some(radiotap::Channel {
                mhz,
                flags: modulation | band,
            }),
            // Where somebody received it.
            signal_dbm: captured.signal_dbm.map(dbm),
            noise_dbm: Some(dbm(self.noise_dbm)),
            tx_flags: None,
            ht: match captured.rate.modulation() {
                Modulation::Ht(scheme) => Some(ht(scheme)),
                _ => None,
            },
            vht: match captured.rate.modulation() {
                Modulation::Vht(scheme) => Some(vht(scheme)),
                _ => None,
            },
            he: match captured.rate.modulation() {
                Modulation::He(scheme) => Some(he(scheme, captured.user)),
                _ => None,
            },
            he_mu: match (captured.rate.modulation(), captured.user) {
                (Modulation::He(scheme), Some(user)) if !user.triggered => he_mu(scheme),
                _ => None,
            },
            eht: match captured.rate.modulation() {
                Modulation::Eht(scheme) => Some(eht(scheme, captured.user)),
                _ => None,
            },
            ampdu: captured
                .ampdu
                .map(|(number, is_last)| radiotap::Ampdu { number, is_last }),
            is_null: captured.is_null,
        };
        let mut bytes = Vec::new();
        header.emit(&mut bytes);
        bytes
    }
}

fn ht(scheme: Scheme) -> radiotap::Ht {
    radiotap::Ht {
        index: scheme.mcs + 8 * (scheme.streams - 1),
        is_40_mhz: scheme.width == Width::Mhz40,
        short_guard: scheme.guard == Guard::Ns400,
    }
}

fn vht(scheme: Scheme) -> radiotap::Vht {
    radiotap::Vht {
        mcs: scheme.mcs,
        streams: scheme.streams,
        bandwidth: match scheme.width {
            Width::Mhz20 => 0,
            Width::Mhz40 => 1,
            Width::Mhz80 => 4,
            // 320 MHz have EHT alone.
            Width::Mhz160 | Width::Mhz320 => 11,
        },
        short_guard: scheme.guard == Guard::Ns400,
    }
}

fn he(scheme: Scheme, user: Option<User>) -> radiotap::He {
    let is_triggered = user.map(|user| user.triggered);
    radiotap::He {
        format: match is_triggered {
            None => 0,
            Some(false) => 2,
            Some(true) => 3,
        },
        mcs: scheme.mcs,
        streams: scheme.streams,
        bandwidth: match scheme.unit {
            Some(unit) => 4 + unit as u8,
            None => units::bandwidth(scheme.width),
        },
        guard: guard(scheme),
        uplink: is_triggered,
        user: user
            .filter(|user| !user.triggered)
            .and_then(|user| user.association),
        offset: user.and_then(|user| Some(user.unit? as u8)),
    }
}

fn he_mu(scheme: Scheme) -> Option<radiotap::HeMu> {
    Some(radiotap::HeMu {
        bandwidth: units::bandwidth(scheme.width),
        units: units::contents(scheme.unit?, scheme.width),
        middle: scheme.unit? == Unit::Tones26,
    })
}

fn eht(scheme: Scheme, user: Option<User>) -> radiotap::Eht {
    radiotap::Eht {
        mcs: scheme.mcs,
        streams: scheme.streams,
        bandwidth: match scheme.width {
            Width::Mhz20 => 0,
            Width::Mhz40 => 1,
            Width::Mhz80 => 2,
            Width::Mhz160 => 3,
            Width::Mhz320 => 4,
        },
        guard: guard(scheme),
        unit: (scheme.unit.map(|unit| unit as u8))
            .or_else(|| units::left(scheme.width, scheme.punctured)),
        punctured: match scheme.unit {
            Some(_) => 0,
            None => units::pattern(scheme.width, scheme.punctured),
        },
        uplink: user.is_some_and(|user| user.triggered),
    }
}

/// Of HE and EHT.
fn guard(scheme: Scheme) -> u8 {
    match scheme.guard {
        Guard::Ns400 | Guard::Ns800 => 0,
        Guard::Ns1600 => 1,
        Guard::Ns3200 => 2,
    }
}

/// An enhanced packet block.
fn packet(file: &mut impl Write, radiotap: &[u8], captured: &Captured) -> io::Result<()> {
    let [begin, rest] = captured.octets.parts();
    let length = (radiotap.len() + begin.len() + rest.len()) as u32;
    let words = [
        0,
        (captured.at_ns >> 32) as u32,
        captured.at_ns as u32,
        length,
        length,
    ];
    let head = words.map(u32::to_le_bytes).concat();
    block(file, 6, &[&head, radiotap, begin, rest])
}

/// A block whose body has these parts, filled up to whole words.
fn block(file: &mut impl Write, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
    let octets: usize = parts.iter().map(|part| part.len()).sum();
    let whole = octets.next_multiple_of(4);
    let length = (whole as u32 + 12).to_le_bytes();
    file.write_all(&kind.to_le_bytes())?;
    file.write_all(&length)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.write_all(&[0; 3][..whole - octets])?;
    file.write_all(&length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoplab_wire::ieee80211::on_air;

    /// The capture's own part of a host's frame are the octets that its radio writes.
    #[test]
    fn tries_of_a_frame_share_its_octets() {
        let frame: Arc<[u8]> = Arc::from([0x08, 0, 0, 0, 2, 7, 7]);
        let captured = |retry| Captured {
            at_ns: 1 << 32,
            channel_mhz: 2412,
            rate: Rate::DSSS_1,
            signal_dbm: None,
            ampdu: None,
            user: None,
            is_null: false,
            octets: Octets::Host {
                begin: on_air(&frame, retry, 44),
                frame: frame.clone(),
            },
        };
        let tries = [false, true].map(captured);
        for (one, flags) in tries.iter().zip([0, 0x08]) {
            let mut file = Vec::new();
            packet(&mut file, &[9; 8], one).expect("room");
            // Header, time and lengths; radiotap, the frame and an octet behind it; length.
            assert_eq!(file.len(), 28 + 8 + 7 + 1 + 4);
            assert_eq!(file[12..20], [1, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(file[20..28], [15, 0, 0, 0, 15, 0, 0, 0]);
            assert_eq!(file[36..44], [0x08, flags, 44, 0, 2, 7, 7, 0]);
            assert_eq!(file[4..8], file[44..]);
        }
        assert_eq!(Arc::strong_count(&frame), 1 + tries.len());
    }
}

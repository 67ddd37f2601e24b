// SPDX-License-Identifier: Apache-2.0 OR MIT
//! IEEE 802.11 frames without their FCS (IEEE 802.11-2020 9.2, 9.3):
//!
//! ```text
//! | frame control (2) | duration (2) | address 1 (6) | address 2 (6) | address 3 (6) |
//! | sequence control (2) | address 4 (6), between access points | QoS control (2) | body ...
//! ```
//!
//! Numbers are little-endian. A control frame ends behind address 1 or 2.

use crate::{be16, le16, octets, Mac};
use alloc::vec::Vec;

/// LLC header and SNAP organisation of an EtherType (RFC 1042).
pub const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// Octets of the shortest header of a data or management frame.
const LONG_HEADER: usize = 24;
/// Frame control and duration.
const SHORT_HEADER: usize = 4;

const TO_DS: u16 = 0x0100;
const FROM_DS: u16 = 0x0200;
const RETRY: u16 = 0x0800;
const POWER_MANAGEMENT: u16 = 0x1000;
const MORE_DATA: u16 = 0x2000;
const PROTECTED: u16 = 0x4000;
/// Of a data frame's subtype.
const NULL_FUNCTION: u16 = 0x0040;
const QOS: u16 = 0x0080;

/// Type and, where it matters, subtype (9.2.4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Beacon,
    Deauthentication,
    Management,
    Control,
    Data,
    Extension,
}

/// A frame with at least frame control and duration; of another type than control, with the
/// header's first 24 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a>(&'a [u8]);

impl<'a> Frame<'a> {
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let frame = Frame(bytes.get(..SHORT_HEADER).map(|_| bytes)?);
        let long = matches!(
            frame.kind(),
            Kind::Beacon | Kind::Deauthentication | Kind::Management | Kind::Data
        );
        (!long || bytes.len() >= LONG_HEADER).then_some(frame)
    }

    pub fn kind(&self) -> Kind {
        kind_of(self.control())
    }

    fn control(&self) -> u16 {
        le16(self.0, 0).unwrap_or(0)
    }

    /// In microseconds.
    pub fn duration_us(&self) -> u16 {
        le16(self.0, 2).unwrap_or(0)
    }

    /// Address 1: the receiver.
    pub fn receiver(&self) -> Option<Mac> {
        octets(self.0, 4).map(Mac)
    }

    /// Address 2: the transmitter, which not every control frame names.
    pub fn transmitter(&self) -> Option<Mac> {
        octets(self.0, 10).map(Mac)
    }

    /// Address 3 of a management frame: its network (BSSID).
    pub fn network(&self) -> Option<Mac> {
        octets(self.0, 16).map(Mac)
    }

    /// Whether a beacon says that an access point sends it: ESS of its capabilities (9.4.1.4), which
    /// stand behind timestamp and interval (9.3.3.2).
    pub fn is_of_access_point(&self) -> bool {
        const CAPABILITIES: usize = LONG_HEADER + 8 + 2;
        const ESS: u16 = 0x0001;
        self.kind() == Kind::Beacon
            && le16(self.0, CAPABILITIES).is_some_and(|bits| bits & ESS != 0)
    }

    /// A PS-Poll or a block acknowledgement request: a control frame that a host sends, and that its
    /// receiver's radio answers.
    pub fn is_request(&self) -> bool {
        const BLOCK_ACK_REQUEST: u16 = 0x0084;
        self.is_ps_poll() || self.control() & 0x00fc == BLOCK_ACK_REQUEST
    }

    /// A station asks its access point for one frame that this keeps (9.3.1.5).
    pub fn is_ps_poll(&self) -> bool {
        const PS_POLL: u16 = 0x00a4;
        self.control() & 0x00fc == PS_POLL
    }

    /// Sent before and not acknowledged.
    pub fn is_retry(&self) -> bool {
        self.control() & RETRY != 0
    }

    /// The body is encrypted.
    pub fn is_protected(&self) -> bool {
        self.control() & PROTECTED != 0
    }

    /// Its sender dozes from the frame's acknowledgement on (9.2.4.1.7).
    pub fn saves_power(&self) -> bool {
        self.control() & POWER_MANAGEMENT != 0
    }

    /// The same frame with the bit by which its sender goes on dozing; none for one that has it. None
    /// too where the bit says nothing (9.2.4.1.7), and for null functions, which announce a change.
    pub fn saving_power(&self) -> Option<Vec<u8>> {
        const ACTION: u16 = 0x00d0;
        let control = self.control();
        let carries = self.kind() == Kind::Data && control & NULL_FUNCTION == 0;
        if self.saves_power() || !(carries || control & 0x00fc == ACTION) {
            return None;
        }
        let mut bytes = self.0.to_vec();
        let field = (control | POWER_MANAGEMENT).to_le_bytes();
        bytes.get_mut(..2)?.copy_from_slice(&field);
        Some(bytes)
    }

    /// An association request that asks for automatic delivery (U-APSD, 9.4.1.17) of frames of all
    /// access categories, without a limit; none for any other frame.
    pub fn asking_for_delivery(&self) -> Option<Vec<u8>> {
        const ASSOCIATION_REQUEST: u16 = 0x0000;
        const REASSOCIATION_REQUEST: u16 = 0x0020;
        const VENDOR: u8 = 221;
        /// WMM information element (WMM 1.2.0, 2.2.1).
        const WMM: &[u8] = &[0x00, 0x50, 0xf2, 2, 0, 1];
        const ALL_CATEGORIES: u8 = 0x0f;
        let fixed = match self.control() & 0x00fc {
            ASSOCIATION_REQUEST => 4,
            REASSOCIATION_REQUEST => 10,
            _ => return None,
        };
        let mut at = LONG_HEADER + fixed;
        loop {
            let &[id, length, ref rest @ ..] = self.0.get(at..)? else {
                return None;
            };
            let body = rest.get(..length.into())?;
            if id == VENDOR && body.len() == WMM.len() + 1 && body.starts_with(WMM) {
                let mut bytes = self.0.to_vec();
                *bytes.get_mut(at + 2 + WMM.len())? = ALL_CATEGORIES;
                return Some(bytes);
            }
            at += 2 + body.len();
        }
    }

    /// An access point's service period for a station ends with this frame (EOSP, 9.2.4.5.3).
    pub fn ends_service_period(&self) -> bool {
        const END: u8 = 0x10;
        self.is_from_access_point()
            && self.tid().is_some()
            && self
                .0
                .get(LONG_HEADER)
                .is_some_and(|first| first & END != 0)
    }

    /// An access point has further frames for its receiver, or for all (9.2.4.1.8).
    pub fn has_more_data(&self) -> bool {
        self.control() & MORE_DATA != 0
    }

    /// Data of a station for its access point, also of the kind without any (null function).
    pub fn is_to_access_point(&self) -> bool {
        self.kind() == Kind::Data && self.control() & (TO_DS | FROM_DS) == TO_DS
    }

    /// A data frame without data (null function).
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Data && self.control() & NULL_FUNCTION != 0
    }

    /// Data from an access point.
    pub fn is_from_access_point(&self) -> bool {
        self.kind() == Kind::Data && self.control() & (TO_DS | FROM_DS) == FROM_DS
    }

    /// The number under which an access point takes a station in (9.3.3.6, 9.4.1.8); none in any
    /// other frame than an association response that says so.
    pub fn association_id(&self) -> Option<u16> {
        const ASSOCIATION_RESPONSE: u16 = 0x0010;
        const REASSOCIATION_RESPONSE: u16 = 0x0030;
        const STATUS: usize = LONG_HEADER + 2;
        let kind = self.control() & 0x00fc;
        let is_response = matches!(kind, ASSOCIATION_RESPONSE | REASSOCIATION_RESPONSE);
        if !is_response || self.control() & PROTECTED != 0 || le16(self.0, STATUS)? != 0 {
            return None;
        }
        le16(self.0, STATUS + 2).map(|id| id & 0x3fff)
    }

    /// Microseconds between a beacon's time and the next one's (9.4.1.3).
    pub fn beacon_interval_us(&self) -> Option<u32> {
        const TIME_UNIT_US: u32 = 1024;
        let units = le16(self.0, LONG_HEADER + 8).filter(|_| self.kind() == Kind::Beacon)?;
        Some(TIME_UNIT_US * u32::from(units))
    }

    /// For whom an access point has frames, by its beacon.
    pub fn traffic_map(&self) -> Option<TrafficMap<'a>> {
        const ELEMENTS: usize = LONG_HEADER + 8 + 2 + 2;
        const TIM: u8 = 5;
        let mut elements = self
            .0
            .get(ELEMENTS..)
            .filter(|_| self.kind() == Kind::Beacon)?;
        loop {
            let &[id, length, ref rest @ ..] = elements else {
                return None;
            };
            let (body, after) = rest.split_at_checked(length.into())?;
            if id == TIM {
                return TrafficMap::parse(body);
            }
            elements = after;
        }
    }

    /// Between stations, without an access point (9.2.4.1.4).
    pub fn is_direct(&self) -> bool {
        self.control() & (TO_DS | FROM_DS) == 0
    }

    /// Sequence and fragment number; the same in each retry.
    pub fn sequence_control(&self) -> Option<u16> {
        le16(self.0, 22)
    }

    /// Traffic identifier of a data frame with a QoS header (9.2.4.5).
    pub fn tid(&self) -> Option<u8> {
        let control = self.control();
        if self.kind() != Kind::Data || control & QOS == 0 {
            return None;
        }
        let four_addresses = control & (TO_DS | FROM_DS) == TO_DS | FROM_DS;
        let at = LONG_HEADER + 6 * usize::from(four_addresses);
        self.0.get(at).map(|first| first & 0xf)
    }

    /// The station and the access point between which a data frame of a cell carries a packet. A
    /// packet that agrees on keys (EAPOL, 12.7.2) does not count.
    pub fn carries_packet_of(&self) -> Option<(Mac, Mac)> {
        const EAPOL: u16 = 0x888e;
        let control = self.control();
        let (receiver, transmitter) = (self.receiver()?, self.transmitter()?);
        let ends = match control & (TO_DS | FROM_DS) {
            TO_DS => (transmitter, receiver),
            FROM_DS => (receiver, transmitter),
            _ => return None,
        };
        if self.kind() != Kind::Data || control & NULL_FUNCTION != 0 {
            return None;
        }
        let is_packet = self.is_protected() || self.packet()?.0 != EAPOL;
        is_packet.then_some(ends)
    }

    /// An ADDBA request that can be read (9.6.4.2): it asks for a block ack agreement.
    pub fn asks_for_block_ack(&self) -> bool {
        const ACTION: u16 = 0x00d0;
        const BLOCK_ACK: u8 = 3;
        const ADDBA_REQUEST: u8 = 0;
        let control = self.control();
        control & 0x00fc == ACTION
            && control & PROTECTED == 0
            && self.0.get(LONG_HEADER..LONG_HEADER + 2) == Some(&[BLOCK_ACK, ADDBA_REQUEST])
    }

    /// An action frame of HWMP (9.6.17.3): it asks for a path, answers, or says that one is gone.
    pub fn is_path_selection(&self) -> bool {
        const ACTION: u16 = 0x00d0;
        const MESH: u8 = 13;
        const PATH_SELECTION: u8 = 1;
        let control = self.control();
        control & 0x00fc == ACTION
            && control & PROTECTED == 0
            && self.0.get(LONG_HEADER..LONG_HEADER + 2) == Some(&[MESH, PATH_SELECTION])
    }

    /// Octets of the mesh control field, of a frame whose QoS field at `qos` says that one follows
    /// (9.2.4.5.9, 9.2.4.8.3).
    fn mesh_control(&self, qos: usize) -> Option<usize> {
        const PRESENT: u16 = 0x0100;
        const FLAGS_TTL_SEQUENCE: usize = 6;
        if self.control() & FROM_DS == 0 || le16(self.0, qos)? & PRESENT == 0 {
            return Some(0);
        }
        let further_addresses = usize::from(self.0.get(qos + 2)? & 3);
        Some(FLAGS_TTL_SEQUENCE + 6 * further_addresses)
    }

    /// What a data frame carries: EtherType and packet. `None` where it carries none that can be
    /// read.
    pub fn packet(&self) -> Option<(u16, &'a [u8])> {
        let control = self.control();
        if self.kind() != Kind::Data || control & (NULL_FUNCTION | PROTECTED) != 0 {
            return None;
        }
        let four_addresses = control & (TO_DS | FROM_DS) == TO_DS | FROM_DS;
        let qos = control & QOS != 0;
        let mut header = LONG_HEADER + 6 * usize::from(four_addresses);
        if qos {
            header += 2 + self.mesh_control(header)?;
        }
        let body = self.0.get(header..)?.strip_prefix(&LLC_SNAP[..])?;
        Some((be16(body, 0)?, &body[2..]))
    }
}

/// A traffic indication map (9.4.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficMap<'a> {
    /// Beacons until the next delivery map (DTIM); 0 in one.
    pub count: u8,
    /// Beacons from one of those to the next.
    pub period: u8,
    /// Frames for all follow.
    pub for_all: bool,
    /// The octet that `bits` begin with.
    offset: usize,
    bits: &'a [u8],
}

impl<'a> TrafficMap<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        let &[count, period, control, ref bits @ ..] = body else {
            return None;
        };
        Some(Self {
            count,
            period,
            for_all: control & 1 != 0,
            offset: usize::from(control & !1),
            bits,
        })
    }

    /// Whether frames wait for the station with this association identifier.
    pub fn has_for(&self, id: u16) -> bool {
        let octet = usize::from(id / 8).checked_sub(self.offset);
        let bits = octet.and_then(|octet| self.bits.get(octet));
        bits.is_some_and(|bits| bits & 1 << (id % 8) != 0)
    }
}

/// What the first octet of the frame control field says.
pub fn kind_of(control: u16) -> Kind {
    match (control & 0x000c, control & 0x00f0) {
        (0x0, 0x80) => Kind::Beacon,
        (0x0, 0xc0) => Kind::Deauthentication,
        (0x0, _) => Kind::Management,
        (0x4, _) => Kind::Control,
        (0x8, _) => Kind::Data,
        _ => Kind::Extension,
    }
}

/// A control frame of an exchange (9.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Rts {
        receiver: Mac,
        transmitter: Mac,
    },
    Cts {
        receiver: Mac,
    },
    Ack {
        receiver: Mac,
    },
    /// Compressed, of one TID (9.3.1.7.2).
    BlockAckRequest(Together),
    /// Compressed, of one TID (9.3.1.8.2).
    BlockAck(Together, Bitmap),
}

/// Which frames are acknowledged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    pub receiver: Mac,
    pub transmitter: Mac,
    pub tid: u8,
    /// The first one, of 12 bits.
    pub sequence: u16,
}

/// Whether each frame from the first one on was received, the first in the lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitmap {
    words: [u64; Self::MOST],
    /// So many of them: 1, 4, 8 or 16.
    used: usize,
}

impl Bitmap {
    const MOST: usize = 16;
    /// Words by the fragment number of a BlockAck (802.11ax-2021 table 9-30a, 802.11be-2024 9.3.1.8.2).
    const KINDS: [(u16, usize); 4] = [(0x0, 1), (0x4, 4), (0x8, 8), (0xa, 16)];

    /// The first of these words, in a bitmap of so many octets; none for another number than one of
    /// those that there are.
    pub fn new(words: &[u64], octets: usize) -> Option<Self> {
        let (_, used) = Self::KINDS.into_iter().find(|kind| 8 * kind.1 == octets)?;
        let mut bitmap = Self {
            words: [0; Self::MOST],
            used,
        };
        for (word, given) in bitmap.words[..used].iter_mut().zip(words) {
            *word = *given;
        }
        Some(bitmap)
    }

    pub fn words(&self) -> &[u64] {
        &self.words[..self.used]
    }

    pub(crate) fn fragment_number(&self) -> u16 {
        let kind = Self::KINDS.into_iter().find(|kind| kind.1 == self.used);
        kind.map_or(0, |(number, _)| number)
    }

    fn parse(number: u16, octets: &[u8]) -> Option<Self> {
        let (_, used) = Self::KINDS.into_iter().find(|kind| kind.0 == number)?;
        let octets = octets.get(..8 * used)?;
        let mut words = [0; Self::MOST];
        for (word, octets) in words.iter_mut().zip(octets.chunks_exact(8)) {
            *word = u64::from_le_bytes(octets.try_into().ok()?);
        }
        Some(Self { words, used })
    }
}

impl Control {
    const RTS: [u8; 2] = [0xb4, 0];
    const CTS: [u8; 2] = [0xc4, 0];
    const ACK: [u8; 2] = [0xd4, 0];
    const BLOCK_ACK_REQUEST: [u8; 2] = [0x84, 0];
    pub(crate) const BLOCK_ACK: [u8; 2] = [0x94, 0];
    /// Of the control field: a compressed bitmap.
    pub(crate) const COMPRESSED: u16 = 2 << 1;

    /// The control frame and its duration in microseconds; `None` for any other frame.
    pub fn parse(bytes: &[u8]) -> Option<(Self, u16)> {
        let frame = Frame::new(bytes)?;
        let receiver = frame.receiver()?;
        let control = match octets(bytes, 0)? {
            Self::RTS => Control::Rts {
                receiver,
                transmitter: frame.transmitter()?,
            },
            Self::CTS => Control::Cts { receiver },
            Self::ACK => Control::Ack { receiver },
            kind @ (Self::BLOCK_ACK_REQUEST | Self::BLOCK_ACK) => {
                Self::parse_together(kind, frame)?
            }
            _ => return None,
        };
        Some((control, frame.duration_us()))
    }

    /// `None` for what is not compressed, or has another bitmap.
    fn parse_together(kind: [u8; 2], frame: Frame<'_>) -> Option<Self> {
        let control = le16(frame.0, 16)?;
        if control & 0x0fff & !1 != Self::COMPRESSED {
            return None;
        }
        let start = le16(frame.0, 18)?;
        let of = Together {
            receiver: frame.receiver()?,
            transmitter: frame.transmitter()?,
            tid: (control >> 12) as u8,
            sequence: start >> 4,
        };
        if kind == Self::BLOCK_ACK_REQUEST {
            return Some(Control::BlockAckRequest(of));
        }
        let bitmap = Bitmap::parse(start & 0xf, frame.0.get(20..)?)?;
        Some(Control::BlockAck(of, bitmap))
    }

    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        let (kind, receiver) = match self {
            Control::Rts { receiver, .. } => (Self::RTS, receiver),
            Control::Cts { receiver } => (Self::CTS, receiver),
            Control::Ack { receiver } => (Self::ACK, receiver),
            Control::BlockAckRequest(of) => (Self::BLOCK_ACK_REQUEST, &of.receiver),
            Control::BlockAck(of, _) => (Self::BLOCK_ACK, &of.receiver),
        };
        let mut out = Vec::with_capacity(148);
        out.extend_from_slice(&kind);
        out.extend_from_slice(&duration_us.to_le_bytes());
        out.extend_from_slice(&receiver.0);
        match self {
            Control::Rts { transmitter, .. } => out.extend_from_slice(&transmitter.0),
            Control::Cts { .. } | Control::Ack { .. } => {}
            Control::BlockAckRequest(of) => Self::emit_together(of, 0, &mut out),
            Control::BlockAck(of, bitmap) => {
                Self::emit_together(of, bitmap.fragment_number(), &mut out);
                out.extend(bitmap.words().iter().flat_map(|word| word.to_le_bytes()));
            }
        }
        out
    }

    fn emit_together(of: &Together, fragment: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&of.transmitter.0);
        let control = Self::COMPRESSED | u16::from(of.tid & 0xf) << 12;
        out.extend(control.to_le_bytes());
        out.extend((of.sequence << 4 | fragment).to_le_bytes());
    }
}

/// How a host's frame begins as its radio sends it: the retry bit and the duration are the radio's. A
/// PS-Poll has an association identifier in the duration's place (9.3.1.5). None of one that is too
/// short for them.
pub fn on_air(frame: &[u8], retry: bool, duration_us: u16) -> Option<[u8; SHORT_HEADER]> {
    let [kind, flags, id @ ..] = *frame.first_chunk::<SHORT_HEADER>()?;
    let bit = (RETRY >> 8) as u8;
    let [low, high] = match Frame(frame).is_ps_poll() {
        true => id,
        false => duration_us.to_le_bytes(),
    };
    Some([kind, flags & !bit | if retry { bit } else { 0 }, low, high])
}

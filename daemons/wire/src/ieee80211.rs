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
        const PS_POLL: u16 = 0x00a4;
        matches!(self.control() & 0x00fc, BLOCK_ACK_REQUEST | PS_POLL)
    }

    /// Sent before and not acknowledged.
    pub fn is_retry(&self) -> bool {
        self.control() & RETRY != 0
    }

    /// The body is encrypted.
    pub fn is_protected(&self) -> bool {
        self.control() & PROTECTED != 0
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

    /// What a data frame carries: EtherType and packet. `None` where it carries none that can be
    /// read.
    pub fn packet(&self) -> Option<(u16, &'a [u8])> {
        let control = self.control();
        if self.kind() != Kind::Data || control & (NULL_FUNCTION | PROTECTED) != 0 {
            return None;
        }
        let four_addresses = control & (TO_DS | FROM_DS) == TO_DS | FROM_DS;
        let qos = control & QOS != 0;
        let header = LONG_HEADER + 6 * usize::from(four_addresses) + 2 * usize::from(qos);
        let body = self.0.get(header..)?.strip_prefix(&LLC_SNAP[..])?;
        Some((be16(body, 0)?, &body[2..]))
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
    Rts { receiver: Mac, transmitter: Mac },
    Cts { receiver: Mac },
    Ack { receiver: Mac },
}

impl Control {
    const RTS: [u8; 2] = [0xb4, 0];
    const CTS: [u8; 2] = [0xc4, 0];
    const ACK: [u8; 2] = [0xd4, 0];

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
            _ => return None,
        };
        Some((control, frame.duration_us()))
    }

    pub fn emit(&self, duration_us: u16) -> Vec<u8> {
        let (kind, receiver) = match self {
            Control::Rts { receiver, .. } => (Self::RTS, receiver),
            Control::Cts { receiver } => (Self::CTS, receiver),
            Control::Ack { receiver } => (Self::ACK, receiver),
        };
        let mut out = Vec::with_capacity(16);
        out.extend_from_slice(&kind);
        out.extend_from_slice(&duration_us.to_le_bytes());
        out.extend_from_slice(&receiver.0);
        if let Control::Rts { transmitter, .. } = self {
            out.extend_from_slice(&transmitter.0);
        }
        out
    }
}

/// A host's frame as its radio sends it: the retry bit and the duration are the radio's.
pub fn on_air(frame: &[u8], retry: bool, duration_us: u16) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if let Some([_, flags, duration @ ..]) = frame.first_chunk_mut::<SHORT_HEADER>() {
        let bit = (RETRY >> 8) as u8;
        *flags = *flags & !bit | if retry { bit } else { 0 };
        *duration = duration_us.to_le_bytes();
    }
    frame
}

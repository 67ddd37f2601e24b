// SPDX-License-Identifier: Apache-2.0
//! Messages of `MAC80211_HWSIM` over generic netlink (drivers/net/wireless/virtual).

const NLMSG_ERROR: u16 = 2;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;

const CMD_REGISTER: u8 = 1;
const CMD_FRAME: u8 = 2;
const CMD_TX_INFO_FRAME: u8 = 3;

const ADDR_RECEIVER: u16 = 1;
const ADDR_TRANSMITTER: u16 = 2;
const FRAME: u16 = 3;
const FLAGS: u16 = 4;
const RX_RATE: u16 = 5;
const SIGNAL: u16 = 6;
const TX_INFO: u16 = 7;
const COOKIE: u16 = 8;
const FREQ: u16 = 19;
const TX_INFO_FLAGS: u16 = 21;

pub const TX_CTL_NO_ACK: u32 = 1 << 1;
pub const TX_STAT_ACK: u32 = 1 << 2;
pub const RC_USE_RTS_CTS: u16 = 1;
/// Sequence numbers tell what an error is about.
pub const SEQUENCE_DELIVER: u32 = 1;
pub const SEQUENCE_STATUS: u32 = 2;
/// HT and VHT rates are indexes of another table.
pub const RC_MCS: u16 = 1 << 3 | 1 << 8;
pub const MAX_RATES: usize = 4;

/// A frame that a kernel radio sends: what the medium needs of HWSIM_CMD_FRAME.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent<'a> {
    pub transmitter: [u8; 6],
    pub frame: &'a [u8],
    pub flags: u32,
    pub cookie: u64,
    pub frequency_mhz: u32,
    /// (rate index, tries, flags), at most [`MAX_RATES`].
    pub rates: Vec<(u8, u8, u16)>,
}

/// One netlink message.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    Frame(Sent<'a>),
    /// Answer to a request: 0 is success, else a negative errno; the request's sequence number.
    Ack(i32, u32),
    Family(u16),
    Unknown,
    Malformed,
}

/// Split a datagram into messages; never panics, whatever the bytes.
pub fn parse(mut bytes: &[u8]) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    while bytes.len() >= 16 {
        let length = u32_at(bytes, 0) as usize;
        if length < 16 || length > bytes.len() {
            messages.push(Message::Malformed);
            break;
        }
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        messages.push(parse_one(kind, &bytes[16..length]));
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    messages
}

fn parse_one(kind: u16, payload: &[u8]) -> Message<'_> {
    if kind == NLMSG_ERROR {
        return match payload.first_chunk::<4>() {
            // The request's header follows the code.
            Some(code) => Message::Ack(i32::from_ne_bytes(*code), u32_at(payload, 12)),
            None => Message::Malformed,
        };
    }
    if payload.len() < 4 {
        return Message::Malformed;
    }
    let (command, attributes) = (payload[0], &payload[4..]);
    if kind == GENL_ID_CTRL {
        let id = find(attributes, CTRL_ATTR_FAMILY_ID).and_then(|v| v.first_chunk::<2>());
        return id.map_or(Message::Malformed, |id| {
            Message::Family(u16::from_ne_bytes(*id))
        });
    }
    if command != CMD_FRAME {
        return Message::Unknown;
    }
    parse_frame(attributes).map_or(Message::Malformed, Message::Frame)
}

fn parse_frame(attributes: &[u8]) -> Option<Sent<'_>> {
    let transmitter = *find(attributes, ADDR_TRANSMITTER)?.first_chunk::<6>()?;
    let frame = find(attributes, FRAME)?;
    let cookie = u64::from_ne_bytes(*find(attributes, COOKIE)?.first_chunk::<8>()?);
    let flags = u32::from_ne_bytes(*find(attributes, FLAGS)?.first_chunk::<4>()?);
    let frequency = find(attributes, FREQ).and_then(|v| v.first_chunk::<4>());
    let table = find(attributes, TX_INFO)?;
    let details = find(attributes, TX_INFO_FLAGS).unwrap_or(&[]);
    let mut rates = Vec::new();
    for (i, entry) in table.chunks_exact(2).take(MAX_RATES).enumerate() {
        let Ok(index) = u8::try_from(i8::from_ne_bytes([entry[0]])) else {
            break;
        };
        let flags = details
            .get(3 * i + 1..3 * i + 3)
            .map_or(0, |f| u16::from_ne_bytes([f[0], f[1]]));
        rates.push((index, entry[1].max(1), flags));
    }
    (frame.len() >= 10).then_some(Sent {
        transmitter,
        frame,
        flags,
        cookie,
        frequency_mhz: frequency.map_or(0, |f| u32::from_ne_bytes(*f)),
        rates,
    })
}

fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]) & 0x3fff;
        if length < 4 || length > attributes.len() {
            return None;
        }
        if kind == wanted {
            return Some(&attributes[4..length]);
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|b| b.first_chunk::<4>())
        .map_or(0, |b| u32::from_ne_bytes(*b))
}

/// Several messages for one send.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    start: usize,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    fn begin(&mut self, kind: u16, flags: u16, command: u8, sequence: u32) {
        self.start = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        self.bytes.extend(sequence.to_ne_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend([command, 1, 0, 0]);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend((value.len() as u16 + 4).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(&mut self) {
        let length = (self.bytes.len() - self.start) as u32;
        self.bytes[self.start..self.start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    pub fn get_family(&mut self) {
        self.begin(GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, 0);
        self.attribute(CTRL_ATTR_FAMILY_NAME, b"MAC80211_HWSIM\0");
        self.end();
    }

    pub fn register(&mut self, family: u16) {
        self.begin(family, NLM_F_ACK, CMD_REGISTER, 0);
        self.end();
    }

    pub fn deliver(
        &mut self,
        family: u16,
        receiver: [u8; 6],
        frame: &[u8],
        rate: u32,
        signal_dbm: i32,
        frequency_mhz: u32,
    ) {
        self.begin(family, 0, CMD_FRAME, SEQUENCE_DELIVER);
        self.attribute(ADDR_RECEIVER, &receiver);
        self.attribute(FRAME, frame);
        self.attribute(RX_RATE, &rate.to_ne_bytes());
        self.attribute(SIGNAL, &signal_dbm.to_ne_bytes());
        if frequency_mhz != 0 {
            self.attribute(FREQ, &frequency_mhz.to_ne_bytes());
        }
        self.end();
    }

    pub fn status(
        &mut self,
        family: u16,
        transmitter: [u8; 6],
        flags: u32,
        cookie: u64,
        tries: &[(u8, u32)],
    ) {
        self.begin(family, 0, CMD_TX_INFO_FRAME, SEQUENCE_STATUS);
        self.attribute(ADDR_TRANSMITTER, &transmitter);
        self.attribute(FLAGS, &flags.to_ne_bytes());
        self.attribute(SIGNAL, &(-50i32).to_ne_bytes());
        let mut table = [0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0u8];
        let made = tries.iter().filter(|entry| entry.1 > 0).take(MAX_RATES);
        for (slot, entry) in table.chunks_exact_mut(2).zip(made) {
            slot.copy_from_slice(&[entry.0, entry.1.min(255) as u8]);
        }
        self.attribute(TX_INFO, &table);
        self.attribute(COOKIE, &cookie.to_ne_bytes());
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_ends_with_minus_one() {
        let mut batch = Batch::default();
        batch.status(30, [0x42, 0, 0, 0, 0, 1], TX_STAT_ACK, 7, &[(1, 3)]);
        let bytes = batch.take();
        let table = find(&bytes[20..], TX_INFO).expect("a rate table");
        assert_eq!(table, [1, 3, 0xff, 0, 0xff, 0, 0xff, 0]);
        assert_eq!(u32_at(&bytes, 0) as usize, bytes.len());
    }
}

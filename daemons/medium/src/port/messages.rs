// SPDX-License-Identifier: Apache-2.0
//! Messages of `MAC80211_HWSIM` over generic netlink (drivers/net/wireless/virtual).

use hoplab_channel::rates::RateEntry;
use hoplab_wire::netlink::{self, Attributes, Batch, Messages, CONTROLLER, FLAG_ACK};
use hoplab_wire::Mac;

pub const FAMILY_NAME: &[u8] = b"MAC80211_HWSIM\0";
const VERSION: u8 = 1;

const CMD_REGISTER: u8 = 1;
const CMD_FRAME: u8 = 2;
const CMD_TX_INFO_FRAME: u8 = 3;

pub const ADDR_RECEIVER: u16 = 1;
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
/// Sequence numbers tell what an error is about.
pub const SEQUENCE_DELIVER: u32 = 1;
pub const SEQUENCE_STATUS: u32 = 2;
/// Of a delivery that goes to the other address of radio 0; that of radio 1 has the next one.
pub const SEQUENCE_AGAIN: u32 = 3;
pub const MAX_RATES: usize = 4;

/// A frame that a kernel radio sends: what the medium needs of HWSIM_CMD_FRAME.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent<'a> {
    pub transmitter: Mac,
    pub frame: &'a [u8],
    pub flags: u32,
    pub cookie: u64,
    pub frequency_mhz: u32,
    /// At most [`MAX_RATES`].
    pub rates: Vec<RateEntry>,
}

/// How often a frame went out at the rate of an index, for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    pub index: u8,
    pub times: u32,
}

/// One netlink message.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    Frame(Sent<'a>),
    /// Answer to the request of this sequence number: 0 is success, else a negative errno.
    Ack {
        code: i32,
        sequence: u32,
        /// What the request held, where it was refused.
        request: Attributes<'a>,
    },
    Unknown,
    Malformed,
}

/// Split a datagram into messages; never panics, whatever the bytes.
pub fn parse(datagram: &[u8]) -> Vec<Message<'_>> {
    Messages::new(datagram).map(parse_one).collect()
}

fn parse_one(message: netlink::Message<'_>) -> Message<'_> {
    match message {
        netlink::Message::Ack {
            code,
            sequence,
            request,
        } => Message::Ack {
            code,
            sequence,
            request,
        },
        netlink::Message::Malformed => Message::Malformed,
        netlink::Message::Generic {
            family,
            command: CMD_FRAME,
            attributes,
            ..
        } if family != CONTROLLER => {
            parse_frame(attributes).map_or(Message::Malformed, Message::Frame)
        }
        netlink::Message::Generic { .. } => Message::Unknown,
    }
}

fn parse_frame(attributes: Attributes<'_>) -> Option<Sent<'_>> {
    let frame = attributes.find(FRAME)?;
    let table = attributes.find(TX_INFO)?;
    let details = attributes.find(TX_INFO_FLAGS).unwrap_or(&[]);
    let mut rates = Vec::new();
    for (i, entry) in table.chunks_exact(2).take(MAX_RATES).enumerate() {
        let Ok(index) = u8::try_from(i8::from_ne_bytes([entry[0]])) else {
            break;
        };
        let flags = details
            .get(3 * i + 1..3 * i + 3)
            .map_or(0, |f| u16::from_ne_bytes([f[0], f[1]]));
        rates.push(RateEntry {
            index,
            tries: entry[1].max(1),
            flags,
        });
    }
    let sent = Sent {
        transmitter: Mac(attributes.get(ADDR_TRANSMITTER)?),
        frame,
        flags: attributes.u32(FLAGS)?,
        cookie: attributes.u64(COOKIE)?,
        frequency_mhz: attributes.u32(FREQ).unwrap_or(0),
        rates,
    };
    (frame.len() >= 10).then_some(sent)
}

pub fn register(batch: &mut Batch, family: u16) {
    batch.begin(family, FLAG_ACK, CMD_REGISTER, VERSION, 0);
    batch.end();
}

pub fn deliver(
    batch: &mut Batch,
    family: u16,
    receiver: Mac,
    frame: &[u8],
    rate: u32,
    signal_dbm: i32,
    frequency_mhz: u32,
) {
    batch.begin(family, 0, CMD_FRAME, VERSION, SEQUENCE_DELIVER);
    batch.attribute(ADDR_RECEIVER, &receiver.0);
    batch.attribute(FRAME, frame);
    batch.attribute(RX_RATE, &rate.to_ne_bytes());
    batch.attribute(SIGNAL, &signal_dbm.to_ne_bytes());
    if frequency_mhz != 0 {
        batch.attribute(FREQ, &frequency_mhz.to_ne_bytes());
    }
    batch.end();
}

/// A refused delivery once more, to another address; answered in any case.
pub fn deliver_again(
    batch: &mut Batch,
    family: u16,
    refused: Attributes<'_>,
    receiver: Mac,
    sequence: u32,
) {
    batch.begin(family, FLAG_ACK, CMD_FRAME, VERSION, sequence);
    for (kind, value) in refused {
        match kind {
            ADDR_RECEIVER => batch.attribute(ADDR_RECEIVER, &receiver.0),
            _ => batch.attribute(kind, value),
        }
    }
    batch.end();
}

pub fn status(
    batch: &mut Batch,
    family: u16,
    transmitter: Mac,
    flags: u32,
    cookie: u64,
    tries: &[Tried],
) {
    batch.begin(family, 0, CMD_TX_INFO_FRAME, VERSION, SEQUENCE_STATUS);
    batch.attribute(ADDR_TRANSMITTER, &transmitter.0);
    batch.attribute(FLAGS, &flags.to_ne_bytes());
    batch.attribute(SIGNAL, &(-50i32).to_ne_bytes());
    let mut table = [0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0u8];
    let made = tries.iter().filter(|tried| tried.times > 0);
    for (slot, tried) in table.chunks_exact_mut(2).zip(made) {
        slot.copy_from_slice(&[tried.index, tried.times.min(255) as u8]);
    }
    batch.attribute(TX_INFO, &table);
    batch.attribute(COOKIE, &cookie.to_ne_bytes());
    batch.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_ends_with_minus_one() {
        let mut batch = Batch::default();
        let tries = [Tried { index: 1, times: 3 }, Tried { index: 0, times: 0 }];
        status(
            &mut batch,
            30,
            Mac([0x42, 0, 0, 0, 0, 1]),
            TX_STAT_ACK,
            7,
            &tries,
        );
        let bytes = batch.take();
        let [netlink::Message::Generic {
            family: 30,
            command: CMD_TX_INFO_FRAME,
            attributes,
            ..
        }] = Messages::new(&bytes).collect::<Vec<_>>()[..]
        else {
            panic!("{bytes:?}");
        };
        let table = attributes.find(TX_INFO).expect("a rate table");
        assert_eq!(table, [1, 3, 0xff, 0, 0xff, 0, 0xff, 0]);
    }
}

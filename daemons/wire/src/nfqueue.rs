// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages of the packet filter's queues (linux/netfilter/nfnetlink_queue.h). Behind the netlink
//! header stands, instead of a generic family's:
//!
//! ```text
//! | address family (1) | version (1) | queue (2, big-endian) | attributes ...
//! ```

use crate::netlink::{Batch, Message, FLAG_ACK};
use crate::octets;

const PACKET: u16 = 3 << 8;
const VERDICT: u16 = 3 << 8 | 1;
const CONFIG: u16 = 3 << 8 | 2;

const COMMAND: u16 = 1;
const PARAMETERS: u16 = 2;
const MOST: u16 = 3;
const MASK: u16 = 4;
const FLAGS: u16 = 5;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// A full queue lets packets pass.
const FAIL_OPEN: u32 = 1;

const PACKET_HEADER: u16 = 1;
const VERDICT_HEADER: u16 = 2;
const PAYLOAD: u16 = 10;
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// Where in the kernel a packet was held up (linux/netfilter.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// For the local stack.
    Input,
    /// Passing; its TTL has been lowered.
    Forward,
    /// From the local stack.
    Output,
    Other,
}

/// A packet that waits for its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued<'a> {
    pub id: u32,
    pub hook: Hook,
    /// The IP packet.
    pub packet: &'a [u8],
}

impl<'a> Queued<'a> {
    /// What a message says, if it is a packet's.
    pub fn of(message: &Message<'a>) -> Option<Self> {
        let Message::Generic {
            family: PACKET,
            attributes,
            ..
        } = *message
        else {
            return None;
        };
        let header = attributes.find(PACKET_HEADER)?;
        Some(Queued {
            id: u32::from_be_bytes(octets(header, 0)?),
            hook: match header.get(6)? {
                1 => Hook::Input,
                2 => Hook::Forward,
                3 => Hook::Output,
                _ => Hook::Other,
            },
            // A packet without octets has no such attribute.
            packet: attributes.find(PAYLOAD).unwrap_or(&[]),
        })
    }
}

/// Asks for the packets of `queue`, whole, at most `most` at a time; beyond that they pass.
pub fn listen(batch: &mut Batch, queue: u16, most: u32) {
    begin(batch, CONFIG, FLAG_ACK, queue);
    // Of all address families.
    batch.attribute(COMMAND, &[BIND, 0, 0, 0]);
    batch.end();
    begin(batch, CONFIG, FLAG_ACK, queue);
    batch.attribute(PARAMETERS, &[0, 0, 0xff, 0xff, COPY_PACKET]);
    batch.attribute(MOST, &most.to_be_bytes());
    batch.attribute(MASK, &FAIL_OPEN.to_be_bytes());
    batch.attribute(FLAGS, &FAIL_OPEN.to_be_bytes());
    batch.end();
}

/// Lets the packet `id` of `queue` go its way, or be gone.
pub fn decide(batch: &mut Batch, queue: u16, id: u32, passes: bool) {
    begin(batch, VERDICT, 0, queue);
    let verdict = if passes { ACCEPT } else { DROP };
    let mut header = [0; 8];
    header[..4].copy_from_slice(&verdict.to_be_bytes());
    header[4..].copy_from_slice(&id.to_be_bytes());
    batch.attribute(VERDICT_HEADER, &header);
    batch.end();
}

fn begin(batch: &mut Batch, kind: u16, flags: u16, queue: u16) {
    let [high, low] = queue.to_be_bytes();
    batch.begin_with(kind, flags, 0, [0, 0, high, low]);
}

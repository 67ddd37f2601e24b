// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets and messages of RFC 3626 §3.3, §6.1 and §9.1, and olsrd's with link qualities:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |         Packet Length         |    Packet Sequence Number     |  then messages:
//! | Message Type  |     Vtime     |         Message Size          |
//! |                      Originator Address                       |
//! |  Time To Live |   Hop Count   |    Message Sequence Number    |  then, HELLO:
//! |          Reserved             |     Htime     |  Willingness  |  then, for each link code:
//! |   Link Code   |   Reserved    |       Link Message Size       |  and addresses; TC:
//! |              ANSN             |           Reserved            |  and addresses
//! ```
//!
//! Types 201 and 202 have four octets behind each address: link quality, that of the neighbour,
//! reserved. A quality is a share of 255.

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Duration;
use hoplab_routing_core::Sequence16;

/// Octets before the first message, and before a message's body.
pub const PACKET_HEADER: usize = 4;
pub const MESSAGE_HEADER: usize = 12;
/// Most addresses of a message, so that it fits a frame. What has more takes several messages.
pub const MOST_ADDRESSES: usize = 128;
const HELLO: u8 = 1;
const TC: u8 = 2;
const LQ_HELLO: u8 = 201;
const LQ_TC: u8 = 202;
/// Octets before the link messages of a HELLO and the addresses of a TC.
const BODY_HEADER: usize = 4;
const LINK_HEADER: usize = 4;
/// C of §18.3, in nanoseconds: a sixteenth of a second.
const SCALE_NS: u64 = 62_500_000;

/// A node that is ready to carry others' traffic never, always, or by default (§18.8).
pub const WILL_NEVER: u8 = 0;
pub const WILL_ALWAYS: u8 = 7;

/// Octets are no packet, or no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A time in eight bits (§18.3): C · (1 + a/16) · 2^b, a in the upper four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodedTime(pub u8);

impl CodedTime {
    /// The shortest time that is not shorter. The longest of all if none is.
    pub fn of(time: Duration) -> Self {
        let time = time.as_nanos();
        let exponents = 0..16u8;
        let codes = exponents.flat_map(|b| (0..16u8).map(move |a| CodedTime(a << 4 | b)));
        let mut fitting = codes.filter(|code| code.time().as_nanos() >= time);
        fitting.next().unwrap_or(CodedTime(0xff))
    }

    pub fn time(self) -> Duration {
        let (a, b) = (u64::from(self.0 >> 4), self.0 & 0xf);
        Duration(((SCALE_NS * (16 + a)) << b) / 16)
    }
}

/// A message with its header; the body stays as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: u8,
    pub validity: CodedTime,
    pub originator: Ipv4Addr,
    pub ttl: u8,
    pub hops: u8,
    pub sequence: Sequence16,
    pub body: Vec<u8>,
}

/// What a message of a kind that this node processes says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Hello(Hello),
    Tc(Tc),
    /// MID, HNA and others: sent on without a look (§3.4).
    Other,
}

/// What is said of a link (§6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkType {
    Unspecified,
    Asymmetric,
    Symmetric,
    Lost,
}

/// What is said of a neighbour (§6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighbourType {
    Not,
    Symmetric,
    Relay,
}

/// Shares of packets that come through a link, of 255: to the sender of the message, and from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualities {
    pub here: u8,
    pub there: u8,
}

/// A neighbour in a HELLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    pub link: LinkType,
    pub neighbour: NeighbourType,
    pub address: Ipv4Addr,
    pub qualities: Qualities,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    pub interval: CodedTime,
    pub willingness: u8,
    /// Those of a link code stand together.
    pub neighbours: Vec<Listed>,
    /// Whether it says how good links are.
    pub with_qualities: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tc {
    /// Advertised Neighbour Sequence Number.
    pub sequence: Sequence16,
    pub advertised: Vec<(Ipv4Addr, Qualities)>,
    pub with_qualities: bool,
}

fn half(bytes: &[u8], at: usize) -> Result<u16, Malformed> {
    let two = bytes.get(at..).and_then(|rest| rest.first_chunk());
    two.map(|two| u16::from_be_bytes(*two)).ok_or(Malformed)
}

/// The messages of a packet, with its sequence number. A message that is cut ends them (§3.4).
pub fn parse(bytes: &[u8]) -> Result<(Sequence16, Vec<Message>), Malformed> {
    let length = usize::from(half(bytes, 0)?);
    let sequence = Sequence16(half(bytes, 2)?);
    let mut rest = bytes.get(PACKET_HEADER..length).ok_or(Malformed)?;
    let mut messages = Vec::new();
    while let Some((message, behind)) = message(rest) {
        messages.push(message);
        rest = behind;
    }
    Ok((sequence, messages))
}

fn message(bytes: &[u8]) -> Option<(Message, &[u8])> {
    let head: &[u8; MESSAGE_HEADER] = bytes.first_chunk()?;
    let [kind, validity, s0, s1, o0, o1, o2, o3, ttl, hops, n0, n1] = *head;
    let size = usize::from(u16::from_be_bytes([s0, s1]));
    let body = bytes.get(MESSAGE_HEADER..size)?.to_vec();
    let message = Message {
        kind,
        validity: CodedTime(validity),
        originator: Ipv4Addr::new(o0, o1, o2, o3),
        ttl,
        hops,
        sequence: Sequence16(u16::from_be_bytes([n0, n1])),
        body,
    };
    Some((message, &bytes[size..]))
}

/// The packet with these messages, which are already octets.
pub fn emit(sequence: Sequence16, messages: &[Vec<u8>]) -> Vec<u8> {
    let all: usize = messages.iter().map(Vec::len).sum();
    let mut out = Vec::with_capacity(PACKET_HEADER + all);
    out.extend(((PACKET_HEADER + all) as u16).to_be_bytes());
    out.extend(sequence.0.to_be_bytes());
    messages.iter().for_each(|message| out.extend(message));
    out
}

impl Message {
    pub fn emit(&self) -> Vec<u8> {
        let size = MESSAGE_HEADER + self.body.len();
        let mut out = Vec::with_capacity(size);
        out.extend([self.kind, self.validity.0]);
        out.extend((size as u16).to_be_bytes());
        out.extend(self.originator.octets());
        out.extend([self.ttl, self.hops]);
        out.extend(self.sequence.0.to_be_bytes());
        out.extend(&self.body);
        out
    }

    /// What it says.
    pub fn parsed(&self) -> Result<Body, Malformed> {
        match self.kind {
            HELLO => hello(&self.body, false).map(Body::Hello),
            LQ_HELLO => hello(&self.body, true).map(Body::Hello),
            TC => tc(&self.body, false).map(Body::Tc),
            LQ_TC => tc(&self.body, true).map(Body::Tc),
            _ => Ok(Body::Other),
        }
    }

    /// A HELLO is for neighbours alone, and nobody sends it on (§6).
    pub fn is_hello(&self) -> bool {
        matches!(self.kind, HELLO | LQ_HELLO)
    }
}

/// Addresses, each with its qualities.
fn addresses(bytes: &[u8], with_qualities: bool) -> Result<Vec<(Ipv4Addr, Qualities)>, Malformed> {
    let size = if with_qualities { 8 } else { 4 };
    let all = bytes.chunks(size).map(|one| {
        let four: &[u8; 4] = one.first_chunk().ok_or(Malformed)?;
        let qualities = match (with_qualities, one.get(4..8)) {
            (false, _) => Qualities::default(),
            (true, Some(&[here, there, ..])) => Qualities { here, there },
            (true, _) => return Err(Malformed),
        };
        Ok((Ipv4Addr::from(*four), qualities))
    });
    all.collect()
}

fn hello(body: &[u8], with_qualities: bool) -> Result<Hello, Malformed> {
    let &[_, _, interval, willingness] = body.first_chunk().ok_or(Malformed)?;
    let mut rest = &body[BODY_HEADER..];
    let mut neighbours = Vec::new();
    while !rest.is_empty() {
        let size = usize::from(half(rest, 2)?);
        let list = rest.get(LINK_HEADER..size).ok_or(Malformed)?;
        let code = rest[0];
        let list = addresses(list, with_qualities)?;
        rest = &rest[size..];
        // Other codes are skipped (§6.1.1).
        if let Some((link, neighbour)) = link_code(code) {
            neighbours.extend(list.into_iter().map(|(address, qualities)| Listed {
                link,
                neighbour,
                address,
                qualities,
            }));
        }
    }
    neighbours.sort_by_key(|one| (one.link, one.neighbour));
    Ok(Hello {
        interval: CodedTime(interval),
        willingness,
        neighbours,
        with_qualities,
    })
}

fn tc(body: &[u8], with_qualities: bool) -> Result<Tc, Malformed> {
    let sequence = Sequence16(half(body, 0)?);
    let list = body.get(BODY_HEADER..).ok_or(Malformed)?;
    Ok(Tc {
        sequence,
        advertised: addresses(list, with_qualities)?,
        with_qualities,
    })
}

/// Link and neighbour type of a code; `None` where they make no sense (§6.1.1).
fn link_code(code: u8) -> Option<(LinkType, NeighbourType)> {
    let link = match code & 3 {
        0 => LinkType::Unspecified,
        1 => LinkType::Asymmetric,
        2 => LinkType::Symmetric,
        _ => LinkType::Lost,
    };
    let neighbour = match code >> 2 {
        0 => NeighbourType::Not,
        1 => NeighbourType::Symmetric,
        2 => NeighbourType::Relay,
        _ => return None,
    };
    let contradiction = link == LinkType::Symmetric && neighbour == NeighbourType::Not;
    (!contradiction).then_some((link, neighbour))
}

fn put(out: &mut Vec<u8>, address: Ipv4Addr, qualities: Option<Qualities>) {
    out.extend(address.octets());
    if let Some(q) = qualities {
        out.extend([q.here, q.there, 0, 0]);
    }
}

impl Hello {
    /// Its kind and its octets.
    pub fn emit(&self) -> (u8, Vec<u8>) {
        let mut out = [0, 0, self.interval.0, self.willingness].to_vec();
        let same = |a: &Listed, b: &Listed| (a.link, a.neighbour) == (b.link, b.neighbour);
        for group in self.neighbours.chunk_by(same) {
            let first = group[0];
            let one = if self.with_qualities { 8 } else { 4 };
            let size = (LINK_HEADER + one * group.len()) as u16;
            out.extend([first.link as u8 | (first.neighbour as u8) << 2, 0]);
            out.extend(size.to_be_bytes());
            for listed in group {
                let qualities = self.with_qualities.then_some(listed.qualities);
                put(&mut out, listed.address, qualities);
            }
        }
        let kind = if self.with_qualities { LQ_HELLO } else { HELLO };
        (kind, out)
    }
}

impl Tc {
    /// Its kind and its octets.
    pub fn emit(&self) -> (u8, Vec<u8>) {
        let mut out = [&self.sequence.0.to_be_bytes()[..], &[0, 0]].concat();
        for (address, qualities) in &self.advertised {
            put(
                &mut out,
                *address,
                self.with_qualities.then_some(*qualities),
            );
        }
        (if self.with_qualities { LQ_TC } else { TC }, out)
    }
}

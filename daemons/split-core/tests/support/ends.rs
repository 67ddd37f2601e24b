// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The smallest TCP that does its duty, at either end of a connection of stations 10.0.0.1 and so on.
#![allow(dead_code)]

use hoplab_base::{Duration, Instant};
use hoplab_split_core::Ends;
use hoplab_wire::ipv4;
use hoplab_wire::tcp::{Flags, Header};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

pub const MSS: usize = 1000;
const SOURCE_PORT: u16 = 20001;
const PORT: u16 = 5201;

pub fn ip(station: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, station as u8 + 1)
}

pub fn ends((from, to): (usize, usize)) -> Ends {
    Ends {
        source: ip(from),
        source_port: SOURCE_PORT,
        destination: ip(to),
        destination_port: PORT,
    }
}

/// The octet at each place of the stream.
fn octet(at: u64) -> u8 {
    (at ^ at >> 8 ^ at >> 16).wrapping_mul(197) as u8
}

/// A TCP that sends `total` octets under a fixed window, and knows of loss by three duplicate ACKs
/// and a timer that doubles.
pub struct Source {
    ends: (usize, usize),
    first: u32,
    pub total: u64,
    pub window: u64,
    pub acknowledged: u64,
    next: u64,
    duplicates: u32,
    rto: Duration,
    pub timer: Option<Instant>,
    pub retransmitted: u64,
    pub timeouts: u64,
}

const RTO: Duration = Duration::from_millis(400);

impl Source {
    pub fn new(ends: (usize, usize), first: u32, total: u64, window: u64) -> Self {
        Source {
            ends,
            first,
            total,
            window,
            acknowledged: 0,
            next: 0,
            duplicates: 0,
            rto: RTO,
            timer: None,
            retransmitted: 0,
            timeouts: 0,
        }
    }

    pub fn is_done(&self) -> bool {
        self.acknowledged == self.end()
    }

    fn segment(&self, at: u64) -> Vec<u8> {
        let length = (self.total - at).min(MSS as u64);
        let payload: Vec<u8> = (at..at + length).map(octet).collect();
        let mut flags = Flags::ACK;
        if at + length == self.total {
            flags = flags.and(Flags::FIN);
        }
        let sequence = self.first.wrapping_add(at as u32);
        packet(
            self.ends,
            (SOURCE_PORT, PORT),
            sequence,
            77,
            flags,
            &payload,
        )
    }

    /// With the FIN.
    pub fn end(&self) -> u64 {
        self.total + 1
    }

    pub fn fill(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let limit = self.acknowledged + self.window * MSS as u64;
        while self.next < self.total && self.next < limit {
            out.push(self.segment(self.next));
            self.next = (self.next + MSS as u64).min(self.total);
        }
        if self.timer.is_none() && self.acknowledged < self.end() {
            self.timer = Some(now + self.rto);
        }
        out
    }

    fn again(&mut self) -> Vec<Vec<u8>> {
        self.retransmitted += 1;
        vec![self.segment(self.acknowledged.min(self.total - 1) / MSS as u64 * MSS as u64)]
    }

    pub fn on_ack(&mut self, now: Instant, number: u32) -> Vec<Vec<u8>> {
        let ahead = number.wrapping_sub(self.first.wrapping_add(self.acknowledged as u32)) as i32;
        if ahead > 0 {
            self.acknowledged += ahead as u64;
            assert!(
                self.acknowledged <= self.end(),
                "an ACK of what was not sent"
            );
            self.duplicates = 0;
            self.rto = RTO;
            self.timer = None;
            return self.fill(now);
        }
        self.duplicates += u32::from(ahead == 0);
        if self.duplicates == 3 {
            return self.again();
        }
        Vec::new()
    }

    pub fn on_time(&mut self, now: Instant) -> Vec<Vec<u8>> {
        self.timeouts += 1;
        self.rto = (self.rto * 2).min(Duration::from_secs(5));
        self.timer = Some(now + self.rto);
        self.again()
    }
}

/// A TCP that takes a stream in and acknowledges each segment.
pub struct Sink {
    ends: (usize, usize),
    first: u32,
    /// Everything before it has come.
    pub next: u64,
    beyond: BTreeMap<u64, u64>,
    pub came: u64,
}

impl Sink {
    pub fn new((source, destination): (usize, usize), first: u32) -> Self {
        Sink {
            ends: (destination, source),
            first,
            next: 0,
            beyond: BTreeMap::new(),
            came: 0,
        }
    }

    /// Whether `number` acknowledges no more than has come.
    pub fn stands_by(&self, number: u32) -> bool {
        let known = self.first.wrapping_add(self.next as u32);
        number.wrapping_sub(known) as i32 <= 0
    }

    pub fn on_segment(&mut self, header: &Header, payload: &[u8]) -> Vec<u8> {
        self.came += 1;
        let from = self.first.wrapping_add(self.next as u32);
        let at = self
            .next
            .wrapping_add_signed(header.sequence.wrapping_sub(from) as i32 as i64);
        for (i, byte) in payload.iter().enumerate() {
            assert_eq!(*byte, octet(at + i as u64), "octet {}", at + i as u64);
        }
        let end = at + payload.len() as u64 + u64::from(header.flags.has(Flags::FIN));
        let known = self.beyond.entry(at).or_insert(end);
        *known = end.max(*known);
        while let Some((start, end)) = self.beyond.first_key_value().map(|(s, e)| (*s, *e)) {
            if start > self.next {
                break;
            }
            self.beyond.pop_first();
            self.next = self.next.max(end);
        }
        let number = self.first.wrapping_add(self.next as u32);
        packet(self.ends, (PORT, SOURCE_PORT), 77, number, Flags::ACK, &[])
    }
}

pub fn packet(
    (from, to): (usize, usize),
    (source_port, destination_port): (u16, u16),
    sequence: u32,
    acknowledgement: u32,
    flags: Flags,
    payload: &[u8],
) -> Vec<u8> {
    let header = Header {
        source_port,
        destination_port,
        sequence,
        acknowledgement,
        flags,
        window: 65535,
        urgent: 0,
        options: vec![],
    };
    let mut segment = Vec::new();
    header.emit(payload, ip(from), ip(to), &mut segment);
    let mut packet = Vec::new();
    ipv4::Header::new(ip(from), ip(to), 6, 64).emit(segment.len(), &mut packet);
    packet.extend_from_slice(&segment);
    packet
}

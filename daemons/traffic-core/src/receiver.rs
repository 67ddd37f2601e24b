// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end that counts and times datagrams.

use crate::datagram::Header;
use crate::delays::{Delays, Jitter, Summary};
use alloc::collections::VecDeque;
use hoplab_base::{Duration, Instant};

/// When rows are due: at whole intervals from `origin`, after `begin` and up to `end`.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub origin: Instant,
    pub interval: Duration,
    pub begin: Instant,
    pub end: Instant,
}

impl Grid {
    /// The first whole interval after `time`, or the end if that is before.
    fn after(&self, time: Instant) -> Instant {
        let interval = self.interval.0.max(1);
        let passed = time.since(self.origin).0 / interval + 1;
        (self.origin + Duration(passed.saturating_mul(interval))).min(self.end)
    }
}

/// What came by a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub at: Instant,
    /// Datagrams since the beginning.
    pub received: u64,
    /// Their payload, octets.
    pub octets: u64,
    /// Numbers that are missing below the highest (RFC 3550 A.3). One that comes late is lost no
    /// more.
    pub lost: u64,
    /// The delays of those that came since the last row; None of none.
    pub delays: Option<Summary>,
    /// Interarrival jitter (RFC 3550 6.4.1), milliseconds; None before the second datagram.
    pub jitter_ms: Option<f64>,
}

/// A flow's receiver of UDP.
///
/// The driver calls [`handle_datagram`](Receiver::handle_datagram) with each datagram and the date
/// at which it came, in order. It calls [`handle_time`](Receiver::handle_time) when some time after
/// [`next_deadline`](Receiver::next_deadline) none has come. Either may make rows due, which
/// [`poll_row`](Receiver::poll_row) returns. A row has all that came by its time, however late it
/// is asked for. At the end the driver calls [`finish`](Receiver::finish), and takes the last rows.
/// All times are dates of one clock, the sender's too.
#[derive(Clone, Debug)]
pub struct Receiver {
    grid: Grid,
    next: Instant,
    last: Option<Instant>,
    received: u64,
    octets: u64,
    highest: u64,
    delays: Delays,
    jitter: Jitter,
    rows: VecDeque<Row>,
}

impl Receiver {
    pub fn new(grid: Grid) -> Self {
        Receiver {
            next: grid.after(grid.begin),
            grid,
            last: None,
            received: 0,
            octets: 0,
            highest: 0,
            delays: Delays::default(),
            jitter: Jitter::default(),
            rows: VecDeque::new(),
        }
    }

    /// A datagram of `octets` came at `now`. `payload` has at least its header; one without, or from
    /// after the end, does not count.
    pub fn handle_datagram(&mut self, now: Instant, payload: &[u8], octets: usize) {
        self.handle_time(now);
        let Some(header) = Header::parse(payload) else {
            return;
        };
        if now > self.grid.end {
            return;
        }
        self.received += 1;
        self.octets += octets as u64;
        self.highest = self.highest.max(self.extended(header.number));
        let delay_ns = now.0.wrapping_sub(header.sent.0) as i64;
        self.delays.add(delay_ns);
        self.jitter.add(delay_ns);
    }

    /// It is `now`: makes rows of the times before.
    pub fn handle_time(&mut self, now: Instant) {
        while self.next < now && self.last != Some(self.grid.end) {
            self.add_row(self.next);
            self.next = self.grid.after(self.next);
        }
    }

    /// When the next row is due, as long as there is one.
    pub fn next_deadline(&self) -> Option<Instant> {
        (self.last != Some(self.grid.end)).then_some(self.next)
    }

    /// The flow ends at `now`: makes the last row.
    pub fn finish(&mut self, now: Instant) {
        self.handle_time(now);
        let at = now.min(self.grid.end);
        if at > self.grid.begin && self.last.is_none_or(|last| last < at) {
            self.add_row(at);
        }
    }

    /// The next row to write.
    pub fn poll_row(&mut self) -> Option<Row> {
        self.rows.pop_front()
    }

    fn add_row(&mut self, at: Instant) {
        self.last = Some(at);
        self.rows.push_back(Row {
            at,
            received: self.received,
            octets: self.octets,
            lost: self.highest.saturating_sub(self.received),
            delays: self.delays.take(),
            jitter_ms: self.jitter.ms(),
        });
    }

    /// The number without wrapping: the one nearest to the highest so far.
    fn extended(&self, number: u32) -> u64 {
        let ahead = number.wrapping_sub(self.highest as u32) as i32;
        self.highest.saturating_add_signed(i64::from(ahead))
    }
}

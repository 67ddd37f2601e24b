// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end that sends echo requests by the clock, and takes their replies in any order.

use crate::echo::{Echo, Version};
use crate::exchange::{End, Exchange};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use hoplab_base::{Duration, Instant};

/// What it sends.
#[derive(Clone, Copy, Debug)]
pub struct Echoes {
    pub version: Version,
    /// Of all its echoes.
    pub identifier: u16,
    /// How many; None without end.
    pub packets: Option<u64>,
    /// Of payload.
    pub octets: usize,
    pub interval: Duration,
    /// An echo is then given up. No more than 65,535 of `interval`: sequence numbers are of 16 bits.
    pub timeout: Duration,
    /// None is sent from then on.
    pub stop: Instant,
}

/// Two readings at one moment: the driver's clock, and the date, which the kernel stamps replies
/// with. A date may step.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub now: Instant,
    pub date: Instant,
}

/// A flow's pinging end.
///
/// The driver waits for a reply or [`next_deadline`](Pinger::next_deadline), and then calls
/// [`handle_reply`](Pinger::handle_reply) with each packet and its date,
/// [`handle_time`](Pinger::handle_time), and [`poll_echo`](Pinger::poll_echo), whose message it sends.
/// Any of these may make rows, which [`poll_row`](Pinger::poll_row) returns. Without a deadline all has
/// been sent and answered or given up. At the end the driver calls [`finish`](Pinger::finish).
#[derive(Clone, Debug)]
pub struct Pinger {
    echoes: Echoes,
    next: Instant,
    count: u64,
    waiting: BTreeMap<u64, Moment>,
    rows: VecDeque<Exchange>,
}

impl Pinger {
    /// The first echo is due at `start`.
    pub fn new(echoes: Echoes, start: Instant) -> Self {
        Pinger {
            echoes,
            next: start,
            count: 0,
            waiting: BTreeMap::new(),
            rows: VecDeque::new(),
        }
    }

    /// When an echo is due, or given up.
    pub fn next_deadline(&self) -> Option<Instant> {
        let echo = self.has_more().then_some(self.next);
        let oldest = self.waiting.values().next();
        let timeout = oldest.map(|moment| moment.now + self.echoes.timeout);
        echo.into_iter().chain(timeout).min()
    }

    /// The message of the echo that is due by `moment`, if one is. By the clock: a late one does not
    /// delay those after it.
    pub fn poll_echo(&mut self, moment: Moment) -> Option<Vec<u8>> {
        if !self.has_more() || self.next > moment.now {
            return None;
        }
        self.next += self.echoes.interval;
        let sequence = self.count as u16;
        self.count += 1;
        self.waiting.insert(self.count, moment);
        let echo = Echo {
            identifier: self.echoes.identifier,
            sequence,
        };
        Some(echo.request(self.echoes.version, self.echoes.octets))
    }

    /// A packet came at `date`. What is no reply to an echo that waits does not count.
    pub fn handle_reply(&mut self, date: Instant, packet: &[u8]) {
        let Some((echo, octets)) = Echo::reply(self.echoes.version, packet) else {
            return;
        };
        if echo.identifier != self.echoes.identifier || self.count == 0 {
            return;
        }
        // The newest of its sequence number; none longer ago waits.
        let behind = ((self.count - 1) as u16).wrapping_sub(echo.sequence);
        let number = self.count.saturating_sub(behind.into());
        if let Some(sent) = self.waiting.remove(&number) {
            let rtt = date.since(sent.date);
            let octets = octets as u64;
            self.add_row(number, sent, End::Answered { rtt, octets });
        }
    }

    /// It is `now`: gives up what has waited for too long.
    pub fn handle_time(&mut self, now: Instant) {
        self.give_up(now, self.echoes.timeout);
    }

    /// The flow ends at `now`: gives up all that waits.
    pub fn finish(&mut self, now: Instant) {
        self.give_up(now, Duration::ZERO);
    }

    /// The next row to write.
    pub fn poll_row(&mut self) -> Option<Exchange> {
        self.rows.pop_front()
    }

    fn has_more(&self) -> bool {
        self.next < self.echoes.stop && self.echoes.packets.is_none_or(|most| self.count < most)
    }

    fn give_up(&mut self, now: Instant, timeout: Duration) {
        // The run's end is the flow's end, however late the driver is.
        let at = now.min(self.echoes.stop);
        while let Some(first) = self.waiting.first_entry() {
            if first.get().now + timeout > now {
                break;
            }
            let (number, sent) = first.remove_entry();
            self.add_row(number, sent, End::GivenUp { at });
        }
    }

    fn add_row(&mut self, number: u64, sent: Moment, end: End) {
        self.rows.push_back(Exchange {
            number,
            sent: sent.now,
            octets: self.echoes.octets as u64,
            end,
        });
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end that sends datagrams.

use crate::datagram::{Header, HEADER_LEN};
use crate::spacing::Pace;
use alloc::vec;
use alloc::vec::Vec;
use hoplab_base::{Duration, Instant};

/// A flow's sender of UDP.
///
/// The driver waits until [`next_deadline`](Sender::next_deadline), calls
/// [`poll_datagram`](Sender::poll_datagram) with the time, and sends what it returns, waiting while
/// its socket has no room. Without a deadline all has been sent.
#[derive(Clone, Debug)]
pub struct Sender {
    pace: Pace,
    left: Option<u64>,
    number: u32,
    to_date: Duration,
    payload: Vec<u8>,
}

impl Sender {
    /// Sends `packets` datagrams, without end if None, of `octets` of payload, at the times of `pace`.
    /// A payload has at least [`HEADER_LEN`] octets. `to_date` is what turns the driver's times into
    /// dates.
    pub fn new(pace: Pace, packets: Option<u64>, octets: usize, to_date: Duration) -> Self {
        Sender {
            pace,
            left: packets,
            number: 0,
            to_date,
            payload: vec![0; octets.max(HEADER_LEN)],
        }
    }

    /// When the next datagram is due; None after the last one.
    pub fn next_deadline(&self) -> Option<Instant> {
        (self.left != Some(0)).then(|| self.pace.next())
    }

    /// The payload of the datagram that is due at `now`, if one is.
    pub fn poll_datagram(&mut self, now: Instant) -> Option<&[u8]> {
        if self.next_deadline()? > now {
            return None;
        }
        self.pace.sent(now);
        self.left = self.left.map(|left| left - 1);
        self.number = self.number.wrapping_add(1);
        let header = Header {
            sent: now + self.to_date,
            number: self.number,
        };
        self.payload[..HEADER_LEN].copy_from_slice(&header.emit());
        Some(&self.payload)
    }
}

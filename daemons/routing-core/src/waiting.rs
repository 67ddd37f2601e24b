// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets that wait for a route.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

/// A packet that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<P> {
    pub destination: Ipv4Addr,
    pub until: Instant,
    pub packet: P,
}

/// All of them, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Waiting<P> {
    packets: VecDeque<Held<P>>,
    most: usize,
    longest: Duration,
}

impl<P> Waiting<P> {
    /// Room for `most` packets, none of which waits longer than `longest`.
    pub fn new(most: usize, longest: Duration) -> Self {
        Waiting {
            packets: VecDeque::new(),
            most: most.max(1),
            longest,
        }
    }

    /// Adds a packet. Returns the oldest, where there was no room for both.
    pub fn push(&mut self, now: Instant, destination: Ipv4Addr, packet: P) -> Option<Held<P>> {
        let full = self.packets.len() >= self.most;
        let oldest = full.then(|| self.packets.pop_front()).flatten();
        self.packets.push_back(Held {
            destination,
            until: now + self.longest,
            packet,
        });
        oldest
    }

    /// Puts a packet in the place of the first one that is the same. Returns it if there is none.
    pub fn renew(&mut self, packet: P, same: impl Fn(&P) -> bool) -> Option<P> {
        let Some(held) = self.packets.iter_mut().find(|held| same(&held.packet)) else {
            return Some(packet);
        };
        held.packet = packet;
        None
    }

    /// Takes the packets for `destination` out, oldest first.
    pub fn take(&mut self, destination: Ipv4Addr) -> Vec<P> {
        self.take_if(|held| held.destination == destination)
    }

    /// Takes those out whose time is over.
    pub fn expired(&mut self, now: Instant) -> Vec<P> {
        self.take_if(|held| held.until <= now)
    }

    fn take_if(&mut self, wanted: impl Fn(&Held<P>) -> bool) -> Vec<P> {
        if !self.packets.iter().any(&wanted) {
            return Vec::new();
        }
        let all = core::mem::take(&mut self.packets);
        let (taken, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(wanted);
        self.packets = kept.into();
        taken.into_iter().map(|held| held.packet).collect()
    }

    pub fn has(&self, destination: Ipv4Addr) -> bool {
        self.packets
            .iter()
            .any(|held| held.destination == destination)
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// When the next packet has waited long enough. They came in order, so it is the first.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.packets.front().map(|held| held.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_by_destination_by_time_and_for_room() {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let mut waiting = Waiting::new(3, Duration(10));
        for (at, to, name) in [(0, a, 1), (1, b, 2), (2, a, 3)] {
            assert_eq!(waiting.push(Instant(at), to, name), None);
        }
        assert_eq!(waiting.next_deadline(), Some(Instant(10)));
        let left = waiting.push(Instant(3), b, 4).map(|held| held.packet);
        assert_eq!(left, Some(1));
        assert_eq!(waiting.renew(5, |old| *old == 4), None);
        assert_eq!(waiting.renew(6, |old| *old == 4), Some(6));
        assert_eq!(waiting.take(b), [2, 5]);
        assert!(waiting.has(a) && !waiting.has(b));
        assert_eq!(waiting.expired(Instant(11)), []);
        assert_eq!(waiting.expired(Instant(12)), [3]);
        assert!(waiting.is_empty() && waiting.next_deadline().is_none());
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a protocol's core hands to its driver, now or later, and the neighbours to which it goes.

use crate::neighbours::Neighbours;
use crate::protocol::{Hop, Output};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_wire::Mac;

/// Most neighbours that a station remembers.
pub const MOST_NEIGHBOURS: usize = 1024;
/// Most messages and packets that wait for their time. A flood fills no more.
const MOST_DELAYED: usize = 1024;
/// mac80211 takes frames for a new IBSS neighbour about so long after its first frame.
const SETTLING: Duration = Duration::from_millis(1);
/// A message goes to the neighbour and no further.
const ONE_HOP: u8 = 1;

/// Outputs in the order in which the driver gets them.
#[derive(Clone, Debug)]
pub struct Outbox<E> {
    ready: VecDeque<Output<E>>,
    delayed: BTreeMap<(Instant, u64), Output<E>>,
    next: u64,
    neighbours: Neighbours,
    frames: u64,
}

impl<E> Outbox<E> {
    /// mac80211 forgets an IBSS neighbour that is silent for longer than `silence`.
    pub fn new(silence: Duration) -> Self {
        Outbox {
            ready: VecDeque::new(),
            delayed: BTreeMap::new(),
            next: 0,
            neighbours: Neighbours::new(MOST_NEIGHBOURS, silence, SETTLING),
            frames: 0,
        }
    }

    /// A message of the protocol came from a neighbour, whose address the driver learns if it is new.
    pub fn heard(&mut self, now: Instant, from: Hop) {
        if self.neighbours.heard(now, from.address, from.mac) {
            self.ready.push_back(Output::Neighbour(from));
        }
    }

    /// A frame of a known neighbour passed, in either direction.
    pub fn seen(&mut self, now: Instant, mac: Mac) {
        self.neighbours.seen(now, mac);
    }

    pub fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// Messages of the protocol that went to the link.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// For the driver at once.
    pub fn give(&mut self, output: Output<E>) {
        if matches!(output, Output::Send { .. }) {
            self.frames += 1;
        }
        self.ready.push_back(output);
    }

    pub fn tell(&mut self, event: E) {
        self.give(Output::Event(event));
    }

    /// For the driver at `at`, in the order of times and calls. Returns it where too much waits.
    pub fn later(&mut self, now: Instant, at: Instant, output: Output<E>) -> Option<Output<E>> {
        if at <= now {
            self.give(output);
            return None;
        }
        if self.delayed.len() >= MOST_DELAYED {
            return Some(output);
        }
        self.next += 1;
        self.delayed.insert((at, self.next), output);
        None
    }

    /// Sends a message to a neighbour when the kernel takes frames for it; whether its address is
    /// known.
    pub fn unicast(&mut self, now: Instant, address: Ipv4Addr, message: Vec<u8>) -> bool {
        let Some(mac) = self.neighbours.mac(address) else {
            return false;
        };
        let at = now.max(self.neighbours.usable(address));
        let output = Output::Send {
            to: Some(Hop { address, mac }),
            ttl: ONE_HOP,
            message,
        };
        // One more among so many others would wait for them.
        drop(self.later(now, at, output));
        true
    }

    /// Sends a packet to a neighbour likewise. Returns it where that cannot be.
    pub fn forward(&mut self, now: Instant, address: Ipv4Addr, packet: Vec<u8>) -> Option<Vec<u8>> {
        let Some(mac) = self.neighbours.mac(address) else {
            return Some(packet);
        };
        let at = now.max(self.neighbours.usable(address));
        let to = Hop { address, mac };
        match self.later(now, at, Output::Forward { to, packet }) {
            Some(Output::Forward { packet, .. }) => Some(packet),
            _ => None,
        }
    }

    /// What has waited long enough is for the driver.
    pub fn release(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry() {
            if first.key().0 > now {
                break;
            }
            let output = first.remove();
            self.give(output);
        }
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        self.delayed.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next output; `None` when nothing is left.
    pub fn poll(&mut self) -> Option<Output<E>> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOP: Hop = Hop {
        address: Ipv4Addr::new(10, 0, 0, 2),
        mac: Mac([2, 0, 0, 0, 0, 2]),
    };

    #[test]
    fn outputs_come_by_time_and_a_new_neighbour_settles_first() {
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        let mut outbox = Outbox::<u8>::new(Duration::from_secs(55));
        assert_eq!(
            outbox.forward(at(0), HOP.address, [1].to_vec()),
            Some([1].to_vec())
        );
        assert!(!outbox.unicast(at(0), HOP.address, [2].to_vec()));
        outbox.heard(at(0), HOP);
        assert!(outbox.unicast(at(0), HOP.address, [2].to_vec()));
        assert_eq!(outbox.later(at(0), at(10), Output::Event(3)), None);
        outbox.tell(4);
        assert_eq!(outbox.next_deadline(), Some(at(10)));
        outbox.release(at(1000));
        let all: Vec<_> = core::iter::from_fn(|| outbox.poll()).collect();
        let message = Output::Send {
            to: Some(HOP),
            ttl: 1,
            message: [2].to_vec(),
        };
        let events = [4, 3].map(Output::Event);
        let [told, waited] = events;
        assert_eq!(all, [Output::Neighbour(HOP), told, waited, message]);
        assert_eq!(outbox.frames(), 1);
    }

    #[test]
    fn a_flood_waits_in_bounded_memory() {
        let mut outbox = Outbox::<usize>::new(Duration::from_secs(55));
        for n in 0..MOST_DELAYED {
            assert_eq!(outbox.later(Instant(0), Instant(9), Output::Event(n)), None);
        }
        let more = outbox.later(Instant(0), Instant(9), Output::Event(MOST_DELAYED));
        assert_eq!(more, Some(Output::Event(MOST_DELAYED)));
    }
}

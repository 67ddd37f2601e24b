// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Network Interface Queue (RFC 4728 §4.5): routing packets first, data behind them, as ns-2's
//! priority queue has it. Only a few frames at a time go to the driver. So those queued for a
//! broken link can still be pulled back (§8.3, §8.3.6).

use crate::wire::Packet;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// One packet on its way out, with what its fate will need.
#[derive(Clone, Debug)]
pub struct Item {
    pub packet: Packet,
    /// `None`: link-layer broadcast.
    pub next_hop: Option<Ipv4Addr>,
    /// Routing packets overtake data.
    pub routing: bool,
    /// Whether reachability of the next hop is to be confirmed (§8.3).
    pub maintained: bool,
    /// How often this node has sent it on a new route. Bounds retries of its own packets.
    pub attempts: u8,
    /// When the packet was first taken from the local stack or the air.
    pub since: hoplab_base::Instant,
}

#[derive(Default)]
pub struct InterfaceQueue {
    routing: VecDeque<Item>,
    data: VecDeque<Item>,
}

impl InterfaceQueue {
    /// Adds a packet; returns the packet that a full queue drops: the newest data packet in
    /// favour of a routing packet, otherwise the arriving one.
    pub fn push(&mut self, item: Item, capacity: usize) -> Option<Item> {
        let dropped = if self.len() < capacity {
            None
        } else if item.routing && !self.data.is_empty() {
            self.data.pop_back()
        } else {
            return Some(item);
        };
        let list = if item.routing {
            &mut self.routing
        } else {
            &mut self.data
        };
        list.push_back(item);
        dropped
    }

    /// The next packet to send; broadcasts only when `unicast` is false.
    pub fn pop(&mut self, unicast: bool) -> Option<Item> {
        for list in [&mut self.routing, &mut self.data] {
            match list.front() {
                Some(item) if unicast || item.next_hop.is_none() => return list.pop_front(),
                // A blocked packet holds up what is behind it: data must not overtake routing.
                Some(_) => return None,
                None => {}
            }
        }
        None
    }

    /// Removes all packets for `next_hop`, in sending order.
    pub fn pull(&mut self, next_hop: Ipv4Addr) -> Vec<Item> {
        let mut out = Vec::new();
        for list in [&mut self.routing, &mut self.data] {
            for item in core::mem::take(list) {
                if item.next_hop == Some(next_hop) {
                    out.push(item);
                } else {
                    list.push_back(item);
                }
            }
        }
        out
    }

    pub fn len(&self) -> usize {
        self.routing.len() + self.data.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the node does later, by its time.

use crate::queue::Item;
use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_wire::Mac;

pub enum Delayed {
    Send(Item),
    /// A reply from the cache that a better answer may still cancel (RFC 4728 §8.2.5).
    CachedReply {
        item: Item,
        initiator: Ipv4Addr,
        target: Ipv4Addr,
        hops: usize,
    },
    /// Gives up the held requests of a questionable neighbour that did not answer (§8.2.2).
    HeldRequest {
        from: Ipv4Addr,
    },
    /// An ARP reply. It waits until the link layer knows the neighbour that asked.
    ArpAnswer {
        mac: Mac,
        ip: Ipv4Addr,
    },
}

#[derive(Default)]
pub struct Agenda {
    /// The number keeps equal times apart, and in the order of their call.
    actions: BTreeMap<(Instant, u64), Delayed>,
    next_order: u64,
}

impl Agenda {
    pub fn add(&mut self, at: Instant, what: Delayed) {
        self.next_order += 1;
        self.actions.insert((at, self.next_order), what);
    }

    /// Takes out the next action whose time has come.
    pub fn due(&mut self, now: Instant) -> Option<Delayed> {
        let first = self.actions.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// A data packet from `from` to `to` shows that its initiator has a route of so many hops.
    /// Cancels the replies that are no shorter (§8.2.5), and says how many.
    pub fn cancel_replies(&mut self, from: Ipv4Addr, to: Ipv4Addr, hops_used: usize) -> usize {
        let before = self.actions.len();
        self.actions.retain(|_, d| {
            !matches!(d, Delayed::CachedReply { initiator, target, hops, .. }
                if *initiator == from && *target == to && hops_used <= *hops)
        });
        before - self.actions.len()
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        self.actions.keys().next().map(|k| k.0)
    }
}

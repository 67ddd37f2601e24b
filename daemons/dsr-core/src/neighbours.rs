// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Link-layer addresses of neighbours: learned from the DSR frames that they send, or by ARP
//! (RFC 826). The settings choose ARP's queue and timers, which differ between systems. BSD has a
//! queue of one packet, in which the last one stays. Holland and Vaidya (1999) blame that queue.
//!
//! A link-layer address belongs to one neighbour, the one that was seen with it last. A false
//! header that names another neighbour therefore serves until the next frame of the true one.

use crate::queue::Item;
use crate::settings::{Resolution, Settings};
use crate::tables::MOST_ENTRIES;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_wire::Mac;

/// How long unicast frames to a neighbour wait after its first frame. An IBSS station in Linux
/// hands up the frame of a new neighbour first and enters the neighbour into its table a little
/// later. Until then it drops frames to that neighbour without a status.
const SETTLING: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Entry {
    mac: Option<Mac>,
    /// The neighbour's last frame or acknowledgement.
    confirmed: Instant,
    /// When the link layer knows the neighbour too.
    usable: Instant,
    waiting: VecDeque<Item>,
    /// Questions asked so far, and when the next is due. Both count only while packets wait.
    tries: u32,
    next_try: Instant,
}

/// The neighbour table.
#[derive(Default)]
pub struct Neighbours {
    entries: BTreeMap<Ipv4Addr, Entry>,
}

/// What to do with a packet whose next hop needs an address.
pub enum Resolved {
    Known(Mac, Item),
    /// Queued; the request to broadcast if one is due, and a packet pushed out of the queue.
    Waiting {
        ask: bool,
        dropped: Option<Item>,
    },
}

/// The time between two questions. With learned addresses ARP only asks neighbours that were silent
/// for long. That is an exchange over one hop like a non-propagating Route Request, so it waits as
/// long (RFC 4728 §9).
fn retry(s: &Settings) -> Duration {
    match s.resolution {
        Resolution::Learned => s.nonprop_request_timeout_ns,
        Resolution::Arp => s.arp_retry_ns,
    }
}

/// How long an entry serves without a sign of life.
fn lifetime(s: &Settings) -> Duration {
    match s.resolution {
        Resolution::Learned => s.neighbour_timeout_ns,
        Resolution::Arp => s.arp_timeout_ns,
    }
}

impl Neighbours {
    /// A frame that the interface took in showed the neighbour's address. Returns the time from
    /// which on frames may go to the neighbour.
    pub fn learn(&mut self, now: Instant, ip: Ipv4Addr, mac: Mac, s: &Settings) -> Instant {
        if self.mac_of(ip) != Some(mac) {
            self.take_from_others(now, ip, mac);
            self.make_room(ip);
        }
        let entry = self.entries.entry(ip).or_default();
        if entry.mac != Some(mac) || now.since(entry.confirmed) >= lifetime(s) {
            // New to the kernel, or forgotten during a long silence: the kernel enters it now.
            entry.usable = now + SETTLING;
        }
        entry.mac = Some(mac);
        entry.confirmed = now;
        entry.tries = 0;
        entry.usable
    }

    /// Another neighbour may have been taken for the station with `mac`. ARP asks for it anew.
    fn take_from_others(&mut self, now: Instant, ip: Ipv4Addr, mac: Mac) {
        for (other, entry) in &mut self.entries {
            if *other != ip && entry.mac == Some(mac) {
                entry.mac = None;
                entry.tries = 0;
                entry.next_try = now;
            }
        }
    }

    /// The neighbour heard of longest ago leaves a full table, if no packet waits for its address.
    fn make_room(&mut self, ip: Ipv4Addr) {
        if self.entries.len() < MOST_ENTRIES || self.entries.contains_key(&ip) {
            return;
        }
        let idle = self.entries.iter().filter(|(_, e)| e.waiting.is_empty());
        let oldest = idle.min_by_key(|(ip, e)| (e.confirmed, **ip));
        if let Some(oldest) = oldest.map(|e| *e.0) {
            self.entries.remove(&oldest);
        }
    }

    /// How many neighbours are known or asked for.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The neighbour acknowledged a frame.
    pub fn confirm(&mut self, now: Instant, ip: Ipv4Addr) {
        if let Some(entry) = self.entries.get_mut(&ip) {
            entry.confirmed = now;
        }
    }

    /// The link layer does not know the neighbour.
    pub fn forget(&mut self, ip: Ipv4Addr) {
        if let Some(entry) = self.entries.get_mut(&ip) {
            entry.mac = None;
        }
    }

    pub fn mac_of(&self, ip: Ipv4Addr) -> Option<Mac> {
        self.entries.get(&ip)?.mac
    }

    pub fn resolve(&mut self, now: Instant, item: Item, hop: Ipv4Addr, s: &Settings) -> Resolved {
        self.make_room(hop);
        let entry = self.entries.entry(hop).or_default();
        let stale = now.since(entry.confirmed) >= lifetime(s);
        if let (Some(mac), false, true) = (entry.mac, stale, entry.usable <= now) {
            return Resolved::Known(mac, item);
        }
        // Three cases wait: a neighbour that the kernel is about to enter, one that was silent for
        // too long, and one without an address. The first packet for the last two asks by ARP.
        let settling = entry.mac.is_some() && !stale;
        let ask = entry.waiting.is_empty() && !settling;
        let full = entry.waiting.len() >= s.arp_queue_packets.max(1);
        let dropped = if full {
            entry.waiting.pop_front()
        } else {
            None
        };
        entry.waiting.push_back(item);
        if ask {
            // `take_resolved` releases what waits as soon as there is an address. The stale one
            // must not do that.
            entry.mac = None;
            entry.tries = 1;
            entry.next_try = now + retry(s);
        }
        Resolved::Waiting { ask, dropped }
    }

    /// Packets whose next hop is known by now.
    pub fn take_resolved(&mut self, now: Instant) -> Vec<Item> {
        let ready = self.entries.values_mut();
        let ready = ready.filter(|e| e.mac.is_some() && e.usable <= now);
        ready
            .flat_map(|e| core::mem::take(&mut e.waiting))
            .collect()
    }

    /// Packets that wait for the address of `hop`.
    pub fn pull(&mut self, hop: Ipv4Addr) -> Vec<Item> {
        let entry = self.entries.get_mut(&hop);
        entry
            .map(|e| core::mem::take(&mut e.waiting).into())
            .unwrap_or_default()
    }

    /// Requests to repeat now, and next hops that did not answer in time.
    pub fn poll(&mut self, now: Instant, s: &Settings) -> (Vec<Ipv4Addr>, Vec<Ipv4Addr>) {
        let (mut ask, mut failed) = (Vec::new(), Vec::new());
        for (ip, e) in &mut self.entries {
            if e.waiting.is_empty() || e.mac.is_some() || now < e.next_try {
                continue;
            }
            if e.tries >= s.arp_tries {
                failed.push(*ip);
            } else {
                e.tries += 1;
                e.next_try = now + retry(s);
                ask.push(*ip);
            }
        }
        (ask, failed)
    }

    /// Packets that wait for an address.
    pub fn waiting(&self) -> usize {
        self.entries.values().map(|e| e.waiting.len()).sum()
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        let waiting = self.entries.values().filter(|e| !e.waiting.is_empty());
        let due = |e: &Entry| {
            if e.mac.is_some() {
                e.usable
            } else {
                e.next_try
            }
        };
        waiting.map(due).min()
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Maintenance Buffer (RFC 4728 §4.5): packets whose next hop has yet to confirm them, by a
//! passive acknowledgement (§8.3.2) or a network-layer one (§8.3.3). With link-layer feedback
//! (§8.3.1) it stays empty.

use crate::queue::Item;
use crate::settings::{Acknowledgement, Settings};
use crate::tables::{make_room, MOST_ENTRIES};
use crate::wire::{DsrOption, Packet};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

struct Maintained {
    item: Item,
    hop: Ipv4Addr,
    /// Transmissions that expect to be overheard, and those that ask for an acknowledgement.
    passive_tries: u32,
    asked: u32,
    /// Of the latest transmission that asked. Every transmission has a new one.
    ack_id: Option<u16>,
    sent: Instant,
    deadline: Instant,
}

/// A packet that was not confirmed in time.
pub enum Expired {
    /// To send again. Its next transmission follows before that of any other packet.
    Again(Item, Ipv4Addr),
    /// It was sent often enough: the next hop does not answer.
    Failed(Item, Ipv4Addr),
}

/// The packets, and what the node remembers between confirmations.
#[derive(Default)]
pub struct MaintenanceBuffer {
    packets: Vec<Maintained>,
    next_id: u16,
    /// Smoothed round trip of each neighbour and its variation, seconds, estimated as TCP does
    /// (§8.3.3).
    rtt: BTreeMap<Ipv4Addr, (f64, f64)>,
    /// When each neighbour was last shown to be reachable, for MaintHoldoffTime.
    confirmed: BTreeMap<Ipv4Addr, Instant>,
    /// The state of the packet that is being sent again. `None` outside of that.
    retry: Option<Maintained>,
}

impl MaintenanceBuffer {
    /// Adds an Acknowledgement Request to a packet about to leave for `hop`, when one is due.
    pub fn request(&mut self, now: Instant, item: &mut Item, hop: Ipv4Addr, s: &Settings) {
        item.packet
            .remove_options(|o| matches!(o, DsrOption::AckRequest { .. }));
        if s.acknowledgement == Acknowledgement::Link || !item.maintained {
            return;
        }
        let passive_tries = self.retry.as_ref().map_or(0, |r| r.passive_tries);
        if expects_passive(item, s) && passive_tries <= s.try_passive_acks {
            return;
        }
        let fresh = self.confirmed.get(&hop);
        // MaintHoldoffTime (§8.3): a hop confirmed a moment ago needs no new proof. But a
        // retransmission asks, as its own packet got no answer.
        if self.retry.is_none() && fresh.is_some_and(|t| now.since(*t) < s.maint_holdoff_ns) {
            return;
        }
        self.next_id = self.next_id.wrapping_add(1);
        let identification = self.next_id;
        let options = item.packet.options.get_or_insert_default();
        options.push(DsrOption::AckRequest { identification });
    }

    /// The frame is out: the packet waits for its confirmation if it expects one.
    pub fn sent(&mut self, now: Instant, item: Item, hop: Ipv4Addr, s: &Settings) {
        let before = self.retry.take();
        if !item.maintained {
            return;
        }
        let ack_id = item.packet.options().iter().find_map(|o| match o {
            DsrOption::AckRequest { identification } => Some(*identification),
            _ => None,
        });
        let (mut passive_tries, mut asked) = before.map_or((0, 0), |b| (b.passive_tries, b.asked));
        let wait = if ack_id.is_some() {
            asked += 1;
            // The wait doubles with each retransmission, up to 64 times the first one.
            self.first_wait(hop, s)
                .saturating_mul(1 << (asked - 1).min(6))
        } else if expects_passive(&item, s) {
            passive_tries += 1;
            s.passive_ack_timeout_ns
        } else {
            return;
        };
        if self.packets.len() >= s.maintenance_buffer_packets {
            // The frame itself is on its way; only its confirmation is given up (§4.5).
            return;
        }
        self.packets.push(Maintained {
            item,
            hop,
            passive_tries,
            asked,
            ack_id,
            sent: now,
            deadline: now + wait,
        });
    }

    fn first_wait(&self, hop: Ipv4Addr, s: &Settings) -> Duration {
        match self.rtt.get(&hop) {
            None => s.network_ack_timeout_ns,
            Some((srtt, var)) => Duration::from_secs_f64((srtt + 4.0 * var).max(0.01)),
        }
    }

    /// Takes out the next packet whose time is over.
    pub fn expire(&mut self, now: Instant, s: &Settings) -> Option<Expired> {
        let i = self.packets.iter().position(|m| m.deadline <= now)?;
        let m = self.packets.remove(i);
        if m.asked > s.max_maint_rexmt {
            return Some(Expired::Failed(m.item, m.hop));
        }
        let (item, hop) = (m.item.clone(), m.hop);
        self.retry = Some(m);
        Some(Expired::Again(item, hop))
    }

    /// The packet that was to be sent again cannot be.
    pub fn give_up(&mut self) {
        self.retry = None;
    }

    /// §8.3.3: an Acknowledgement for this node. True when a packet waited for it, so that the next
    /// hop `from` is confirmed.
    pub fn acknowledged(&mut self, now: Instant, id: u16, from: Ipv4Addr) -> bool {
        let same = |m: &&Maintained| m.hop == from && m.ack_id == Some(id);
        let Some(m) = self.packets.iter().find(same) else {
            return false;
        };
        // Only a packet sent once is measured, as Karn's algorithm has it (RFC 6298 section 3).
        if m.asked == 1 {
            let sample = now.since(m.sent).as_secs_f64();
            let found = self.rtt.get(&from).map(|(srtt, var)| {
                let error = sample - srtt;
                let abs = if error < 0.0 { -error } else { error };
                (srtt + error / 8.0, var + (abs - var) / 4.0)
            });
            // The first one is the estimate, with half of it as variation (RFC 6298 2.2).
            let found = found.unwrap_or((sample, sample / 2.0));
            self.rtt.insert(from, found);
        }
        self.confirm(now, from);
        true
    }

    /// §8.3.2: the next hop that was heard forwarding a packet that waits for confirmation.
    pub fn overheard(&mut self, packet: &Packet) -> Option<Ipv4Addr> {
        let same = |m: &&Maintained| forwarded(&m.item.packet, packet);
        let m = self.packets.iter().find(same)?;
        let (hop, sent) = (m.hop, m.sent);
        // Confirmed as of the sending, the earlier time: the forwarding may be heard late.
        self.confirm(sent, hop);
        Some(hop)
    }

    fn confirm(&mut self, now: Instant, hop: Ipv4Addr) {
        // Any confirmation clears all packets to the same next hop (§8.3.2, §8.3.3).
        self.packets.retain(|m| m.hop != hop);
        // `rtt` has no limit of its own. It loses the neighbours that leave `confirmed`.
        if make_room(&mut self.confirmed, &hop, MOST_ENTRIES, |at| *at) {
            let known = &self.confirmed;
            self.rtt
                .retain(|node, _| *node == hop || known.contains_key(node));
        }
        self.confirmed.insert(hop, now);
    }

    /// Takes out the packets for `hop`.
    pub fn pull(&mut self, hop: Ipv4Addr) -> Vec<Item> {
        let (out, kept): (Vec<_>, Vec<_>) = core::mem::take(&mut self.packets)
            .into_iter()
            .partition(|m| m.hop == hop);
        self.packets = kept;
        out.into_iter().map(|m| m.item).collect()
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        self.packets.iter().map(|m| m.deadline).min()
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

fn expects_passive(item: &Item, s: &Settings) -> bool {
    // The destination does not send the packet on, so nobody can overhear it there (§8.3.2).
    let last_hop = item.next_hop == Some(item.packet.ip.destination);
    s.acknowledgement == Acknowledgement::Passive && !last_hop
}

/// The test of §8.3.2: same packet, fewer segments left.
fn forwarded(sent: &Packet, heard: &Packet) -> bool {
    let same = sent.ip.source == heard.ip.source
        && sent.ip.destination == heard.ip.destination
        && sent.ip.protocol == heard.ip.protocol
        && sent.ip.identification == heard.ip.identification
        && sent.ip.flags_fragment & 0x1fff == heard.ip.flags_fragment & 0x1fff;
    let left = |p: &Packet| p.source_route().map(|s| s.segments_left);
    same && match (left(sent), left(heard)) {
        (Some(a), Some(b)) => b < a,
        (None, None) => true,
        _ => false,
    }
}

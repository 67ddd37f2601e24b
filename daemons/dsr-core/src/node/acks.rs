// SPDX-License-Identifier: Apache-2.0
//! Confirmation of next hops without the link's help: passive acknowledgements (RFC 4728
//! §8.3.2) and network-layer acknowledgements (§8.3.3). With link-layer feedback (§8.3.1) none
//! of this runs, except that the node answers Acknowledgement Requests of others.

use super::Dsr;
use crate::event::{DropCause, Evidence};
use crate::layer::Layer;
use crate::queue::Item;
use crate::settings::Acknowledgement;
use crate::tables::{make_room, MOST_ENTRIES};
use crate::wire::{DsrOption, Packet};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};

/// A packet of the Maintenance Buffer (§4.5).
pub(super) struct Maintained {
    item: Item,
    hop: Ipv4Addr,
    /// Transmissions that expect to be overheard, and those that ask for an acknowledgement.
    passive_tries: u32,
    asked: u32,
    /// Of the latest transmission that asked. Every transmission has a new one.
    ack_id: Option<u16>,
    sent: Instant,
    pub deadline: Instant,
}

/// What the node remembers between confirmations.
#[derive(Default)]
pub(super) struct AckState {
    next_id: u16,
    /// Smoothed round trip of each neighbour and its variation, seconds, estimated as TCP does
    /// (§8.3.3).
    rtt: BTreeMap<Ipv4Addr, (f64, f64)>,
    /// When each neighbour was last shown to be reachable, for MaintHoldoffTime.
    confirmed: BTreeMap<Ipv4Addr, Instant>,
    /// The state of the packet that is being sent again. `None` outside of that.
    retry: Option<Maintained>,
}

impl<L: Layer> Dsr<L> {
    fn expects_passive(&self, item: &Item) -> bool {
        // The destination does not send the packet on, so nobody can overhear it there (§8.3.2).
        let last_hop = item.next_hop == Some(item.packet.ip.destination);
        self.settings.acknowledgement == Acknowledgement::Passive && !last_hop
    }

    /// Adds an Acknowledgement Request to a packet about to leave, when one is due.
    pub(super) fn request_ack(&mut self, now: Instant, item: &mut Item, hop: Ipv4Addr) {
        item.packet
            .remove_options(|o| matches!(o, DsrOption::AckRequest { .. }));
        if self.settings.acknowledgement == Acknowledgement::Link || !item.maintained {
            return;
        }
        let retry = self.ack_state.retry.as_ref();
        let passive_tries = retry.map_or(0, |r| r.passive_tries);
        if self.expects_passive(item) && passive_tries <= self.settings.try_passive_acks {
            return;
        }
        let fresh = self.ack_state.confirmed.get(&hop);
        // MaintHoldoffTime (§8.3): a hop confirmed a moment ago needs no new proof. But a
        // retransmission asks, as its own packet got no answer.
        if retry.is_none() && fresh.is_some_and(|t| now.since(*t) < self.settings.maint_holdoff_ns)
        {
            return;
        }
        self.ack_state.next_id = self.ack_state.next_id.wrapping_add(1);
        let identification = self.ack_state.next_id;
        let options = item.packet.options.get_or_insert_default();
        options.push(DsrOption::AckRequest { identification });
    }

    /// The frame is out: waits for its confirmation if it expects one.
    pub(super) fn await_confirmation(&mut self, now: Instant, item: Item, hop: Ipv4Addr) {
        let before = self.ack_state.retry.take();
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
            self.ack_timeout(hop)
                .saturating_mul(1 << (asked - 1).min(6))
        } else if self.expects_passive(&item) {
            passive_tries += 1;
            self.settings.passive_ack_timeout_ns
        } else {
            return;
        };
        if self.maintenance.len() >= self.settings.maintenance_buffer_packets {
            // The frame itself is on its way; only its confirmation is given up (§4.5).
            return;
        }
        let deadline = now + wait;
        let sent = now;
        self.maintenance.push(Maintained {
            item,
            hop,
            passive_tries,
            asked,
            ack_id,
            sent,
            deadline,
        });
    }

    fn ack_timeout(&self, hop: Ipv4Addr) -> Duration {
        match self.ack_state.rtt.get(&hop) {
            None => self.settings.network_ack_timeout_ns,
            Some((srtt, var)) => Duration::from_secs_f64((srtt + 4.0 * var).max(0.01)),
        }
    }

    pub(super) fn expire_acks(&mut self, now: Instant) {
        while let Some(i) = self.maintenance.iter().position(|m| m.deadline <= now) {
            let m = self.maintenance.remove(i);
            if m.asked > self.settings.max_maint_rexmt {
                self.link_failure(now, m.hop, Evidence::NoAnswer, m.item);
                continue;
            }
            let (item, hop) = (m.item.clone(), m.hop);
            self.ack_state.retry = Some(m);
            self.resend_for_ack(now, item, hop);
        }
    }

    fn resend_for_ack(&mut self, now: Instant, mut item: Item, hop: Ipv4Addr) {
        // The retransmission bypasses the queue, so that its state and its frame stay together.
        self.request_ack(now, &mut item, hop);
        let bytes = item.packet.emit();
        let Some(mac) = self.neighbours.mac_of(hop) else {
            self.ack_state.retry = None;
            return self.drop_packet(DropCause::Arp, Some(&item.packet));
        };
        let to = super::LinkDestination::Unicast(mac);
        let class = if item.routing {
            super::Class::Routing
        } else {
            super::Class::Data
        };
        // Its token is not outstanding: the link's status of a retransmission changes nothing.
        self.transmit(to, crate::wire::ETHERTYPE_IPV4, bytes, class);
        self.await_confirmation(now, item, hop);
    }

    /// §8.3.3: an Acknowledgement for this node.
    pub(super) fn handle_ack(&mut self, now: Instant, id: u16, from: Ipv4Addr) {
        let same = |m: &Maintained| m.hop == from && m.ack_id == Some(id);
        let Some(m) = self.maintenance.iter().find(|m| same(m)) else {
            return;
        };
        // Only a packet sent once is measured, as Karn's algorithm has it (RFC 6298 section 3).
        if m.asked == 1 {
            let sample = now.since(m.sent).as_secs_f64();
            let (srtt, var) = self
                .ack_state
                .rtt
                .get(&from)
                .copied()
                .unwrap_or((sample, sample / 2.0));
            let error = sample - srtt;
            let abs = if error < 0.0 { -error } else { error };
            self.ack_state
                .rtt
                .insert(from, (srtt + error / 8.0, var + (abs - var) / 4.0));
        }
        self.hop_confirmed(now, from);
    }

    fn hop_confirmed(&mut self, now: Instant, hop: Ipv4Addr) {
        // Any confirmation clears all packets to the same next hop (§8.3.2, §8.3.3).
        self.maintenance.retain(|m| m.hop != hop);
        let state = &mut self.ack_state;
        // `rtt` has no limit of its own. It loses the neighbours that leave `confirmed`.
        if make_room(&mut state.confirmed, &hop, MOST_ENTRIES, |at| *at) {
            let known = &state.confirmed;
            state
                .rtt
                .retain(|node, _| *node == hop || known.contains_key(node));
        }
        state.confirmed.insert(hop, now);
        self.confirmed(hop);
    }

    /// §8.3.2: the next hop was heard forwarding a packet that waits for confirmation.
    pub(super) fn passive_ack(&mut self, packet: &Packet) {
        let Some(hop) = self
            .maintenance
            .iter()
            .find(|m| forwarded(&m.item.packet, packet))
        else {
            return;
        };
        let (hop, sent) = (hop.hop, hop.sent);
        // Confirmed as of the sending, the earlier time: the forwarding may be heard late.
        self.hop_confirmed(sent, hop);
    }

    pub(super) fn pull_maintained(&mut self, hop: Ipv4Addr) -> Vec<Item> {
        let (out, kept): (Vec<_>, Vec<_>) = core::mem::take(&mut self.maintenance)
            .into_iter()
            .partition(|m| m.hop == hop);
        self.maintenance = kept;
        out.into_iter().map(|m| m.item).collect()
    }

    /// §8.3.3: answers an Acknowledgement Request.
    pub(super) fn answer_ack_request(&mut self, now: Instant, packet: &Packet, from: Ipv4Addr) {
        let carries_ack = super::has_ack(packet);
        for option in packet.options() {
            let DsrOption::AckRequest { identification } = option else {
                continue;
            };
            if carries_ack && packet.ip.destination != self.own {
                return;
            }
            let ack = DsrOption::Ack {
                identification: *identification,
                source: self.own,
                destination: from,
            };
            self.enqueue(Item {
                packet: Packet::control(self.own, from, vec![ack]),
                next_hop: Some(from),
                routing: true,
                maintained: false,
                attempts: 0,
                since: now,
            });
            return;
        }
    }
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

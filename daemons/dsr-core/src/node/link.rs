// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node hands frames to the link and learns what became of them (RFC 4728 §8.3.1).

use super::{Class, Dsr, LinkDestination, Outstanding, Token};
use crate::event::{DropCause, Evidence};
use crate::layer::Layer;
use crate::neighbours::Resolved;
use crate::queue::Item;
use crate::settings::Acknowledgement;
use crate::wire::ETHERTYPE_IPV4;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

impl<L: Layer> Dsr<L> {
    /// Hands packets to the link as long as few enough are outstanding.
    pub(super) fn pump(&mut self, now: Instant) {
        for item in self.neighbours.take_resolved(now) {
            self.enqueue(item);
        }
        while let Some(item) = self
            .queue
            .pop(self.outstanding.len() < self.settings.outstanding.max(1))
        {
            self.send_item(now, item);
        }
        // The layer acts on dropped segments only here. By now all packets of a break have been
        // dealt with, so what it sends again cannot get among them.
        self.layer.settle(now);
    }

    fn send_item(&mut self, now: Instant, mut item: Item) {
        let class = Class::of(&item);
        let Some(hop) = item.next_hop else {
            let bytes = item.packet.emit();
            self.transmit(LinkDestination::Broadcast, ETHERTYPE_IPV4, bytes, class);
            return;
        };
        let mac = match self.neighbours.resolve(now, item, hop, &self.settings) {
            Resolved::Known(mac, known) => {
                item = known;
                mac
            }
            Resolved::Waiting { ask, dropped } => {
                if let Some(out) = dropped {
                    self.drop_packet(DropCause::Arp, Some(&out.packet));
                }
                if ask {
                    self.ask_address(hop);
                }
                return;
            }
        };
        // Not before: a packet may wait long for an address, and the round trip of its
        // Acknowledgement Request starts here.
        self.maintenance
            .request(now, &mut item, hop, &self.settings);
        let bytes = item.packet.emit();
        let token = self.transmit(LinkDestination::Unicast(mac), ETHERTYPE_IPV4, bytes, class);
        self.outstanding
            .insert(token, Outstanding { item, sent: now });
    }

    /// The link tells whether the frame `token` was acknowledged (§8.3.1).
    pub fn handle_tx_status(&mut self, now: Instant, token: Token, acked: bool) {
        if let Some(done) = self.outstanding.remove(&token) {
            let failed = (!acked).then_some(Evidence::NotAcknowledged);
            self.sent(now, done, failed);
        }
        self.pump(now);
    }

    /// The interface did not take the frame `token`. The packet is lost as in a full queue, and the
    /// next hop stays as good as it was.
    pub fn handle_refusal(&mut self, now: Instant, token: Token) {
        self.stats.frames_refused += 1;
        if let Some(refused) = self.outstanding.remove(&token) {
            self.drop_packet(DropCause::QueueFull, Some(&refused.item.packet));
        }
        self.pump(now);
    }

    fn sent(&mut self, now: Instant, done: Outstanding, failed: Option<Evidence>) {
        let Some(hop) = done.item.next_hop else {
            return;
        };
        match failed {
            None => {
                self.neighbours.confirm(now, hop);
                self.confirmed(hop);
            }
            // mac80211 does not know the station any more. The next packet asks by ARP, and the
            // answer makes the station known again.
            Some(Evidence::NoStatus) => self.neighbours.forget(hop),
            Some(_) => {}
        }
        // With the other kinds of acknowledgement a failed frame breaks no link by itself. The
        // missing answer will.
        if self.settings.acknowledgement == Acknowledgement::Link {
            if let Some(why) = failed {
                self.break_link(now, hop, why, done.item, vec![]);
            }
        } else {
            self.maintenance.sent(now, done.item, hop, &self.settings);
        }
    }

    /// Frames without any status within the bound count as lost: the kernel drops a frame to a
    /// station it does not know without a word.
    pub(super) fn expire_status(&mut self, now: Instant) {
        let timeout = self.settings.status_timeout_ns;
        let late = |o: &Outstanding| now.since(o.sent) >= timeout;
        let tokens: Vec<_> = self
            .outstanding
            .iter()
            .filter(|(_, o)| late(o))
            .map(|(t, _)| *t)
            .collect();
        for token in tokens {
            if let Some(done) = self.outstanding.remove(&token) {
                self.stats.status_timeouts += 1;
                self.sent(now, done, Some(Evidence::NoStatus));
            }
        }
    }

    pub(super) fn address_unknown(&mut self, now: Instant, hop: Ipv4Addr) {
        let mut waiting = self.neighbours.pull(hop).into_iter();
        let Some(first) = waiting.next() else { return };
        let rest: Vec<_> = waiting.collect();
        self.break_link(now, hop, Evidence::NoAddress, first, rest);
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Confirmation of next hops without the link's help, by the Maintenance Buffer. With link-layer
//! feedback (RFC 4728 §8.3.1) none of this runs, except that the node answers Acknowledgement
//! Requests of others.

use super::{Class, Dsr, LinkDestination};
use crate::event::{DropCause, Evidence};
use crate::layer::Layer;
use crate::maintenance::Expired;
use crate::queue::Item;
use crate::wire::{DsrOption, Packet, ETHERTYPE_IPV4};
use alloc::vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

impl<L: Layer> Dsr<L> {
    pub(super) fn expire_acks(&mut self, now: Instant) {
        while let Some(expired) = self.maintenance.expire(now, &self.settings) {
            match expired {
                Expired::Again(item, hop) => self.resend_for_ack(now, item, hop),
                Expired::Failed(item, hop) => {
                    self.break_link(now, hop, Evidence::NoAnswer, item, vec![]);
                }
            }
        }
    }

    /// The retransmission bypasses the queue, so that its state and its frame stay together.
    fn resend_for_ack(&mut self, now: Instant, mut item: Item, hop: Ipv4Addr) {
        self.maintenance
            .request(now, &mut item, hop, &self.settings);
        let Some(mac) = self.neighbours.mac_of(hop) else {
            self.maintenance.give_up();
            return self.drop_packet(DropCause::Arp, Some(&item.packet));
        };
        let to = LinkDestination::Unicast(mac);
        // Its token is not outstanding: the link's status of a retransmission changes nothing.
        self.transmit(to, ETHERTYPE_IPV4, item.packet.emit(), Class::of(&item));
        self.maintenance.sent(now, item, hop, &self.settings);
    }

    /// §8.3.3: an Acknowledgement for this node.
    pub(super) fn handle_ack(&mut self, now: Instant, id: u16, from: Ipv4Addr) {
        if self.maintenance.acknowledged(now, id, from) {
            self.confirmed(from);
        }
    }

    /// §8.3.2: an overheard packet may be one that waits for confirmation.
    pub(super) fn passive_ack(&mut self, packet: &Packet) {
        if let Some(hop) = self.maintenance.overheard(packet) {
            self.confirmed(hop);
        }
    }

    /// §8.3.3: answers an Acknowledgement Request.
    pub(super) fn answer_ack_request(&mut self, now: Instant, packet: &Packet, from: Ipv4Addr) {
        let carries_ack = packet.has_ack();
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

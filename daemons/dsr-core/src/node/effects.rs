// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all other files of the node may do: put out, queue, drop, log.

use super::{Class, Dsr, LinkDestination, Output, Token};
use crate::event::{DropCause, Event};
use crate::layer::{Fate, Layer, Report};
use crate::queue::Item;
use crate::wire::{Packet, ETHERTYPE_ARP, ETHERTYPE_IPV4};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Duration;
use hoplab_wire::{arp, Mac};

impl<L: Layer> Dsr<L> {
    pub(super) fn enqueue(&mut self, item: Item) {
        if let Some(dropped) = self.queue.push(item, self.settings.queue_packets) {
            self.drop_packet(DropCause::QueueFull, Some(&dropped.packet));
        }
    }

    pub(super) fn jitter(&mut self) -> Duration {
        let max = self.settings.broadcast_jitter_ns;
        self.random.up_to(max)
    }

    pub(super) fn event(&mut self, event: Event<L::Event>) {
        self.outputs.push_back(Output::Event(event));
    }

    pub(super) fn drop_packet(&mut self, cause: DropCause, packet: Option<&Packet>) {
        self.stats.dropped += 1;
        self.event(Event::Drop {
            cause,
            packet: packet.map(Packet::summary),
        });
        if let Some(packet) = packet.filter(|_| cause.is_of_the_route()) {
            self.tell(packet, Fate::Dropped(cause));
        }
    }

    /// Tells the layer what became of a packet whose route failed.
    pub(super) fn tell(&mut self, packet: &Packet, fate: Fate) {
        let reports = self.layer.fate(packet, fate);
        self.report(reports);
    }

    pub(super) fn report(&mut self, reports: Vec<Report<L::Event>>) {
        self.outputs
            .extend(reports.into_iter().map(|report| match report {
                Report::Deliver(packet) => Output::Deliver(packet.emit()),
                Report::Event(event) => Output::Layer(event),
            }));
    }

    pub(super) fn ask_address(&mut self, target: Ipv4Addr) {
        let unknown = Mac::default();
        let bytes = self.arp(arp::Operation::Request, unknown, target).emit();
        self.transmit(
            LinkDestination::Broadcast,
            ETHERTYPE_ARP,
            bytes,
            Class::Routing,
        );
    }

    /// An ARP packet of this station.
    pub(super) fn arp(
        &self,
        operation: arp::Operation,
        target_mac: Mac,
        target: Ipv4Addr,
    ) -> arp::Packet {
        arp::Packet {
            operation,
            sender_mac: self.mac,
            sender: self.own,
            target_mac,
            target,
        }
    }

    pub(super) fn transmit(
        &mut self,
        to: LinkDestination,
        ethertype: u16,
        bytes: Vec<u8>,
        class: Class,
    ) -> Token {
        debug_assert!(ethertype == ETHERTYPE_ARP || ethertype == ETHERTYPE_IPV4);
        self.next_token += 1;
        let token = Token(self.next_token);
        match class {
            _ if ethertype == ETHERTYPE_ARP => self.stats.arp_frames += 1,
            Class::Routing => self.stats.routing_frames += 1,
            Class::Data => self.stats.data_frames += 1,
        }
        self.outputs.push_back(Output::Transmit {
            to,
            ethertype,
            bytes,
            token,
            class,
        });
        token
    }

    /// The neighbour was shown to hear this node (§4.6).
    pub(super) fn confirmed(&mut self, hop: Ipv4Addr) {
        if self.blacklist.clear(hop) {
            self.event(Event::Blacklist {
                node: hop,
                state: "cleared",
            });
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processing of received packets (RFC 4728 §8.1.4 to §8.1.6): forwarding, delivering, and options
//! that this node does not know.

use super::Dsr;
use crate::agenda::Delayed;
use crate::event::DropCause;
use crate::layer::{Layer, Place};
use crate::queue::Item;
use crate::settings::Resolution;
use crate::wire::{DsrOption, ErrorKind, Packet, RouteError, SourceRoute};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_wire::{arp, Mac};

impl<L: Layer> Dsr<L> {
    /// A network-layer packet from the link: IPv4 or ARP. `promiscuous`: the frame was addressed
    /// to somebody else. `signal_dbm`: strength of the frame if known.
    pub fn handle_frame(
        &mut self,
        now: Instant,
        source: Mac,
        destination: Mac,
        bytes: &[u8],
        signal_dbm: Option<i16>,
        promiscuous: bool,
    ) {
        if source != self.mac {
            if bytes.first().is_some_and(|b| b >> 4 == 4) {
                self.handle_ip_frame(now, source, destination, bytes, signal_dbm, promiscuous);
            } else if !promiscuous {
                self.handle_arp(now, bytes);
            }
        }
        self.pump(now);
    }

    fn handle_arp(&mut self, now: Instant, bytes: &[u8]) {
        let Some(packet) = arp::Packet::parse(bytes) else {
            return;
        };
        let (mac, sender) = (packet.sender_mac, packet.sender);
        if sender.is_unspecified() || sender == self.own || mac.is_group() {
            return;
        }
        if packet.target == self.own {
            let usable = self.neighbours.learn(now, sender, mac, &self.settings);
            if packet.operation == arp::Operation::Request {
                self.agenda
                    .add(usable.max(now), Delayed::ArpAnswer { mac, ip: sender });
            }
        }
    }

    fn handle_ip_frame(
        &mut self,
        now: Instant,
        source: Mac,
        destination: Mac,
        bytes: &[u8],
        signal_dbm: Option<i16>,
        promiscuous: bool,
    ) {
        let packet = match Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(_) if promiscuous => return,
            Err(_) => return self.drop_packet(DropCause::Malformed, None),
        };
        let Some(from) = transmitter(&packet) else {
            if !promiscuous {
                self.drop_packet(DropCause::Malformed, Some(&packet));
            }
            return;
        };
        if from == self.own || packet.ip.source.is_multicast() || source.is_group() {
            return;
        }
        // What the monitor interface overhears tells the link layer nothing of its sender.
        if self.settings.resolution == Resolution::Learned && !promiscuous {
            self.neighbours.learn(now, from, source, &self.settings);
        }
        self.note_signal(now, from, signal_dbm);
        if promiscuous {
            self.stats.overheard += 1;
            self.overhear(now, packet, from);
        } else {
            self.receive(now, packet, (from, source), destination.is_group());
        }
        self.serve_waiting(now);
    }

    /// A frame meant for this node, or for everybody.
    fn receive(
        &mut self,
        now: Instant,
        mut packet: Packet,
        (from, source): (Ipv4Addr, Mac),
        group: bool,
    ) {
        match self.unknown_options(now, &mut packet, from) {
            Ok(()) => {}
            Err(cause) => return self.drop_packet(cause, Some(&packet)),
        }
        if packet.route_request().is_some() {
            // Errors first: the cache must not answer this request with a link that they remove.
            self.learn_errors(now, &packet);
            return self.route_request(now, packet, from);
        }
        let receiver = match packet.source_route() {
            Some(sr) => sr.receiver().unwrap_or(packet.ip.destination),
            None => packet.ip.destination,
        };
        if receiver != self.own {
            // Broadcast IP traffic of other kinds is not DSR's. The sender of any other frame takes
            // this station for another one. The ARP reply says whose link-layer address it is.
            // Without that the sender would never notice, as the link acknowledges such frames.
            if !group {
                self.agenda.add(
                    now,
                    Delayed::ArpAnswer {
                        mac: source,
                        ip: from,
                    },
                );
                self.drop_packet(DropCause::NotForUs, Some(&packet));
            }
            return;
        }
        self.learn_options(now, &packet, from);
        self.learn_errors(now, &packet);
        // Before the layer may take the packet: the previous hop waits for an answer either way.
        self.answer_ack_request(now, &packet, from);
        if packet.ip.destination == self.own {
            self.deliver(now, packet);
        } else {
            self.forward(now, packet);
        }
    }

    /// §8.1.5, for a packet whose next listed node is this one.
    fn forward(&mut self, now: Instant, mut packet: Packet) {
        let own = self.own;
        // A source route without a salvage lists every hop, so a loop shows in the list or at the
        // source. A salvaged one has lost its first hops, so `handled` remembers what was here.
        // Without the Visited option a salvaged packet may come back; §8.3.6 lets it.
        let salvaged = packet.source_route().is_some_and(|sr| sr.salvage > 0);
        let may_return = salvaged && !self.settings.visited_option;
        let listed_twice =
            |sr: &SourceRoute| sr.addresses.iter().filter(|a| **a == own).count() > 1;
        let returned = packet.source_route().is_some_and(listed_twice)
            || packet.ip.source == own && !may_return
            || salvaged && !may_return && self.handled.contains(now, &packet);
        if returned {
            return self.drop_packet(DropCause::Loop, Some(&packet));
        }
        if packet.ip.ttl <= 1 {
            return self.drop_packet(DropCause::TtlExpired, Some(&packet));
        }
        packet.ip.ttl -= 1;
        let destination = packet.ip.destination;
        let Some(sr) = packet.source_route_mut() else {
            return self.drop_packet(DropCause::NotForUs, Some(&packet));
        };
        // From here on the route names the next hop as its receiver (§8.1.5).
        sr.segments_left = sr.segments_left.saturating_sub(1);
        let next = sr.receiver().unwrap_or(destination);
        if next.is_multicast() || next.is_broadcast() || destination.is_multicast() {
            return self.drop_packet(DropCause::Multicast, Some(&packet));
        }
        // Each hop is confirmed for itself, with an identification of its own (§8.3.3).
        packet.remove_options(|o| matches!(o, DsrOption::AckRequest { .. }));
        self.handled.record(now, &packet);
        self.stats.forwarded += 1;
        let hops = packet.travelled().len();
        let hops = hops.min(usize::from(u8::MAX)) as u8;
        if self.layer_takes(now, Place::Passing { hops }, &packet) {
            return;
        }
        let routing = packet.is_control();
        let maintained = !packet.has_ack();
        let next_hop = Some(next);
        self.enqueue(Item {
            packet,
            next_hop,
            routing,
            maintained,
            attempts: 0,
            since: now,
        });
    }

    /// §8.1.6: treats options this node does not know as their type demands.
    fn unknown_options(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        from: Ipv4Addr,
    ) -> Result<(), DropCause> {
        let unknown = |o: &DsrOption| match o {
            DsrOption::Unknown { kind, .. } => Some(*kind),
            _ => None,
        };
        let kinds: Vec<u8> = packet.options().iter().filter_map(unknown).collect();
        if kinds.is_empty() {
            return Ok(());
        }
        // A Route Request reaches every node. An error from each of them would be a storm.
        let asks = packet.route_request().is_some();
        for kind in &kinds {
            // The highest bit asks for a Route Error. The next two say what becomes of the option.
            // It may be ignored (00), removed (01), marked by the first bit of its data (10), or
            // cost the packet (11).
            if kind & 0x80 != 0 && !asks {
                self.refuse_option(now, packet, *kind, from);
            }
        }
        if kinds.iter().any(|k| k & 0x60 == 0x60) {
            return Err(DropCause::UnknownOption);
        }
        packet.remove_options(|o| unknown(o).is_some_and(|k| k & 0x60 == 0x20));
        for option in packet.options.iter_mut().flatten() {
            if let DsrOption::Unknown { kind, data } = option {
                if *kind & 0x60 == 0x40 {
                    if let Some(first) = data.first_mut() {
                        *first |= 0x80;
                    }
                }
            }
        }
        Ok(())
    }

    fn refuse_option(&mut self, now: Instant, packet: &Packet, kind: u8, from: Ipv4Addr) {
        let to = packet.ip.source;
        let mut back = vec![self.own];
        match packet.source_route() {
            Some(sr) => {
                let nodes = super::learn::listed_nodes(packet, sr);
                let upto = nodes.iter().position(|a| *a == from).map_or(0, |i| i + 1);
                back.extend(nodes[..upto].iter().rev());
            }
            None => back.push(from),
        }
        // After a salvage the route does not lead back to the source. Then the cache must know one.
        if back.last() != Some(&to) {
            back.clear();
        }
        let error = RouteError {
            kind: ErrorKind::OptionNotSupported(kind),
            salvage: packet.source_route().map_or(0, |sr| sr.salvage),
            source: self.own,
            destination: to,
            extension: Vec::new(),
        };
        self.stats.errors_sent += 1;
        let packet = Packet::control(self.own, to, vec![DsrOption::RouteError(error)]);
        self.send_control(now, packet, back);
    }
}

/// The node that transmitted the frame, by its routing header. `None` stands for a header that no
/// node sends.
fn transmitter(packet: &Packet) -> Option<Ipv4Addr> {
    if let Some(r) = packet.route_request() {
        return Some(r.addresses.last().copied().unwrap_or(packet.ip.source));
    }
    match packet.source_route() {
        None => Some(packet.ip.source),
        Some(sr) => match sr.position()? {
            // The first address of a salvaged packet is the salvaging node, never a receiver.
            0 if sr.salvage == 0 => Some(packet.ip.source),
            0 => None,
            at => Some(sr.addresses[at - 1]),
        },
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Split-TCP inside the node: segments of split connections are shown where they leave, pass or
//! arrive, and what a custodian sends goes as packets of its own do.
//!
//! A proxy is a new origin of the segments that it took. It sends them on along the source route
//! that they came with, as long as nobody told of a break on it. Where somebody did, it sends them
//! along a route of its own, in the format of a salvaged packet (RFC 4728 §8.3.6). Route Errors of
//! breaks behind the proxy come to it and no further, as the source has no segment there. Without a route it waits in the Send Buffer as what is to be
//! salvaged there does, and a Route Discovery is begun.

use super::maintain::travelled;
use super::{Dsr, Output};
use crate::queue::Item;
use crate::tables::Waiting;
use crate::wire::{
    options::MAX_ADDRESSES, DsrOption, Fate, LostSegment, Packet, SourceRoute, PROTOCOL_TCP,
};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_split_core as split_core;
use hoplab_split_core::{Ends, Place, Row, Split, Verdict};
use hoplab_wire::split::{Stamp, PROTOCOL_LACK};

/// The DSR options that a segment came with, for the way from here on.
pub(super) type Way = Option<Vec<DsrOption>>;

/// Octets of a packet that a source route and a record of visited nodes may take; segments that
/// would not fit the link beside them are not taken.
const RESERVED: usize = 4 + 2 * (4 + 4 * MAX_ADDRESSES);

impl Dsr {
    /// Takes part in Split-TCP from now on.
    pub fn split_connections(&mut self, mut config: split_core::Config) {
        config.tuning.mtu = self.settings.link_mtu.saturating_sub(RESERVED);
        self.split = Some(Split::new(self.own, config));
    }

    /// Rows of the table `split`.
    pub fn split_rows(&self) -> Vec<Row> {
        self.split.as_ref().map_or_else(Vec::new, Split::rows)
    }

    /// Shows a packet at its place; whether it goes no further.
    pub(super) fn split_takes(&mut self, now: Instant, place: Place, packet: &Packet) -> bool {
        let Some(split) = &mut self.split else {
            return false;
        };
        if ![PROTOCOL_TCP, PROTOCOL_LACK].contains(&packet.ip.protocol) {
            return false;
        }
        let bytes = without_options(packet);
        let verdict = split.handle_packet(now, place, &bytes, packet.options.clone());
        self.carry_split(now);
        verdict == Verdict::Taken
    }

    pub(super) fn split_timeout(&mut self, now: Instant) {
        let due = |split: &Split<Way>| split.next_deadline().is_some_and(|at| at <= now);
        if let Some(split) = self.split.as_mut().filter(|split| due(split)) {
            split.handle_timeout(now);
            self.carry_split(now);
        }
    }

    /// `packet` goes no further. If this node is responsible for it, it will send it again.
    pub(super) fn note_split_drop(&mut self, packet: &Packet) {
        let custodian = Stamp::of(&packet.ip).map(|stamp| stamp.custodian);
        if self.split.is_some() && custodian == Some(self.own) {
            self.split_drops.push(without_options(packet));
        }
    }

    /// At the end of whatever made this node drop something.
    pub(super) fn tell_split_drops(&mut self, now: Instant) {
        for packet in core::mem::take(&mut self.split_drops) {
            if let Some(split) = &mut self.split {
                split.handle_drop(now, &packet);
            }
        }
    }

    /// What a Route Error says of segments that this node may be responsible for.
    pub(super) fn tell_split_losses(&mut self, now: Instant, segments: &[LostSegment]) {
        let Some(split) = &mut self.split else {
            return;
        };
        for segment in segments.iter().filter(|s| s.fate == Fate::Dropped) {
            let ends = Ends {
                source: segment.source,
                source_port: segment.source_port,
                destination: segment.destination,
                destination_port: segment.destination_port,
            };
            split.handle_loss(now, &ends, segment.sequence);
        }
    }

    fn carry_split(&mut self, now: Instant) {
        while let Some(output) = self.split.as_mut().and_then(Split::poll_output) {
            match output {
                split_core::Output::Event(event) => self.outputs.push_back(Output::Split(event)),
                split_core::Output::Send { packet, way } => {
                    let Ok(mut packet) = Packet::parse(&packet) else {
                        continue;
                    };
                    match way {
                        Some(options) => {
                            packet.options = options;
                            self.send_as_custodian(now, packet);
                        }
                        None => self.originate(
                            now,
                            Waiting {
                                packet,
                                since: now,
                                attempts: 0,
                            },
                        ),
                    }
                }
            }
        }
    }

    /// Whether this node is responsible for the segment in `packet`, of another node's TCP.
    pub(super) fn is_custodian(&self, packet: &Packet) -> bool {
        packet.ip.source != self.own
            && Stamp::of(&packet.ip).is_some_and(|stamp| stamp.custodian == self.own)
    }

    /// Sends on a segment of another node, with the options that it came with.
    pub(super) fn send_as_custodian(&mut self, now: Instant, mut packet: Packet) {
        let to = packet.ip.destination;
        let travelled = travelled(&packet);
        let onward = self.onward(&packet);
        let next_hop = if onward.len() > 1 && self.cache.knows(now, &onward) {
            onward[1]
        } else if let Some(route) = self.cache.find(now, to, &travelled) {
            let fits = route.len() <= MAX_ADDRESSES && travelled.len() <= MAX_ADDRESSES;
            if !fits || !self.redirect(&mut packet, &route, &travelled) {
                return self.drop_packet(crate::DropCause::TooBig, Some(&packet));
            }
            self.cache.used(now, &route);
            route[1]
        } else {
            return self.await_route(
                now,
                Waiting {
                    packet,
                    since: now,
                    attempts: 0,
                },
            );
        };
        self.handled.record(now, &packet);
        self.enqueue(Item {
            packet,
            next_hop: Some(next_hop),
            routing: false,
            maintained: true,
            attempts: 0,
            since: now,
        });
    }

    /// The way that a packet's source route names from here on, this node first.
    fn onward(&self, packet: &Packet) -> Vec<Ipv4Addr> {
        let mut nodes = Vec::from([self.own]);
        if let Some(sr) = packet.source_route() {
            nodes.extend(
                sr.position()
                    .and_then(|at| sr.addresses.get(at..))
                    .into_iter()
                    .flatten(),
            );
        }
        nodes.push(packet.ip.destination);
        nodes
    }

    /// Puts the packet on `route` as if it were salvaged here; whether it still fits the link.
    fn redirect(&self, packet: &mut Packet, route: &[Ipv4Addr], travelled: &[Ipv4Addr]) -> bool {
        let addresses = route[..route.len() - 1].to_vec();
        packet.remove_options(|o| matches!(o, DsrOption::SourceRoute(_) | DsrOption::Visited(_)));
        let options = packet.options.get_or_insert_default();
        options.insert(
            0,
            DsrOption::SourceRoute(SourceRoute {
                first_hop_external: false,
                last_hop_external: false,
                salvage: 1,
                segments_left: (addresses.len() - 1) as u8,
                addresses,
            }),
        );
        if self.settings.visited_option {
            options.push(DsrOption::Visited(travelled.to_vec()));
        }
        packet.wire_len() <= self.settings.link_mtu
    }

    /// A custodian's further transmission takes the place of one that still waits for a route.
    pub(super) fn replace_waiting(&mut self, packet: &Packet) {
        if Stamp::of(&packet.ip).is_some_and(|stamp| stamp.custodian == self.own) {
            self.send_buffer.take_same(packet);
        }
    }
}

fn without_options(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(packet.ip.header_len() + packet.payload.len());
    packet.ip.emit(packet.payload.len(), &mut bytes);
    bytes.extend_from_slice(&packet.payload);
    bytes
}

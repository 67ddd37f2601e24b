// SPDX-License-Identifier: Apache-2.0
//! Telling the sender of TCP that its route failed. The local stack hears of its segments by a
//! notice, and other stations by the Route Error's extension. ICMP host unreachable can take the
//! place of both, and any stack understands it (RFC 6069 is one use of it).

use super::{icmp, Dsr, Output};
use crate::layer::Layer;
use crate::settings::Carriage;
use crate::wire::{Fate, LostSegment, Packet};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

/// ICMP destination unreachable, host unreachable (RFC 792).
const HOST_UNREACHABLE: [u8; 2] = [3, 1];

impl<L: Layer> Dsr<L> {
    /// `packet` met a failed route here. If it is the local TCP's, this reports its fate.
    pub(super) fn notice(&mut self, packet: &Packet, fate: Fate) {
        if packet.ip.source != self.own {
            return;
        }
        let Some(segment) = LostSegment::of(packet, fate) else {
            return;
        };
        match self.settings.carriage {
            Carriage::RouteError => self.outputs.push_back(Output::Notice(vec![segment])),
            // A salvaged segment still travels, and ICMP has no way to say so.
            Carriage::Icmp if fate == Fate::Salvaged || opens(packet) => {}
            Carriage::Icmp => {
                let message = icmp::quoting(HOST_UNREACHABLE, [0; 4], packet);
                let reply = icmp::packet(self.own, self.own, message);
                self.outputs.push_back(Output::Deliver(reply.emit()));
            }
        }
    }

    /// Hands on what a Route Error says of the local TCP's segments.
    pub(super) fn pass_on_losses(&mut self, mut segments: Vec<LostSegment>) {
        segments.retain(|segment| segment.source == self.own);
        if !segments.is_empty() {
            self.outputs.push_back(Output::Notice(segments));
        }
    }

    /// Reports `lost` to the senders by ICMP. One message suffices for each connection. `to` is the
    /// node that `back` leads to.
    pub(super) fn send_unreachables(
        &mut self,
        now: Instant,
        lost: &[Packet],
        to: Ipv4Addr,
        back: &[Ipv4Addr],
    ) {
        let mut told: Vec<LostSegment> = Vec::new();
        for packet in lost {
            let Some(segment) = LostSegment::of(packet, Fate::Dropped) else {
                continue;
            };
            if opens(packet) || told.iter().any(|t| t.same_connection(&segment)) {
                continue;
            }
            told.push(segment);
            let source = packet.ip.source;
            let message = icmp::quoting(HOST_UNREACHABLE, [0; 4], packet);
            let reply = icmp::packet(self.own, source, message);
            // `back` may end at a salvaging node or custodian. Then the cache must know the source.
            let back = if source == to { back.to_vec() } else { vec![] };
            self.send_control(now, reply, back);
        }
    }
}

/// Whether the segment opens a connection. ICMP would end such an attempt at once (RFC 5461
/// section 3), although the search for a route still goes on.
fn opens(packet: &Packet) -> bool {
    const FLAGS: usize = 13;
    const SYN: u8 = 2;
    // A segment too short for flags counts as opening, which is the cautious answer.
    packet.payload.get(FLAGS).is_none_or(|f| f & SYN != 0)
}

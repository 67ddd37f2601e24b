// SPDX-License-Identifier: Apache-2.0
//! Packets that do not fit a frame (RFC 4728 §8.1.5, §8.5). The node fragments nothing: it drops
//! them, and reports "fragmentation needed" to the local stack where the packet came from there.

use super::{Dsr, Output};
use crate::event::DropCause;
use crate::layer::Layer;
use crate::wire::{ipv4, Ipv4Header, Packet};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_wire::PROTOCOL_ICMP;

/// Destination unreachable, fragmentation needed (RFC 792).
const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];
/// Octets that a message quotes after the IP header (RFC 792).
const QUOTED: usize = 8;
const DEFAULT_TTL: u8 = 64;

impl<L: Layer> Dsr<L> {
    /// The packet with its source route is longer than a frame. If it is one of the local stack,
    /// this tells the stack the size that fits (RFC 1191).
    pub(super) fn too_big(&mut self, packet: Packet) {
        self.drop_packet(DropCause::TooBig, Some(&packet));
        if packet.ip.source != self.own || packet.is_control() {
            return;
        }
        // The stack knows nothing of the DSR header, so its room counts against the MTU.
        let header = packet.wire_len() - packet.ip.header_len() - packet.payload.len();
        let mtu = self
            .settings
            .link_mtu
            .saturating_sub(header)
            .min(usize::from(u16::MAX)) as u16;
        let [high, low] = mtu.to_be_bytes();
        let reply = self::packet(
            self.own,
            self.own,
            quoting(FRAGMENTATION_NEEDED, [0, 0, high, low], &packet),
        );
        self.outputs.push_back(Output::Deliver(reply.emit()));
    }
}

/// An error message of `kind` (type, code) about `packet`. It quotes the packet as its sender made
/// it, without the DSR header, which no TCP would recognise as its own.
pub(super) fn quoting(kind: [u8; 2], rest: [u8; 4], packet: &Packet) -> Vec<u8> {
    let bare = Packet {
        options: None,
        ..packet.clone()
    };
    let quoted = bare.emit();
    let mut message = [kind[0], kind[1], 0, 0].to_vec();
    message.extend_from_slice(&rest);
    message.extend_from_slice(&quoted[..quoted.len().min(bare.ip.header_len() + QUOTED)]);
    let sum = ipv4::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

pub(super) fn packet(from: Ipv4Addr, to: Ipv4Addr, message: Vec<u8>) -> Packet {
    Packet {
        ip: Ipv4Header::new(from, to, PROTOCOL_ICMP, DEFAULT_TTL),
        options: None,
        payload: message,
    }
}

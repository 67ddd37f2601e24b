// SPDX-License-Identifier: Apache-2.0
//! Packets that do not fit (RFC 4728 §8.1.5, §8.5): fragmentation of this node's own packets
//! before the source route is added, or "fragmentation needed" to the local stack.

use super::{Dsr, Output};
use crate::event::DropCause;
use crate::wire::{ipv4, Ipv4Header, Packet};
use alloc::vec::Vec;

const PROTOCOL_ICMP: u8 = 1;
const DEFAULT_TTL: u8 = 64;

impl Dsr {
    /// The packet with its source route is longer than a frame. Tells the local stack the size
    /// that fits (RFC 1191), when the packet is its own.
    pub(super) fn too_big(&mut self, mut packet: Packet) {
        self.drop_packet(DropCause::TooBig, Some(&packet));
        if packet.ip.source != self.own || packet.is_control() {
            return;
        }
        let header = packet.wire_len() - packet.ip.header_len() - packet.payload.len();
        let mtu = self
            .s
            .link_mtu
            .saturating_sub(header)
            .min(usize::from(u16::MAX)) as u16;
        packet.options = None;
        let quoted = packet.emit();
        let mut message: Vec<u8> = [3, 4, 0, 0, 0, 0].to_vec();
        message.extend_from_slice(&mtu.to_be_bytes());
        message.extend_from_slice(&quoted[..quoted.len().min(packet.ip.header_len() + 8)]);
        let sum = ipv4::checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let ip = Ipv4Header::new(self.own, self.own, PROTOCOL_ICMP, DEFAULT_TTL);
        let reply = Packet {
            ip,
            options: None,
            payload: message,
        };
        self.outputs.push_back(Output::Deliver(reply.emit()));
    }
}

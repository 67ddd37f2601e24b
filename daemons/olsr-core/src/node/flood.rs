// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages that come and go: processing and sending on (RFC 3626 §3.4), jitter and packets (§3.3).

use super::Olsr;
use crate::event::DropCause;
use crate::message::{self, Body, CodedTime, Message, MESSAGE_HEADER, PACKET_HEADER};
use crate::Output;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_routing_core::Sequence16;

/// Octets of a packet, at most, so that IP does not cut it.
const LARGEST: usize = 1400;
/// Most messages that wait. A flood fills no more.
const MOST_WAITING: usize = 1024;
/// To the neighbours and no further.
const ONE_HOP: u8 = 1;

impl Olsr {
    /// A message came from a neighbour, in its packet of this number.
    pub(super) fn message(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        packet: Sequence16,
        message: Message,
    ) {
        if message.originator == self.own || message.ttl == 0 {
            return;
        }
        let Ok(body) = message.parsed() else {
            return self.drop(DropCause::Malformed, None);
        };
        let key = (message.originator, message.sequence.0);
        let until = now + self.settings.dup_hold_time_ns;
        match body {
            Body::Hello(hello) => return self.hear(now, from, packet, &message, &hello),
            Body::Tc(tc) if self.processed.insert(now, key, until) => {
                self.learn(now, from, &message, &tc);
            }
            _ => {}
        }
        self.send_further(now, from, message);
    }

    /// The default forwarding algorithm (§3.4.1): a multipoint relay sends each message on once.
    fn send_further(&mut self, now: Instant, from: Ipv4Addr, mut message: Message) {
        let key = (message.originator, message.sequence.0);
        let Some(link) = self.links.get(&from).filter(|l| l.is_symmetric(now)) else {
            return;
        };
        let is_relay = link.is_selector(now);
        let until = now + self.settings.dup_hold_time_ns;
        // Who sent it first decides, whether this station is its relay or not.
        let first = self.judged.insert(now, key, until);
        if first && is_relay && message.ttl > 1 {
            message.ttl -= 1;
            message.hops = message.hops.saturating_add(1);
            self.stats.messages_forwarded += 1;
            let wait = self.random.up_to(self.settings.max_jitter_ns);
            self.wait(now + wait, message.emit());
        }
    }

    /// Sends a message of this station at once, and those that wait with it.
    pub(super) fn originate(&mut self, now: Instant, ttl: u8, validity: Duration, body: Body) {
        let (kind, body) = match body {
            Body::Hello(hello) => hello.emit(),
            Body::Tc(tc) => tc.emit(),
            Body::Other => return,
        };
        self.message_number = self.message_number.next();
        let message = Message {
            kind,
            validity: CodedTime::of(validity),
            originator: self.own,
            ttl,
            hops: 0,
            sequence: self.message_number,
            body,
        };
        self.wait(now, message.emit());
    }

    fn wait(&mut self, until: Instant, message: Vec<u8>) {
        if self.waiting.len() < MOST_WAITING {
            self.next_waiting += 1;
            self.waiting.insert((until, self.next_waiting), message);
        }
    }

    /// If the time of one has come, all messages that wait go, in as few packets as can be.
    pub(super) fn flush_waiting(&mut self, now: Instant) {
        let first = self.waiting.first_key_value();
        if first.is_none_or(|((at, _), _)| *at > now) {
            return;
        }
        let mut packet = Vec::new();
        let mut size = PACKET_HEADER;
        for message in core::mem::take(&mut self.waiting).into_values() {
            debug_assert!(message.len() >= MESSAGE_HEADER);
            if size + message.len() > LARGEST && !packet.is_empty() {
                self.send(&core::mem::take(&mut packet));
                size = PACKET_HEADER;
            }
            size += message.len();
            packet.push(message);
        }
        self.send(&packet);
    }

    fn send(&mut self, messages: &[Vec<u8>]) {
        self.packet_number = self.packet_number.next();
        let message = message::emit(self.packet_number, messages);
        let (to, ttl) = (None, ONE_HOP);
        self.outbox.give(Output::Send { to, ttl, message });
    }

    /// An interval less some jitter, so that stations do not speak in step (§3.6).
    pub(super) fn jittered(&mut self, interval: Duration) -> Duration {
        let most = self.settings.max_jitter_ns.min(interval);
        interval - self.random.up_to(most)
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a round reads, and hands to the core.

use super::{Daemon, QUIET};
use hoplab_base::Instant;
use hoplab_linux::packet;
use hoplab_linux::Ring;
use hoplab_station::monitor;
use hoplab_wire::{ethernet, ETHERTYPE_ARP, ETHERTYPE_IPV4};

impl Daemon {
    /// The statuses in the sender's error queue, unless the monitor interface brings them.
    pub(super) fn read_error_queue(&mut self) {
        if self.monitor.sent.is_some() {
            return;
        }
        let now = self.clock.now();
        for (start, acked) in self.statuses.read(&self.sender) {
            let same = |sent: &Vec<u8>| {
                // Both are cut, at different lengths. The part that both have must be the same.
                let n = sent.len().min(start.len());
                let header = ethernet::HEADER_LEN;
                n > header && sent[header..n] == start[header..n]
            };
            if let Some(i) = self.awaited.iter().position(|(_, sent)| same(sent)) {
                if let Some((token, _)) = self.awaited.remove(i) {
                    self.core.handle_tx_status(now, token, acked);
                }
            }
        }
    }

    /// The statuses that the monitor interface brought. The daemon reads arrived frames first,
    /// because they met the driver as it was before these statuses.
    pub(super) fn read_sent(&mut self) {
        let Some(ring) = &mut self.monitor.sent else {
            return;
        };
        let (now, core, awaited) = (self.clock.now(), &mut self.core, &mut self.awaited);
        ring.read(|frame| {
            let Some(sent) = monitor::parse(frame) else {
                return;
            };
            let same = |start: &[u8]| {
                let start = &start[ethernet::HEADER_LEN..];
                start.len() <= sent.packet.len() && start == &sent.packet[..start.len()]
            };
            if let Some(i) = awaited.iter().position(|(_, start)| same(start)) {
                if let Some((token, _)) = awaited.remove(i) {
                    core.handle_tx_status(now, token, !sent.failed);
                }
            }
        });
    }

    /// Frames that the wireless interface took in, in the order in which they came.
    pub(super) fn read_link(&mut self) {
        let (now, own, core) = (self.clock.now(), self.own, &mut self.core);
        let signals = &self.signals;
        let mut take = |frame: &[u8]| {
            let Some((header, packet)) = ethernet::Header::parse(frame) else {
                return;
            };
            let (from, to) = (header.source, header.destination);
            if [ETHERTYPE_IPV4, ETHERTYPE_ARP].contains(&header.ethertype) {
                let promiscuous = !to.is_group() && to != own;
                // The wireless interface reports no signal. The monitor interface does.
                let signal = signals.get(&from).copied();
                core.handle_frame(now, from, to, packet, signal, promiscuous);
            }
        };
        read_in_order(&mut self.link, Some(&mut self.passing), |_, frame| {
            take(frame)
        });
    }

    /// Reads what was overheard. True when there was anything but quiet frames. The core takes each
    /// frame at the time when it came, as nothing else has happened since. So routes count from
    /// their arrival.
    pub(super) fn read_foreign(&mut self) -> bool {
        let Some(ring) = &mut self.monitor.foreign else {
            return false;
        };
        let quiet = self.monitor.quiet.as_mut();
        let now = self.clock.now();
        let (last, ahead) = (std::mem::replace(&mut self.last, now), self.stamps_ahead);
        let (own, core) = (self.own, &mut self.core);
        let (last_heard, signals) = (&mut self.heard, &mut self.signals);
        let heard = ring.stamp().is_some();
        if quiet.as_ref().is_some_and(|ring| ring.stamp().is_some()) {
            self.quiet_due = now + QUIET;
        }
        read_in_order(ring, quiet, |stamp, frame| {
            let came = Instant(stamp.0.saturating_sub(ahead.0)).clamp(last, now);
            let Some(heard) = monitor::parse(frame) else {
                return;
            };
            let (from, to) = (heard.source, heard.destination);
            if from == own {
                return;
            }
            // The wireless interface brings these frames too. Here only their signal is news.
            if to == own || to.is_group() {
                signals.extend(heard.signal_dbm.map(|dbm| (from, dbm)));
                return;
            }
            // A repeated frame was heard already (IEEE 802.11-2020 10.3.2.14).
            let last = last_heard.insert(from, heard.sequence);
            if heard.retry && last == Some(heard.sequence) {
                return;
            }
            core.handle_frame(came, from, to, heard.packet, heard.signal_dbm, true);
        });
        heard
    }

    pub(super) fn read_tun(&mut self) {
        let mut packet = [0u8; packet::FRAME];
        if let Ok(len) = self.tun.receive(&mut packet) {
            if len > 0 && packet[0] >> 4 == 4 {
                let now = self.clock.now();
                self.core.handle_ip_packet(now, &packet[..len]);
            }
        }
    }
}

/// Hands the frames of both rings to `take` in the order in which they came, with their stamps.
fn read_in_order(a: &mut Ring, mut b: Option<&mut Ring>, mut take: impl FnMut(Instant, &[u8])) {
    loop {
        let (mine, other) = (a.stamp(), b.as_ref().and_then(|ring| ring.stamp()));
        let Some(first) = mine.into_iter().chain(other).min() else {
            return;
        };
        match &mut b {
            Some(ring) if mine != Some(first) => ring.read_one(|frame| take(first, frame)),
            _ => a.read_one(|frame| take(first, frame)),
        };
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a round reads, and hands to the core.

use super::Daemon;
use hoplab_base::Instant;
use hoplab_linux::packet;
use hoplab_station::monitor;
use hoplab_wire::{ethernet, ETHERTYPE_ARP, ETHERTYPE_IPV4};

impl Daemon {
    /// The statuses in the sender's error queue.
    pub(super) fn read_statuses(&mut self) {
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

    /// Frames that the wireless interface took in, in the order in which they came.
    pub(super) fn read_link(&mut self) {
        let (now, own, core) = (self.clock.now(), self.own, &mut self.core);
        let signals = &self.signals;
        self.link.read(|frame| {
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
        });
    }

    /// What was overheard. The core takes each frame at the time when it came, as nothing else has
    /// happened since. So routes count from their arrival.
    pub(super) fn read_foreign(&mut self) {
        let now = self.clock.now();
        let (last, ahead) = (std::mem::replace(&mut self.last, now), self.stamps_ahead);
        let Some(monitor) = &mut self.monitor else {
            return;
        };
        let (own, core) = (self.own, &mut self.core);
        let (last_heard, signals) = (&mut self.heard, &mut self.signals);
        while let Some(stamp) = monitor.foreign.stamp() {
            let came = Instant(stamp.0.saturating_sub(ahead.0)).clamp(last, now);
            monitor.foreign.read_one(|frame| {
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
        }
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

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signal strength as the quality of routes (a setting). Every station measures its neighbours.
//! Route Requests gather the signal of each hop, and replies take it back. The Route Cache prefers
//! routes whose weakest hop is not below the threshold.

use super::Dsr;
use crate::event::Event;
use crate::layer::Layer;
use crate::wire::{options::UNKNOWN_SIGNAL, DsrOption, Packet};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

impl<L: Layer> Dsr<L> {
    /// Keeps the mean signal of a neighbour and drops the link when it fades.
    pub(super) fn note_signal(&mut self, now: Instant, from: Ipv4Addr, signal: Option<i16>) {
        let (Some(threshold), Some(signal)) = (self.settings.signal_threshold_dbm, signal) else {
            return;
        };
        let heard = self.signals.hear(now, from, signal, threshold);
        self.cache.note_signal(now, self.own, from, heard.mean_dbm);
        if heard.fades {
            self.cache.remove_link(now, self.own, from);
            self.event(Event::Blacklist {
                node: from,
                state: "fading",
            });
        }
    }

    /// Takes over the signals that a request or a reply lists, one for each hop between `nodes`.
    pub(super) fn learn_signals(&mut self, now: Instant, packet: &Packet, nodes: &[Ipv4Addr]) {
        if self.settings.signal_threshold_dbm.is_none() {
            return;
        }
        let told = packet.options().iter().find_map(|o| match o {
            DsrOption::Signals(list) => Some(list),
            _ => None,
        });
        for (hop, dbm) in nodes.windows(2).zip(told.into_iter().flatten()) {
            // What this node measures itself is fresher.
            if *dbm != UNKNOWN_SIGNAL && !hop.contains(&self.own) {
                self.cache.note_signal(now, hop[0], hop[1], *dbm);
            }
        }
    }

    /// The option for a route, from what this node knows of its hops; none without the setting.
    pub(super) fn signals_of(&self, now: Instant, nodes: &[Ipv4Addr]) -> Option<DsrOption> {
        self.settings.signal_threshold_dbm?;
        let known = |hop: &[Ipv4Addr]| self.cache.signal(now, hop[0], hop[1]);
        let list: Vec<i8> = nodes
            .windows(2)
            .map(|hop| known(hop).unwrap_or(UNKNOWN_SIGNAL))
            .collect();
        Some(DsrOption::Signals(list))
    }
}

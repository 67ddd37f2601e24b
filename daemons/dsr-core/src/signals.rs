// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How strong a station hears its neighbours (a setting, not of the RFC).

use crate::tables::{make_room, MOST_ENTRIES};
use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

/// Weight of a new frame in the mean signal of a neighbour.
const WEIGHT: f64 = 0.25;

/// What a frame's signal says of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub mean_dbm: i8,
    /// The mean has just fallen below the threshold. Only the crossing counts: a neighbour that
    /// stays weak may be learned again, for routes that have no other hop.
    pub fades: bool,
}

/// Of each neighbour, when it was heard last and its mean signal, dBm.
#[derive(Default)]
pub struct Signals(BTreeMap<Ipv4Addr, (Instant, f64)>);

impl Signals {
    pub fn hear(&mut self, now: Instant, from: Ipv4Addr, dbm: i16, threshold_dbm: i16) -> Heard {
        let new = f64::from(dbm);
        let old = self.0.get(&from).map_or(new, |(_, mean)| *mean);
        let mean = old + WEIGHT * (new - old);
        make_room(&mut self.0, &from, MOST_ENTRIES, |(heard, _)| *heard);
        self.0.insert(from, (now, mean));
        let limit = f64::from(threshold_dbm);
        Heard {
            // 127 stands for an unknown signal on the wire.
            mean_dbm: mean.clamp(-127.0, 126.0) as i8,
            fades: old >= limit && mean < limit,
        }
    }
}

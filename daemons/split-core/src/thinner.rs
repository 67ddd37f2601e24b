// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The destination's end-to-end ACKs: one for so many segments goes, and each that the source
//! waits for. Those between are needless once a later one goes, as ACKs are cumulative.

use alloc::vec::Vec;
use hoplab_base::{Duration, Instant};

#[derive(Default)]
pub(crate) struct Thinner {
    /// Segments that came since the last ACK that went.
    came: usize,
    /// The source waits, or the connection ends: the next ACK goes.
    urgent: bool,
    /// The latest ACK that did not go, and when it goes after all.
    kept: Option<(Vec<u8>, Instant)>,
}

impl Thinner {
    pub fn came(&mut self, urgent: bool) {
        self.came += 1;
        self.urgent |= urgent;
    }

    /// An ACK of the local TCP: whether it goes. If not, it is kept; `replaced` tells of one that
    /// will never go.
    pub fn offer(&mut self, now: Instant, ack: &[u8], every: usize, delay: Duration) -> Offered {
        let replaced = self.kept.is_some();
        if self.urgent || self.came >= every || every <= 1 {
            *self = Thinner::default();
            return Offered {
                goes: true,
                replaced,
            };
        }
        let due = self.kept.take().map_or(now + delay, |(_, due)| due);
        self.kept = Some((ack.to_vec(), due));
        Offered {
            goes: false,
            replaced,
        }
    }

    /// Something that acknowledges as well has gone; whether an ACK was kept.
    pub fn superseded(&mut self) -> bool {
        core::mem::take(self).kept.is_some()
    }

    pub fn due(&self) -> Option<Instant> {
        self.kept.as_ref().map(|kept| kept.1)
    }

    pub fn take_due(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        core::mem::take(self).kept.map(|kept| kept.0)
    }
}

pub(crate) struct Offered {
    pub goes: bool,
    pub replaced: bool,
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The recipient's side of a block ack agreement: the frames that came, and the order in which the
//! host gets them (IEEE 802.11-2020 10.25.6).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hoplab_base::Instant;

use super::Arrived;

/// Most frames that an agreement has outstanding: HE's window (9.4.1.13).
pub const LARGEST_WINDOW: usize = 256;

/// Content of a BlockAck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// Each frame before it was received, or the window has moved past it.
    start: u64,
    /// From there on.
    bitmap: [u64; LARGEST_WINDOW / 64],
}

impl BlockAck {
    /// The first sequence number that its bitmap is about.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Whether each frame from `start` on was received, the first in the lowest bit.
    pub fn bitmap(&self) -> &[u64] {
        &self.bitmap
    }

    /// Whether the frame of this sequence number needs not be sent again.
    pub fn covers(&self, sequence: u64) -> bool {
        let Some(at) = sequence.checked_sub(self.start) else {
            // The window has moved past it: a repeat would be dropped.
            return true;
        };
        let word = self.bitmap.get((at / 64) as usize);
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// A frame that waits for those before it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrived: Arrived,
    since: Instant,
    /// An error above the MAC took it. It counts as received, but the host does not get it.
    lost: bool,
}

/// Whether a received frame is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    New,
    /// It has come before.
    Repeat,
}

/// The reorder buffer of one agreement.
#[derive(Debug)]
pub struct Reorder {
    window: usize,
    /// WinStartB: the first frame that is missing. 64 bits never wrap, unlike the standard's 12.
    start: u64,
    /// Frames from `start` on, at most `window`. Between calls its first place is vacant, as
    /// `start` is missing.
    buffer: VecDeque<Option<Waiting>>,
    released: Vec<Arrived>,
}

impl Reorder {
    pub fn new(window: usize) -> Self {
        Self {
            window,
            start: 0,
            buffer: VecDeque::new(),
            released: Vec::new(),
        }
    }

    /// Whether this frame has come before, or its sender does without it.
    pub fn has(&self, sequence: u64) -> bool {
        let at = sequence.checked_sub(self.start);
        at.is_none_or(|at| self.buffer.get(at as usize).is_some_and(Option::is_some))
    }

    /// A frame came; `lost` is whether the host will not get it.
    pub fn receive(
        &mut self,
        sequence: u64,
        arrived: Arrived,
        lost: bool,
        now: Instant,
    ) -> Arrival {
        let last = self.start + self.window as u64 - 1;
        if sequence > last {
            // The sender has given up frames missing before its window (10.25.6.6.2). This frame
            // becomes the last of the new window.
            self.move_to(sequence + 1 - self.window as u64);
        }
        // A frame before `start` counts as a repeat, whether it came or not.
        if self.has(sequence) {
            return Arrival::Repeat;
        }
        let at = (sequence - self.start) as usize;
        if self.buffer.len() <= at {
            self.buffer.resize(at + 1, None);
        }
        self.buffer[at] = Some(Waiting {
            arrived,
            since: now,
            lost,
        });
        self.release();
        Arrival::New
    }

    /// The sender has given up the frames missing before `start` (10.25.6.6.3).
    pub fn move_to(&mut self, start: u64) {
        while self.start < start {
            let first = self.buffer.pop_front().flatten();
            self.give(first);
            self.start += 1;
        }
        self.release();
    }

    /// Frames that came at `since` or earlier wait no longer.
    pub fn expire(&mut self, since: Instant) {
        let old = |waiting: &Option<Waiting>| waiting.is_some_and(|waiting| waiting.since <= since);
        // All before the last old frame goes too, also newer frames: the host gets them in order.
        if let Some(last) = self.buffer.iter().rposition(old) {
            self.move_to(self.start + last as u64 + 1);
        }
    }

    /// Release the first frames, up to the next gap.
    fn release(&mut self) {
        while let Some(Some(first)) = self.buffer.front().copied() {
            self.buffer.pop_front();
            self.start += 1;
            self.give(Some(first));
        }
    }

    fn give(&mut self, waiting: Option<Waiting>) {
        let wanted = waiting.filter(|waiting| !waiting.lost);
        self.released.extend(wanted.map(|waiting| waiting.arrived));
    }

    /// Frames that the host may have now. Frames that still wait are held from now on, and `hold`
    /// gets each of them once.
    pub fn take_released(&mut self, mut hold: impl FnMut(&Arrived)) -> Vec<Arrived> {
        // The BlockAck lets the sender finish frames that still wait here. A hold keeps such a
        // frame alive beyond its status.
        let waiting = self.buffer.iter_mut().flatten();
        for waiting in waiting.filter(|waiting| !waiting.arrived.held && !waiting.lost) {
            waiting.arrived.held = true;
            hold(&waiting.arrived);
        }
        core::mem::take(&mut self.released)
    }

    /// The BlockAck of the present state.
    pub fn block_ack(&self) -> BlockAck {
        let mut bitmap = [0; LARGEST_WINDOW / 64];
        for (at, waiting) in self.buffer.iter().enumerate() {
            // The window has at most 256 frames, so the place is within the bitmap.
            bitmap[at / 64] |= u64::from(waiting.is_some()) << (at % 64);
        }
        BlockAck {
            start: self.start,
            bitmap,
        }
    }

    /// The radio goes off, and its host gets none of the waiting frames. Returns those that were
    /// held.
    pub fn forget(&mut self) -> impl Iterator<Item = Arrived> + '_ {
        // If the sender repeats one of them later, it counts as a repeat.
        self.start += self.buffer.len() as u64;
        let held = self.buffer.drain(..).flatten();
        held.map(|waiting| waiting.arrived)
            .filter(|arrived| arrived.held)
    }
}

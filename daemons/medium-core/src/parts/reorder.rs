// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The recipient's side of a block ack agreement: what came, and in which order the host gets it
//! (IEEE 802.11-2020 10.25.6).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hoplab_base::Instant;

use super::Arrived;

/// Most frames that an agreement has outstanding: HE's window (9.4.1.13).
pub const LARGEST_WINDOW: usize = 256;

/// What a BlockAck says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// Everything before was received, or its sender does without.
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
    /// The host will not get it.
    lost: bool,
}

/// What a received frame means.
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
    /// WinStartB: the first one that is missing.
    start: u64,
    /// From `start` on.
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
            // The sender has given up what is missing before its window (10.25.6.6.2).
            self.move_to(sequence + 1 - self.window as u64);
        }
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

    /// The sender does without what is missing before `start` (10.25.6.6.3).
    pub fn move_to(&mut self, start: u64) {
        while self.start < start {
            let first = self.buffer.pop_front().flatten();
            self.give(first);
            self.start += 1;
        }
        self.release();
    }

    /// What has waited since `since` or longer waits no more.
    pub fn expire(&mut self, since: Instant) {
        let old = |waiting: &Option<Waiting>| waiting.is_some_and(|waiting| waiting.since <= since);
        if let Some(last) = self.buffer.iter().rposition(old) {
            self.move_to(self.start + last as u64 + 1);
        }
    }

    /// All that nothing is missing before.
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

    /// What the host may have now; what still waits is held from now on, and `hold` gets each that
    /// was not before.
    pub fn take_released(&mut self, mut hold: impl FnMut(&Arrived)) -> Vec<Arrived> {
        let waiting = self.buffer.iter_mut().flatten();
        for waiting in waiting.filter(|waiting| !waiting.arrived.held && !waiting.lost) {
            waiting.arrived.held = true;
            hold(&waiting.arrived);
        }
        core::mem::take(&mut self.released)
    }

    /// What its BlockAck says now.
    pub fn block_ack(&self) -> BlockAck {
        let mut bitmap = [0; LARGEST_WINDOW / 64];
        for (at, waiting) in self.buffer.iter().enumerate() {
            bitmap[at / 64] |= u64::from(waiting.is_some()) << (at % 64);
        }
        BlockAck {
            start: self.start,
            bitmap,
        }
    }

    /// The radio goes off: its host gets nothing of what waits. Returns what was held.
    pub fn forget(&mut self) -> impl Iterator<Item = Arrived> + '_ {
        self.start += self.buffer.len() as u64;
        let held = self.buffer.drain(..).flatten();
        held.map(|waiting| waiting.arrived)
            .filter(|arrived| arrived.held)
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The recipient's side of a block ack agreement: the frames that came, and the order in which the
//! host gets them (IEEE 802.11-2020 10.25.6).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hoplab_base::Instant;

use super::Arrived;

/// Most frames that an agreement has outstanding: EHT's window (802.11be-2024 9.4.1.13).
pub const LARGEST_WINDOW: usize = 1024;

/// Content of a BlockAck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// Each frame before it was received, or its sender has given it up.
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

/// The acknowledgment record of one agreement (full-state operation, 10.25.6.3). It stands apart
/// from the buffer: a frame for which the buffer waits no longer is still not acknowledged.
#[derive(Debug)]
struct Record {
    window: usize,
    /// WinStartR, moved on over frames that were received.
    start: u64,
    /// Whether each frame from `start` on was received, at most `window` of them.
    received: VecDeque<bool>,
}

impl Record {
    /// Whether this frame was received, or given up.
    fn has(&self, sequence: u64) -> bool {
        let at = sequence.checked_sub(self.start);
        at.is_none_or(|at| self.received.get(at as usize) == Some(&true))
    }

    fn receive(&mut self, sequence: u64) {
        let window = self.window as u64;
        self.move_to((sequence + 1).saturating_sub(window));
        let Some(at) = sequence.checked_sub(self.start) else {
            return;
        };
        let at = at as usize;
        if self.received.len() <= at {
            self.received.resize(at + 1, false);
        }
        self.received[at] = true;
        self.pass_received();
    }

    /// The sender has given up the frames missing before `start`.
    fn move_to(&mut self, start: u64) {
        while self.start < start {
            self.received.pop_front();
            self.start += 1;
        }
        self.pass_received();
    }

    fn pass_received(&mut self) {
        while self.received.front() == Some(&true) {
            self.received.pop_front();
            self.start += 1;
        }
    }

    fn block_ack(&self) -> BlockAck {
        let mut bitmap = [0; LARGEST_WINDOW / 64];
        for (at, received) in self.received.iter().enumerate() {
            // The window has at most so many frames, so the place is within the bitmap.
            bitmap[at / 64] |= u64::from(*received) << (at % 64);
        }
        BlockAck {
            start: self.start,
            bitmap,
        }
    }
}

/// The reorder buffer of one agreement, with its acknowledgment record.
#[derive(Debug)]
pub struct Reorder {
    record: Record,
    /// Otherwise the host does, and gets frames as they come.
    reorders: bool,
    /// WinStartB: the first frame for which the buffer waits. 64 bits never wrap, unlike the
    /// standard's 12.
    start: u64,
    /// Frames from `start` on, at most `window`. Between calls its first place is vacant, as
    /// `start` is missing.
    buffer: VecDeque<Option<Waiting>>,
    released: Vec<Arrived>,
}

impl Reorder {
    /// An agreement of so many frames, at most [`LARGEST_WINDOW`]; `reorders` is whether it waits
    /// for missing ones.
    pub fn new(window: usize, reorders: bool) -> Self {
        Self {
            record: Record {
                window: window.min(LARGEST_WINDOW),
                start: 0,
                received: VecDeque::new(),
            },
            reorders,
            start: 0,
            buffer: VecDeque::new(),
            released: Vec::new(),
        }
    }

    /// Whether the host does not want this frame: it has come before, or is no longer waited for.
    pub fn has(&self, sequence: u64) -> bool {
        if !self.reorders {
            return self.record.has(sequence);
        }
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
        if !self.reorders {
            return self.hand_up(sequence, arrived, lost);
        }
        self.record.receive(sequence);
        let window = self.record.window as u64;
        if sequence >= self.start + window {
            // The sender has given up frames missing before its window (10.25.6.6.2). This frame
            // becomes the last of the new window.
            self.pass(sequence + 1 - window);
        }
        // A frame before `start` is dropped, whether it came before or not (10.25.6.6.2).
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

    /// A frame came, for a host that reorders.
    fn hand_up(&mut self, sequence: u64, arrived: Arrived, lost: bool) -> Arrival {
        if self.record.has(sequence) {
            return Arrival::Repeat;
        }
        self.record.receive(sequence);
        self.released.extend((!lost).then_some(arrived));
        Arrival::New
    }

    /// The sender has given up the frames missing before `start` (10.25.6.6.3).
    pub fn move_to(&mut self, start: u64) {
        self.record.move_to(start);
        self.pass(start);
    }

    /// The buffer waits no longer for frames missing before `start`.
    fn pass(&mut self, start: u64) {
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
            self.pass(self.start + last as u64 + 1);
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
        self.record.block_ack()
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

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is on the air.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use hoplab_base::{Duration, Instant};

use crate::parts::Ppdu;
use crate::space::Neighbour;
use crate::{RadioId, To};

#[derive(Clone, Debug)]
pub struct Transmission {
    pub from: RadioId,
    pub ppdu: Ppdu,
    pub start: Instant,
    pub end: Instant,
    /// The sender went off in the middle.
    pub cut: bool,
    /// Who hears it.
    pub neighbours: Vec<Neighbour>,
}

impl Transmission {
    /// Whether it is for this radio.
    pub fn is_for(&self, radio: RadioId) -> bool {
        match self.ppdu.to {
            To::Everyone => true,
            To::Radio(to) => to == radio,
            To::Nobody => false,
        }
    }
}

/// All transmissions of the moment. Slots are used again, the lowest free one first.
#[derive(Default)]
pub struct Air {
    slots: Vec<Option<Transmission>>,
    free: BinaryHeap<Reverse<usize>>,
    spare: Vec<Vec<Neighbour>>,
}

impl Air {
    /// A slot for a transmission, which [`Air::begin`] fills.
    pub fn reserve(&mut self) -> usize {
        if let Some(Reverse(free)) = self.free.pop() {
            return free;
        }
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// An empty list of who hears it.
    pub fn nobody(&mut self) -> Vec<Neighbour> {
        self.spare.pop().unwrap_or_default()
    }

    pub fn begin(&mut self, slot: usize, transmission: Transmission) {
        self.slots[slot] = Some(transmission);
    }

    pub fn get(&self, slot: usize) -> Option<&Transmission> {
        self.slots[slot].as_ref()
    }

    /// It breaks off; returns what was left of it.
    pub fn cut(&mut self, slot: usize, now: Instant) -> Duration {
        self.slots[slot].as_mut().map_or(Duration::ZERO, |cut| {
            cut.cut = true;
            cut.end.since(now)
        })
    }

    /// Whether the slot's transmission ends now. A transmission that broke off leaves its end in
    /// the agenda, and that may find a successor in the slot.
    pub fn ends(&self, slot: usize, now: Instant) -> bool {
        self.get(slot).is_some_and(|tx| tx.end == now || tx.cut)
    }

    pub fn end(&mut self, slot: usize) -> Option<Transmission> {
        let ended = self.slots[slot].take()?;
        self.free.push(Reverse(slot));
        Some(ended)
    }

    /// Use its memory again.
    pub fn recycle(&mut self, mut neighbours: Vec<Neighbour>) {
        neighbours.clear();
        self.spare.push(neighbours);
    }
}

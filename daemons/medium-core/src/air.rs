// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is on the air.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

use hoplab_base::{Duration, Instant};

use crate::parts::Ppdu;
use crate::space::Neighbour;
use crate::{Dbm, Fate, RadioId};

/// A signal that has ended at a radio.
#[derive(Clone, Debug)]
pub struct Ended {
    pub radio: RadioId,
    pub dbm: Dbm,
    pub fate: Fate,
    /// Of the frames of an A-MPDU that the radio looked at, from the first on; else empty.
    pub fates: Vec<Fate>,
    /// Noise and the strongest interference with it.
    pub noise_mw: f64,
}

impl Ended {
    /// Of the frame of an A-MPDU at this place in it.
    pub fn fate_of(&self, place: usize) -> Fate {
        self.fates.get(place).copied().unwrap_or(self.fate)
    }
}

#[derive(Debug)]
pub struct Transmission {
    pub from: RadioId,
    pub ppdu: Ppdu,
    pub start: Instant,
    pub end: Instant,
    /// How many frames of an A-MPDU a radio looks at which they are not for, from the first on.
    pub looked_at: usize,
    /// The sender went off in the middle.
    pub cut: bool,
    pub reached: Reached,
    /// It is over at its sender.
    pub sent: bool,
    /// What became of it where it is over.
    pub ended: Vec<Ended>,
}

/// Radios that a transmission reaches, those without delay first.
#[derive(Debug, Default)]
pub struct Reached {
    /// Those that hear it come first, then some that do not, then those from `under_way` on.
    radios: Vec<Neighbour>,
    hear: usize,
    under_way: usize,
    /// It is over at the first so many.
    over: usize,
}

impl Reached {
    /// By the radios that a signal reaches in the mean, the nearest first.
    pub fn radios(&mut self) -> &mut Vec<Neighbour> {
        &mut self.radios
    }

    /// The next radio that a signal comes to within `delay`.
    pub fn next(&mut self, delay: Duration) -> Option<Neighbour> {
        let next = *self.radios.get(self.under_way)?;
        if next.delay > delay {
            return None;
        }
        self.under_way += 1;
        Some(next)
    }

    /// That radio hears it, with this power. The list keeps the power of the beginning. The end
    /// removes what the beginning added, even if a station has moved.
    pub fn hears(&mut self, signal: Neighbour) {
        self.radios[self.hear] = signal;
        self.hear += 1;
    }

    /// How long it takes to the next radio.
    pub fn next_delay(&self) -> Option<Duration> {
        self.radios.get(self.under_way).map(|next| next.delay)
    }

    pub fn longest_delay(&self) -> Duration {
        self.radios.last().map_or(Duration::ZERO, |last| last.delay)
    }

    /// Radios that hear it.
    pub fn hearing(&self) -> &[Neighbour] {
        &self.radios[..self.hear]
    }

    /// It is over where it came within `delay`; returns which of `hearing` those are.
    fn leave(&mut self, delay: Duration) -> Range<usize> {
        let from = self.over;
        let left = self.radios[from..self.hear].iter();
        self.over += left.take_while(|next| next.delay <= delay).count();
        from..self.over
    }

    /// It comes no further.
    fn cut(&mut self) {
        self.under_way = self.radios.len();
    }

    fn clear(&mut self) {
        self.radios.clear();
        (self.hear, self.under_way, self.over) = (0, 0, 0);
    }

    fn is_over(&self) -> bool {
        self.over == self.hear && self.under_way == self.radios.len()
    }
}

impl Transmission {
    /// It is over wherever it comes by now; returns which of those that hear it.
    pub fn leave(&mut self, now: Instant) -> Range<usize> {
        let delay = match self.cut {
            true => self.reached.longest_delay(),
            false => now.since(self.end),
        };
        self.reached.leave(delay)
    }

    /// Whether it is over everywhere.
    pub fn is_over(&self) -> bool {
        self.sent && self.reached.is_over()
    }
}

/// All transmissions of the moment. Slots are used again, the lowest free one first.
#[derive(Default)]
pub struct Air {
    /// Each stays in its place, since moving its hundreds of octets about takes time.
    slots: Vec<Option<Box<Transmission>>>,
    free: BinaryHeap<Reverse<usize>>,
    #[expect(
        clippy::vec_box,
        reason = "a transmission goes on the air in the box it came from"
    )]
    spare: Vec<Box<Transmission>>,
}

impl Air {
    /// A slot for a transmission, which [`Air::put`] fills.
    pub fn reserve(&mut self) -> usize {
        if let Some(Reverse(free)) = self.free.pop() {
            return free;
        }
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// A transmission that has reached nobody yet.
    pub fn transmission(
        &mut self,
        from: RadioId,
        ppdu: Ppdu,
        start: Instant,
        lasts: Duration,
    ) -> Box<Transmission> {
        let end = start + lasts;
        if let Some(mut spare) = self.spare.pop() {
            spare.from = from;
            spare.ppdu = ppdu;
            (spare.start, spare.end) = (start, end);
            return spare;
        }
        Box::new(Transmission {
            from,
            ppdu,
            start,
            end,
            looked_at: 0,
            cut: false,
            reached: Reached::default(),
            sent: false,
            ended: Vec::new(),
        })
    }

    pub fn put(&mut self, slot: usize, transmission: Box<Transmission>) {
        self.slots[slot] = Some(transmission);
    }

    pub fn get(&self, slot: usize) -> Option<&Transmission> {
        self.slots[slot].as_deref()
    }

    /// It breaks off; returns what was left of it.
    pub fn cut(&mut self, slot: usize, now: Instant) -> Duration {
        self.slots[slot].as_mut().map_or(Duration::ZERO, |cut| {
            cut.cut = true;
            cut.reached.cut();
            cut.end.since(now)
        })
    }

    /// The slot's transmission, for a while, if it is the one meant. A transmission that broke off
    /// leaves its events in the agenda, and the slot may have a successor. It goes back by
    /// [`Air::put`] or [`Air::end`].
    pub fn take_if(
        &mut self,
        slot: usize,
        is_meant: impl FnOnce(&Transmission) -> bool,
    ) -> Option<Box<Transmission>> {
        self.slots[slot].take_if(|transmission| is_meant(transmission))
    }

    /// The slot's transmission is over; its memory is used again.
    pub fn end(&mut self, slot: usize, mut transmission: Box<Transmission>) {
        self.free.push(Reverse(slot));
        transmission.reached.clear();
        transmission.ended.clear();
        (transmission.looked_at, transmission.cut, transmission.sent) = (0, false, false);
        self.spare.push(transmission);
    }
}

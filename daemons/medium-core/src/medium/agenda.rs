// SPDX-License-Identifier: Apache-2.0
//! What will happen by itself, in a total order: by time, kind, radio, and then as it was foreseen.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use hoplab_base::Instant;

/// A `generation` tells an event that still holds from one that was overtaken.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Of the transmission at this place on the air.
    End {
        place: usize,
    },
    Power {
        radio: usize,
        up: bool,
    },
    /// A battery is empty.
    Empty {
        radio: usize,
        generation: u64,
    },
    Measure,
    /// An answer's SIFS is over.
    Respond {
        radio: usize,
    },
    /// The host has fetched a received frame.
    Served {
        radio: usize,
        generation: u64,
    },
    /// An answer has not come.
    Timeout {
        radio: usize,
        generation: u64,
    },
    Access {
        radio: usize,
        generation: u64,
    },
    /// The host has made a frame ready.
    Prepared {
        radio: usize,
        generation: u64,
    },
    /// The host has copied a frame into a buffer of the card.
    Loaded {
        radio: usize,
        generation: u64,
    },
}

impl Event {
    /// Kind, in the order in which they are handled at one instant, and radio or place.
    fn order(self) -> (u8, usize) {
        match self {
            Self::End { place } => (0, place),
            Self::Power { radio, .. } => (1, radio),
            Self::Empty { radio, .. } => (2, radio),
            Self::Measure => (3, 0),
            Self::Respond { radio } => (4, radio),
            Self::Served { radio, .. } => (5, radio),
            Self::Timeout { radio, .. } => (6, radio),
            Self::Access { radio, .. } => (7, radio),
            Self::Prepared { radio, .. } => (8, radio),
            Self::Loaded { radio, .. } => (9, radio),
        }
    }
}

struct Entry {
    at: Instant,
    /// Of [`Event::order`], then the number of events that were foreseen before.
    order: (u8, usize, u64),
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

#[derive(Default)]
pub struct Agenda {
    events: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
    handled: u64,
}

impl Agenda {
    pub fn push(&mut self, at: Instant, event: Event) {
        self.sequence += 1;
        let (kind, radio) = event.order();
        self.events.push(Reverse(Entry {
            at,
            order: (kind, radio, self.sequence),
            event,
        }));
    }

    pub fn next(&self) -> Option<Instant> {
        self.events.peek().map(|Reverse(entry)| entry.at)
    }

    /// The next event, if it is due by `now`.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, Event)> {
        if self.next().is_none_or(|at| at > now) {
            return None;
        }
        self.handled += 1;
        let Reverse(entry) = self.events.pop()?;
        Some((entry.at, entry.event))
    }

    /// Events taken so far.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// All events to come, in no order.
    pub fn pending(&self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        let entries = self.events.iter();
        entries.map(|Reverse(entry)| (entry.at, entry.event))
    }
}

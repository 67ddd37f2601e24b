// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events to come, in a total order: by time, kind, radio, and then in the order of the requests.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use hoplab_base::Instant;

use crate::parts::{Timer, Wake};
use crate::RadioId;

#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Of the transmission in this slot of the air, at its sender.
    End {
        slot: u32,
    },
    /// That transmission's end has come to radios some way off.
    Leave {
        slot: u32,
    },
    /// And its beginning.
    Come {
        slot: u32,
    },
    Power {
        radio: RadioId,
        up: bool,
    },
    Measure,
    /// An interferer changes what it does, or may be heard differently.
    Interfere {
        source: u32,
    },
    /// A part of a radio waits for this. Its `generation` shows whether the wake-up still holds.
    Wake {
        radio: RadioId,
        timer: Timer,
        generation: u64,
    },
}

impl Event {
    /// Kind, in the order in which they are handled at one instant, and radio or slot.
    fn rank(self) -> u64 {
        // Ends come first. A frame that begins when another ends does not overlap it. An answer
        // that ends in time comes before its timeout.
        //
        // Interference changes next.
        //
        // Switches and the start of measuring follow, before anything new begins. Next are answers
        // after SIFS, then timeouts, then new accesses.
        //
        // Hosts that send come after accesses. A post-backoff that ends now is over before the new
        // frame asks for one.
        let (kind, of) = match self {
            Self::End { slot } | Self::Leave { slot } => (0, slot as usize),
            Self::Come { slot } => (1, slot as usize),
            Self::Interfere { source } => (2, source as usize),
            Self::Power { radio, .. } => (3, radio.index()),
            Self::Measure => (5, 0),
            Self::Wake { radio, timer, .. } => {
                let kind = match timer {
                    Timer::Empty => 4,
                    Timer::Respond => 6,
                    Timer::Served => 7,
                    Timer::Timeout => 8,
                    Timer::Access(_) => 9,
                    Timer::Prepared => 10,
                    Timer::Loaded => 11,
                    Timer::Reorder => 12,
                    Timer::Held(_) => 13,
                    Timer::Bsrp => 14,
                    Timer::Single => 15,
                    Timer::Sure => 16,
                    Timer::Client => 17,
                };
                (kind, radio.index())
            }
        };
        // Kind in the upper half and index in the lower, which 32 bits hold.
        kind << 32 | of as u64
    }
}

struct Entry {
    at: Instant,
    /// See [`Event::rank`].
    rank: u64,
    /// How many events were foreseen before. It makes the order total, so a replay is exact.
    sequence: u64,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (entry.at, entry.rank, entry.sequence);
        key(self).cmp(&key(other))
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
        self.events.push(Reverse(Entry {
            at,
            rank: event.rank(),
            sequence: self.sequence,
            event,
        }));
    }

    /// A part of `radio` asks to be woken.
    pub fn wake(&mut self, radio: RadioId, wake: Option<Wake>) {
        if let Some(Wake {
            at,
            timer,
            generation,
        }) = wake
        {
            let event = Event::Wake {
                radio,
                timer,
                generation,
            };
            self.push(at, event);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_kinds_then_radios_then_requests_come_in_order() {
        let mut agenda = Agenda::default();
        let radio = RadioId::new;
        let wake = |timer, generation| {
            Some(Wake {
                at: Instant(5),
                timer,
                generation,
            })
        };
        agenda.wake(radio(2), wake(Timer::Access(0), 1));
        agenda.wake(radio(1), wake(Timer::Access(0), 3));
        agenda.wake(radio(1), wake(Timer::Access(0), 2));
        agenda.wake(radio(9), wake(Timer::Respond, 0));
        agenda.push(Instant(5), Event::End { slot: 7 });
        agenda.push(Instant(4), Event::Measure);
        let order = core::iter::from_fn(|| agenda.take(Instant(5)));
        let order = order.map(|(_, event)| match event {
            Event::Wake {
                radio, generation, ..
            } => (radio.index(), generation),
            Event::End { slot } | Event::Leave { slot } | Event::Come { slot } => {
                (slot as usize, 100)
            }
            Event::Measure | Event::Power { .. } | Event::Interfere { .. } => (0, 200),
        });
        let order: alloc::vec::Vec<_> = order.collect();
        assert_eq!(order, [(0, 200), (7, 100), (9, 0), (1, 3), (1, 2), (2, 1)]);
    }
}

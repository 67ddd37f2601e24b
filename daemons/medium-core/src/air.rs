// SPDX-License-Identifier: Apache-2.0
//! What is on the air.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use hoplab_base::{Duration, Instant};

use crate::places::Heard;
use crate::{AirKind, Class, FrameId, Rate, To};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Data,
    Ack,
    Rts,
    Cts,
}

/// What a transmission carries for a host.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    pub id: FrameId,
    pub class: Class,
}

#[derive(Clone, Debug)]
pub struct Transmission {
    pub from: usize,
    pub kind: Kind,
    pub to: To,
    pub payload: Option<Payload>,
    pub bytes: usize,
    /// Sender's count of frames, by which a receiver knows a repeat.
    pub number: u64,
    /// Sender's count of data frames, by which lists of losses name them.
    pub data_number: u64,
    /// 1 at the first try.
    pub attempt: u32,
    pub rate: Rate,
    pub start: Instant,
    pub end: Instant,
    /// Time that the medium stays reserved after the end.
    pub reserve: Duration,
    /// The sender went off in the middle.
    pub cut: bool,
    pub heard: Vec<Heard>,
}

impl Transmission {
    pub fn air_kind(&self) -> AirKind {
        match (self.kind, self.payload) {
            (Kind::Ack, _) => AirKind::Ack,
            (Kind::Rts, _) => AirKind::Rts,
            (Kind::Cts, _) => AirKind::Cts,
            (Kind::Data, Some(payload)) if payload.class == Class::Beacon => AirKind::Beacon,
            (Kind::Data, _) if self.to == To::Everyone => AirKind::Broadcast,
            (Kind::Data, _) => AirKind::Data,
        }
    }

    /// Whether it is for this radio.
    pub fn is_for(&self, radio: usize) -> bool {
        match self.to {
            To::Everyone => true,
            To::Radio(to) => to == radio,
            To::Nobody => false,
        }
    }
}

/// All transmissions of the moment. Places are used again, the lowest free one first.
#[derive(Default)]
pub struct Air {
    places: Vec<Option<Transmission>>,
    free: BinaryHeap<Reverse<usize>>,
    spare: Vec<Vec<Heard>>,
}

impl Air {
    /// A place for a transmission, which [`Air::begin`] fills.
    pub fn reserve(&mut self) -> usize {
        if let Some(Reverse(free)) = self.free.pop() {
            return free;
        }
        self.places.push(None);
        self.places.len() - 1
    }

    /// An empty list of who hears it.
    pub fn nobody(&mut self) -> Vec<Heard> {
        self.spare.pop().unwrap_or_default()
    }

    pub fn begin(&mut self, place: usize, transmission: Transmission) {
        self.places[place] = Some(transmission);
    }

    pub fn get(&self, place: usize) -> Option<&Transmission> {
        self.places[place].as_ref()
    }

    /// It breaks off; returns what was left of it.
    pub fn cut(&mut self, place: usize, now: Instant) -> Duration {
        self.places[place].as_mut().map_or(Duration::ZERO, |cut| {
            cut.cut = true;
            cut.end.since(now)
        })
    }

    /// Whether what is there ends now: the end that was foreseen for a transmission that broke off
    /// may find its successor.
    pub fn ends(&self, place: usize, now: Instant) -> bool {
        self.get(place).is_some_and(|tx| tx.end == now || tx.cut)
    }

    pub fn end(&mut self, place: usize) -> Option<Transmission> {
        let ended = self.places[place].take()?;
        self.free.push(Reverse(place));
        Some(ended)
    }

    /// Use its memory again.
    pub fn recycle(&mut self, mut heard: Vec<Heard>) {
        heard.clear();
        self.spare.push(heard);
    }
}

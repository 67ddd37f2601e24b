// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One link of a device with a single radio (EMLSR, IEEE 802.11be-2024 35.3.17).
//!
//! The radio listens on all links, with a part of it on each. For an exchange it is on one link as a
//! whole, and deaf on the others. Then it goes back to listening, and is deaf on all until it does.

use hoplab_base::Instant;

use super::effect::{Timer, Wake};
use crate::emlsr::{SYNC_DELAY, SYNC_THRESHOLD};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Listens,
    /// It has the whole radio.
    Engaged,
    /// It gives the radio back, and hears nothing.
    Returns,
    /// Another link has the radio.
    Deaf,
}

/// What a link is to do when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingleStep {
    /// Its exchange may be over.
    Leave,
    /// The radio listens on all links again.
    Listen,
}

/// One link of a device with a single radio; without that, one that always listens.
#[derive(Default)]
pub struct Single {
    state: State,
    /// Which foreseen end of its exchange an event is for.
    generation: u64,
    deaf_since: Instant,
    /// Until then it may not know the link's NAV, and begins by an RTS (35.3.16.8).
    unsure_until: Instant,
    /// It has begun a TXOP meanwhile, as many as it may (dot11MSDTXOPMAX is 1).
    has_tried: bool,
}

impl Single {
    pub fn is_deaf(&self) -> bool {
        matches!(self.state, State::Deaf | State::Returns)
    }

    pub fn is_engaged(&self) -> bool {
        self.state == State::Engaged
    }

    /// It gets the whole radio; returns whether it had a part.
    pub fn engage(&mut self) -> bool {
        // An end that was foreseen is void.
        self.generation += 1;
        let is_new = self.state == State::Listens;
        if is_new {
            self.state = State::Engaged;
        }
        is_new
    }

    /// Its exchange may be over at this time.
    pub fn leave_at(&mut self, at: Instant) -> Wake {
        self.generation += 1;
        Wake {
            at,
            timer: Timer::Single,
            generation: self.generation,
        }
    }

    /// It gives the radio back until this time.
    pub fn give_back(&mut self, now: Instant, until: Instant) -> Wake {
        self.state = State::Returns;
        self.deaf_since = now;
        self.leave_at(until)
    }

    /// Another link has the radio.
    pub fn lose(&mut self, now: Instant) {
        self.generation += 1;
        self.state = State::Deaf;
        self.deaf_since = now;
    }

    /// An event of `generation` has come.
    pub fn come(&self, generation: u64) -> Option<SingleStep> {
        match self.state {
            _ if generation != self.generation => None,
            State::Engaged => Some(SingleStep::Leave),
            State::Returns => Some(SingleStep::Listen),
            State::Listens | State::Deaf => None,
        }
    }

    /// It listens from now on. Returns until when it is unsure of the NAV, if it was deaf for long.
    pub fn listen(&mut self, now: Instant) -> Option<Instant> {
        let was_deaf = self.is_deaf();
        self.state = State::Listens;
        if !was_deaf || now.since(self.deaf_since) <= SYNC_THRESHOLD {
            return None;
        }
        self.unsure_until = now + SYNC_DELAY;
        self.has_tried = false;
        Some(self.unsure_until)
    }

    pub fn is_unsure(&self, now: Instant) -> bool {
        now < self.unsure_until
    }

    /// Whether it must not begin a TXOP before it is sure.
    pub fn waits(&self, now: Instant) -> bool {
        self.has_tried && self.is_unsure(now)
    }

    /// It begins a TXOP.
    pub fn tries(&mut self) {
        self.has_tried = true;
    }

    /// It has received a frame, which tells what the NAV is.
    pub fn is_told(&mut self) {
        self.unsure_until = Instant::ZERO;
    }

    /// The radio goes off, or comes up.
    pub fn forget(&mut self) {
        let generation = self.generation + 1;
        *self = Self {
            generation,
            ..Self::default()
        };
    }
}

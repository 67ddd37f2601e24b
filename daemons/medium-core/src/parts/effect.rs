// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Effects that a radio's parts ask for. A part changes only itself. The medium carries out the
//! rest, in the order of the requests.

use hoplab_base::{Duration, Instant};

use super::Arrived;
use crate::{Agreement, FrameId, Outcome, RadioId, MAX_RATES};

/// Events that a part waits for. A wake-up of an earlier generation is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A battery is empty.
    Empty,
    /// An answer's SIFS is over.
    Respond,
    /// The host has fetched a received frame.
    Served,
    /// An answer has not come.
    Timeout,
    /// The turn on the channel of this access function of the radio.
    Access(u8),
    /// The host has made a frame ready.
    Prepared,
    /// A frame has waited long for one before it (Linux's reorder buffer).
    Reorder,
    /// The host has copied a frame into a buffer of the card.
    Loaded,
    /// This access function of a station has waited for a trigger for long.
    Held(u8),
    /// An access point polls queues again.
    Bsrp,
    /// A device with a single radio leaves a link, or listens again.
    Single,
    /// It is sure of a link's NAV again.
    Sure,
    /// An access point's client with a single radio may listen again.
    Client,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    pub at: Instant,
    pub timer: Timer,
    pub generation: u64,
}

/// A frame that its sender is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub frame: FrameId,
    pub outcome: Outcome,
    /// Per entry of its rate table.
    pub tries: [u32; MAX_RATES],
    /// For how long it was on the air, its RTS included.
    pub airtime: Duration,
    /// Of a host that makes agreements.
    pub agreement: Agreement,
}

impl Finished {
    /// Without a try that counts.
    pub fn untried(frame: FrameId, outcome: Outcome) -> Self {
        Self {
            frame,
            outcome,
            tries: [0; MAX_RATES],
            airtime: Duration::ZERO,
            agreement: Agreement::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    Wake(Wake),
    /// The sender's host learns what became of a frame.
    Conclude(Finished),
    /// A received frame goes to the host of radio `to`.
    HandUp {
        to: RadioId,
        arrived: Arrived,
    },
    /// The host has this received frame.
    Deliver(Arrived),
    /// One receiver more holds the frame.
    Hold(FrameId),
    /// One receiver less holds the frame.
    Release(FrameId),
    /// A frame for another radio was received: its host gets it when its sender's exchange is over.
    Overhear(Arrived),
    /// The device's single radio is on this link as a whole.
    Engage,
    /// It listens on all links again.
    Listen,
}

/// Effects of one event, in order; memory that is used again.
pub type Effects = alloc::vec::Vec<Effect>;

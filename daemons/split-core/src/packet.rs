// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the driver shows the station, and what it has to do.

use crate::event::Event;
use alloc::vec::Vec;

/// Where a packet is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// From the local stack into the network.
    Leaving,
    /// Neither from this station nor for it; `hops` from its source to here, 1 at a neighbour.
    Passing { hops: u8 },
    /// For the local stack.
    Arriving,
}

/// What becomes of a packet that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Goes its way as it is.
    Pass,
    /// Goes no further: what is to be sent instead, now or later, comes as [`Output::Send`].
    Taken,
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<W> {
    /// An IP packet for its destination: a segment (its source may be another station), a LACK, or
    /// an ACK that was held back. It is not to be shown again here. `way`: what the driver said
    /// when the segment was taken; `None` for what began at this station.
    Send {
        packet: Vec<u8>,
        way: Option<W>,
    },
    Event(Event),
}

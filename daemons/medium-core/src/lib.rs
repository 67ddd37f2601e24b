// SPDX-License-Identifier: Apache-2.0
//! An 802.11 channel shared by radios: carrier sense, backoff, collisions, capture, RTS/CTS, NAV.
//!
//! A pure state machine: no clock, no sockets, no threads. Drive a [`Medium`] like this:
//!
//! 1. [`Medium::advance`] to the current time whenever [`Medium::next_deadline`] has come, and
//!    before every input;
//! 2. [`Medium::enqueue`] a frame when a radio's host hands one over;
//! 3. drain [`Medium::poll_output`] after either.
//!
//! Times are nanoseconds since the driver's epoch. Events at one instant are handled in the order
//! (time, kind, radio, sequence), so a replay is exact.
#![forbid(unsafe_code)]

mod engine;
mod loss;
mod phy;
mod rng;

pub use engine::{
    Counters, Fate, Frame, FrameId, LinkCounters, Medium, Output, Params, Station, To,
};
pub use loss::{LossModel, LossRule};
pub use phy::{Model, Phy, Propagation, Standard};
pub use rng::Stream;

/// Nanoseconds since the driver's epoch.
pub type Nanos = u64;

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
mod error_rate;
mod loss;
mod phy;
mod rng;

pub use engine::{
    position, AirKind, Aired, Audit, Class, Counters, Energy, Fate, Frame, FrameId, Histogram,
    LinkCounters, Medium, Nic, Outcome, Output, Params, Signals, StateTimes, Station, To,
    MAX_RATES,
};
pub use error_rate::bit_error_rate;
pub use loss::{Burst, LossModel, LossRule};
pub use phy::{Fading, Model, Phy, Propagation, Reception, Standard};
pub use rng::Stream;

/// Nanoseconds since the driver's epoch.
pub type Nanos = u64;

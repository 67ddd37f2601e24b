// SPDX-License-Identifier: Apache-2.0
//! An 802.11 channel shared by radios: carrier sense, backoff, collisions, capture, RTS/CTS, NAV.
//!
//! A pure state machine: no clock, no sockets, no threads; the contract stands on [`Medium`]. Times
//! count from the driver's origin. Events at one instant are handled in the order (time, kind,
//! radio, sequence), so a replay is exact, and functions of real numbers are libm's, so that it is
//! on any machine.
//!
//! Modules use only those above them:
//!
//! | | |
//! |---|---|
//! | `rate`, `phy`, `timing` | how long things take |
//! | `propagation`, `error_rate`, `loss` | what happens to power and bits |
//! | `frame`, `counters`, `params`, `places` | what goes in and what comes out |
//! | `radio` | a radio's state: access, exchange, transceiver, power, host, links |
//! | `rules` | where the standard and ns-2 differ |
//! | `air`, `medium` | what is on the air, and what happens |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod air;
mod counters;
mod error_rate;
mod frame;
mod loss;
mod medium;
mod params;
mod phy;
mod places;
mod propagation;
mod radio;
mod rate;
mod rules;
mod timing;

pub use counters::{
    AirKind, Audit, Bin, Counters, Fate, Histogram, LinkCounters, LinkView, Outcome, Signals,
    StateTimes,
};
pub use error_rate::bit_error_rate;
pub use frame::{Aired, Attempts, Class, Frame, FrameId, Output, To, MAX_RATES};
pub use hoplab_base::{Duration, Instant, Stream};
pub use loss::{Burst, LossModel, LossRule, Takes};
pub use medium::Medium;
pub use params::{ErrorTable, Params, Reception};
pub use phy::{Phy, Standard};
pub use places::{Place, Station, Waypoint};
pub use propagation::{Antenna, Fading, Model, Propagation};
pub use radio::{Cost, Energy, Joules, Nic};
pub use rate::{Modulation, Rate, Scheme, Width};
pub use rules::Rules;

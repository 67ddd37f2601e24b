// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An 802.11 channel shared by radios: carrier sense, backoff, collisions, capture, RTS/CTS, NAV.
//!
//! A pure state machine: no clock, no sockets, no threads; the contract stands on [`Medium`]. Times
//! count from the driver's origin. Events at one instant are handled in the order (time, kind,
//! radio, sequence), so a replay is exact. Functions of real numbers are libm's, so it is exact on
//! any machine.
//!
//! Calls go to modules further up in this table, or stay in one line:
//!
//! | | |
//! |---|---|
//! | `ids`, `dbm`, `rate`, `subchannels`, `units`, `phy`, `timing` | names, levels, and how long things take |
//! | `frame`, `counters`, `nic`, `energy`, `edca`, `emlsr`, `ofdma`, `mimo`, `params` | what goes in and what comes out |
//! | `step` | the transitions of a frame exchange |
//! | `space`, `error_rate` | positions, antennas, propagation: what happens to power and bits |
//! | `parts` | the parts of a radio: access, exchange, transceiver, host, power |
//! | `rules` | where the standard and ns-2 differ |
//! | `air`, `loss` | what is on the air, and what is lost at its end |
//! | `radio` | a radio: what concerns several of its parts |
//! | `medium` | the agenda, effects and who observes them |
//!
//! With the feature `serde` what describes a channel can be read from a document.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod air;
mod counters;
mod dbm;
mod edca;
mod emlsr;
mod energy;
mod error_rate;
mod frame;
mod ids;
mod ldpc;
mod loss;
mod medium;
mod mimo;
mod nic;
mod ofdma;
mod params;
mod parts;
mod phy;
mod radio;
mod rate;
mod rules;
mod space;
mod step;
mod subchannels;
mod timing;
mod units;

pub use counters::{
    AirKind, Audit, Bin, Counters, Fate, Histogram, LinkCounters, LinkView, Outcome, Signals,
    StateTimes,
};
pub use dbm::Dbm;
pub use edca::{Aggregation, Category, CategoryParams, Edca};
pub use emlsr::Emlsr;
pub use energy::{Energy, Joules};
pub use error_rate::bit_error_rate;
pub use frame::{
    Aggregate, Agreed, Agreement, Aired, Asked, Asks, Attempts, Class, Frame, FrameId, Numbered,
    Output, Place, Portion, Sounding, To, MAX_RATES,
};
pub use hoplab_base::{Duration, Instant, Stream};
pub use ids::{LinkId, MediumId, Mhz, RadioId};
pub use loss::{Burst, LossModel, LossRule, Takes};
pub use medium::{FurtherLink, Medium};
pub use mimo::Mimo;
pub use nic::{Cost, Nic};
pub use ofdma::{Acknowledgement, Ofdma, Scheduler};
pub use params::{Block, ErrorTable, Leak, Leakage, Params, Reception, Rules};
pub use parts::BlockAck;
pub use phy::{Phy, Standard};
pub use rate::{Guard, Modulation, Rate, Scheme, Width};
pub use space::{
    Antenna, Course, Fading, Floor, Interferer, Model, Position, Propagation, Share, Station, Wall,
    Waypoint,
};
pub use subchannels::{Punctured, Subchannels};
pub use units::{Plan, Unit};

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parts of a radio, by responsibility. Each knows its own state and nothing of the others or
//! of the channel; it makes its transitions and returns what they ask for.

mod access;
mod agreements;
mod clients;
mod devices;
mod duplicates;
pub mod effect;
mod exchange;
mod host;
mod line;
mod power;
mod reorder;
mod sense;
mod setup;
mod single;
#[cfg(test)]
mod tests;
mod transceiver;

pub use access::{Access, Contention, Due};
pub use agreements::Agreements;
pub use clients::Clients;
pub use devices::Devices;
pub use duplicates::Duplicates;
pub use effect::{Effect, Effects, Finished, Timer, Wake};
pub use exchange::{Asked, Exchange, Payload, Ppdu, Response, Sent};
pub use host::{Arrived, Host, Limits, Queued, Received};
pub use line::{AggregateLimits, Batch, Line, Link, RetryLimits, Together};
pub use power::{Activity, Part, Power};
pub use reorder::{Arrival, BlockAck};
pub use sense::CarrierSense;
pub use setup::Setup;
pub use single::{Single, SingleStep};
pub use transceiver::{Arriving, Hearing, Reception, Transceiver};

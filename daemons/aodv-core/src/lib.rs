// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ad hoc On-Demand Distance Vector routing (RFC 3561) as a pure state machine. Messages, packets
//! without a route and a time go in. Messages, routes for the kernel and the next deadline come out.
//!
//! The driving contract stands on [`hoplab_routing_core::Protocol`]. Nothing here opens a socket, reads a clock or draws from
//! global randomness; `no_std` makes that a compile error rather than a promise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod event;
pub mod message;
pub mod node;
pub mod settings;
pub mod table;

pub use event::{DropCause, Event};
pub use hoplab_base::{Duration, Instant, Stream};
pub use hoplab_routing_core::{Hop, Protocol, Sequence};
pub use hoplab_wire::Mac;
pub use message::Message;
pub use node::{Aodv, Stats};
pub use settings::Settings;

/// What the driver has to do.
pub type Output = hoplab_routing_core::Output<Event>;

/// The UDP port of AODV (RFC 3561 §2, IANA).
pub const PORT: u16 = 654;

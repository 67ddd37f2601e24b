// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Optimized Link State Routing (RFC 3626) as a pure state machine. Messages, packets without a route
//! and a time go in. Messages, routes for the kernel and the next deadline come out.
//!
//! The driving contract stands on [`hoplab_routing_core::Protocol`]. Nothing here opens a socket,
//! reads a clock or draws from global randomness; `no_std` makes that a compile error rather than a
//! promise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod event;
pub mod link;
pub mod message;
pub mod node;
pub mod relays;
pub mod settings;

pub use event::{DropCause, Event};
pub use hoplab_base::{Duration, Instant, Stream};
pub use hoplab_routing_core::{Hop, Protocol, Sequence16};
pub use hoplab_wire::Mac;
pub use node::{Olsr, Stats};
pub use settings::{Metric, Settings};

/// What the driver has to do.
pub type Output = hoplab_routing_core::Output<Event>;

/// The UDP port of OLSR (RFC 3626 §3.1, IANA).
pub const PORT: u16 = 698;

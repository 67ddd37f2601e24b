// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Dynamic Source Routing (RFC 4728, without the optional flow state extension) as a pure state
//! machine. Bytes and a time go in; bytes, events and the next deadline come out.
//!
//! The driving contract stands on [`Dsr`]. Nothing here opens a socket, reads a clock or draws
//! from global randomness; `no_std` makes that a compile error rather than a promise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod agenda;
pub mod cache;
pub mod event;
pub mod layer;
pub mod maintenance;
pub mod neighbours;
pub mod node;
pub mod queue;
pub mod settings;
pub mod signals;
pub mod tables;
pub mod wire;

pub use event::{DropCause, Event};
pub use hoplab_base::{Duration, Instant, Stream};
pub use hoplab_wire::Mac;
pub use node::{Class, Dsr, LinkDestination, Output, Stats, Token};
pub use settings::Settings;

// SPDX-License-Identifier: Apache-2.0
//! The parts of `hoplab-medium` around the engine: configuration, ports to the hosts, records,
//! the loop.
#![forbid(unsafe_code)]

mod carried;
pub mod config;
pub mod control;
pub mod dot11;
mod error;
mod lateness;
mod pcapng;
pub mod port;
mod records;
pub mod server;

pub use error::Error;

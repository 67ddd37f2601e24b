// SPDX-License-Identifier: Apache-2.0
//! The parts of `hoplab-medium` around the channel: ports to the hosts, the loop and changes by
//! hand. The way to the medium in the guest's kernel is here too.
#![forbid(unsafe_code)]

pub mod control;
mod error;
pub mod in_kernel;
mod lateness;
pub mod port;
pub mod server;

pub use error::Error;

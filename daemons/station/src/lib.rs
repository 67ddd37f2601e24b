// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What routing daemons at a station's wireless interface share: the command line, the records, and
//! settings of the kernel. Also here: a monitor interface, which frames come to which socket, and
//! notices to the kernel's TCP.

#![forbid(unsafe_code)]

pub mod command;
pub mod elfn;
mod error;
pub mod filter;
pub mod monitor;
pub mod nl80211;
pub mod records;
pub mod stack;

pub use error::Error;

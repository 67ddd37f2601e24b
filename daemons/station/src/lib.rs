// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What routing daemons at a station's wireless interface share: a monitor interface, which frames
//! come to which socket, the records, and settings of the kernel.

#![forbid(unsafe_code)]

mod error;
pub mod filter;
pub mod monitor;
pub mod nl80211;
pub mod records;
pub mod stack;

pub use error::Error;

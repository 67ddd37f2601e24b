// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine with what both of its homes need: document, hosts, records.
//!
//! A daemon (`hoplab-medium`) and the guest's own kernel (`hoplab-medium-kernel`) drive a
//! [`Channel`]. It has no clock, waits for nothing and calls nothing of an operating system but the
//! files of its records.
#![forbid(unsafe_code)]

mod carried;
mod channel;
pub mod config;
pub mod dot11;
mod dozing;
mod error;
mod handovers;
mod held;
pub mod hosts;
mod pcapng;
pub mod rates;
mod records;
pub mod request;
mod sequences;
mod soundings;
mod triggers;
mod units;

pub use channel::{Account, Change, Channel, Part};
pub use error::{Early, Error};

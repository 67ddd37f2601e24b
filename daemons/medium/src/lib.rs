// SPDX-License-Identifier: Apache-2.0
//! The parts of `hoplab-medium` around the engine: configuration, messages, records, the loop.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod config;
pub mod dot11;
pub mod hwsim;
mod lateness;
mod pcapng;
mod records;
pub mod shell;
mod sys;

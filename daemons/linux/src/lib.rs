// SPDX-License-Identifier: Apache-2.0
//! What the daemons need of Linux and std does not offer. All `unsafe` of the daemons is in this
//! crate, and every block says why it is sound; no function here can be called wrongly.
//!
//! The functions check their results and name what failed.

pub mod calls;
pub mod interface;
pub mod kernel;
pub mod netlink;
pub mod packet;
pub mod privileges;
mod ring;
pub mod signals;
mod socket;
mod status;
pub mod tun;
mod wait;

pub use ring::Ring;
pub use status::{want_statuses, Statuses};
pub use wait::{wait, Found, Interest};

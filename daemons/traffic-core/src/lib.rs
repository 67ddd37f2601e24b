// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a flow's ends do, as pure state machines: octets and a time go in, octets, rows and the next
//! deadline come out.
//!
//! A protocol is a pair of machines. Of UDP, [`Sender`] says when the next datagram is due and fills
//! it, and [`Receiver`] counts and times what comes. The driving contract stands on each. `no_std`
//! makes purity a compile error rather than a promise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod datagram;
mod delays;
mod receiver;
mod sender;
mod spacing;
mod twister;

pub use datagram::{Header, HEADER_LEN};
pub use delays::Summary;
pub use hoplab_base::{Duration, Instant};
pub use receiver::{Grid, Receiver, Row};
pub use sender::Sender;
pub use spacing::{Pace, Spacing};

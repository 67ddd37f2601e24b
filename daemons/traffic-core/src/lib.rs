// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a flow's ends do, as pure state machines: octets and a time go in, octets, rows and the next
//! deadline come out.
//!
//! Of UDP, [`Sender`] says when the next datagram is due and fills it, and [`Receiver`] counts and
//! times what comes. [`Pinger`] is the one end of a ping that is a program. Of requests and responses
//! [`Turns`] has the sizes, which both ends draw. A transfer by TCP needs no machine of its own. The
//! driving contract stands on each. `no_std` makes purity a compile error rather than a promise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod call;
mod datagram;
mod delays;
mod draw;
mod echo;
mod exchange;
mod pinger;
mod receiver;
mod sender;
mod spacing;
mod turns;
mod twister;

pub use call::{Call, Frame, Settings as CallSettings, CALL_HEADER_LEN};
pub use datagram::{Header, HEADER_LEN};
pub use delays::Summary;
pub use draw::{Draw, Draws};
pub use echo::{Echo, Version, ECHO_HEADER_LEN};
pub use exchange::{End, Exchange};
pub use hoplab_base::{Duration, Instant};
pub use pinger::{Echoes, Moment, Pinger};
pub use receiver::{Grid, Receiver, Row};
pub use sender::Sender;
pub use spacing::{Pace, Pauses, Spacing};
pub use turns::{Thinking, Turn, Turns};

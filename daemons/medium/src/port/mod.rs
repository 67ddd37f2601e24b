// SPDX-License-Identifier: Apache-2.0
//! What stands in front of the engine: hosts with radios, as a protocol and a clock.
//!
//! [`Server`](crate::server::Server) drives the channel through a [`Port`] and knows nothing else of
//! the hosts; another protocol is another file here. A test's port is a list of frames.

mod addresses;
pub mod hwsim;
pub mod messages;

use std::os::fd::OwnedFd;

use hoplab_channel::hosts::{Hosts, Sent};
use hoplab_medium_core::{Duration, Instant};
use hoplab_wire::Mac;
use serde_json::Value;

use crate::error::Error;

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Time that has passed for certain.
    pub passed: Duration,
    /// Whether there is something to read.
    pub input: bool,
    /// Whether there is something at what [`Port::watch`] was given.
    pub other: bool,
}

/// A protocol to hosts, and their clock.
pub trait Port: Hosts<Error = Error> {
    /// The hosts' time.
    fn clock(&mut self) -> Instant;

    /// Whether that time stands still while programs compute: nothing is then ever late, and
    /// reading the clock costs time itself.
    fn virtual_time(&self) -> bool;

    /// Whether the medium must end.
    fn stopped(&self) -> bool;

    /// Sleep until there is something to read or `limit` has passed, a second at most and without
    /// limit; may return earlier.
    fn wait(&mut self, limit: Option<Duration>) -> Result<Woken, Error>;

    /// Also wake for input at this descriptor.
    fn watch(&mut self, other: OwnedFd);

    /// Hand what has come to `accept`, in order.
    fn read(&mut self, accept: impl FnMut(&mut Self, Sent<'_, Self::Ticket>));

    /// There is a radio more, with this address and the next number.
    fn add(&mut self, mac: Mac);

    /// System calls since the start, as the daemon's account of itself names them.
    fn calls(&self) -> Value;
}

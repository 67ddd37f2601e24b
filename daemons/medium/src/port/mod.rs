// SPDX-License-Identifier: Apache-2.0
//! What stands in front of the engine: hosts with radios, as a protocol and a clock.
//!
//! [`Server`](crate::server::Server) drives the engine through a [`Port`] and knows nothing else of
//! the hosts; another protocol is another file here. A test's port is a list of frames.

mod addresses;
pub mod hwsim;
pub mod messages;

use std::os::fd::OwnedFd;

use hoplab_medium_core::{Attempts, Duration, Instant, Rate, MAX_RATES};
use serde_json::Value;

use crate::error::Error;

/// A frame that a host's radio sends.
pub struct Sent<'a, T> {
    pub radio: usize,
    /// From the MAC header on, without FCS.
    pub bytes: &'a [u8],
    /// Centre of the channel that it is on.
    pub frequency_mhz: u32,
    /// Empty where the engine does not know one of them.
    pub rates: Vec<Attempts>,
    /// What the port needs to tell the host what became of the frame.
    pub ticket: T,
}

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

/// Messages that did not become a frame, or came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Troubles {
    pub malformed: u64,
    /// Times at which messages were lost because the receive buffer was full.
    pub overruns: u64,
    /// Frames of radios that the configuration does not name.
    pub unknown_radios: u64,
    pub refused_statuses: u64,
    pub refused_deliveries: u64,
}

/// The hosts' side of the medium.
pub trait Port {
    /// See [`Sent::ticket`].
    type Ticket;

    /// The longest frame, without FCS, that a host's radio takes.
    fn longest_frame(&self) -> usize;

    /// The hosts' time.
    fn clock(&mut self) -> Instant;

    /// Whether that time stands still while programs compute: nothing is then ever late, and
    /// reading the clock costs time itself.
    fn virtual_time(&self) -> bool;

    /// Whether the medium shall end.
    fn stopped(&self) -> bool;

    /// Sleep until there is something to read or `limit` has passed, a second at most and without
    /// limit; may return earlier.
    fn wait(&mut self, limit: Option<Duration>) -> Result<Woken, Error>;

    /// Also wake for input at this descriptor.
    fn watch(&mut self, other: OwnedFd);

    /// Hand what has come to `accept`, in order.
    fn read(&mut self, accept: impl FnMut(&mut Self, Sent<'_, Self::Ticket>));

    /// The frame of `ticket` reaches the host of radio `to`.
    fn deliver(&mut self, to: usize, bytes: &[u8], ticket: &Self::Ticket, heard: Heard);

    /// Its sender is told what became of it; `tries` per entry of its rates.
    fn status(&mut self, ticket: &Self::Ticket, acked: bool, tries: &[u32; MAX_RATES]);

    /// Bytes that wait for [`Port::flush`].
    fn unsent(&self) -> usize;

    /// Let the hosts have what was delivered and told.
    fn flush(&mut self) -> Result<(), Error>;

    fn troubles(&self) -> Troubles;

    /// System calls since the start, as the daemon's account of itself names them.
    fn calls(&self) -> Value;
}

/// How a frame arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    pub signal_dbm: f64,
    pub rate: Rate,
}

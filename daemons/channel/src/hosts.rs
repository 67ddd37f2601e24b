// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hosts' side of the medium.

use hoplab_medium_core::{Agreement, Attempts, Dbm, Duration, RadioId, Rate, MAX_RATES};

use crate::dot11::Header;
use crate::Error;

/// The longest frame, without FCS, that `mac80211_hwsim` takes on its way to a receiver
/// (IEEE80211_MAX_DATA_LEN); it drops a longer one.
pub const LONGEST_FRAME: usize = 2304;

/// A frame that a host's radio sends.
pub struct Sent<'a, T> {
    pub radio: RadioId,
    /// From the MAC header on, without FCS.
    pub bytes: &'a [u8],
    /// What [`dot11::parse`](crate::dot11::parse) says of it.
    pub header: Option<Header>,
    /// Centre of the channel that it is on.
    pub frequency_mhz: u32,
    /// Empty where the engine does not know one of them.
    pub rates: Vec<Attempts>,
    /// Frames that its agreement may have outstanding, where the host has made one; else 0.
    pub window: usize,
    /// What it takes to tell the host what became of the frame.
    pub ticket: T,
}

/// How a frame arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    pub signal_dbm: Dbm,
    pub rate: Rate,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub acked: bool,
    /// Per entry of its rates.
    pub tries: [u32; MAX_RATES],
    /// For how long it was on the air, all tries and their RTS together.
    pub airtime: Duration,
    /// Of a host that makes agreements.
    pub agreement: Agreement,
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

/// Where the engine's decisions go. What comes back from a host because of one is the next input:
/// nothing here may call the channel.
pub trait Hosts {
    /// See [`Sent::ticket`].
    type Ticket: Clone;
    /// Why hosts could not be reached, or records not be written.
    type Error: From<Error>;

    /// The longest frame, without FCS, that a host's radio takes.
    fn longest_frame(&self) -> usize;

    /// The frame of `ticket` reaches the host of radio `to`.
    fn deliver(&mut self, to: RadioId, bytes: &[u8], ticket: &Self::Ticket, heard: Heard);

    /// Its sender learns what became of it.
    fn status(&mut self, ticket: &Self::Ticket, status: &Status);

    /// Let the hosts have what was decided, as far as it pays; all of it with `all`.
    fn flush(&mut self, all: bool) -> Result<(), Self::Error>;

    /// A message to all who follow the medium.
    fn say(&mut self, text: &str);

    fn troubles(&self) -> Troubles;
}

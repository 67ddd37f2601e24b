// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a routing protocol is to the daemon that drives it.

use crate::lost::Failure;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;
use core::net::Ipv4Addr;
use hoplab_base::{Instant, Stream};
use hoplab_wire::Mac;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How the kernel learns a neighbour's link-layer address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    /// From the protocol's messages. ARP helps where a neighbour was silent.
    Learned,
    /// By ARP alone.
    Arp,
}

/// A neighbour to which something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub address: Ipv4Addr,
    pub mac: Mac,
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<E> {
    /// An IP packet for the local stack.
    Deliver(Vec<u8>),
    /// A message to a neighbour, or to all, from and to [`Protocol::PORT`].
    Send {
        to: Option<Hop>,
        ttl: u8,
        message: Vec<u8>,
    },
    /// An IP packet that waited for its route.
    Forward { to: Hop, packet: Vec<u8> },
    /// The kernel's packets for the destination go to this neighbour from now on.
    Install {
        destination: Ipv4Addr,
        next_hop: Ipv4Addr,
    },
    /// The kernel's packets for the destination come to the driver from now on.
    Remove { destination: Ipv4Addr },
    /// This is the neighbour's link-layer address.
    Neighbour(Hop),
    /// For the local TCP, if [`Protocol::report_failures`] asked for it.
    Failure(Failure),
    /// For the log.
    Event(E),
}

/// An occurrence for the log, whose text is its detail.
pub trait Event: Display {
    fn kind(&self) -> &'static str;
}

/// One station that runs a protocol whose routes the kernel has.
///
/// The driver feeds input through the `handle_` functions with a time that never goes back. After
/// each it drains [`poll_output`](Protocol::poll_output) until `None`. Then it waits for input or for
/// [`next_deadline`](Protocol::next_deadline), whichever comes first. The same inputs, times and
/// stream give the same outputs.
///
/// The kernel forwards what has a route. The driver hands packets without one to
/// [`handle_packet`](Protocol::handle_packet). Where [`FOLLOWS_TRAFFIC`](Protocol::FOLLOWS_TRAFFIC)
/// holds, it also tells of each passing packet by [`handle_received`](Protocol::handle_received) and
/// [`handle_sent`](Protocol::handle_sent).
pub trait Protocol: Sized {
    /// In scenarios, records and names of files.
    const NAME: &'static str;
    /// In full, with its source.
    const TITLE: &'static str;
    /// Its UDP port.
    const PORT: u16;
    /// Whether passing packets change its state.
    const FOLLOWS_TRAFFIC: bool;
    type Settings: Clone + Serialize + DeserializeOwned;
    type Event: Event;

    /// A station that starts at `now`, and draws from its own stream `random`.
    fn new(now: Instant, own: Ipv4Addr, settings: Self::Settings, random: Stream) -> Self;

    /// From now on the local TCP learns of routes that fail. A connection that stands by repeats one
    /// segment, so only one copy of a segment waits for a route.
    fn report_failures(&mut self) {}

    /// The kernel had no route for this IP packet, of the local stack or of another station. The
    /// kernel has counted its TTL down.
    fn handle_packet(&mut self, now: Instant, packet: Vec<u8>);

    /// A UDP payload came from port [`PORT`](Protocol::PORT) of a neighbour, with this TTL.
    fn handle_message(&mut self, now: Instant, from: Hop, ttl: u8, bytes: &[u8]);

    /// An IP packet came from a neighbour, for this station or to be sent on.
    fn handle_received(&mut self, now: Instant, from: Mac, source: Ipv4Addr, to: Ipv4Addr) {
        let _ = (now, from, source, to);
    }

    /// A neighbour acknowledged a packet of this station, or one that it sent on.
    fn handle_sent(&mut self, now: Instant, to: Mac, destination: Ipv4Addr) {
        let _ = (now, to, destination);
    }

    /// The link layer could not deliver this IP packet to the neighbour.
    fn handle_failure(&mut self, now: Instant, to: Mac, packet: &[u8]);

    /// Time has come to `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// When [`handle_timeout`](Protocol::handle_timeout) must be called at the latest.
    fn next_deadline(&self) -> Option<Instant>;

    /// The next thing to do; `None` when nothing is left.
    fn poll_output(&mut self) -> Option<Output<Self::Event>>;

    fn settings(&self) -> &Self::Settings;

    fn resolution(settings: &Self::Settings) -> Resolution;

    /// Every counter with its name, for the table `routing`.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// The routes for people, one a line.
    fn routes(&self, now: Instant) -> String;

    /// Forgets all routes.
    fn flush(&mut self, now: Instant);
}

// SPDX-License-Identifier: Apache-2.0
//! A layer may stand between the protocol and the local stack. It can take packets over from their
//! sources. The protocol works without one.

use crate::wire::{LostSegment, Packet};
use core::convert::Infallible;
use core::fmt::Debug;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

/// Where a packet is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// From the local stack into the network.
    Leaving,
    /// Neither from this station nor for it; `hops` from its source to here, 1 at a neighbour.
    Passing { hops: u8 },
    /// For the local stack.
    Arriving,
}

/// What a layer wants of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<E> {
    /// Send a packet like one of the local stack.
    Originate(Packet),
    /// Send on a packet that was taken over, with the DSR options that it came with.
    SendOn(Packet),
    /// Log what the layer did.
    Event(E),
}

/// The contract: the protocol drains [`poll`](Layer::poll) after each call of
/// [`takes`](Layer::takes) and [`handle_timeout`](Layer::handle_timeout).
pub trait Layer {
    /// What it does, for the log.
    type Event: Clone + Debug + PartialEq + Eq;

    /// The station that has taken `packet` over from its source.
    fn custodian(&self, packet: &Packet) -> Option<Ipv4Addr>;

    /// Shows a packet at its place. True when the layer keeps it, so that it goes no further.
    fn takes(&mut self, now: Instant, place: Place, packet: &Packet) -> bool;

    /// `packet` goes no further, since it has no route.
    fn dropped(&mut self, packet: &Packet);

    /// Comes at the end of each input. The event that made this node drop packets has been dealt
    /// with, so the layer may act on them now.
    fn settle(&mut self, now: Instant);

    /// A Route Error that was received or overheard names these segments.
    fn lost(&mut self, now: Instant, segments: &[LostSegment]);

    /// Takes what the layer added off a packet that is about to be delivered.
    fn restore(&self, packet: &mut Packet);

    /// When `handle_timeout` must be called at the latest.
    fn next_deadline(&self) -> Option<Instant>;

    /// Time has come to `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// The next thing that it wants; `None` when nothing is left.
    fn poll(&mut self) -> Option<Request<Self::Event>>;
}

/// No layer: the protocol alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Layer for Alone {
    type Event = Infallible;

    fn custodian(&self, _: &Packet) -> Option<Ipv4Addr> {
        None
    }

    fn takes(&mut self, _: Instant, _: Place, _: &Packet) -> bool {
        false
    }

    fn dropped(&mut self, _: &Packet) {}

    fn settle(&mut self, _: Instant) {}

    fn lost(&mut self, _: Instant, _: &[LostSegment]) {}

    fn restore(&self, _: &mut Packet) {}

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll(&mut self) -> Option<Request<Infallible>> {
        None
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Layers may stand between the protocol and the local stack. They can take packets over from their
//! sources, and add to what stations tell each other of broken links. The protocol works without.

use crate::event::DropCause;
use crate::wire::{Packet, RouteError};
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::{self, Debug, Display};
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

/// What became of a packet whose route failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Dropped(DropCause),
    /// It travels on along another route.
    Salvaged,
    /// It waits for a route.
    Held,
}

/// A packet of another station that a broken link stopped here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub packet: Packet,
    pub salvaged: bool,
}

/// What a packet that begins to wait for a route does to one that waits already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meeting {
    /// Both wait.
    Beside,
    /// The new packet waits in the place of the old one.
    Renews,
    /// The old packet goes, and the new one waits at the end.
    Removes,
}

/// What a layer wants of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<E> {
    /// Send a packet like one of the local stack.
    Originate(Packet),
    /// Send on a packet that was taken over, with the DSR options that it came with.
    SendOn(Packet),
    /// Hand out what the layer did.
    Event(E),
}

/// What a layer says at once of a route that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report<E> {
    /// An IP packet for the local stack.
    Deliver(Packet),
    Event(E),
}

/// What a layer adds to a Route Error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning<E> {
    /// Octets behind the type-specific information (RFC 4728 §6.4). Those beyond
    /// [`MAX_EXTENSION`](crate::wire::options::MAX_EXTENSION) are cut.
    pub extension: Vec<u8>,
    /// Packets that follow the Route Error.
    pub packets: Vec<Packet>,
    /// For the log.
    pub told: Vec<E>,
}

impl<E> Default for Warning<E> {
    fn default() -> Self {
        Warning {
            extension: Vec::new(),
            packets: Vec::new(),
            told: Vec::new(),
        }
    }
}

/// The contract: the protocol drains [`poll`](Layer::poll) after each call of
/// [`takes`](Layer::takes) and [`handle_timeout`](Layer::handle_timeout). A layer that has nothing
/// to say of something leaves that method out.
pub trait Layer {
    /// What it does, for the driver and the log.
    type Event: Clone + Debug + Display + PartialEq + Eq;

    /// The station that has taken `packet` over from its source.
    fn custodian(&self, _packet: &Packet) -> Option<Ipv4Addr> {
        None
    }

    /// Shows a packet at its place. True when the layer keeps it, so that it goes no further.
    fn takes(&mut self, _now: Instant, _place: Place, _packet: &Packet) -> bool {
        false
    }

    /// The route of `packet` failed here.
    fn fate(&mut self, _packet: &Packet, _fate: Fate) -> Vec<Report<Self::Event>> {
        Vec::new()
    }

    /// `new` begins to wait for a route, as `waiting` does.
    fn meets(&self, _new: &Packet, _waiting: &Packet) -> Meeting {
        Meeting::Beside
    }

    /// Comes at the end of each input. The event that made this node drop packets has been dealt
    /// with, so the layer may act on them now.
    fn settle(&mut self, _now: Instant) {}

    /// A Route Error is about to tell of the break that stopped these packets.
    fn warning(&mut self, _stopped: &[Stopped]) -> Warning<Self::Event> {
        Warning::default()
    }

    /// A Route Error was received or overheard. `mine`: it came to this station as its destination.
    fn warned(
        &mut self,
        _now: Instant,
        _error: &RouteError,
        _mine: bool,
    ) -> Vec<Report<Self::Event>> {
        Vec::new()
    }

    /// What the extension of a Route Error says, for the log.
    fn read(&self, _extension: &[u8]) -> Vec<Self::Event> {
        Vec::new()
    }

    /// Takes what the layer added off a packet that is about to be delivered.
    fn restore(&self, _packet: &mut Packet) {}

    /// When `handle_timeout` must be called at the latest.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Time has come to `now`.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// The next thing that it wants; `None` when nothing is left.
    fn poll(&mut self) -> Option<Request<Self::Event>> {
        None
    }
}

/// No layer: the protocol alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Layer for Alone {
    type Event = Infallible;
}

/// What one of two layers did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    First(A),
    Second(B),
}

impl<A: Display, B: Display> Display for Either<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Either::First(a) => a.fmt(f),
            Either::Second(b) => b.fmt(f),
        }
    }
}

impl<E> Request<E> {
    fn map<F>(self, event: impl Fn(E) -> F) -> Request<F> {
        match self {
            Request::Originate(packet) => Request::Originate(packet),
            Request::SendOn(packet) => Request::SendOn(packet),
            Request::Event(e) => Request::Event(event(e)),
        }
    }
}

impl<E> Report<E> {
    fn map<F>(self, event: impl Fn(E) -> F) -> Report<F> {
        match self {
            Report::Deliver(packet) => Report::Deliver(packet),
            Report::Event(e) => Report::Event(event(e)),
        }
    }
}

/// What the first layer says comes before what the second one says.
fn both<A, B, T>(a: Vec<A>, b: Vec<B>, f: impl Fn(A) -> T, g: impl Fn(B) -> T) -> Vec<T> {
    a.into_iter().map(f).chain(b.into_iter().map(g)).collect()
}

/// Two layers: a packet that the first one takes never comes to the second.
impl<A: Layer, B: Layer> Layer for (A, B) {
    type Event = Either<A::Event, B::Event>;

    fn custodian(&self, packet: &Packet) -> Option<Ipv4Addr> {
        self.0
            .custodian(packet)
            .or_else(|| self.1.custodian(packet))
    }

    fn takes(&mut self, now: Instant, place: Place, packet: &Packet) -> bool {
        self.0.takes(now, place, packet) || self.1.takes(now, place, packet)
    }

    fn fate(&mut self, packet: &Packet, fate: Fate) -> Vec<Report<Self::Event>> {
        let (a, b) = (self.0.fate(packet, fate), self.1.fate(packet, fate));
        both(a, b, |r| r.map(Either::First), |r| r.map(Either::Second))
    }

    fn meets(&self, new: &Packet, waiting: &Packet) -> Meeting {
        self.0.meets(new, waiting).max(self.1.meets(new, waiting))
    }

    fn settle(&mut self, now: Instant) {
        self.0.settle(now);
        self.1.settle(now);
    }

    fn warning(&mut self, stopped: &[Stopped]) -> Warning<Self::Event> {
        let (a, b) = (self.0.warning(stopped), self.1.warning(stopped));
        Warning {
            extension: [a.extension, b.extension].concat(),
            packets: [a.packets, b.packets].concat(),
            told: both(a.told, b.told, Either::First, Either::Second),
        }
    }

    fn warned(&mut self, now: Instant, error: &RouteError, mine: bool) -> Vec<Report<Self::Event>> {
        let (a, b) = (
            self.0.warned(now, error, mine),
            self.1.warned(now, error, mine),
        );
        both(a, b, |r| r.map(Either::First), |r| r.map(Either::Second))
    }

    fn read(&self, extension: &[u8]) -> Vec<Self::Event> {
        let (a, b) = (self.0.read(extension), self.1.read(extension));
        both(a, b, Either::First, Either::Second)
    }

    fn restore(&self, packet: &mut Packet) {
        self.0.restore(packet);
        self.1.restore(packet);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let deadlines = [self.0.next_deadline(), self.1.next_deadline()];
        deadlines.into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
        self.1.handle_timeout(now);
    }

    fn poll(&mut self) -> Option<Request<Self::Event>> {
        let first = self.0.poll().map(|r| r.map(Either::First));
        first.or_else(|| Some(self.1.poll()?.map(Either::Second)))
    }
}

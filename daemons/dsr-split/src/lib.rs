// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Split-TCP as a layer of DSR. It sees segments of split connections where they leave, pass or
//! arrive. What a custodian sends goes as its own packets do.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_dsr_core::layer::{self, Layer, Meeting, Place, Report, Request};
use hoplab_dsr_core::wire::{options::MAX_ADDRESSES, DsrOption, Packet, RouteError, PROTOCOL_TCP};
use hoplab_dsr_core::DropCause;
use hoplab_dsr_elfn::{Fate, LostSegment};
use hoplab_split_core::{self as split_core, Config, Ends, Event, Output, Row, Split, Verdict};
use hoplab_wire::split::{Stamp, PROTOCOL_LACK};

/// The DSR options that a segment came with, for the way from here on.
type Way = Option<Vec<DsrOption>>;

/// Octets of a packet that a source route and a record of visited nodes may take. A segment that
/// would not fit the link beside them is not taken.
const RESERVED: usize = 4 + 2 * (4 + 4 * MAX_ADDRESSES);

/// A station's part in Split-TCP.
pub struct Splitting {
    own: Ipv4Addr,
    split: Option<Split<Way>>,
    /// Segments that went no further, of which `split` does not know yet.
    drops: Vec<Vec<u8>>,
}

impl Splitting {
    /// At the station `own`, whose frames hold packets of `link_mtu` octets. Without a connection
    /// it takes no part.
    pub fn new(own: Ipv4Addr, mut config: Config, link_mtu: usize) -> Self {
        config.tuning.mtu = link_mtu.saturating_sub(RESERVED);
        let takes_part = !config.connection.is_empty();
        Splitting {
            own,
            split: takes_part.then(|| Split::new(own, config)),
            drops: Vec::new(),
        }
    }

    /// Rows of the table `split`.
    pub fn rows(&self) -> Vec<Row> {
        self.split.as_ref().map_or_else(Vec::new, Split::rows)
    }
}

impl Layer for Splitting {
    type Event = Event;

    fn custodian(&self, packet: &Packet) -> Option<Ipv4Addr> {
        Stamp::of(&packet.ip).map(|stamp| stamp.custodian)
    }

    fn takes(&mut self, now: Instant, place: Place, packet: &Packet) -> bool {
        let Some(split) = &mut self.split else {
            return false;
        };
        if ![PROTOCOL_TCP, PROTOCOL_LACK].contains(&packet.ip.protocol) {
            return false;
        }
        let place = match place {
            Place::Leaving => split_core::Place::Leaving,
            Place::Passing { hops } => split_core::Place::Passing { hops },
            Place::Arriving => split_core::Place::Arriving,
        };
        let bytes = without_options(packet);
        split.handle_packet(now, place, &bytes, packet.options.clone()) == Verdict::Taken
    }

    /// A dropped segment for which this station is responsible will be sent again. It does not go
    /// back into a full Send Buffer, where it would only push out the next one.
    fn fate(&mut self, packet: &Packet, fate: layer::Fate) -> Vec<Report<Event>> {
        let lost = matches!(fate, layer::Fate::Dropped(why) if why != DropCause::SendBufferFull);
        if lost && self.split.is_some() && self.custodian(packet) == Some(self.own) {
            self.drops.push(without_options(packet));
        }
        Vec::new()
    }

    /// A custodian's further transmission takes the place of one that still waits for a route.
    fn meets(&self, new: &Packet, waiting: &Packet) -> Meeting {
        let same = waiting.ip.source == new.ip.source
            && waiting.ip.destination == new.ip.destination
            && waiting.payload == new.payload;
        match same && self.custodian(new) == Some(self.own) {
            true => Meeting::Removes,
            false => Meeting::Beside,
        }
    }

    fn settle(&mut self, now: Instant) {
        for packet in core::mem::take(&mut self.drops) {
            if let Some(split) = &mut self.split {
                split.handle_drop(now, &packet);
            }
        }
    }

    fn warned(&mut self, now: Instant, error: &RouteError, _: bool) -> Vec<Report<Event>> {
        let Some(split) = &mut self.split else {
            return Vec::new();
        };
        let segments = LostSegment::parse_all(&error.extension);
        for segment in segments.iter().filter(|s| s.fate == Fate::Dropped) {
            let ends = Ends {
                source: segment.source,
                source_port: segment.source_port,
                destination: segment.destination,
                destination_port: segment.destination_port,
            };
            split.handle_loss(now, &ends, segment.sequence);
        }
        Vec::new()
    }

    fn restore(&self, packet: &mut Packet) {
        Stamp::take(&mut packet.ip);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.split.as_ref().and_then(Split::next_deadline)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(split) = &mut self.split {
            split.handle_timeout(now);
        }
    }

    fn poll(&mut self) -> Option<Request<Event>> {
        loop {
            match self.split.as_mut()?.poll_output()? {
                Output::Event(event) => return Some(Request::Event(event)),
                Output::Send { packet, way } => {
                    let Ok(mut packet) = Packet::parse(&packet) else {
                        continue;
                    };
                    let Some(options) = way else {
                        return Some(Request::Originate(packet));
                    };
                    packet.options = options;
                    return Some(Request::SendOn(packet));
                }
            }
        }
    }
}

fn without_options(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(packet.ip.header_len() + packet.payload.len());
    packet.ip.emit(packet.payload.len(), &mut bytes);
    bytes.extend_from_slice(&packet.payload);
    bytes
}

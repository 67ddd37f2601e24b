// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Explicit link failure notices (Holland and Vaidya 1999) as a layer of DSR: a sender of TCP learns
//! that its route failed. The local stack hears of its segments by a [`Notice`], and other stations
//! by the Route Error's extension. ICMP host unreachable can take the place of both, and any stack
//! understands it (RFC 6069 is one use of it).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_dsr_core::layer::{self, Layer, Meeting, Report, Stopped, Warning};
use hoplab_dsr_core::wire::{icmp, options::MAX_EXTENSION, Packet, RouteError};
use serde::{Deserialize, Serialize};

pub use hoplab_routing_core::{Fate, LostSegment, RECORD_LEN};

/// Lost segments that fit one Route Error.
const MAX_SEGMENTS: usize = MAX_EXTENSION / RECORD_LEN;

/// What tells a sender of TCP which of its segments a break stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carriage {
    /// The lost-segment extension of the Route Error.
    RouteError,
    /// ICMP host unreachable (RFC 792) beside a Route Error without the extension.
    Icmp,
}

/// `hoplab/model/keys/dsr.py` declares both among DSR's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub lost_segment_extension: bool,
    pub carriage: Carriage,
}

/// Segments that met a broken link. The driver passes those of the local TCP on to whatever can use
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice(pub Vec<LostSegment>);

impl Notice {
    /// None of no segments.
    fn of(segments: Vec<LostSegment>) -> Option<Self> {
        (!segments.is_empty()).then_some(Notice(segments))
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            write!(f, "{}{segment}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

/// A station's part in the notices.
pub struct Notices {
    own: Ipv4Addr,
    settings: Settings,
    renews: bool,
}

impl Notices {
    /// At the station `own`. With `renews`, one copy of a TCP segment waits for a route. For a
    /// connection that stands by sends one probe after the other. All of them would leave at once
    /// when there is a route again.
    pub fn new(own: Ipv4Addr, settings: Settings, renews: bool) -> Self {
        Notices {
            own,
            settings,
            renews,
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn unreachable(&self, packet: &Packet) -> Packet {
        let kind = icmp::HOST_UNREACHABLE;
        icmp::error(self.own, packet.ip.source, kind, [0; 4], packet)
    }

    /// For the packets that went no further. One message suffices for each connection.
    fn unreachables(&self, stopped: &[Stopped]) -> Vec<Packet> {
        let mut told: Vec<LostSegment> = Vec::new();
        let mut packets = Vec::new();
        for one in stopped.iter().filter(|one| !one.salvaged) {
            let Some(segment) = lost(one).filter(|_| !opens(&one.packet)) else {
                continue;
            };
            if !told.iter().any(|t| t.same_connection(&segment)) {
                told.push(segment);
                packets.push(self.unreachable(&one.packet));
            }
        }
        packets
    }
}

impl Layer for Notices {
    type Event = Notice;

    /// Reports the fate of a segment of the local TCP.
    fn fate(&mut self, packet: &Packet, fate: layer::Fate) -> Vec<Report<Notice>> {
        if packet.ip.source != self.own {
            return vec![];
        }
        let fate = match fate {
            layer::Fate::Dropped(_) => Fate::Dropped,
            layer::Fate::Salvaged => Fate::Salvaged,
            layer::Fate::Held => Fate::Held,
        };
        let Some(segment) = LostSegment::of(&packet.summary(), fate) else {
            return vec![];
        };
        match self.settings.carriage {
            Carriage::RouteError => vec![Report::Event(Notice(vec![segment]))],
            // A salvaged segment still travels, and ICMP has no way to say so.
            Carriage::Icmp if fate == Fate::Salvaged || opens(packet) => vec![],
            Carriage::Icmp => vec![Report::Deliver(self.unreachable(packet))],
        }
    }

    fn meets(&self, new: &Packet, waiting: &Packet) -> Meeting {
        // A bare acknowledgement takes no data's place.
        let longer = waiting.payload.len() > new.payload.len();
        let segment = |packet: &Packet| LostSegment::of(&packet.summary(), Fate::Held);
        match segment(new) {
            Some(same) if self.renews && !longer && segment(waiting) == Some(same) => {
                Meeting::Renews
            }
            _ => Meeting::Beside,
        }
    }

    /// Lists the segments, or reports them to their senders by ICMP.
    fn warning(&mut self, stopped: &[Stopped]) -> Warning<Notice> {
        let segments: Vec<_> = stopped.iter().filter_map(lost).collect();
        let mut warning = Warning::default();
        match self.settings.carriage {
            Carriage::RouteError if self.settings.lost_segment_extension => {
                for segment in segments.iter().take(MAX_SEGMENTS) {
                    segment.emit(&mut warning.extension);
                }
            }
            Carriage::RouteError => {}
            Carriage::Icmp => warning.packets = self.unreachables(stopped),
        }
        warning.told.extend(Notice::of(segments));
        warning
    }

    /// Hands on what a Route Error says of the local TCP's segments.
    fn warned(&mut self, _: Instant, error: &RouteError, mine: bool) -> Vec<Report<Notice>> {
        if !mine {
            return vec![];
        }
        let mut segments = LostSegment::parse_all(&error.extension);
        segments.retain(|segment| segment.source == self.own);
        Notice::of(segments)
            .map(Report::Event)
            .into_iter()
            .collect()
    }

    fn read(&self, extension: &[u8]) -> Vec<Notice> {
        let notice = Notice::of(LostSegment::parse_all(extension));
        notice.into_iter().collect()
    }
}

fn lost(stopped: &Stopped) -> Option<LostSegment> {
    let fate = match stopped.salvaged {
        true => Fate::Salvaged,
        false => Fate::Dropped,
    };
    LostSegment::of(&stopped.packet.summary(), fate)
}

/// Whether the segment opens a connection. ICMP would end such an attempt at once (RFC 5461
/// section 3), although the search for a route still goes on.
fn opens(packet: &Packet) -> bool {
    const FLAGS: usize = 13;
    const SYN: u8 = 2;
    // A segment too short for flags counts as opening, which is the cautious answer.
    packet.payload.get(FLAGS).is_none_or(|f| f & SYN != 0)
}

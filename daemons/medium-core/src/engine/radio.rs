// SPDX-License-Identifier: Apache-2.0
//! State of a radio and of what is on the air.

use std::collections::VecDeque;

use super::counters::{Counters, Fate, LinkCounters, Signals};
use super::{Class, Frame, FrameId, To, MAX_RATES};
use crate::{Nanos, Stream};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Ack,
    Rts,
    Cts,
}

/// What a transmission carries for a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload {
    pub id: FrameId,
    pub class: Class,
}

/// A radio in reach of a transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub radio: usize,
    pub dbm: f64,
    pub mw: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub from: usize,
    pub kind: Kind,
    pub to: To,
    pub payload: Option<Payload>,
    pub bytes: usize,
    /// Sender's count of frames, by which a receiver knows a repeat.
    pub number: u64,
    /// Sender's count of data frames, by which lists of losses name them.
    pub data_number: u64,
    /// 1 at the first try.
    pub attempt: u32,
    pub rate_mbps: f64,
    pub start: Nanos,
    pub end: Nanos,
    /// Time that the medium stays reserved after the end.
    pub reserve: Nanos,
    /// The sender went off in the middle.
    pub cut: bool,
    pub heard: Vec<Heard>,
}

/// A signal at a radio, and why it is not being received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    pub tx: usize,
    pub mw: f64,
    pub cause: Fate,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    pub tx: usize,
    pub mw: f64,
    pub began: Nanos,
    pub interference_mw: f64,
    /// What has already spoiled it.
    pub spoiled: Option<Fate>,
    /// Up to when `log_success` accounts, and the logarithm of the probability that all bits
    /// until then are right (reception by error rate).
    pub accounted: Nanos,
    pub log_success: f64,
    /// Strongest interference so far, for the records.
    pub worst_mw: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaiting {
    Nothing,
    Cts,
    Ack,
}

#[derive(Clone, Debug)]
pub(super) struct Response {
    pub kind: Kind,
    pub to: usize,
    pub reserve: Nanos,
    /// Handed to the host when this acknowledgement has ended.
    pub deliver: Option<Arrived>,
}

/// A frame that a radio has received for its host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub from: usize,
    pub frame: FrameId,
    pub bytes: usize,
    pub dbm: f64,
    pub rate_mbps: f64,
}

/// What a radio knows of frames to another one.
#[derive(Debug)]
pub(super) struct Link {
    pub to: usize,
    /// Number of the last frame that was received.
    pub last_number: u64,
    pub counters: LinkCounters,
    pub signals: Option<Signals>,
}

#[derive(Debug)]
pub(super) struct Radio {
    pub up: bool,
    /// The battery is empty: never up again.
    pub exhausted: bool,
    pub queue: VecDeque<Frame>,
    /// Frames of routing, where they go first.
    pub urgent: VecDeque<Frame>,
    /// Frames that the card has taken beyond the one in service.
    pub ring: VecDeque<Frame>,
    pub current: Option<Frame>,
    pub number: u64,
    pub data_number: u64,
    pub tries: [u32; MAX_RATES],
    pub short_retries: u32,
    pub long_retries: u32,
    pub cw: u32,
    pub slots: u32,
    pub needs_backoff: bool,
    /// Start of the slot count; slots elapse from here.
    pub origin: Nanos,
    pub access_at: Option<Nanos>,
    /// When the earliest access event of this radio is due: at or before `access_at`.
    pub queued_at: Option<Nanos>,
    pub drawn_at: Nanos,
    pub generation: u64,
    pub transmitting: bool,
    pub awaiting: Awaiting,
    pub response: Option<Response>,
    /// Received frame whose acknowledgement is on the air.
    pub delivering: Option<Arrived>,
    /// Radios that overheard the frame in service and get it when its exchange is over.
    pub overheard: Vec<(usize, Arrived)>,
    /// Received frames that wait for the host.
    pub receive_buffer: VecDeque<Arrived>,
    pub serving: u64,
    pub sensed: u32,
    pub air: Vec<Signal>,
    pub reception: Option<Reception>,
    pub nav_until: Nanos,
    pub idle_from: Nanos,
    pub eifs: bool,
    pub random: Stream,
    pub fading: Stream,
    pub errors: Stream,
    pub counters: Counters,
    /// When the state of power last changed.
    pub since: Nanos,
    pub battery_generation: u64,
    /// In order of the other radio.
    pub links: Vec<Link>,
}

impl Radio {
    pub fn new(name: &str, seed: u64, cw_min: u32) -> Self {
        let stream = |use_| Stream::new(seed, &format!("medium/{use_}/{name}"));
        Self {
            random: stream("backoff"),
            fading: stream("fading"),
            errors: stream("errors"),
            up: true,
            exhausted: false,
            queue: VecDeque::new(),
            urgent: VecDeque::new(),
            ring: VecDeque::new(),
            current: None,
            number: 0,
            data_number: 0,
            tries: [0; MAX_RATES],
            short_retries: 0,
            long_retries: 0,
            cw: cw_min,
            slots: 0,
            needs_backoff: false,
            origin: 0,
            access_at: None,
            queued_at: None,
            drawn_at: 0,
            generation: 0,
            transmitting: false,
            awaiting: Awaiting::Nothing,
            response: None,
            delivering: None,
            overheard: Vec::new(),
            receive_buffer: VecDeque::new(),
            serving: 0,
            sensed: 0,
            air: Vec::new(),
            reception: None,
            nav_until: 0,
            idle_from: 0,
            eifs: false,
            counters: Counters::default(),
            since: 0,
            battery_generation: 0,
            links: Vec::new(),
        }
    }

    pub fn link_mut(&mut self, to: usize) -> &mut Link {
        let at = match self.links.binary_search_by_key(&to, |link| link.to) {
            Ok(at) => at,
            Err(at) => {
                let link = Link {
                    to,
                    last_number: 0,
                    counters: LinkCounters::default(),
                    signals: None,
                };
                self.links.insert(at, link);
                at
            }
        };
        &mut self.links[at]
    }

    pub fn link(&self, to: usize) -> Option<&Link> {
        let at = self.links.binary_search_by_key(&to, |link| link.to).ok()?;
        Some(&self.links[at])
    }
}

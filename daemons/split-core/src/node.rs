// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The station's state machine.

use crate::config::Config;
use crate::flow::{Context, Flow};
use crate::packet::{Output, Place, Verdict};
use crate::segment::Segment;
use crate::stats::{Ends, Role, Row};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_wire::ipv4::{Header as Ipv4Header, View};
use hoplab_wire::split::{Lack, PROTOCOL_LACK};
use hoplab_wire::tcp::Flags;
use hoplab_wire::PROTOCOL_TCP;

/// Connections that a station follows at a time; segments of further ones pass.
const MOST_FLOWS: usize = 1024;
/// Rows of connections that it has forgotten.
const MOST_FORGOTTEN: usize = 256;

/// One station taking part in Split-TCP: source, proxy and destination, by connection.
///
/// The driver shows every TCP segment and every packet of protocol 253 through
/// [`handle_packet`](Split::handle_packet) (others pass). Its time never goes back. It calls
/// [`handle_timeout`](Split::handle_timeout) when the time of
/// [`next_deadline`](Split::next_deadline) has come. After each it drains
/// [`poll_output`](Split::poll_output) until `None`. The same inputs and times give the same
/// outputs.
///
/// `W` is what a driver wants to have back when a segment that it showed is sent. An example is the
/// source route with which it came; `()` where the destination's address says all.
///
/// A segment becomes [`hoplab_wire::split::STAMP_LEN`] octets longer where it is taken first.
pub struct Split<W = ()> {
    config: Config,
    own: Ipv4Addr,
    flows: BTreeMap<Ends, Flow<W>>,
    forgotten: VecDeque<Row>,
    outputs: VecDeque<Output<W>>,
}

impl<W: Clone> Split<W> {
    pub fn new(own: Ipv4Addr, config: Config) -> Self {
        Split {
            config,
            own,
            flows: BTreeMap::new(),
            forgotten: VecDeque::new(),
            outputs: VecDeque::new(),
        }
    }

    /// A whole IP packet at `place`. By the verdict the driver decides what becomes of it; a LACK
    /// for this station is taken.
    pub fn handle_packet(&mut self, now: Instant, place: Place, packet: &[u8], way: W) -> Verdict {
        match View::new(packet).map(|view| view.protocol()) {
            Some(PROTOCOL_TCP) if !self.config.connection.is_empty() => {
                match Segment::parse(packet) {
                    Some(segment) => self.handle_segment(now, place, segment, packet, way),
                    None => Verdict::Pass,
                }
            }
            Some(PROTOCOL_LACK) if place == Place::Arriving => {
                self.handle_lack(now, packet);
                Verdict::Taken
            }
            _ => Verdict::Pass,
        }
    }

    fn handle_segment(
        &mut self,
        now: Instant,
        place: Place,
        segment: Segment<'_>,
        packet: &[u8],
        way: W,
    ) -> Verdict {
        let (ends, back) = (segment.ends, segment.ends.reversed());
        let mut context = Context {
            now,
            tuning: &self.config.tuning,
            out: &mut self.outputs,
        };
        let mut verdict = Verdict::Pass;
        if segment.has(Flags::ACK) {
            if let Some(flow) = self.flows.get_mut(&back) {
                verdict = flow.on_ack(&mut context, &segment, packet);
            }
        }
        if segment.has(Flags::SYN) || segment.has(Flags::RST) {
            // Nothing of a connection that had the same ends may reach this one.
            self.forget(&ends);
            if segment.has(Flags::RST) {
                self.forget(&back);
            }
            return Verdict::Pass;
        }
        if segment.length() == 0 {
            return verdict;
        }
        let Some(settings) = self.config.of(&ends) else {
            return Verdict::Pass;
        };
        let (role, is_proxy) = match place {
            Place::Leaving => (Role::Source, false),
            Place::Passing { hops } => (Role::Proxy, settings.has_proxy(self.own, hops)),
            Place::Arriving => (Role::Destination, false),
        };
        if !self.flows.contains_key(&ends) {
            let idle = role == Role::Proxy && !is_proxy;
            if idle || self.flows.len() >= MOST_FLOWS {
                return Verdict::Pass;
            }
            let flow = Flow::new(self.own, role, settings, &segment, &mut context);
            self.flows.insert(ends, flow);
        }
        match self.flows.get_mut(&ends) {
            // A route may lead a segment back through its own source.
            Some(flow) if flow.role == role => flow.on_data(&mut context, segment, is_proxy, way),
            _ => Verdict::Pass,
        }
    }

    /// `packet`, which came as [`Output::Send`], went no further than this station: its route is
    /// broken. It is sent again soon, and says nothing of congestion. Other packets change nothing.
    pub fn handle_drop(&mut self, now: Instant, packet: &[u8]) {
        let Some(segment) = Segment::parse(packet) else {
            return;
        };
        let stamp = segment.stamp.filter(|stamp| stamp.custodian == self.own);
        if let (Some(flow), Some(stamp)) = (self.flows.get_mut(&segment.ends), stamp) {
            flow.on_drop(now, stamp.number);
        }
    }

    /// Somebody tells that a broken route stopped the segment that begins at `sequence`: likewise.
    pub fn handle_loss(&mut self, now: Instant, ends: &Ends, sequence: u32) {
        if let Some(flow) = self.flows.get_mut(ends) {
            flow.on_loss(now, sequence);
        }
    }

    fn handle_lack(&mut self, now: Instant, packet: &[u8]) {
        let Ok((header, body)) = Ipv4Header::parse(packet) else {
            return;
        };
        let Ok(lack) = Lack::parse(body) else { return };
        if header.destination != self.own {
            return;
        }
        let ends = Ends {
            source: lack.source,
            source_port: lack.source_port,
            destination: lack.destination,
            destination_port: lack.destination_port,
        };
        if let Some(flow) = self.flows.get_mut(&ends) {
            let mut context = Context {
                now,
                tuning: &self.config.tuning,
                out: &mut self.outputs,
            };
            flow.on_lack(&mut context, &lack);
        }
    }

    /// Time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let tuning = &self.config.tuning;
        let mut silent = Vec::new();
        for (ends, flow) in &mut self.flows {
            if flow.next_deadline(tuning) > now {
                continue;
            }
            flow.on_time(&mut Context {
                now,
                tuning,
                out: &mut self.outputs,
            });
            if flow.last_seen + tuning.idle <= now {
                silent.push(*ends);
            }
        }
        for ends in silent {
            self.forget(&ends);
        }
    }

    fn forget(&mut self, ends: &Ends) {
        let Some(flow) = self.flows.remove(ends) else {
            return;
        };
        if self.forgotten.len() >= MOST_FORGOTTEN {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back(Row {
            buffered: 0,
            in_flight: 0,
            ..flow.row()
        });
    }

    /// The next thing to do; `None` when nothing is left.
    pub fn poll_output(&mut self) -> Option<Output<W>> {
        self.outputs.pop_front()
    }

    /// When `handle_timeout` must be called at the latest.
    pub fn next_deadline(&self) -> Option<Instant> {
        let tuning = &self.config.tuning;
        self.flows.values().map(|f| f.next_deadline(tuning)).min()
    }

    /// Every connection that this station takes part in, and those it has lately forgotten.
    pub fn rows(&self) -> Vec<Row> {
        let now = self.flows.values().map(Flow::row);
        self.forgotten.iter().cloned().chain(now).collect()
    }
}

/// Hops from the source to the station that received a packet with this TTL, or lowered it and is
/// about to send it. This supposes that the source began with one of the usual values (64, 128,
/// 255).
pub fn hops_by_ttl(ttl: u8) -> u8 {
    let initial = match ttl {
        0..=64 => 64,
        65..=128 => 128,
        _ => 255,
    };
    initial - ttl
}

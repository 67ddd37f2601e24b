// SPDX-License-Identifier: Apache-2.0
//! The host's side of a radio: interface queue, the card's buffers, received frames.

use alloc::collections::VecDeque;

use hoplab_base::Duration;

use crate::{Frame, FrameId, Params, Rate};

/// The network card; 0 switches a part of the model off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nic {
    /// Frames that the card holds, the one in service included: routing frames do not overtake
    /// those. 0 is 1.
    pub tx_ring: usize,
    /// Rate at which the host takes received frames, in Mbit/s; 0 is at once.
    pub rx_service_mbps: f64,
    /// Received frames that wait for the host, the one being taken included; more are lost after
    /// their acknowledgement. 0 is any number.
    pub rx_buffer_packets: usize,
}

/// How much a host's side holds, and in which order.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    queue_packets: usize,
    routing_priority: bool,
    nic: Nic,
}

impl Limits {
    pub fn new(params: &Params) -> Self {
        Self {
            queue_packets: params.queue_packets,
            routing_priority: params.routing_priority,
            nic: params.nic,
        }
    }

    /// How long the host takes to fetch a frame; none where it does at once.
    fn service(&self, bytes: usize) -> Option<Duration> {
        if self.nic.rx_service_mbps <= 0.0 {
            return None;
        }
        let micros = bytes as f64 * 8.0 / self.nic.rx_service_mbps;
        Some(Duration::from_nanos(libm::round(micros * 1000.0) as u64))
    }

    /// Whether received frames wait at all.
    pub fn buffers(&self) -> bool {
        self.nic.rx_service_mbps > 0.0
    }
}

/// A frame that a radio has received for its host.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    pub from: usize,
    pub frame: FrameId,
    pub bytes: usize,
    pub dbm: f64,
    pub rate: Rate,
}

/// What became of a frame that was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    Waits,
    /// It waits, and this one was pushed out.
    PushedOut(FrameId),
    /// It found no room.
    Refused,
}

/// The host takes the first received frame after this.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    pub after: Duration,
    pub generation: u64,
}

#[derive(Default)]
pub struct Host {
    queue: VecDeque<Frame>,
    /// Frames of routing, where they go first.
    urgent: VecDeque<Frame>,
    /// Frames that the card has taken beyond the one in service.
    ring: VecDeque<Frame>,
    /// Received frame whose acknowledgement is on the air.
    acknowledging: Option<Arrived>,
    /// Received frames that wait for the host.
    received: VecDeque<Arrived>,
    /// Which of its fetches an event is for.
    generation: u64,
}

impl Host {
    /// Frames that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.queue.len() + self.urgent.len() + self.ring.len()
    }

    pub fn queue(&mut self, frame: Frame, limits: &Limits) -> Queued {
        let urgent = limits.routing_priority && frame.routing;
        let mut queued = Queued::Waits;
        if self.queue.len() + self.urgent.len() >= limits.queue_packets {
            // A routing frame pushes out the last of the others, as in ns-2's PriQueue.
            let loser = if urgent { self.queue.pop_back() } else { None };
            match loser {
                Some(loser) => queued = Queued::PushedOut(loser.id),
                None => return Queued::Refused,
            }
        }
        if urgent {
            self.urgent.push_back(frame);
        } else {
            self.queue.push_back(frame);
        }
        self.fill_ring(limits);
        queued
    }

    /// The next frame to send.
    pub fn next(&mut self, limits: &Limits) -> Option<Frame> {
        let frame = self
            .ring
            .pop_front()
            .or_else(|| self.urgent.pop_front())
            .or_else(|| self.queue.pop_front())?;
        self.fill_ring(limits);
        Some(frame)
    }

    fn fill_ring(&mut self, limits: &Limits) {
        let beyond_service = limits.nic.tx_ring.saturating_sub(1);
        while self.ring.len() < beyond_service {
            let next = self.urgent.pop_front();
            let Some(frame) = next.or_else(|| self.queue.pop_front()) else {
                return;
            };
            self.ring.push_back(frame);
        }
    }

    /// All frames that wait to be sent, which will not be.
    pub fn abandon(&mut self) -> impl Iterator<Item = Frame> + '_ {
        self.ring
            .drain(..)
            .chain(self.urgent.drain(..))
            .chain(self.queue.drain(..))
    }

    pub fn acknowledge(&mut self, arrived: Arrived) {
        self.acknowledging = Some(arrived);
    }

    pub fn acknowledged(&mut self) -> Option<Arrived> {
        self.acknowledging.take()
    }

    /// The same, if it came from `sender`.
    pub fn acknowledged_from(&mut self, sender: usize) -> Option<Arrived> {
        self.acknowledging.take_if(|arrived| arrived.from == sender)
    }

    /// Let a received frame wait for the host; returns whether there is room.
    pub fn receive(&mut self, arrived: Arrived, limits: &Limits) -> bool {
        let most = limits.nic.rx_buffer_packets;
        if most > 0 && self.received.len() >= most {
            return false;
        }
        self.received.push_back(arrived);
        true
    }

    /// Whether one frame waits alone: the host begins with it.
    pub fn begins_service(&self) -> bool {
        self.received.len() == 1
    }

    /// The host fetches the first frame.
    pub fn serve(&mut self, limits: &Limits) -> Option<Service> {
        let after = limits.service(self.received.front()?.bytes)?;
        self.generation += 1;
        Some(Service {
            after,
            generation: self.generation,
        })
    }

    /// The frame that a fetch of `generation` brings; none if that one was given up.
    pub fn served(&mut self, generation: u64) -> Option<Arrived> {
        if self.generation != generation {
            return None;
        }
        self.received.pop_front()
    }

    /// Received frames that the host will not get.
    pub fn drop_received(&mut self) -> VecDeque<Arrived> {
        self.generation += 1;
        core::mem::take(&mut self.received)
    }
}

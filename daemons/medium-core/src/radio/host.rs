// SPDX-License-Identifier: Apache-2.0
//! The host's side of a radio: what it costs the host to send and to receive, the interface queue,
//! the card's buffers, received frames.
//!
//! A frame to be sent is made ready by the host, one at a time; it waits in the interface queue,
//! where it may find no room; the host copies it into a free buffer of the card; it is in service.

use alloc::collections::VecDeque;

use hoplab_base::Duration;

use crate::{Frame, FrameId, Params, Rate};

/// Time that something takes for a frame: so much for any, and the frame's bits at a rate in Mbit/s,
/// both 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub frame_us: f64,
    pub mbps: f64,
}

impl Cost {
    pub fn is_none(&self) -> bool {
        self.frame_us <= 0.0 && self.mbps <= 0.0
    }

    fn of(&self, bytes: usize) -> Duration {
        let bits_us = if self.mbps > 0.0 {
            bytes as f64 * 8.0 / self.mbps
        } else {
            0.0
        };
        let micros = self.frame_us + bits_us;
        Duration::from_nanos(libm::round(micros * 1000.0) as u64)
    }
}

/// The network card and the host's work with it; 0 switches a part of the model off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nic {
    /// What a frame costs the host before it waits in the interface queue.
    pub tx: Cost,
    /// Frames that wait in the interface queue; 0 is [`Params::queue_packets`](crate::Params).
    pub queue_packets: usize,
    /// Frames that the card holds, the one in service included: routing frames do not overtake
    /// those. 0 is 1.
    pub tx_ring: usize,
    /// What it costs to copy a frame into a free buffer of the card, one after the other. A card
    /// with a single buffer is quiet meanwhile.
    pub load: Cost,
    /// What a received frame costs the host, one after the other.
    pub rx: Cost,
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
    pub fn new(params: &Params, nic: Nic) -> Self {
        Self {
            queue_packets: match nic.queue_packets {
                0 => params.queue_packets,
                own => own,
            },
            routing_priority: params.routing_priority,
            nic,
        }
    }

    /// Whether received frames wait at all.
    pub fn buffers(&self) -> bool {
        !self.nic.rx.is_none()
    }

    /// Whether frames to be sent cost the host time.
    pub fn prepares(&self) -> bool {
        !self.nic.tx.is_none()
    }

    fn loads(&self) -> bool {
        !self.nic.load.is_none()
    }

    /// Buffers of the card.
    fn buffers_of_card(&self) -> usize {
        self.nic.tx_ring.max(1)
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

/// The host is done with the first frame of a line after this.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    pub after: Duration,
    pub generation: u64,
}

#[derive(Default)]
pub struct Host {
    /// Frames that the host makes ready, the first one now.
    preparing: VecDeque<Frame>,
    queue: VecDeque<Frame>,
    /// Frames of routing, where they go first.
    urgent: VecDeque<Frame>,
    /// Frames that the card has taken beyond the one in service.
    ring: VecDeque<Frame>,
    /// The frame that is being copied into a buffer of the card.
    loading: Option<Frame>,
    /// Which of the frames to be sent an event is for: those of before it went off are gone.
    sending_generation: u64,
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
        let in_card = self.ring.len() + usize::from(self.loading.is_some());
        self.preparing.len() + self.queue.len() + self.urgent.len() + in_card
    }

    /// Let the host make a frame ready; it is done with it after what is returned, if it was idle.
    pub fn prepare(&mut self, frame: Frame, limits: &Limits) -> Option<Service> {
        self.preparing.push_back(frame);
        if self.preparing.len() > 1 {
            return None;
        }
        self.prepare_next(limits)
    }

    /// The host turns to the next frame to be sent.
    pub fn prepare_next(&mut self, limits: &Limits) -> Option<Service> {
        let bytes = self.preparing.front()?.bytes;
        Some(self.sending(limits.nic.tx.of(bytes)))
    }

    /// The frame that was made ready; none if it was given up.
    pub fn prepared(&mut self, generation: u64) -> Option<Frame> {
        if self.sending_generation != generation {
            return None;
        }
        self.preparing.pop_front()
    }

    /// The frame that the host makes ready now.
    pub fn in_preparation(&self) -> Option<&Frame> {
        self.preparing.front()
    }

    /// The frame that is being copied into the card.
    pub fn in_loading(&self) -> Option<&Frame> {
        self.loading.as_ref()
    }

    /// Frames that the interface queue still has room for.
    fn room(&self, limits: &Limits) -> usize {
        let queued = self.queue.len() + self.urgent.len();
        limits.queue_packets.saturating_sub(queued)
    }

    /// How long after the frame that is being made ready one finds no room in the interface queue,
    /// if none leaves it until then; none where all find room.
    pub fn refuses_after(&self, limits: &Limits) -> Option<Duration> {
        let room = self.room(limits);
        if self.preparing.len() <= room {
            return None;
        }
        let before = self.preparing.iter().take(room + 1).skip(1);
        let each = before.map(|frame| limits.nic.tx.of(frame.bytes));
        Some(each.fold(Duration::ZERO, |sum, one| sum + one))
    }

    fn sending(&self, after: Duration) -> Service {
        Service {
            after,
            generation: self.sending_generation,
        }
    }

    pub fn queue(&mut self, frame: Frame, limits: &Limits) -> Queued {
        let urgent = limits.routing_priority && frame.routing;
        let mut queued = Queued::Waits;
        if self.room(limits) == 0 {
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
        if !limits.loads() {
            self.fill_ring(limits);
        }
        queued
    }

    /// The next frame to send.
    pub fn next(&mut self, limits: &Limits) -> Option<Frame> {
        if limits.loads() {
            return self.ring.pop_front();
        }
        let frame = self.ring.pop_front().or_else(|| self.next_queued())?;
        self.fill_ring(limits);
        Some(frame)
    }

    fn next_queued(&mut self) -> Option<Frame> {
        self.urgent.pop_front().or_else(|| self.queue.pop_front())
    }

    fn fill_ring(&mut self, limits: &Limits) {
        while self.ring.len() + 1 < limits.buffers_of_card() {
            let Some(frame) = self.next_queued() else {
                return;
            };
            self.ring.push_back(frame);
        }
    }

    /// Begin to copy the next frame into the card, where that takes time and a buffer is free;
    /// `in_service` is whether a frame is.
    pub fn load(&mut self, in_service: bool, limits: &Limits) -> Option<Service> {
        let taken = self.ring.len() + usize::from(in_service);
        if !limits.loads() || self.loading.is_some() || taken >= limits.buffers_of_card() {
            return None;
        }
        let frame = self.next_queued()?;
        let service = self.sending(limits.nic.load.of(frame.bytes));
        self.loading = Some(frame);
        Some(service)
    }

    /// A frame is in the card, unless it was given up.
    pub fn loaded(&mut self, generation: u64) {
        if self.sending_generation == generation {
            self.ring.extend(self.loading.take());
        }
    }

    /// All frames that wait to be sent, which will not be.
    pub fn abandon(&mut self) -> impl Iterator<Item = Frame> + '_ {
        self.sending_generation += 1;
        self.ring
            .drain(..)
            .chain(self.loading.take())
            .chain(self.urgent.drain(..))
            .chain(self.queue.drain(..))
            .chain(self.preparing.drain(..))
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
        let after = limits.nic.rx.of(self.received.front()?.bytes);
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

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's side of a radio: the costs of sending and receiving, the interface queue, the card's
//! buffers and received frames.
//!
//! The host makes frames ready, one at a time. A frame then waits in the interface queue, if that
//! has room. The host copies it into a free buffer of the card, from which it comes into service.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::effect::{Effect, Effects, Timer, Wake};
use crate::{Class, Dbm, Frame, FrameId, Nic, Params, RadioId, Rate};

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

    /// Whether frames to be sent cost the host time.
    pub fn prepares(&self) -> bool {
        !self.nic.tx.is_none()
    }

    /// Whether the interface queue takes one more beside so many.
    pub fn has_room(&self, waiting: usize) -> bool {
        waiting < self.queue_packets
    }

    /// Whether a frame goes before others.
    pub fn is_urgent(&self, frame: &Frame) -> bool {
        self.routing_priority && frame.routing
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrived {
    pub from: RadioId,
    pub frame: FrameId,
    pub bytes: usize,
    pub dbm: Dbm,
    pub rate: Rate,
    /// It came in an earlier PPDU than the one that brings it to the host, and was held until then.
    pub held: bool,
}

/// Fate of a frame on its way into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    Waits,
    /// It waits, and this one was pushed out.
    PushedOut(FrameId),
    /// It found no room.
    Refused,
}

/// Fate of a received frame at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The host has it.
    Taken,
    /// It waits for the host, which has begun to fetch it if it was idle.
    Waits(Option<Wake>),
    /// It found no room.
    Lost,
}

#[derive(Default)]
pub struct Host {
    /// The beacon that goes before all of them.
    beacon: Option<Frame>,
    /// Frames that the host makes ready, the first one now.
    preparing: VecDeque<Frame>,
    queue: VecDeque<Frame>,
    /// Frames of routing, where they go first.
    urgent: VecDeque<Frame>,
    /// Frames that the card has taken beyond the one in service.
    ring: VecDeque<Frame>,
    /// The frame that is being copied into a buffer of the card.
    loading: Option<Frame>,
    /// Generation of the frames to be sent. An event of an earlier one is void, as its frame was
    /// lost when the radio went off.
    sending_generation: u64,
    /// Received frames whose acknowledgement is on the air.
    acknowledging: Vec<Arrived>,
    /// Received frames that wait for the host.
    received: VecDeque<Arrived>,
    /// Number of the present fetch. An event with another number is void.
    fetch_generation: u64,
}

impl Host {
    /// Frames that wait to be sent.
    pub fn waiting(&self) -> usize {
        let in_card = self.ring.len() + usize::from(self.loading.is_some());
        let beacon = usize::from(self.beacon.is_some());
        self.preparing.len() + self.queue.len() + self.urgent.len() + in_card + beacon
    }

    /// Let the host make a frame ready. Returns the event of its end, if the host was idle.
    pub fn prepare(&mut self, frame: Frame, now: Instant, limits: &Limits) -> Option<Wake> {
        self.preparing.push_back(frame);
        // The host is at an earlier frame. The end of that one starts the next.
        if self.preparing.len() > 1 {
            return None;
        }
        self.prepare_next(now, limits)
    }

    /// The host turns to the next frame to be sent.
    pub fn prepare_next(&mut self, now: Instant, limits: &Limits) -> Option<Wake> {
        let bytes = self.preparing.front()?.bytes;
        Some(Wake {
            at: now + limits.nic.tx.of(bytes),
            timer: Timer::Prepared,
            generation: self.sending_generation,
        })
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

    /// Time from the end of the present preparation to the first frame that finds the queue full,
    /// if none leaves it before. None if all find room.
    pub fn refuses_after(&self, limits: &Limits) -> Option<Duration> {
        let room = self.room(limits);
        if self.preparing.len() <= room {
            return None;
        }
        // Frame 0 is the present one. Frames 0 to `room` - 1 fill the queue and frame `room` is
        // refused, so the preparations of frames 1 to `room` pass.
        let before = self.preparing.iter().take(room + 1).skip(1);
        let each = before.map(|frame| limits.nic.tx.of(frame.bytes));
        Some(each.fold(Duration::ZERO, |sum, one| sum + one))
    }

    /// A frame comes to the interface queue. A scheduled beacon goes next.
    pub fn queue(&mut self, frame: Frame, limits: &Limits) -> Queued {
        if frame.class == Class::ScheduledBeacon {
            let stale = self.beacon.replace(frame);
            return stale.map_or(Queued::Waits, |stale| Queued::PushedOut(stale.id));
        }
        let urgent = limits.is_urgent(&frame);
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
        // A copy that takes no time is made at once. Otherwise `load` makes it.
        if !limits.loads() {
            self.fill_ring(limits);
        }
        queued
    }

    /// The next frame to send.
    pub fn next(&mut self, limits: &Limits) -> Option<Frame> {
        if let Some(beacon) = self.beacon.take() {
            return Some(beacon);
        }
        // Only a frame in a buffer of the card can go. If copies take time, the queue is not in
        // reach.
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
        // One buffer belongs to the frame in service.
        while self.ring.len() + 1 < limits.buffers_of_card() {
            let Some(frame) = self.next_queued() else {
                return;
            };
            self.ring.push_back(frame);
        }
    }

    /// Begin to copy the next frame into the card, where that takes time and a buffer is free;
    /// `in_service` is whether a frame is.
    pub fn load(&mut self, in_service: bool, now: Instant, limits: &Limits) -> Option<Wake> {
        let taken = self.ring.len() + usize::from(in_service);
        if !limits.loads() || self.loading.is_some() || taken >= limits.buffers_of_card() {
            return None;
        }
        let frame = self.next_queued()?;
        let wake = Wake {
            at: now + limits.nic.load.of(frame.bytes),
            timer: Timer::Loaded,
            generation: self.sending_generation,
        };
        self.loading = Some(frame);
        Some(wake)
    }

    /// A frame is in the card, unless it was given up.
    pub fn loaded(&mut self, generation: u64) {
        if self.sending_generation == generation {
            self.ring.extend(self.loading.take());
        }
    }

    /// The radio went off: the host gets no received frame.
    pub fn abandon_received(&mut self, effects: &mut Effects) {
        // A new generation makes the fetch that is under way void.
        self.fetch_generation += 1;
        let received = self.received.drain(..);
        effects.extend(received.map(|arrived| Effect::Release(arrived.frame)));
    }

    /// The radio went off: waiting frames are lost, in the order in which they would have gone.
    pub fn abandon_waiting(&mut self, lost: impl FnMut(FrameId)) {
        // A copy and a preparation that are under way are void.
        self.sending_generation += 1;
        let waiting = (self.beacon.take().into_iter())
            .chain(self.ring.drain(..))
            .chain(self.loading.take())
            .chain(self.urgent.drain(..))
            .chain(self.queue.drain(..))
            .chain(self.preparing.drain(..));
        waiting.map(|frame| frame.id).for_each(lost);
    }

    /// The acknowledgement of received frames goes on the air.
    pub fn acknowledge(&mut self, arrived: Vec<Arrived>) {
        self.acknowledging = arrived;
    }

    /// That acknowledgement has ended.
    pub fn acknowledged(&mut self) -> Vec<Arrived> {
        core::mem::take(&mut self.acknowledging)
    }

    /// The same, if the frames came from `sender`.
    pub fn acknowledged_from(&mut self, sender: RadioId) -> Vec<Arrived> {
        match self.acknowledging.first() {
            Some(arrived) if arrived.from == sender => self.acknowledged(),
            _ => Vec::new(),
        }
    }

    /// A received frame for the host.
    pub fn receive(&mut self, arrived: Arrived, now: Instant, limits: &Limits) -> Received {
        if limits.nic.rx.is_none() {
            return Received::Taken;
        }
        let most = limits.nic.rx_buffer_packets;
        // The frame that the host fetches now keeps its buffer until the fetch is over.
        if most > 0 && self.received.len() >= most {
            return Received::Lost;
        }
        self.received.push_back(arrived);
        // A host at work begins this frame by itself, in `served`.
        Received::Waits(if self.received.len() == 1 {
            self.fetch(now, limits)
        } else {
            None
        })
    }

    /// The host fetches the first frame.
    fn fetch(&mut self, now: Instant, limits: &Limits) -> Option<Wake> {
        let after = limits.nic.rx.of(self.received.front()?.bytes);
        self.fetch_generation += 1;
        Some(Wake {
            at: now + after,
            timer: Timer::Served,
            generation: self.fetch_generation,
        })
    }

    /// A fetch of `generation` is over, unless it was given up; the next one begins.
    pub fn served(
        &mut self,
        generation: u64,
        now: Instant,
        limits: &Limits,
        effects: &mut Effects,
    ) {
        if self.fetch_generation != generation {
            return;
        }
        let Some(arrived) = self.received.pop_front() else {
            return;
        };
        effects.push(Effect::Deliver(arrived));
        effects.push(Effect::Release(arrived.frame));
        effects.extend(self.fetch(now, limits).map(Effect::Wake));
    }
}

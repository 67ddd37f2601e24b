// SPDX-License-Identifier: Apache-2.0
//! Between a radio and its host: interface queue, transmit ring, receive buffer, statuses.

use super::counters::Outcome;
use super::radio::Arrived;
use super::{Event, Frame, FrameId, Medium, Output, MAX_RATES};
use crate::Nanos;

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

impl Medium {
    /// A frame from radio `radio`'s host, at the time of the last `advance`.
    pub fn enqueue(&mut self, radio: usize, mut frame: Frame) {
        self.audit.accepted += 1;
        frame.rates.truncate(MAX_RATES);
        let usable = |rate: &(f64, u32, bool)| self.params.phy.supports(rate.0);
        if frame.rates.is_empty() || !frame.rates.iter().all(usable) {
            self.report(radio, frame.id, Outcome::Refused, Default::default());
            return;
        }
        if !self.params.kernel_retries {
            // The first entry's RTS is the threshold's. minstrel asks for RTS at every further one,
            // which the standard does not know (10.3.2.9).
            let protected = frame.rates[0].2;
            frame.rates.iter_mut().for_each(|rate| rate.2 = protected);
        }
        let station = &mut self.radios[radio];
        if !station.up {
            self.report(radio, frame.id, Outcome::Off, Default::default());
            return;
        }
        let urgent = self.params.routing_priority && frame.routing;
        if station.queue.len() + station.urgent.len() >= self.params.queue_packets {
            station.counters.queue_full += 1;
            // A routing frame pushes out the last of the others, as in ns-2's PriQueue.
            let loser = if urgent {
                station.queue.pop_back()
            } else {
                None
            };
            let id = loser.as_ref().map_or(frame.id, |loser| loser.id);
            self.report(radio, id, Outcome::QueueFull, Default::default());
            if loser.is_none() {
                return;
            }
        }
        let station = &mut self.radios[radio];
        if urgent {
            station.urgent.push_back(frame);
        } else {
            station.queue.push_back(frame);
        }
        self.fill_ring(radio);
        self.next_frame(radio);
    }

    /// Frames that wait for their turn on the air, the one in service included.
    pub fn queue_len(&self, radio: usize) -> usize {
        let station = &self.radios[radio];
        station.queue.len()
            + station.urgent.len()
            + station.ring.len()
            + usize::from(station.current.is_some())
    }

    pub(super) fn next_queued(&mut self, radio: usize) -> Option<Frame> {
        let station = &mut self.radios[radio];
        let frame = station
            .ring
            .pop_front()
            .or_else(|| station.urgent.pop_front())
            .or_else(|| station.queue.pop_front())?;
        self.fill_ring(radio);
        Some(frame)
    }

    fn fill_ring(&mut self, radio: usize) {
        let beyond_current = self.params.nic.tx_ring.saturating_sub(1);
        let station = &mut self.radios[radio];
        while station.ring.len() < beyond_current {
            let next = station.urgent.pop_front();
            let Some(frame) = next.or_else(|| station.queue.pop_front()) else {
                return;
            };
            station.ring.push_back(frame);
        }
    }

    /// The sender is done with a frame.
    pub(super) fn report(
        &mut self,
        radio: usize,
        frame: FrameId,
        outcome: Outcome,
        tries: [u32; MAX_RATES],
    ) {
        self.audit.count(outcome);
        let held = self.holding.get_mut(&frame);
        let kept = held.is_some();
        if let Some(held) = held {
            held.1 = true;
        }
        self.outputs.push_back(Output::Status {
            frame,
            radio,
            outcome,
            tries,
            kept,
        });
    }

    /// `arrived` has come to `radio`, for its host.
    pub(super) fn hand_up(&mut self, radio: usize, arrived: Arrived) {
        let nic = self.params.nic;
        if nic.rx_service_mbps <= 0.0 {
            self.deliver(radio, arrived);
            return;
        }
        let station = &mut self.radios[radio];
        if nic.rx_buffer_packets > 0 && station.receive_buffer.len() >= nic.rx_buffer_packets {
            station.counters.rx_overrun += 1;
            return;
        }
        station.receive_buffer.push_back(arrived);
        self.holding.entry(arrived.frame).or_insert((0, false)).0 += 1;
        if self.radios[radio].receive_buffer.len() == 1 {
            self.serve(radio);
        }
    }

    fn serve(&mut self, radio: usize) {
        if let Some(arrived) = self.radios[radio].receive_buffer.front() {
            let micros = arrived.bytes as f64 * 8.0 / self.params.nic.rx_service_mbps;
            let at = self.now + (micros * 1000.0).round() as Nanos;
            self.radios[radio].serving += 1;
            let serving = self.radios[radio].serving;
            self.push(at, Event::Served(serving), radio);
        }
    }

    pub(super) fn served(&mut self, radio: usize, serving: u64) {
        if self.radios[radio].serving != serving {
            return;
        }
        if let Some(arrived) = self.radios[radio].receive_buffer.pop_front() {
            self.deliver(radio, arrived);
            self.release(arrived.frame);
        }
        self.serve(radio);
    }

    pub(super) fn drop_receive_buffer(&mut self, radio: usize) {
        self.radios[radio].serving += 1;
        while let Some(arrived) = self.radios[radio].receive_buffer.pop_front() {
            self.release(arrived.frame);
        }
    }

    /// One receiver less waits for `frame`.
    fn release(&mut self, frame: FrameId) {
        let Some(held) = self.holding.get_mut(&frame) else {
            return;
        };
        held.0 -= 1;
        if held.0 == 0 {
            if held.1 {
                self.outputs.push_back(Output::Released { frame });
            }
            self.holding.remove(&frame);
        }
    }

    fn deliver(&mut self, to: usize, arrived: Arrived) {
        self.outputs.push_back(Output::Deliver {
            frame: arrived.frame,
            from: arrived.from,
            to,
            signal_dbm: arrived.dbm,
            rate_mbps: arrived.rate_mbps,
        });
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Between radios and their hosts.

use super::{Event, Medium};
use crate::air::Transmission;
use crate::radio::{Arrived, Queued, Service};
use crate::{Audit, Frame, FrameId, Outcome, Output, To, MAX_RATES};

/// A frame that receivers have not handed to their hosts yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    receivers: u32,
    /// Its sender is done with it.
    concluded: bool,
}

impl Medium {
    /// A frame from radio `radio`'s host, at the time of the last `advance`.
    pub fn enqueue(&mut self, radio: usize, mut frame: Frame) {
        self.audit.accepted += 1;
        frame.rates.truncate(MAX_RATES);
        let rates = &mut frame.rates;
        let standard = self.params.phy.standard;
        if rates.is_empty() || !rates.iter().all(|attempts| standard.has(attempts.rate)) {
            self.conclude(radio, frame.id, Outcome::Refused, Default::default());
            return;
        }
        if !self.params.kernel_retries {
            // The first entry's RTS is the threshold's. minstrel asks for RTS at every further one,
            // which the standard does not know (10.3.2.9).
            let protected = rates[0].rts;
            rates
                .iter_mut()
                .for_each(|attempts| attempts.rts = protected);
        }
        let station = &mut self.radios[radio];
        if !station.power.is_up() {
            self.conclude(radio, frame.id, Outcome::Off, Default::default());
            return;
        }
        if station.limits.prepares() {
            let service = station.host.prepare(frame, &station.limits);
            self.prepare_until(radio, service);
        } else {
            self.queue(radio, frame);
        }
    }

    /// A frame comes to a radio's interface queue.
    fn queue(&mut self, radio: usize, frame: Frame) {
        let id = frame.id;
        let station = &mut self.radios[radio];
        let loser = match station.host.queue(frame, &station.limits) {
            Queued::Waits => None,
            Queued::PushedOut(other) => Some(other),
            Queued::Refused => Some(id),
        };
        if let Some(loser) = loser {
            station.counters.queue_full += 1;
            self.conclude(radio, loser, Outcome::QueueFull, Default::default());
        }
        if loser != Some(id) {
            self.load(radio);
            self.next_frame(radio);
        }
    }

    fn prepare_until(&mut self, radio: usize, service: Option<Service>) {
        if let Some(Service { after, generation }) = service {
            self.after(after, Event::Prepared { generation, radio });
        }
    }

    /// A host has made a frame ready to be sent.
    pub(super) fn prepared(&mut self, radio: usize, generation: u64) {
        let station = &mut self.radios[radio];
        let Some(frame) = station.host.prepared(generation) else {
            return;
        };
        let next = station.host.prepare_next(&station.limits);
        self.prepare_until(radio, next);
        self.queue(radio, frame);
    }

    /// Copy the next frame into a free buffer of the card, where that takes time.
    pub(super) fn load(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        let in_service = station.exchange.frame().is_some();
        let service = station.host.load(in_service, &station.limits);
        if let Some(Service { after, generation }) = service {
            self.after(after, Event::Loaded { generation, radio });
        }
    }

    pub(super) fn loaded(&mut self, radio: usize, generation: u64) {
        self.radios[radio].host.loaded(generation);
        self.next_frame(radio);
        self.load(radio);
    }

    /// Frames that wait for their turn on the air, the one in service included.
    pub fn queue_len(&self, radio: usize) -> usize {
        let station = &self.radios[radio];
        station.host.waiting() + usize::from(station.exchange.frame().is_some())
    }

    /// Frames by what became of them, since the start.
    pub fn audit(&self) -> Audit {
        let open = |radio| self.queue_len(radio) as u64;
        Audit {
            open: (0..self.radios.len()).map(open).sum(),
            ..self.audit
        }
    }

    /// The sender is done with a frame.
    pub(super) fn conclude(
        &mut self,
        radio: usize,
        frame: FrameId,
        outcome: Outcome,
        tries: [u32; MAX_RATES],
    ) {
        self.audit.count(outcome);
        let held = self.held.get_mut(&frame);
        let kept = held.is_some();
        if let Some(held) = held {
            held.concluded = true;
        }
        self.outputs.push_back(Output::Status {
            frame,
            radio,
            at: self.now,
            outcome,
            tries,
            kept,
        });
    }

    /// `arrived` has come to `radio`, for its host.
    pub(super) fn hand_up(&mut self, radio: usize, arrived: Arrived) {
        let station = &mut self.radios[radio];
        if !station.limits.buffers() {
            self.deliver(radio, arrived);
            return;
        }
        if !station.host.receive(arrived, &station.limits) {
            station.counters.rx_overrun += 1;
            return;
        }
        let begins = station.host.begins_service();
        self.held.entry(arrived.frame).or_default().receivers += 1;
        if begins {
            self.serve(radio);
        }
    }

    /// An acknowledgement has ended: the frame reaches the receiver's host, before its sender's
    /// status, which ends the frame's life, and those who overheard it.
    pub(super) fn hand_up_acknowledged(&mut self, ack: &Transmission) {
        if let Some(arrived) = self.radios[ack.from].host.acknowledged() {
            if !ack.cut {
                self.hand_up(ack.from, arrived);
            }
        }
        if let To::Radio(sender) = ack.to {
            self.hand_up_overheard(sender);
        }
    }

    /// Hosts of bystanders get a frame together with its receiver's: what is due at one instant
    /// costs a driver one system call.
    pub(super) fn hand_up_overheard(&mut self, sender: usize) {
        let overheard = self.radios[sender].exchange.take_overheard();
        for &(radio, arrived) in &overheard {
            if self.radios[radio].power.is_up() {
                self.hand_up(radio, arrived);
            }
        }
        self.radios[sender].exchange.give_back(overheard);
    }

    /// A frame of `sender` that was received, and whose acknowledgement nobody awaits any more,
    /// reaches the receiver's host now, before its sender's status.
    pub(super) fn hand_up_unacknowledged(&mut self, sender: usize) {
        for radio in 0..self.radios.len() {
            let station = &mut self.radios[radio];
            let owed = station.exchange.response_mut();
            let owed = owed.and_then(|response| {
                let ours = |arrived: &mut Arrived| arrived.from == sender;
                response.deliver.take_if(ours)
            });
            if let Some(arrived) = owed.or_else(|| station.host.acknowledged_from(sender)) {
                self.hand_up(radio, arrived);
            }
        }
    }

    fn serve(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        if let Some(Service { after, generation }) = station.host.serve(&station.limits) {
            self.after(after, Event::Served { generation, radio });
        }
    }

    pub(super) fn served(&mut self, radio: usize, generation: u64) {
        if let Some(arrived) = self.radios[radio].host.served(generation) {
            self.deliver(radio, arrived);
            self.release(arrived.frame);
            self.serve(radio);
        }
    }

    pub(super) fn drop_received(&mut self, radio: usize) {
        for arrived in self.radios[radio].host.drop_received() {
            self.release(arrived.frame);
        }
    }

    /// One receiver less holds `frame`.
    fn release(&mut self, frame: FrameId) {
        let Some(held) = self.held.get_mut(&frame) else {
            return;
        };
        held.receivers -= 1;
        if held.receivers == 0 {
            if held.concluded {
                self.outputs.push_back(Output::Released { frame });
            }
            self.held.remove(&frame);
        }
    }

    fn deliver(&mut self, to: usize, arrived: Arrived) {
        self.outputs.push_back(Output::Deliver {
            frame: arrived.frame,
            from: arrived.from,
            to,
            signal_dbm: arrived.dbm,
            rate: arrived.rate,
        });
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Power draw over time, batteries, and switching radios off and on.

use super::air::air_kind;
use super::counters::{AirKind, Counters, Outcome, StateTimes};
use super::radio::{Arrived, Awaiting, Radio};
use super::{Event, Medium, Output};
use crate::Nanos;

/// Power draw of a radio in W in its states, and what its battery holds in J.
#[derive(Clone, Copy, Debug, Default)]
pub struct Energy {
    pub tx_w: f64,
    pub rx_w: f64,
    pub idle_w: f64,
    pub sleep_w: f64,
    pub battery_j: Option<f64>,
}

impl Energy {
    /// Joules spent transmitting, receiving, idle and asleep.
    pub fn joules(&self, times: &StateTimes) -> [f64; 4] {
        let spent = |watts: f64, time: Nanos| watts * (time as f64 / 1e9);
        [
            spent(self.tx_w, times.tx),
            spent(self.rx_w, times.rx),
            spent(self.idle_w, times.idle),
            spent(self.sleep_w, times.sleep),
        ]
    }
}

impl Radio {
    /// The account of its present state; none once its battery is empty.
    fn state_time<'a>(&self, times: &'a mut StateTimes) -> Option<&'a mut Nanos> {
        if self.exhausted {
            None
        } else if !self.up {
            Some(&mut times.sleep)
        } else if self.transmitting {
            Some(&mut times.tx)
        } else if self.sensed > 0 {
            Some(&mut times.rx)
        } else {
            Some(&mut times.idle)
        }
    }
}

impl Medium {
    pub fn counters(&self, radio: usize) -> Counters {
        let station = &self.radios[radio];
        let mut counters = station.counters;
        if let Some(time) = station.state_time(&mut counters.times) {
            *time += self.now - station.since;
        }
        if let Some((kind, left)) = self.ongoing(radio) {
            counters.airtime[kind as usize] -= left;
        }
        counters
    }

    /// What the radio is transmitting, and for how long it will.
    fn ongoing(&self, radio: usize) -> Option<(AirKind, Nanos)> {
        if !self.radios[radio].transmitting {
            return None;
        }
        let mut air = self.air.iter().flatten();
        let tx = air.find(|tx| tx.from == radio)?;
        Some((air_kind(tx), tx.end - self.now))
    }

    /// Joules spent transmitting, receiving, idle and asleep since measuring began.
    pub fn joules(&self, radio: usize) -> [f64; 4] {
        self.params.energy.joules(&self.counters(radio).times)
    }

    /// Switch a radio off or on at `at`.
    pub fn schedule_power(&mut self, at: Nanos, radio: usize, up: bool) {
        self.push(at, Event::Power(up), radio);
    }

    /// Account the time in the present state; to be called before it changes.
    pub(super) fn settle(&mut self, radio: usize) {
        let now = self.now;
        let station = &mut self.radios[radio];
        let mut times = station.counters.times;
        if let Some(time) = station.state_time(&mut times) {
            *time += now - station.since;
        }
        station.counters.times = times;
        station.since = now;
    }

    /// Foresee when the battery is empty; to be called after the state has changed.
    pub(super) fn drain(&mut self, radio: usize) {
        let Some(battery_j) = self.params.energy.battery_j else {
            return;
        };
        let energy = self.params.energy;
        let station = &mut self.radios[radio];
        station.battery_generation += 1;
        let generation = station.battery_generation;
        let watts = if station.exhausted {
            0.0
        } else if !station.up {
            energy.sleep_w
        } else if station.transmitting {
            energy.tx_w
        } else if station.sensed > 0 {
            energy.rx_w
        } else {
            energy.idle_w
        };
        if watts > 0.0 {
            let spent: f64 = energy.joules(&station.counters.times).iter().sum();
            let left_ns = ((battery_j - spent).max(0.0) / watts * 1e9).ceil();
            if left_ns < 1e18 {
                self.push(self.now + left_ns as Nanos, Event::Empty(generation), radio);
            }
        }
    }

    pub(super) fn empty(&mut self, radio: usize, generation: u64) {
        if self.radios[radio].battery_generation != generation {
            return;
        }
        self.set_power(radio, false);
        self.radios[radio].exhausted = true;
        self.drain(radio);
        self.outputs.push_back(Output::Exhausted {
            radio,
            at: self.now,
        });
    }

    /// Forget what was counted, as if the run began now.
    pub(super) fn measure_from_now(&mut self) {
        for radio in 0..self.radios.len() {
            let ongoing = self.ongoing(radio);
            let station = &mut self.radios[radio];
            station.counters = Counters::default();
            if let Some((kind, left)) = ongoing {
                station.counters.airtime[kind as usize] = left;
            }
            station.since = self.now;
            station.data_number = 0;
            for link in &mut station.links {
                link.counters = Default::default();
                link.signals = None;
            }
            self.drain(radio);
        }
    }

    pub(super) fn set_power(&mut self, radio: usize, up: bool) {
        let now = self.now;
        if self.radios[radio].up == up || self.radios[radio].exhausted {
            return;
        }
        self.settle(radio);
        let station = &mut self.radios[radio];
        station.up = up;
        station.generation += 1;
        station.access_at = None;
        station.awaiting = Awaiting::Nothing;
        station.response = None;
        station.delivering = None;
        station.needs_backoff = false;
        if up {
            station.idle_from = now;
            self.drain(radio);
            return;
        }
        if let Some(reception) = &mut station.reception {
            reception.spoiled = Some(super::Fate::Off);
        }
        // What it was transmitting breaks off: no receiver can use it.
        let cut = self
            .air
            .iter()
            .position(|tx| tx.as_ref().is_some_and(|tx| tx.from == radio));
        if let Some(tx) = cut {
            if let Some(transmission) = &mut self.air[tx] {
                transmission.cut = true;
                let left = transmission.end - now;
                let kind = air_kind(transmission) as usize;
                self.radios[radio].counters.airtime[kind] -= left;
            }
            self.end(tx);
        }
        self.hand_up_unacknowledged(radio);
        self.hand_up_overheard(radio);
        self.drop_receive_buffer(radio);
        let station = &mut self.radios[radio];
        let lost: Vec<_> = station
            .current
            .take()
            .into_iter()
            .chain(station.ring.drain(..))
            .chain(station.urgent.drain(..))
            .chain(station.queue.drain(..))
            .collect();
        for frame in lost {
            self.report(radio, frame.id, Outcome::Off, Default::default());
        }
        self.drain(radio);
    }

    /// A frame of `sender` that was received, and whose acknowledgement nobody awaits any more,
    /// reaches the receiver's host now, before its sender's status.
    fn hand_up_unacknowledged(&mut self, sender: usize) {
        for radio in 0..self.radios.len() {
            let station = &mut self.radios[radio];
            let ours = |arrived: &mut Arrived| arrived.from == sender;
            let planned = station.response.as_mut();
            let arrived = planned
                .and_then(|response| response.deliver.take_if(ours))
                .or_else(|| station.delivering.take_if(ours));
            if let Some(arrived) = arrived {
                self.hand_up(radio, arrived);
            }
        }
    }
}

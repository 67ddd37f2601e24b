// SPDX-License-Identifier: Apache-2.0
//! Transmissions from their beginning to their end, at everybody whom they reach.

use hoplab_base::Duration;

use super::{Ended, Event, Medium};
use crate::air::{Kind, Payload, Transmission};
use crate::places::Heard;
use crate::propagation::to_db;
use crate::radio::Arriving;
use crate::{Fate, Rate, To};

/// What a radio is about to send.
pub struct Sending {
    pub kind: Kind,
    pub to: To,
    pub rate: Rate,
    pub bytes: usize,
    /// Time that the medium stays reserved after the end.
    pub reserve: Duration,
}

impl Medium {
    pub(super) fn transmit(&mut self, radio: usize, sending: Sending) {
        let Sending {
            kind,
            to,
            rate,
            bytes,
            reserve,
        } = sending;
        let (now, duration) = (self.now, self.params.phy.duration(bytes, rate));
        self.freeze(radio);
        self.book(radio);
        let place = self.air.reserve();
        let station = &mut self.radios[radio];
        station.transceiver.begin_sending(place);
        let frame = station.exchange.frame().filter(|_| kind == Kind::Data);
        let payload = frame.map(|frame| Payload {
            id: frame.id,
            class: frame.class,
        });
        if kind == Kind::Data {
            station.counters.tx_frames += 1;
            station.counters.tx_bytes += bytes as u64;
        }
        let attempt = match kind {
            Kind::Data | Kind::Rts => station.exchange.attempt(),
            Kind::Ack | Kind::Cts => 1,
        };
        let mut transmission = Transmission {
            from: radio,
            kind,
            to,
            payload,
            bytes,
            number: station.exchange.number(),
            data_number: station.exchange.data_number(),
            attempt,
            rate,
            start: now,
            end: now + duration,
            reserve,
            cut: false,
            heard: self.air.nobody(),
        };
        station.counters.airtime[transmission.air_kind() as usize] += duration;
        self.reach(place, &mut transmission);
        self.air.begin(place, transmission);
        self.agenda.push(now + duration, Event::End { place });
        self.foresee_empty(radio);
    }

    /// Let a transmission arrive wherever it is heard.
    fn reach(&mut self, place: usize, transmission: &mut Transmission) {
        let mut near = core::mem::take(&mut self.near);
        self.places
            .neighbours(transmission.from, self.now, &mut near);
        let floor_dbm = self.params.floor_dbm();
        let fading = self.params.fading;
        for &(mut signal) in &near {
            let station = &mut self.radios[signal.radio];
            if !station.power.is_up() {
                continue;
            }
            if fading.fades() {
                let gain = fading.gain(station.transceiver.fading());
                signal.dbm += to_db(gain);
                signal.mw *= gain;
                if signal.dbm < floor_dbm {
                    continue;
                }
            }
            transmission.heard.push(signal);
            self.arrive(&Arriving {
                signal,
                tx: place,
                rate: transmission.rate,
                begins: transmission.start,
                ends: transmission.end,
            });
        }
        self.near = near;
    }

    /// A transmission begins to be heard at a radio.
    fn arrive(&mut self, arriving: &Arriving) {
        let radio = arriving.signal.radio;
        let sensed = self.hearing.senses(arriving.signal.dbm);
        if sensed {
            self.freeze(radio);
            self.book(radio);
        }
        let station = &mut self.radios[radio];
        let transceiver = &mut station.transceiver;
        transceiver.count_bits(self.now, &self.params.phy, &self.hearing);
        if sensed {
            transceiver.begins_to_sense();
        }
        let rules = self.params.rules;
        let cause = rules.signal_begins(station, arriving, &self.hearing, &self.timing);
        station.transceiver.add(arriving, cause);
        if sensed {
            self.foresee_empty(radio);
        }
    }

    /// A transmission ends everywhere at once: propagation delay is not modelled.
    pub(super) fn end(&mut self, place: usize) {
        if !self.air.ends(place, self.now) {
            return;
        }
        let Some(mut transmission) = self.air.end(place) else {
            return;
        };
        if !self.hearing.by_threshold() {
            for heard in &transmission.heard {
                let transceiver = &mut self.radios[heard.radio].transceiver;
                transceiver.count_bits(self.now, &self.params.phy, &self.hearing);
            }
        }
        let from = transmission.from;
        self.book(from);
        self.radios[from].transceiver.end_sending();
        self.idle_again(from);
        self.foresee_empty(from);
        let mut ended = core::mem::take(&mut self.ended);
        for heard in &transmission.heard {
            ended.push(self.signal_ends(heard, place, transmission.cut));
        }
        if transmission.kind == Kind::Ack {
            self.hand_up_acknowledged(&transmission);
        }
        let mut worst = None;
        for ended in ended.drain(..) {
            let fate = self.receive(ended.radio, &transmission, ended.dbm, ended.fate);
            self.count_link(&transmission, &Ended { fate, ..ended });
            if self.params.trace && transmission.is_for(ended.radio) {
                worst = Some(better(worst, (fate, ended.dbm)));
            }
        }
        self.ended = ended;
        self.count_unheard(&transmission);
        if self.params.trace {
            self.record(&transmission, worst);
        }
        self.after_sending(from, &transmission);
        for heard in &transmission.heard {
            self.count_down(heard.radio);
        }
        self.count_down(from);
        self.air.recycle(core::mem::take(&mut transmission.heard));
    }

    /// What the channel made of a signal at a radio.
    fn signal_ends(&mut self, heard: &Heard, tx: usize, cut: bool) -> Ended {
        let radio = heard.radio;
        let sensed = self.hearing.senses(heard.dbm);
        if sensed {
            self.book(radio);
        }
        let station = &mut self.radios[radio];
        let mut fate = station.transceiver.remove(tx, sensed);
        let mut noise_mw = self.hearing.noise_mw;
        let rules = self.params.rules;
        let received = station.transceiver.end_reception(tx, cut, &self.hearing);
        if let Some(received) = received {
            fate = received.fate;
            noise_mw += received.worst_mw;
            rules.reception_ends(station, fate, self.now, &self.timing);
        } else {
            rules.signal_passes(station, sensed);
        }
        if sensed {
            self.idle_again(radio);
            self.foresee_empty(radio);
        }
        Ended {
            radio,
            dbm: heard.dbm,
            fate,
            noise_mw,
        }
    }

    fn idle_again(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        if !station.transceiver.senses() && !station.transceiver.is_sending() {
            station.access.idle_again(self.now);
        }
    }
}

/// Of a broadcast's fates the one to record: delivered if anywhere, and the strongest signal.
fn better(old: Option<(Fate, f64)>, new: (Fate, f64)) -> (Fate, f64) {
    match old {
        None => new,
        Some(old) => match (old.0 == Fate::Delivered, new.0 == Fate::Delivered) {
            (true, false) => old,
            (false, true) => new,
            _ if new.1 > old.1 => new,
            _ => old,
        },
    }
}

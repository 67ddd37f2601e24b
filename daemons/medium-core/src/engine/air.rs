// SPDX-License-Identifier: Apache-2.0
//! Signals: who senses them, how they interfere, which are received.

use std::cmp::Reverse;

use super::counters::{AirKind, Fate};
use super::radio::{Heard, Kind, Payload, Reception, Signal, Transmission};
use super::{Aired, Class, Event, Medium, Output, To};
use crate::error_rate::bit_error_rate;
use crate::phy::Reception as ReceptionModel;
use crate::Nanos;

impl Medium {
    pub(super) fn transmit(
        &mut self,
        radio: usize,
        kind: Kind,
        to: To,
        rate_mbps: f64,
        bytes: usize,
        reserve: Nanos,
    ) {
        let now = self.now;
        let duration = self.params.phy.duration(bytes, rate_mbps);
        self.freeze(radio);
        self.settle(radio);
        let station = &mut self.radios[radio];
        station.transmitting = true;
        // A radio that transmits is deaf (half duplex).
        if let Some(reception) = &mut station.reception {
            reception.spoiled.get_or_insert(Fate::Deaf);
        }
        let payload = match (&station.current, kind) {
            (Some(frame), Kind::Data) => Some(Payload {
                id: frame.id,
                class: frame.class,
            }),
            _ => None,
        };
        if kind == Kind::Data {
            station.counters.tx_frames += 1;
            station.counters.tx_bytes += bytes as u64;
        }
        let attempt = match kind {
            Kind::Data | Kind::Rts => station.tries.iter().sum(),
            Kind::Ack | Kind::Cts => 1,
        };
        let (number, data_number) = (station.number, station.data_number);
        let tx = self.free.pop().map_or_else(
            || {
                self.air.push(None);
                self.air.len() - 1
            },
            |Reverse(free)| free,
        );
        let mut near = std::mem::take(&mut self.near);
        self.places.neighbours(radio, now, &mut near);
        let mut heard = self.spare.pop().unwrap_or_default();
        let floor_dbm = self.params.floor_dbm();
        for &Heard {
            radio: other,
            mut dbm,
            mut mw,
        } in &near
        {
            if !self.radios[other].up {
                continue;
            }
            if self.params.fading.fades() {
                let gain = self.params.fading.gain(&mut self.radios[other].fading);
                dbm += 10.0 * gain.log10();
                mw *= gain;
                if dbm < floor_dbm {
                    continue;
                }
            }
            let signal = Heard {
                radio: other,
                dbm,
                mw,
            };
            heard.push(signal);
            self.arrive(signal, tx, now + duration);
        }
        self.near = near;
        let transmission = Transmission {
            from: radio,
            kind,
            to,
            payload,
            bytes,
            number,
            data_number,
            attempt,
            rate_mbps,
            start: now,
            end: now + duration,
            reserve,
            cut: false,
            heard,
        };
        let slot = air_kind(&transmission) as usize;
        self.radios[radio].counters.airtime[slot] += duration;
        self.air[tx] = Some(transmission);
        self.push(now + duration, Event::End, tx);
        self.drain(radio);
    }

    pub(super) fn decodable(&self, dbm: f64) -> bool {
        dbm >= match self.params.reception {
            ReceptionModel::Threshold => self.params.rx_threshold_dbm,
            // Whatever is sensed may be received, if its bits come through.
            ReceptionModel::ErrorRate => self.params.cs_threshold_dbm,
        }
    }

    /// A transmission, which will last until `ends`, begins to be sensed at a radio.
    fn arrive(&mut self, signal: Heard, tx: usize, ends: Nanos) {
        let Heard { radio, dbm, mw } = signal;
        let sensed = dbm >= self.params.cs_threshold_dbm;
        let now = self.now;
        if sensed {
            self.freeze(radio);
            self.settle(radio);
        }
        self.account(radio);
        let (capture, noise_mw) = (self.capture_ratio, self.noise_mw);
        let cumulative = self.params.cumulative_interference;
        let by_threshold = self.params.reception == ReceptionModel::Threshold;
        let decodable = self.decodable(dbm);
        let station = &mut self.radios[radio];
        station.sensed += u32::from(sensed);
        if self.params.ns2_reception {
            let cause = if sensed {
                self.lock_on_first(signal, tx, ends)
            } else {
                Fate::Weak
            };
            self.radios[radio].air.push(Signal { tx, mw, cause });
            self.drain(radio);
            return;
        }
        let others = |air: &[Signal]| {
            let others = air.iter().map(|entry| entry.mw);
            if cumulative {
                others.sum()
            } else {
                others.fold(0.0, f64::max)
            }
        };
        let mut cause = if decodable {
            Fate::Collided
        } else {
            Fate::Weak
        };
        let mut lock = decodable && station.reception.is_none();
        if let Some(reception) = &mut station.reception {
            reception.interference_mw = if cumulative {
                reception.interference_mw + mw
            } else {
                reception.interference_mw.max(mw)
            };
            reception.worst_mw = reception.worst_mw.max(reception.interference_mw);
            if by_threshold && reception.mw < capture * (reception.interference_mw + noise_mw) {
                reception.spoiled.get_or_insert(Fate::Collided);
            }
            if decodable && reception.spoiled.is_none() {
                cause = Fate::CaptureLost;
            }
            // Of frames that begin together the strongest is received, whatever their order here;
            // later, only a receiver that restarts on a much stronger preamble changes over.
            let together = reception.began == now && mw > reception.mw;
            let stronger = mw >= capture * (others(&station.air) + noise_mw);
            let later = self.params.capture_later && stronger && !station.transmitting;
            if decodable && (together || later) {
                let loser = reception.tx;
                if let Some(entry) = station.air.iter_mut().find(|entry| entry.tx == loser) {
                    entry.cause = reception.spoiled.unwrap_or(Fate::Collided);
                }
                lock = true;
            }
        }
        if lock {
            let interference_mw: f64 = others(&station.air);
            let spoiled = if station.transmitting {
                Some(Fate::Deaf)
            } else if by_threshold && mw < capture * (interference_mw + noise_mw) {
                // Alone it would be too weak: noise, not others, is to blame.
                let alone = interference_mw == 0.0;
                Some(if alone { Fate::Weak } else { Fate::Collided })
            } else {
                None
            };
            station.reception = Some(Reception {
                tx,
                mw,
                began: now,
                interference_mw,
                spoiled,
                accounted: now,
                log_success: 0.0,
                worst_mw: interference_mw,
            });
        }
        station.air.push(Signal { tx, mw, cause });
        if sensed {
            self.drain(radio);
        }
    }

    /// By error rate: the bits that have come in since the interference last changed.
    fn account(&mut self, radio: usize) {
        if self.params.reception == ReceptionModel::Threshold {
            return;
        }
        let now = self.now;
        let Some(reception) = &mut self.radios[radio].reception else {
            return;
        };
        let Some(tx) = &self.air[reception.tx] else {
            return;
        };
        let sinr = reception.mw / (reception.interference_mw + self.noise_mw);
        let phy = &self.params.phy;
        let body = tx.start + phy.preamble(tx.rate_mbps);
        let header_rate = phy.header_rate_mbps(tx.rate_mbps);
        let parts = [
            (reception.accounted, now.min(body), header_rate),
            (reception.accounted.max(body), now, tx.rate_mbps),
        ];
        for (from, to, rate) in parts {
            if to > from {
                let bits = (to - from) as f64 / 1000.0 * rate;
                reception.log_success += bits * libm::log1p(-bit_error_rate(rate, sinr));
            }
        }
        reception.accounted = now;
    }

    /// Transmission `tx` ends everywhere at once: propagation delay is not modelled.
    pub(super) fn end(&mut self, tx: usize) {
        let now = self.now;
        // The end that was foreseen for a transmission that broke off may find its successor.
        if !self.air[tx].as_ref().is_some_and(|t| t.end == now || t.cut) {
            return;
        }
        let by_error_rate = self.params.reception == ReceptionModel::ErrorRate;
        if by_error_rate {
            let heard = self.air[tx].as_ref().map_or(0, |t| t.heard.len());
            for i in 0..heard {
                if let Some(t) = &self.air[tx] {
                    self.account(t.heard[i].radio);
                }
            }
        }
        let Some(mut transmission) = self.air[tx].take() else {
            return;
        };
        self.free.push(Reverse(tx));
        let from = transmission.from;
        self.settle(from);
        self.radios[from].transmitting = false;
        self.idle_again(from);
        self.drain(from);
        let mut decoded = std::mem::take(&mut self.decoded);
        for heard in &transmission.heard {
            let (fate, noise_mw) = self.signal_ends(heard, tx, transmission.cut);
            decoded.push((heard.radio, heard.dbm, fate, noise_mw));
        }
        if transmission.kind == Kind::Ack {
            // Before the sender's status, which ends the frame's life.
            if let Some(arrived) = self.radios[from].delivering.take() {
                if !transmission.cut {
                    self.hand_up(from, arrived);
                }
            }
            if let To::Radio(sender) = transmission.to {
                self.hand_up_overheard(sender);
            }
        }
        let mut worst = None;
        for (radio, dbm, fate, noise_mw) in decoded.drain(..) {
            let fate = self.receive(radio, &transmission, dbm, fate);
            self.count_link(&transmission, radio, dbm, noise_mw, fate);
            if self.params.trace && meant(&transmission, radio) {
                worst = Some(better(worst, (fate, dbm)));
            }
        }
        self.decoded = decoded;
        self.count_unheard(&transmission);
        if self.params.trace {
            self.record(&transmission, worst);
        }
        self.after_sending(from, &transmission);
        for heard in &transmission.heard {
            self.count_down(heard.radio);
        }
        self.count_down(from);
        transmission.heard.clear();
        self.spare.push(transmission.heard);
    }

    /// What the channel made of a signal at a radio, and the worst noise and interference with it.
    fn signal_ends(&mut self, heard: &Heard, tx: usize, cut: bool) -> (Fate, f64) {
        let radio = heard.radio;
        let sensed = heard.dbm >= self.params.cs_threshold_dbm;
        let cumulative = self.params.cumulative_interference;
        let by_error_rate = self.params.reception == ReceptionModel::ErrorRate;
        let noise_mw = self.noise_mw;
        if sensed {
            self.settle(radio);
        }
        let station = &mut self.radios[radio];
        station.sensed = station.sensed.saturating_sub(u32::from(sensed));
        let mut fate = Fate::Weak;
        if let Some(at) = station.air.iter().position(|entry| entry.tx == tx) {
            fate = station.air.remove(at).cause;
        }
        let mut worst_mw = noise_mw;
        match station.reception {
            Some(reception) if reception.tx == tx => {
                station.reception = None;
                worst_mw += reception.worst_mw;
                fate = reception.spoiled.unwrap_or(Fate::Delivered);
                if cut {
                    fate = Fate::Off;
                } else if by_error_rate && fate == Fate::Delivered {
                    let success = libm::exp(reception.log_success);
                    if station.errors.unit() >= success {
                        let clean = reception.worst_mw == 0.0;
                        fate = if clean { Fate::Weak } else { Fate::Collided };
                    }
                }
                if !self.params.ns2_reception {
                    station.eifs = fate != Fate::Delivered;
                } else if fate != Fate::Delivered {
                    self.reserve_after_error(radio);
                }
            }
            _ if self.params.ns2_reception => {}
            Some(_) => {
                if cumulative {
                    let rest: f64 = station.air.iter().map(|entry| entry.mw).sum();
                    if let Some(reception) = &mut station.reception {
                        reception.interference_mw = (rest - reception.mw).max(0.0);
                    }
                }
            }
            None => {
                // Sensed but not decodable: a frame with errors (10.3.4.3.5 wants EIFS).
                station.eifs |= sensed;
            }
        }
        if sensed {
            self.idle_again(radio);
            self.drain(radio);
        }
        (fate, worst_mw)
    }

    fn idle_again(&mut self, radio: usize) {
        let now = self.now;
        let station = &mut self.radios[radio];
        if station.sensed == 0 && !station.transmitting {
            station.idle_from = now;
        }
    }

    fn count_link(&mut self, tx: &Transmission, radio: usize, dbm: f64, noise_mw: f64, fate: Fate) {
        if tx.payload.is_none() || !meant(tx, radio) {
            return;
        }
        if tx.to == To::Everyone && !self.decodable(dbm) {
            return;
        }
        let link = self.radios[tx.from].link_mut(radio);
        link.counters.count(fate, tx.bytes, dbm);
        if self.params.histograms {
            let signals = link.signals.get_or_insert_with(Default::default);
            signals.signal.add(dbm);
            if noise_mw > 0.0 {
                signals.noise.add(10.0 * noise_mw.log10());
            }
        }
    }

    /// A data frame whose receiver did not even sense it.
    fn count_unheard(&mut self, tx: &Transmission) {
        let (To::Radio(to), Some(_)) = (tx.to, tx.payload) else {
            return;
        };
        if to == tx.from || tx.heard.iter().any(|heard| heard.radio == to) {
            return;
        }
        let fate = if self.radios[to].up {
            Fate::Weak
        } else {
            Fate::Off
        };
        let dbm = self.places.mean_dbm(tx.from, to, tx.start);
        let link = self.radios[tx.from].link_mut(to);
        link.counters.count(fate, tx.bytes, dbm);
    }

    fn record(&mut self, tx: &Transmission, outcome: Option<(Fate, f64)>) {
        let fate = match (outcome, tx.to) {
            _ if tx.cut => Fate::Off,
            (Some((fate, _)), _) => fate,
            (None, To::Radio(to)) if self.radios[to].up => Fate::Weak,
            (None, To::Radio(_)) => Fate::Off,
            (None, _) => Fate::Nobody,
        };
        self.outputs.push_back(Output::Aired(Aired {
            at: tx.start,
            until: self.now,
            from: tx.from,
            to: tx.to,
            kind: air_kind(tx),
            frame: tx.payload.map(|payload| payload.id),
            bytes: tx.bytes,
            rate_mbps: tx.rate_mbps,
            attempt: tx.attempt,
            reserve: tx.reserve,
            fate,
            signal_dbm: outcome.map(|outcome| outcome.1),
        }));
    }
}

pub(super) fn air_kind(tx: &Transmission) -> AirKind {
    match (tx.kind, tx.payload) {
        (Kind::Ack, _) => AirKind::Ack,
        (Kind::Rts, _) => AirKind::Rts,
        (Kind::Cts, _) => AirKind::Cts,
        (Kind::Data, Some(payload)) if payload.class == Class::Beacon => AirKind::Beacon,
        (Kind::Data, _) if tx.to == To::Everyone => AirKind::Broadcast,
        (Kind::Data, _) => AirKind::Data,
    }
}

fn meant(tx: &Transmission, radio: usize) -> bool {
    match tx.to {
        To::Everyone => true,
        To::Radio(to) => to == radio,
        To::Nobody => false,
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

// SPDX-License-Identifier: Apache-2.0
//! What a radio does with a frame that it received.

use super::counters::{Fate, Outcome};
use super::radio::{Arrived, Awaiting, Kind, Response, Transmission};
use super::{Class, Medium, To};

impl Medium {
    /// `fate` is what the channel made of it; returns what it is after the radio's own say.
    pub(super) fn receive(
        &mut self,
        radio: usize,
        tx: &Transmission,
        dbm: f64,
        fate: Fate,
    ) -> Fate {
        if fate != Fate::Delivered {
            return fate;
        }
        if !self.radios[radio].up {
            return Fate::Off;
        }
        let now = self.now;
        let mine = tx.to == To::Radio(radio);
        if !mine && tx.reserve > 0 {
            let station = &mut self.radios[radio];
            station.nav_until = station.nav_until.max(now + tx.reserve);
        }
        match tx.kind {
            Kind::Data => return self.receive_data(radio, tx, dbm),
            Kind::Rts if mine => {
                let station = &self.radios[radio];
                if station.nav_until <= now && station.response.is_none() {
                    let spent = self.params.phy.sifs + self.cts_time;
                    let response = Response {
                        kind: Kind::Cts,
                        to: tx.from,
                        reserve: tx.reserve.saturating_sub(spent),
                        deliver: None,
                    };
                    self.plan(radio, response);
                }
            }
            Kind::Cts if mine && self.radios[radio].awaiting == Awaiting::Cts => {
                let station = &mut self.radios[radio];
                station.awaiting = Awaiting::Nothing;
                station.generation += 1;
                station.short_retries = 0;
                let response = Response {
                    kind: Kind::Data,
                    to: tx.from,
                    reserve: 0,
                    deliver: None,
                };
                self.plan(radio, response);
            }
            Kind::Ack if mine && self.radios[radio].awaiting == Awaiting::Ack => {
                let station = &mut self.radios[radio];
                station.awaiting = Awaiting::Nothing;
                station.generation += 1;
                self.finish(radio, Outcome::Acked);
            }
            _ => {}
        }
        Fate::Delivered
    }

    fn receive_data(&mut self, radio: usize, tx: &Transmission, dbm: f64) -> Fate {
        let Some(payload) = tx.payload else {
            return Fate::Delivered;
        };
        let mine = tx.to == To::Radio(radio);
        if (mine || tx.to == To::Everyone) && payload.class != Class::Beacon {
            for (rule, random) in &mut self.losses {
                if rule.applies(tx.from, radio, self.now)
                    && rule.loses(self.now, tx.data_number, random)
                {
                    return Fate::ErrorModel;
                }
            }
        }
        let acknowledged = mine && !self.params.no_ack;
        let station = &mut self.radios[radio];
        let for_host = mine || tx.to == To::Everyone;
        let mut repeat = false;
        if mine {
            let link = station.link_mut(tx.from);
            repeat = link.last_number == tx.number;
            link.last_number = tx.number;
        }
        let arrived = Arrived {
            from: tx.from,
            frame: payload.id,
            bytes: tx.bytes,
            dbm,
            rate_mbps: tx.rate_mbps,
        };
        if !for_host && self.params.overhear {
            if self.params.no_ack {
                self.hand_up(radio, arrived);
            } else {
                self.radios[tx.from].overheard.push((radio, arrived));
            }
        } else if for_host && !repeat {
            station.counters.rx_frames += 1;
            station.counters.rx_bytes += tx.bytes as u64;
            if tx.to == To::Everyone || self.params.no_ack {
                self.hand_up(radio, arrived);
            }
        }
        if acknowledged {
            let response = Response {
                kind: Kind::Ack,
                to: tx.from,
                reserve: 0,
                deliver: (!repeat).then_some(arrived),
            };
            self.plan(radio, response);
        }
        Fate::Delivered
    }
}

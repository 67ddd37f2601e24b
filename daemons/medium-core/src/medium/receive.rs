// SPDX-License-Identifier: Apache-2.0
//! What a radio does with a frame that it received.

use hoplab_base::Duration;

use super::Medium;
use crate::air::{Kind, Transmission};
use crate::radio::{Arrived, Response, ResponseKind};
use crate::timing::Answer;
use crate::{Class, Fate, Outcome, To};

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
        let now = self.now;
        let station = &mut self.radios[radio];
        if !station.power.is_up() {
            return Fate::Off;
        }
        let mine = tx.to == To::Radio(radio);
        if !mine && !tx.reserve.is_zero() {
            station.access.reserve(now + tx.reserve);
        }
        if mine && tx.kind != Kind::Data && self.is_lost(radio, tx, false) {
            return Fate::ErrorModel;
        }
        let station = &mut self.radios[radio];
        match tx.kind {
            Kind::Data => return self.receive_data(radio, tx, dbm),
            Kind::Rts if mine => {
                let free = !station.access.is_reserved(now);
                if free && station.exchange.response().is_none() {
                    let reserve = self.timing.reserve_of_cts(tx.reserve);
                    self.owe(radio, answer(ResponseKind::Cts, tx, reserve));
                }
            }
            Kind::Cts if mine && station.exchange.answered(Answer::Cts) => {
                self.owe(radio, answer(ResponseKind::Data, tx, Duration::ZERO));
            }
            Kind::Ack if mine && station.exchange.answered(Answer::Ack) => {
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
        let for_host = mine || tx.to == To::Everyone;
        let losable = for_host && payload.class != Class::Beacon;
        if losable && self.is_lost(radio, tx, false) {
            return Fate::ErrorModel;
        }
        let repeat = mine && self.radios[radio].links.repeats(tx.from, tx.number);
        let spoiled = losable && !repeat && self.is_lost(radio, tx, true);
        let station = &mut self.radios[radio];
        let arrived = Arrived {
            from: tx.from,
            frame: payload.id,
            bytes: tx.bytes,
            dbm,
            rate: tx.rate,
        };
        let acknowledged = mine && !self.params.no_ack;
        let wanted = for_host && !repeat && !spoiled;
        if wanted {
            station.counters.rx_frames += 1;
            station.counters.rx_bytes += tx.bytes as u64;
            if !acknowledged {
                self.hand_up(radio, arrived);
            }
        } else if !for_host && self.params.overhear {
            self.overhear(radio, arrived);
        }
        if acknowledged {
            let response = Response {
                deliver: wanted.then_some(arrived),
                ..answer(ResponseKind::Ack, tx, Duration::ZERO)
            };
            self.owe(radio, response);
        }
        if spoiled {
            Fate::ErrorModel
        } else {
            Fate::Delivered
        }
    }

    /// A bystander's host gets the frame with its receiver's, or now where no acknowledgement ends
    /// the exchange.
    fn overhear(&mut self, radio: usize, arrived: Arrived) {
        if self.params.no_ack {
            self.hand_up(radio, arrived);
        } else {
            let sender = &mut self.radios[arrived.from];
            sender.exchange.overheard_by(radio, arrived);
        }
    }

    /// Whether a loss model takes a frame on its way to `radio` or, `acknowledged`, to its host.
    fn is_lost(&mut self, radio: usize, tx: &Transmission, acknowledged: bool) -> bool {
        let now = self.now;
        self.losses.iter_mut().any(|(rule, random)| {
            rule.applies(tx, radio, acknowledged, now) && rule.loses(now, tx.data_number, random)
        })
    }
}

fn answer(kind: ResponseKind, tx: &Transmission, reserve: Duration) -> Response {
    Response {
        kind,
        to: tx.from,
        reserve,
        deliver: None,
    }
}

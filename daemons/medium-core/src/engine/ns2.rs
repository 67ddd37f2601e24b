// SPDX-License-Identifier: Apache-2.0
//! Reception as ns-2.35's Mac802_11 has it, where a scenario follows ns-2 (`Params::ns2_reception`).
//!
//! A radio locks on the first frame that it senses, one too weak to decode included; what comes
//! later is drowned or spoils it, however strong it is. A reception with errors reserves the medium
//! for EIFS. CTS, and data after CTS, wait for an idle medium, where IEEE 802.11-2020 10.3.2.9 asks
//! for the NAV only.

use super::counters::Fate;
use super::radio::{Heard, Kind, Reception, Response};
use super::Medium;
use crate::Nanos;

impl Medium {
    /// A sensed transmission begins that will last until `ends`; returns why it is not received
    /// if it is not.
    pub(super) fn lock_on_first(&mut self, signal: Heard, tx: usize, ends: Nanos) -> Fate {
        let Heard { radio, dbm, mw } = signal;
        let decodable = self.decodable(dbm);
        let nav = ends + self.params.phy.eifs();
        let (now, capture) = (self.now, self.capture_ratio);
        let locked = self.radios[radio].reception.as_ref();
        let locked_ends = locked.and_then(|first| Some(self.air[first.tx].as_ref()?.end));
        let station = &mut self.radios[radio];
        let cause = if decodable {
            Fate::Collided
        } else {
            Fate::Weak
        };
        let Some(first) = &mut station.reception else {
            let spoiled = if station.transmitting {
                Some(Fate::Deaf)
            } else {
                (!decodable).then_some(Fate::Weak)
            };
            station.reception = Some(Reception {
                tx,
                mw,
                began: now,
                interference_mw: 0.0,
                spoiled,
                accounted: now,
                log_success: 0.0,
                worst_mw: 0.0,
            });
            return cause;
        };
        first.worst_mw = first.worst_mw.max(mw);
        if first.mw >= capture * mw {
            station.nav_until = station.nav_until.max(nav);
            return if decodable { Fate::CaptureLost } else { cause };
        }
        let spoiled = *first.spoiled.get_or_insert(Fate::Collided);
        if locked_ends.is_some_and(|last| ends > last) {
            // The collision lasts as long as its longest frame.
            if let Some(entry) = station.air.iter_mut().find(|entry| entry.tx == first.tx) {
                entry.cause = spoiled;
            }
            (first.tx, first.mw, first.spoiled) = (tx, mw, Some(cause));
        }
        cause
    }

    /// The reception ended with errors.
    pub(super) fn reserve_after_error(&mut self, radio: usize) {
        let until = self.now + self.params.phy.eifs();
        let station = &mut self.radios[radio];
        if !station.transmitting {
            station.nav_until = station.nav_until.max(until);
        }
    }

    /// Whether a response finds the medium busy; data then starts over with a doubled window.
    pub(super) fn response_waits(&mut self, radio: usize, response: &Response) -> bool {
        let station = &mut self.radios[radio];
        let busy = station.sensed > 0 || station.nav_until > self.now;
        if !busy || response.kind == Kind::Ack {
            return false;
        }
        if response.kind == Kind::Data {
            station.cw = (2 * station.cw + 1).min(self.params.phy.cw_max);
            self.draw_backoff(radio);
        }
        self.count_down(radio);
        true
    }
}

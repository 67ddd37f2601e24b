// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ns-2.35's `Mac802_11`.
//!
//! A radio locks on the first frame that it senses, even one too weak to decode. A later frame is
//! lost, and spoils the first unless that is much stronger. Only the strongest interferer counts. A
//! reception with errors reserves the medium for EIFS. CTS, and data after CTS, wait for an idle
//! medium. IEEE 802.11-2020 10.3.2.9 asks for the NAV only.

use hoplab_base::{Duration, Instant};

use super::{unlocked, Turn};
use crate::parts::{Arriving, CarrierSense, Hearing, Reception, Transceiver};
use crate::space::Hear;
use crate::step::Step;
use crate::timing::Timing;
use crate::Fate;

/// Every frame backs off first.
pub const MAY_GO_AT_ONCE: bool = false;

/// DIFS is waited for again after a backoff is drawn.
pub fn wait_after_draw(timing: &Timing) -> Duration {
    timing.difs
}

pub fn signal_begins(
    transceiver: &mut Transceiver,
    sense: &mut CarrierSense,
    arriving: &Arriving,
    hearing: &Hearing,
    timing: &Timing,
) -> Fate {
    let signal = arriving.signal;
    if signal.hear != Hear::Frame || !hearing.senses(signal.dbm) {
        return Fate::Weak;
    }
    let decodable = hearing.decodes(signal.dbm);
    let cause = unlocked(decodable);
    let sending = transceiver.is_sending();
    let Some(first) = transceiver.reception_mut() else {
        let spoiled = if sending {
            Some(Fate::Deaf)
        } else {
            (!decodable).then_some(Fate::Weak)
        };
        // No interference is noted: ns-2 compares each later frame alone with this one.
        let reception = Reception::new(arriving, 0.0, spoiled);
        transceiver.lock(reception);
        return cause;
    };
    first.worst_mw = first.worst_mw.max(signal.mw);
    if first.mw >= hearing.capture_ratio * signal.mw {
        // ns-2's `capture` reserves the medium until EIFS after the weaker frame.
        sense.set_nav(arriving.ends + timing.eifs);
        return if decodable { Fate::CaptureLost } else { cause };
    }
    let spoiled = *first.spoiled.get_or_insert(Fate::Collided);
    if arriving.ends > first.ends {
        // The collision lasts as long as its longest frame.
        let shorter = first.tx;
        first.continue_with(arriving, cause);
        transceiver.let_go(shorter, spoiled);
    }
    cause
}

/// A reception with errors reserves the medium.
pub fn reception_ends(
    transceiver: &Transceiver,
    sense: &mut CarrierSense,
    fate: Fate,
    now: Instant,
    timing: &Timing,
) {
    if fate != Fate::Delivered && !transceiver.is_sending() {
        sense.set_nav(now + timing.eifs);
    }
}

/// Only acknowledgements go whatever is sensed.
pub fn answer(transceiver: &Transceiver, sense: &CarrierSense, step: Step, now: Instant) -> Turn {
    let busy = transceiver.senses() || sense.nav_counts(now);
    match step {
        Step::Ack | Step::BlockAck => Turn::Goes,
        _ if !busy => Turn::Goes,
        Step::Cts => Turn::IsDropped,
        _ => Turn::StartsOver,
    }
}

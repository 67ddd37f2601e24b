// SPDX-License-Identifier: Apache-2.0 OR MIT
//! IEEE 802.11-2020. Answers follow a SIFS after their frame whatever is sensed (10.3.2.9,
//! 10.3.2.11).

use hoplab_base::{Duration, Instant};

use super::unlocked;
use crate::parts::{Arriving, CarrierSense, Hearing, Reception, Transceiver};
use crate::space::Hear;
use crate::Fate;

/// Idle for DIFS is enough (10.3.4.2).
pub const MAY_GO_AT_ONCE: bool = true;

/// A backoff that is drawn while the medium is idle counts at once (10.3.4.3).
pub fn wait_after_draw() -> Duration {
    Duration::ZERO
}

/// An idle receiver locks on a frame of its channel that it can decode. Of frames that begin together it takes the
/// strongest. With `capture_later` it changes over to a much stronger later one.
pub fn signal_begins(
    transceiver: &mut Transceiver,
    arriving: &Arriving,
    hearing: &Hearing,
) -> Fate {
    let mw = arriving.signal.mw;
    let capture = hearing.capture_ratio;
    let decodable = arriving.signal.hear == Hear::Frame && hearing.decodes(arriving.signal.dbm);
    let sending = transceiver.is_sending();
    let mut cause = unlocked(decodable);
    let mut lock = decodable && transceiver.reception().is_none();
    // The new signal is not in yet: `Radio::signal_begins` adds it after this.
    let others_mw = transceiver.heard_mw(arriving.signal.span, arriving.together);
    // Stronger than all else by the capture ratio.
    let stands_out = mw >= capture * hearing.beside_mw(others_mw, arriving.rate, arriving.together);
    let spoiled = if sending {
        // A sending radio locks as well, though deaf. To it the frame counts as one with errors.
        Some(Fate::Deaf)
    } else if hearing.by_threshold() && !stands_out {
        // Alone it would be too weak: noise, not others, is to blame.
        let alone = others_mw == 0.0;
        Some(if alone { Fate::Weak } else { Fate::Collided })
    } else {
        None
    };
    let first = transceiver.reception();
    if first.is_some_and(|first| first.is_together_with(arriving)) {
        if decodable {
            transceiver.lock_beside(Reception::new(arriving, others_mw, spoiled));
        }
        return cause;
    }
    for reception in transceiver.receptions() {
        reception.disturb_more(&arriving.signal, arriving.begins);
        reception.worst_mw = reception.worst_mw.max(reception.interference_mw());
        let others_mw = reception.beside_mw(reception.interference_mw(), hearing);
        // Of an A-MPDU it drowns the frames that it lasts for.
        if hearing.by_threshold() && reception.mw < capture * others_mw && !reception.aggregate {
            reception.spoiled.get_or_insert(Fate::Collided);
        }
    }
    if let Some(reception) = transceiver.reception() {
        if decodable && reception.spoiled.is_none() {
            cause = Fate::CaptureLost;
        }
        // Of frames that begin together the strongest is received, whatever their order here.
        // Later, only a receiver that restarts on a much stronger preamble changes over.
        let settled = reception.began + hearing.settles;
        let together = arriving.begins <= settled && mw > reception.mw;
        let later = hearing.capture_later && stands_out && !sending;
        if decodable && (together || later) {
            transceiver.let_all_go(Fate::Collided);
            lock = true;
        }
    }
    if lock {
        transceiver.lock(Reception::new(arriving, others_mw, spoiled));
    }
    cause
}

/// EIFS follows a frame with errors, and ends with the next one without (10.3.2.3.7).
pub fn reception_ends(sense: &mut CarrierSense, fate: Fate) {
    sense.last_frame_had_errors(fate != Fate::Delivered);
}

/// A signal that was sensed and could not be decoded counts as a frame with errors.
pub fn signal_passes(
    transceiver: &mut Transceiver,
    sense: &mut CarrierSense,
    sensed: bool,
    now: Instant,
) {
    if transceiver.reception().is_some() {
        transceiver.sum_interference(now);
    } else if sensed {
        sense.last_frame_had_errors(true);
    }
}

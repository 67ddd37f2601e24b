// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the standard and ns-2 differ. The channel asks here and knows neither.

mod ns2;
mod standard;

use hoplab_base::{Duration, Instant};

use crate::parts::{Arriving, CarrierSense, Hearing, Transceiver};
use crate::step::Step;
use crate::timing::Timing;
use crate::{Fate, Rules};

/// Fate of an answer whose SIFS is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Goes,
    IsDropped,
    /// Its exchange starts over with a wider window.
    StartsOver,
}

impl Rules {
    /// Whether a frame that finds the medium idle leaves without backoff.
    pub(crate) fn may_go_at_once(self) -> bool {
        match self {
            Self::Standard => standard::MAY_GO_AT_ONCE,
            Self::Ns2 => ns2::MAY_GO_AT_ONCE,
        }
    }

    /// How long after a backoff was drawn its slots begin to count, if the medium is idle.
    pub(crate) fn wait_after_draw(self, timing: &Timing) -> Duration {
        match self {
            Self::Standard => standard::wait_after_draw(),
            Self::Ns2 => ns2::wait_after_draw(timing),
        }
    }

    /// A signal begins; locks the receiver on it or not, and returns why it is not received if it
    /// is not.
    pub(crate) fn signal_begins(
        self,
        transceiver: &mut Transceiver,
        sense: &mut CarrierSense,
        arriving: &Arriving,
        hearing: &Hearing,
        timing: &Timing,
    ) -> Fate {
        match self {
            Self::Standard => standard::signal_begins(transceiver, arriving, hearing),
            Self::Ns2 => ns2::signal_begins(transceiver, sense, arriving, hearing, timing),
        }
    }

    /// A reception has ended like this.
    pub(crate) fn reception_ends(
        self,
        transceiver: &Transceiver,
        sense: &mut CarrierSense,
        fate: Fate,
        now: Instant,
        timing: &Timing,
    ) {
        match self {
            Self::Standard => standard::reception_ends(sense, fate),
            Self::Ns2 => ns2::reception_ends(transceiver, sense, fate, now, timing),
        }
    }

    /// A signal has ended that was not being received.
    pub(crate) fn signal_passes(
        self,
        transceiver: &mut Transceiver,
        sense: &mut CarrierSense,
        sensed: bool,
        now: Instant,
    ) {
        match self {
            Self::Standard => standard::signal_passes(transceiver, sense, sensed, now),
            Self::Ns2 => {}
        }
    }

    /// A SIFS has passed since the frame that asks for this answer.
    pub(crate) fn answer(
        self,
        transceiver: &Transceiver,
        sense: &CarrierSense,
        step: Step,
        now: Instant,
    ) -> Turn {
        match self {
            Self::Standard => Turn::Goes,
            Self::Ns2 => ns2::answer(transceiver, sense, step, now),
        }
    }
}

/// Why a signal is not received that no receiver has locked on.
fn unlocked(decodable: bool) -> Fate {
    if decodable {
        Fate::Collided
    } else {
        Fate::Weak
    }
}

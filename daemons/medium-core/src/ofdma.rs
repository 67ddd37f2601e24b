// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which stations an access point serves together, in resource units or streams of one PPDU, and how
//! they acknowledge that (IEEE 802.11ax-2021 26.5.1).

use hoplab_base::{Duration, Instant};

use crate::units::Plan;
use crate::{Guard, Mimo, RadioId, Rate};

/// How frames of several receivers go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Ofdma {
    pub scheduler: Scheduler,
    pub acknowledgement: Acknowledgement,
    /// It also asks several stations at once for their frames (26.5.2).
    #[cfg_attr(feature = "serde", serde(default))]
    pub uplink: bool,
    /// It also polls queues (BSRP): after its own frames, and when so long has passed since it did
    /// (26.5.5).
    #[cfg_attr(feature = "serde", serde(default, rename = "bsrp_ns"))]
    pub bsrp: Option<Duration>,
    /// Each user has streams of his own on the whole channel, instead of a resource unit.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mimo: Option<Mimo>,
}

/// How long a station does not contend by itself after a trigger has asked it. This is AIFSN 0 and an
/// MU EDCA timer of four units of 8 TU (9.4.2.251).
pub(crate) const HELD: Duration = Duration::from_micros(4 * 8 * 1024);

/// Who is served first where more wait than a PPDU has resource units. [`Scheduler::order`] is the
/// place for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Scheduler {
    /// Receivers take turns.
    RoundRobin,
    /// The largest rate over the mean throughput so far (Kelly 1997).
    ProportionalFair,
    /// The least time on the air so far.
    Airtime,
}

/// How receivers of one PPDU acknowledge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Acknowledgement {
    /// All at once in their resource units, when a trigger frame (MU-BAR) asks them (26.4.4.5).
    MuBar,
    /// The first one at once, and each other one when a BlockAckReq asks it (26.4.4.3).
    Sequential,
}

/// What a receiver has got so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Served {
    pub airtime: Duration,
    /// Mean of the bits that a round brings.
    pub bits: f64,
}

/// Rounds over which that mean goes.
const ROUNDS: f64 = 100.0;

impl Served {
    /// A round more, in which it may get something.
    pub fn pass_round(&mut self) {
        self.bits *= 1.0 - 1.0 / ROUNDS;
    }

    /// It has got so many bits.
    pub fn gets(&mut self, bits: f64) {
        self.bits += bits / ROUNDS;
    }
}

/// What an access point knows of the frames that wait at a station, by the station's last frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub from: RadioId,
    /// The access function that they go by.
    pub function: usize,
    /// In an A-MPDU.
    pub octets: usize,
    /// Of the station on the whole channel.
    pub rate: Rate,
    pub served: Served,
    /// When it was asked for frames last.
    pub asked: Instant,
    /// When its queues were polled last.
    pub polled: Instant,
    /// How often it was asked or polled in vain since its last report.
    pub silent: u32,
}

/// A receiver with frames that may go together with others', or a station that is asked for its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// Its place among flows, or among reports.
    pub flow: usize,
    /// On the whole channel.
    pub rate: Rate,
    pub served: Served,
}

impl Candidate {
    /// Units and guard interval, which all of a PPDU share.
    pub fn channel(&self) -> (Plan, Option<Guard>) {
        let guard = self.rate.scheme().map(|scheme| scheme.guard);
        (Plan::of(self.rate), guard)
    }

    /// Whether one PPDU may have both.
    pub fn goes_with(&self, other: &Self) -> bool {
        let kind = |one: &Self| core::mem::discriminant(&one.rate.modulation());
        self.channel() == other.channel() && kind(self) == kind(other)
    }

    /// By proportional fairness. A receiver that has got nothing is worth most.
    fn worth(&self) -> f64 {
        self.rate.mbps() / self.served.bits
    }
}

impl Scheduler {
    /// Bring candidates from the order of their turns into that in which they are served.
    pub(crate) fn order(self, candidates: &mut [Candidate]) {
        match self {
            Self::RoundRobin => {}
            Self::ProportionalFair => {
                candidates.sort_by(|one, other| other.worth().total_cmp(&one.worth()));
            }
            Self::Airtime => candidates.sort_by_key(|candidate| candidate.served.airtime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_serve_in_their_order() {
        let candidate = |flow: usize, mcs, millis, bits| Candidate {
            flow,
            rate: Rate::he(mcs, 1, crate::Width::Mhz20, Guard::Ns800).expect("an HE rate"),
            served: Served {
                airtime: Duration::from_millis(millis),
                bits,
            },
        };
        let waiting = [
            candidate(0, 0, 3, 1000.0),
            candidate(1, 11, 2, 30_000.0),
            candidate(2, 4, 1, 4000.0),
            candidate(3, 0, 4, 0.0),
        ];
        let order = |scheduler: Scheduler| {
            let mut candidates = waiting;
            scheduler.order(&mut candidates);
            candidates.map(|candidate| candidate.flow)
        };
        assert_eq!(order(Scheduler::RoundRobin), [0, 1, 2, 3]);
        assert_eq!(order(Scheduler::Airtime), [2, 1, 0, 3]);
        // Mbit/s over mean bits: 8.6 / 1000, 143.4 / 30,000, 51.6 / 4000, and one without bits.
        assert_eq!(order(Scheduler::ProportionalFair), [3, 2, 0, 1]);
    }

    /// With equal rates both fair schedulers come round to everybody.
    #[test]
    fn what_was_got_long_ago_counts_little() {
        let mut served = Served::default();
        served.gets(1000.0);
        assert_eq!(served.bits, 10.0);
        for _ in 0..500 {
            served.pass_round();
        }
        assert!(served.bits < 0.1);
    }
}

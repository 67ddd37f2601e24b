// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The signals at a radio: what it sends, what it hears and the frame that it receives.
//! [`crate::Rules`] decide which frame that is.

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant, Stream};

use super::exchange::Subframe;
use super::Setup;
use crate::dbm::{from_db, to_db};
use crate::error_rate::bit_error_rate;
use crate::phy::DELIMITER_BYTES;
use crate::space::{Hear, Neighbour, Sides, Span};
use crate::{Dbm, ErrorTable, Fate, Params, Phy, Rate, Reception as Model, To};

/// A secondary channel's threshold over the primary one's.
const BESIDE_DB: f64 = 10.0;

/// Thresholds and noise of all receivers, computed once.
#[derive(Clone, Debug)]
pub struct Hearing {
    model: Model,
    table: ErrorTable,
    rx_threshold_dbm: Dbm,
    cs_threshold_dbm: Dbm,
    /// Least sum of signals that makes the channel busy. None by DCF, where each signal counts
    /// alone.
    cs_sum_mw: Option<f64>,
    /// The same where signals of other channels count, too.
    ed_mw: Option<f64>,
    /// Least power that makes a secondary channel busy.
    beside_mw: f64,
    pub capture_ratio: f64,
    pub capture_later: bool,
    /// Of frames that come within this time the strongest is received.
    pub settles: Duration,
    /// On 20 MHz.
    pub noise_mw: f64,
}

impl Hearing {
    pub fn new(params: &Params) -> Self {
        Self {
            model: params.reception,
            table: params.table.clone(),
            rx_threshold_dbm: params.rx_threshold_dbm,
            cs_threshold_dbm: params.cs_threshold_dbm,
            cs_sum_mw: params.edca.map(|_| params.cs_threshold_dbm.mw()),
            ed_mw: params.leakage.as_ref().map(|it| it.ed_threshold_dbm.mw()),
            beside_mw: (params.cs_threshold_dbm + BESIDE_DB).mw(),
            capture_ratio: from_db(params.capture_db),
            capture_later: params.capture_later,
            settles: params.cca(),
            noise_mw: params.noise_dbm.map_or(0.0, Dbm::mw),
        }
    }

    pub fn by_threshold(&self) -> bool {
        self.model == Model::Threshold
    }

    /// The noise that a receiver of this rate hears.
    pub fn noise_mw(&self, rate: Rate) -> f64 {
        self.noise_mw * rate.widening()
    }

    /// The power of this interference and the noise beside which a signal is received. One that
    /// answers a trigger puts all its power into a resource unit, where only a share of both is.
    pub fn beside_mw(&self, interference_mw: f64, rate: Rate, together: Option<To>) -> f64 {
        let share = together.map_or(1.0, |_| rate.share());
        (interference_mw + self.noise_mw(rate)) * share
    }

    /// Whether signals together make the channel busy.
    pub fn senses_together(&self, sums: Sums) -> bool {
        let comes_to = |mw: f64, least: Option<f64>| least.is_some_and(|least_mw| mw >= least_mw);
        comes_to(sums.own_mw, self.cs_sum_mw) || comes_to(sums.all_mw, self.ed_mw)
    }

    /// Whether a signal of the radio's channel makes that busy.
    pub fn senses(&self, dbm: Dbm) -> bool {
        dbm >= self.cs_threshold_dbm
    }

    /// Whether a signal makes a secondary channel busy (21.3.18.5.4: -72 dBm where a signal on the
    /// primary one needs -82).
    fn senses_beside(&self, mw: f64, hear: Hear, side: usize) -> bool {
        matches!(hear, Hear::Beside(sides) if sides.has(side)) && mw >= self.beside_mw
    }

    /// Whether a receiver can lock on a signal.
    pub fn decodes(&self, dbm: Dbm) -> bool {
        dbm >= match self.model {
            Model::Threshold => self.rx_threshold_dbm,
            // Whatever is sensed may be received, if its bits come through.
            Model::ErrorRate | Model::Table => self.cs_threshold_dbm,
        }
    }
}

/// Powers of several signals together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Of those whose preamble is on the radio's primary channel.
    own_mw: f64,
    /// Of leaks too.
    all_mw: f64,
}

impl Sums {
    /// With a signal more.
    pub fn with(self, mw: f64, hear: Hear) -> Self {
        let (own_mw, all_mw) = match hear {
            Hear::Frame | Hear::Preamble => (mw, mw),
            Hear::Leak => (0.0, mw),
            Hear::Beside(_) => (0.0, 0.0),
        };
        Self {
            own_mw: self.own_mw + own_mw,
            all_mw: self.all_mw + all_mw,
        }
    }
}

/// A transmission that begins to be heard.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    pub signal: Neighbour,
    pub tx: usize,
    pub rate: Rate,
    pub begins: Instant,
    pub ends: Instant,
    /// How long its preamble lasts.
    pub preamble: Duration,
    /// An A-MPDU: each of its frames has its own fate.
    pub aggregate: bool,
    /// How many users its power is divided among, behind the preamble.
    pub beams: usize,
    /// It answers a trigger of this radio. Answers to one trigger come together, each on a resource
    /// unit of its own, and all are received.
    pub together: Option<To>,
}

/// A signal at a radio, and why it is not being received.
#[derive(Clone, Copy, Debug)]
struct Signal {
    tx: usize,
    mw: f64,
    hear: Hear,
    span: Span,
    cause: Fate,
    together: Option<To>,
}

/// A frame that a radio has locked on.
#[derive(Clone, Debug)]
pub struct Reception {
    pub tx: usize,
    pub mw: f64,
    span: Span,
    pub rate: Rate,
    /// When the receiver locked. By ns-2's rules it may stay locked on a later frame.
    pub began: Instant,
    /// When the frame that it is locked on began, and ends.
    begins: Instant,
    pub ends: Instant,
    preamble: Duration,
    together: Option<To>,
    interference_mw: f64,
    /// Of an A-MPDU: when the interference changed, and to what. Each of its frames is judged at
    /// the end, over its own stretch. Else empty.
    course: Vec<(Instant, f64)>,
    pub aggregate: bool,
    beams: usize,
    /// What has already spoiled it.
    pub spoiled: Option<Fate>,
    /// By error rate: all bits up to `counted` are right with a probability whose logarithm is
    /// `log_success`.
    counted: Instant,
    log_success: f64,
    /// Strongest interference so far, for the records.
    pub worst_mw: f64,
}

impl Reception {
    pub fn new(arriving: &Arriving, interference_mw: f64, spoiled: Option<Fate>) -> Self {
        Self {
            tx: arriving.tx,
            mw: arriving.signal.mw,
            span: arriving.signal.span,
            rate: arriving.rate,
            began: arriving.begins,
            begins: arriving.begins,
            ends: arriving.ends,
            preamble: arriving.preamble,
            together: arriving.together,
            interference_mw,
            course: if arriving.aggregate {
                alloc::vec![(arriving.begins, interference_mw)]
            } else {
                Vec::new()
            },
            aggregate: arriving.aggregate,
            beams: arriving.beams,
            spoiled,
            counted: arriving.begins,
            log_success: 0.0,
            worst_mw: interference_mw,
        }
    }

    pub fn interference_mw(&self) -> f64 {
        self.interference_mw
    }

    /// The power beside which it is received, with this interference.
    pub fn beside_mw(&self, interference_mw: f64, hearing: &Hearing) -> f64 {
        hearing.beside_mw(interference_mw, self.rate, self.together)
    }

    /// Whether it comes together with that one.
    pub fn is_together_with(&self, arriving: &Arriving) -> bool {
        self.together.is_some() && self.together == arriving.together
    }

    /// From now on it is disturbed by so much.
    pub fn disturb(&mut self, mw: f64, now: Instant) {
        self.interference_mw = mw;
        if self.aggregate {
            self.course.push((now, mw));
        }
    }

    /// From now on this signal disturbs it too.
    pub fn disturb_more(&mut self, signal: &Neighbour, now: Instant) {
        let more_mw = signal.mw * signal.span.share_in(self.span);
        self.disturb(self.interference_mw + more_mw, now);
    }

    /// Count the bits since the interference last changed.
    fn count_bits(&mut self, now: Instant, phy: &Phy, hearing: &Hearing) {
        let sinr = self.mw / self.beside_mw(self.interference_mw, hearing);
        let (rate, counted) = (self.rate, self.counted);
        let header = self.begins + phy.sync(rate);
        let body = self.begins + self.preamble;
        // The stretch may contain the end of the preamble or header, which have their own rates.
        let parts = [
            (counted, now.min(header), Rate::DSSS_1),
            (counted.max(header), now.min(body), phy.header_rate(rate)),
            (counted.max(body), now, rate),
        ];
        for (from, to, rate) in parts {
            if to > from {
                let bits = to.since(from).as_nanos() as f64 / 1000.0 * rate.mbps();
                // A sum of logarithms does not underflow, and `log1p` keeps the digits of tiny
                // error rates.
                self.log_success += bits * libm::log1p(-bit_error_rate(rate, sinr));
            }
        }
        self.counted = now;
    }

    /// Stay locked, but on this frame.
    pub fn continue_with(&mut self, arriving: &Arriving, spoiled: Fate) {
        self.tx = arriving.tx;
        self.mw = arriving.signal.mw;
        self.span = arriving.signal.span;
        self.rate = arriving.rate;
        self.begins = arriving.begins;
        self.ends = arriving.ends;
        self.preamble = arriving.preamble;
        self.beams = arriving.beams;
        self.together = arriving.together;
        self.spoiled = Some(spoiled);
    }
}

/// A reception that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Of an A-MPDU delivered if any of its frames is.
    pub fate: Fate,
    /// Of each frame of an A-MPDU; else empty.
    pub fates: Vec<Fate>,
    /// Strongest interference while it lasted.
    pub worst_mw: f64,
}

pub struct Transceiver {
    /// What it sends.
    sending: Option<usize>,
    /// How many signals make the channel busy, each by itself.
    sensed: u32,
    /// All signals together make the channel busy (EDCA only).
    senses_sum: bool,
    /// Every signal at the radio, the one that it receives included.
    air: Vec<Signal>,
    reception: Option<Reception>,
    /// Those that came together with it.
    beside: Vec<Reception>,
    /// Since when each secondary channel is idle that is.
    sides_idle_from: [Instant; Sides::COUNT],
    /// A stream for each purpose: more draws from one do not shift the other.
    fading: Stream,
    errors: Stream,
}

impl Transceiver {
    pub fn new(fading: Stream, errors: Stream) -> Self {
        Self {
            sending: None,
            sensed: 0,
            senses_sum: false,
            air: Vec::new(),
            reception: None,
            beside: Vec::new(),
            sides_idle_from: [Instant::ZERO; Sides::COUNT],
            fading,
            errors,
        }
    }

    /// Later draws follow from another seed too.
    pub fn reseed(&mut self, seed: u64) {
        self.fading.reseed(seed);
        self.errors.reseed(seed);
    }

    pub fn sending(&self) -> Option<usize> {
        self.sending
    }

    pub fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// Whether the channel is busy with signals of others.
    pub fn senses(&self) -> bool {
        self.sensed > 0 || self.senses_sum
    }

    /// Whether the sum of signals makes it busy.
    pub fn senses_sum(&self) -> bool {
        self.senses_sum
    }

    /// The sum of signals makes the channel busy from now on, or does no more.
    pub fn sense_sum(&mut self, is_busy: bool) {
        self.senses_sum = is_busy;
    }

    pub fn fading(&mut self) -> &mut Stream {
        &mut self.fading
    }

    pub fn begin_sending(&mut self, tx: usize) {
        self.sending = Some(tx);
        // A radio that transmits is deaf (half duplex). The first cause counts, so an earlier one
        // stays.
        for reception in self.receptions() {
            reception.spoiled.get_or_insert(Fate::Deaf);
        }
    }

    pub fn end_sending(&mut self) {
        self.sending = None;
    }

    pub fn reception(&self) -> Option<&Reception> {
        self.reception.as_ref()
    }

    pub fn reception_mut(&mut self) -> Option<&mut Reception> {
        self.reception.as_mut()
    }

    /// All that it receives at once.
    pub fn receptions(&mut self) -> impl Iterator<Item = &mut Reception> {
        self.reception.iter_mut().chain(&mut self.beside)
    }

    /// Whether `tx` is what it receives, and nothing has spoiled that yet.
    pub fn receives(&self, tx: usize) -> bool {
        let reception = self.reception.as_ref();
        reception.is_some_and(|reception| reception.tx == tx && reception.spoiled.is_none())
    }

    pub fn lock(&mut self, reception: Reception) {
        self.reception = Some(reception);
        self.beside.clear();
    }

    /// Receive that one too, which comes together with what it receives.
    pub fn lock_beside(&mut self, reception: Reception) {
        self.beside.push(reception);
    }

    /// What it receives is lost for this reason, whatever has spoiled it before.
    pub fn spoil(&mut self, fate: Fate) {
        for reception in self.receptions() {
            reception.spoiled = Some(fate);
        }
    }

    /// Power of all signals together on these frequencies, but for those that come together with
    /// what is received.
    pub fn heard_mw(&self, span: Span, together: Option<To>) -> f64 {
        let on_them = |signal: &Signal| signal.mw * signal.span.share_in(span);
        let others = |signal: &&Signal| together.is_none() || signal.together != together;
        self.air.iter().filter(others).map(on_them).sum()
    }

    /// How many of the secondary channels, from the narrowest on, have been idle for `space`.
    pub fn idle_sides(&self, space: Duration, now: Instant, hearing: &Hearing) -> usize {
        let is_idle = |side: &usize| {
            let busy = |signal: &Signal| hearing.senses_beside(signal.mw, signal.hear, *side);
            now >= self.sides_idle_from[*side] + space && !self.air.iter().any(busy)
        };
        (0..Sides::COUNT).take_while(is_idle).count()
    }

    pub fn sums(&self) -> Sums {
        let add = |sums: Sums, signal: &Signal| sums.with(signal.mw, signal.hear);
        self.air.iter().fold(Sums::default(), add)
    }

    /// The signal of `tx`, which was being received, will not be, for this reason.
    pub fn let_go(&mut self, tx: usize, cause: Fate) {
        if let Some(signal) = self.air.iter_mut().find(|signal| signal.tx == tx) {
            signal.cause = cause;
        }
    }

    /// The signals that are received will not be, for this reason or for what has spoiled them before.
    pub fn let_all_go(&mut self, cause: Fate) {
        let receptions = self.reception.iter().chain(&self.beside);
        for reception in receptions {
            let same = self.air.iter_mut().find(|signal| signal.tx == reception.tx);
            if let Some(signal) = same {
                signal.cause = reception.spoiled.unwrap_or(cause);
            }
        }
    }

    /// A signal begins; `cause` is why it is not received if it is not.
    pub fn add(&mut self, arriving: &Arriving, cause: Fate) {
        self.air.push(Signal {
            tx: arriving.tx,
            mw: arriving.signal.mw,
            hear: arriving.signal.hear,
            span: arriving.signal.span,
            cause,
            together: arriving.together,
        });
    }

    pub fn begins_to_sense(&mut self) {
        self.sensed += 1;
    }

    /// By error rate: count the bits since the interference last changed. Call it before each
    /// change, as all these bits are counted at the present ratio.
    pub fn count_bits(&mut self, now: Instant, phy: &Phy, hearing: &Hearing) {
        if hearing.model != Model::ErrorRate {
            return;
        }
        // An A-MPDU keeps the course of the interference instead.
        let bits_matter = |reception: &&mut Reception| !reception.aggregate;
        for reception in self.receptions().filter(bits_matter) {
            reception.count_bits(now, phy, hearing);
        }
    }

    /// A signal ends; returns why it was not received.
    pub fn remove(&mut self, tx: usize, sensed: bool, now: Instant, hearing: &Hearing) -> Fate {
        self.sensed = self.sensed.saturating_sub(u32::from(sensed));
        let Some(at) = self.air.iter().position(|signal| signal.tx == tx) else {
            return Fate::Weak;
        };
        let signal = self.air.remove(at);
        for side in 0..Sides::COUNT {
            if hearing.senses_beside(signal.mw, signal.hear, side) {
                self.sides_idle_from[side] = now;
            }
        }
        signal.cause
    }

    /// Fate of `tx`, if the radio was receiving it. `cut` is whether it broke off. `subframes` are
    /// the frames of an A-MPDU that the radio looks at.
    pub fn end_reception(
        &mut self,
        tx: usize,
        cut: bool,
        subframes: &[Subframe],
        setup: &Setup,
    ) -> Option<Ended> {
        let beside = self.beside.iter().position(|reception| reception.tx == tx);
        let reception = match beside {
            Some(at) => &self.beside[at],
            None => self.reception.as_ref().filter(|it| it.tx == tx)?,
        };
        let errors = &mut self.errors;
        let hearing = &setup.hearing;
        let worst_mw = reception.worst_mw;
        let mut fate = reception.spoiled.unwrap_or(Fate::Delivered);
        let mut fates = Vec::new();
        if cut {
            fate = Fate::Off;
        } else if reception.aggregate && fate == Fate::Delivered {
            (fate, fates) = fates_of_frames(reception, subframes, setup, errors);
            // One good frame is enough: the PPDU then counts as received, sets the NAV and ends
            // EIFS. A radio that looks at no frame goes by the preamble.
            if let (Fate::Delivered, Some(first)) = (fate, fates.first()) {
                let delivered = fates.contains(&Fate::Delivered);
                fate = if delivered { Fate::Delivered } else { *first };
            }
        } else if !hearing.by_threshold() && fate == Fate::Delivered {
            let success = match hearing.model {
                Model::Table => {
                    let ratio = reception.mw / reception.beside_mw(worst_mw, hearing);
                    1.0 - hearing.table.loss(reception.rate, to_db(ratio))
                }
                _ => libm::exp(reception.log_success),
            };
            if errors.unit() >= success {
                // Without any interference the noise alone has spoiled it.
                let clean = worst_mw == 0.0;
                fate = if clean { Fate::Weak } else { Fate::Collided };
            }
        }
        // It is over; those that came together with it go on.
        match beside {
            Some(at) => drop(self.beside.remove(at)),
            None => self.reception = self.beside.pop(),
        }
        Some(Ended {
            fate,
            fates,
            worst_mw,
        })
    }

    /// The signals that remain disturb what is received.
    pub fn sum_interference(&mut self, now: Instant) {
        // Summed anew: taking off each signal that ends would let rounding errors grow. The
        // difference may still come out below 0 by rounding.
        let Some(reception) = &self.reception else {
            return;
        };
        let (span, together) = (reception.span, reception.together);
        let heard_mw = self.heard_mw(span, together);
        // Those that come together are left out of the sum, all of them.
        let own = f64::from(u8::from(together.is_none()));
        for reception in self.receptions() {
            let rest_mw = (heard_mw - own * reception.mw).max(0.0);
            reception.disturb(rest_mw, now);
        }
    }
}

/// Fates of an A-MPDU's preamble and frames. All are lost with the preamble. Each has its own errors, over
/// its own stretch of interference.
fn fates_of_frames(
    reception: &Reception,
    subframes: &[Subframe],
    setup: &Setup,
    errors: &mut Stream,
) -> (Fate, Vec<Fate>) {
    let phy = &setup.params.phy;
    let rate = reception.rate;
    let hearing = &setup.hearing;
    let body = reception.begins + reception.preamble;
    // Octets follow at an even pace. Service bits and symbol boundaries are left out.
    let after = |bytes: usize| {
        let lasts_ns = libm::round(bytes as f64 * 8e3 / rate.mbps());
        body + Duration::from_nanos(lasts_ns as u64)
    };
    let header = Stretch::of(reception, phy.header_rate(rate), 1, hearing);
    let heard = header.fate(reception.begins, body, errors, hearing);
    if heard != Fate::Delivered {
        return (heard, alloc::vec![heard; subframes.len()]);
    }
    let data = Stretch::of(reception, rate, reception.beams, hearing);
    let fate = |subframe: &Subframe| {
        // A receiver finds a frame by its delimiter, so an error there loses the frame too.
        let from = after(subframe.offset.saturating_sub(DELIMITER_BYTES));
        let to = after(subframe.offset + subframe.bytes);
        data.fate(from, to, errors, hearing)
    };
    (heard, subframes.iter().map(fate).collect())
}

/// Quality of the bits of one rate in the course of a reception.
struct Stretch {
    rate: Rate,
    parts: Vec<Part>,
}

/// From an instant on.
struct Part {
    from: Instant,
    disturbed: bool,
    /// Signal to interference and noise, as a ratio of powers.
    ratio: f64,
    /// Logarithm of the probability that a bit is right.
    log_right: f64,
}

impl Stretch {
    /// Of the signal's share for one of so many users.
    fn of(reception: &Reception, rate: Rate, users: usize, hearing: &Hearing) -> Self {
        let mw = reception.mw / users as f64;
        let part = |&(from, interference_mw): &(Instant, f64)| {
            let ratio = mw / reception.beside_mw(interference_mw, hearing);
            let log_right = match hearing.model {
                Model::ErrorRate => libm::log1p(-bit_error_rate(rate, ratio)),
                // These models go by the worst ratio of the stretch.
                Model::Threshold | Model::Table => 0.0,
            };
            Part {
                from,
                disturbed: interference_mw > 0.0,
                ratio,
                log_right,
            }
        };
        Self {
            rate,
            parts: reception.course.iter().map(part).collect(),
        }
    }

    /// Fate of the bits from one instant to another.
    fn fate(&self, from: Instant, to: Instant, errors: &mut Stream, hearing: &Hearing) -> Fate {
        let (mut log_success, mut worst, mut disturbed) = (0.0, f64::INFINITY, false);
        for (at, part) in self.parts.iter().enumerate() {
            let next = self
                .parts
                .get(at + 1)
                .map_or(Instant::MAX, |next| next.from);
            let (begins, ends) = (part.from.max(from), next.min(to));
            if ends <= begins {
                continue;
            }
            let bits = ends.since(begins).as_nanos() as f64 / 1000.0 * self.rate.mbps();
            log_success += bits * part.log_right;
            worst = worst.min(part.ratio);
            disturbed |= part.disturbed;
        }
        let lost = match hearing.model {
            Model::Threshold => worst < hearing.capture_ratio,
            Model::ErrorRate => errors.unit() >= libm::exp(log_success),
            Model::Table => errors.unit() < hearing.table.loss(self.rate, to_db(worst)),
        };
        match (lost, disturbed) {
            (false, _) => Fate::Delivered,
            (true, true) => Fate::Collided,
            (true, false) => Fate::Weak,
        }
    }
}

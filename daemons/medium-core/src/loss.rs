// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames lost at the receiver on top of what the channel does.

use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use hoplab_base::{Duration, Instant, Stream};

use crate::step::Step;
use crate::{LinkId, RadioId};

/// How frames are lost.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum LossModel {
    /// Independent with this probability.
    Uniform {
        rate: f64,
    },
    /// Two states, a transition tried before each frame (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        to_bad: f64,
        to_good: f64,
        good: f64,
        bad: f64,
        #[cfg_attr(feature = "serde", serde(skip))]
        is_bad: bool,
    },
    Burst(Burst),
    /// The k-th data frames of a station (1 is the first since measuring began), all tries.
    List {
        frames: Vec<u64>,
    },
}

/// Loss with probability `rate` for `on` at the end of every `period`, counted from `start`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "BurstTimes"))]
pub struct Burst {
    rate: f64,
    on: Duration,
    period: Duration,
    start: Instant,
}

/// A [`Burst`] as a document has it.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct BurstTimes {
    rate: f64,
    on_ns: Duration,
    period_ns: Duration,
    start_ns: Instant,
}

#[cfg(feature = "serde")]
impl TryFrom<BurstTimes> for Burst {
    type Error = &'static str;

    fn try_from(times: BurstTimes) -> Result<Self, Self::Error> {
        Self::new(times.rate, times.on_ns, times.period_ns, times.start_ns)
            .ok_or("expected 0 < on_ns <= period_ns")
    }
}

impl Burst {
    /// None unless 0 < `on` <= `period`.
    pub fn new(rate: f64, on: Duration, period: Duration, start: Instant) -> Option<Self> {
        (!on.is_zero() && on <= period).then_some(Self {
            rate,
            on,
            period,
            start,
        })
    }

    fn loses(&self, now: Instant, random: &mut Stream) -> bool {
        let phase = now.since(self.start) % self.period;
        now >= self.start && phase >= self.period - self.on && random.unit() < self.rate
    }
}

/// What a loss takes of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Takes {
    /// Data frames, each try by itself: the sender hears no acknowledgement and tries again.
    #[default]
    Data,
    /// Acknowledgements, RTS and CTS too, as ns-2's error model between channel and MAC.
    Frames,
    /// Data frames on their way from the radio, which has acknowledged them, to its host: nobody
    /// but the transport protocol misses them. As ns-2's error model above the MAC.
    Packets,
}

impl Takes {
    /// Whether it takes a frame of this step that is with the radio still, or, `acknowledged`, on
    /// its way to the host.
    fn counts(self, step: Step, acknowledged: bool) -> bool {
        match self {
            Self::Data => step == Step::Data && !acknowledged,
            Self::Frames => !acknowledged,
            Self::Packets => acknowledged,
        }
    }
}

/// A loss model for the frames from `src` to `dst`; none means any.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct LossRule {
    pub src: Option<RadioId>,
    pub dst: Option<RadioId>,
    pub model: LossModel,
    pub takes: Takes,
    /// From when until when it applies.
    #[cfg_attr(feature = "serde", serde(rename = "active_ns"))]
    pub active: Range<Instant>,
}

impl LossRule {
    /// A rule for the whole run.
    pub fn always(src: Option<RadioId>, dst: Option<RadioId>, model: LossModel) -> Self {
        Self {
            src,
            dst,
            model,
            takes: Takes::Data,
            active: Instant::ZERO..Instant::MAX,
        }
    }

    /// Whether it concerns a frame of `step` on this link, which its receiver has `acknowledged` or
    /// is about to.
    fn applies(&self, link: LinkId, step: Step, acknowledged: bool, now: Instant) -> bool {
        self.active.contains(&now)
            && self.takes.counts(step, acknowledged)
            && self.src.is_none_or(|s| s == link.from)
            && self.dst.is_none_or(|d| d == link.to)
    }

    /// Whether the frame that is the `number`-th of its sender is lost at `now`.
    fn loses(&mut self, now: Instant, number: u64, random: &mut Stream) -> bool {
        match &mut self.model {
            LossModel::Uniform { rate } => random.unit() < *rate,
            LossModel::GilbertElliott {
                to_bad,
                to_good,
                good,
                bad,
                is_bad,
            } => {
                let change = if *is_bad { *to_good } else { *to_bad };
                if random.unit() < change {
                    *is_bad = !*is_bad;
                }
                random.unit() < if *is_bad { *bad } else { *good }
            }
            LossModel::Burst(burst) => burst.loses(now, random),
            LossModel::List { frames } => frames.contains(&number),
        }
    }
}

/// All rules of a channel, each with its random numbers.
pub struct Losses {
    seed: u64,
    rules: Vec<(LossRule, Stream)>,
}

impl Losses {
    pub fn new(seed: u64, rules: Vec<LossRule>) -> Self {
        let rules = rules.into_iter().enumerate();
        let stream = |i| Stream::new(seed, &format!("medium/loss/{i}"));
        Self {
            seed,
            rules: rules.map(|(i, rule)| (rule, stream(i))).collect(),
        }
    }

    /// Later draws follow from another seed too.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for (_, stream) in &mut self.rules {
            stream.reseed(seed);
        }
    }

    /// Whether a rule takes a frame of this step, on its way to the radio or, `acknowledged`, to
    /// its host. `data_number` counts its sender's data frames.
    pub fn take(
        &mut self,
        link: LinkId,
        (step, data_number): (Step, u64),
        acknowledged: bool,
        now: Instant,
    ) -> bool {
        self.rules.iter_mut().any(|(rule, random)| {
            rule.applies(link, step, acknowledged, now) && rule.loses(now, data_number, random)
        })
    }

    /// From `now` on frames of this link are lost with this probability, instead of what was said of
    /// just this link before; 0 for none.
    pub fn set(&mut self, link: LinkId, rate: f64, now: Instant) {
        let ends = (Some(link.from), Some(link.to));
        let is_same = |rule: &LossRule| {
            let uniform = matches!(rule.model, LossModel::Uniform { .. });
            uniform && (rule.src, rule.dst) == ends
        };
        let old = self.rules.iter().position(|(rule, _)| is_same(rule));
        // A link that is set again goes on with its random numbers.
        let random = old.map_or_else(
            || Stream::new(self.seed, &format!("medium/loss/{}/{}", link.from, link.to)),
            |old| self.rules[old].1.clone(),
        );
        self.rules.retain(|(rule, _)| !is_same(rule));
        if rate > 0.0 {
            let rule = LossRule {
                src: ends.0,
                dst: ends.1,
                model: LossModel::Uniform { rate },
                takes: Takes::Data,
                active: now..Instant::MAX,
            };
            self.rules.push((rule, random));
        }
    }
}

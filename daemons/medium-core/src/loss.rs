// SPDX-License-Identifier: Apache-2.0
//! Frames lost at the receiver on top of what the channel does.

use alloc::vec::Vec;
use core::ops::Range;

use hoplab_base::{Duration, Instant, Stream};

use crate::air::{Kind, Transmission};

/// How frames are lost.
#[derive(Clone, Debug)]
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
pub struct Burst {
    rate: f64,
    on: Duration,
    period: Duration,
    start: Instant,
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
    /// Whether it takes a frame of kind `kind` that is with the radio still, or, `acknowledged`, on
    /// its way to the host.
    fn counts(self, kind: Kind, acknowledged: bool) -> bool {
        match self {
            Self::Data => kind == Kind::Data && !acknowledged,
            Self::Frames => !acknowledged,
            Self::Packets => acknowledged,
        }
    }
}

/// A loss model for the frames from `src` to `dst`; none means any.
#[derive(Clone, Debug)]
pub struct LossRule {
    pub src: Option<usize>,
    pub dst: Option<usize>,
    pub model: LossModel,
    pub takes: Takes,
    /// From when until when it applies.
    pub active: Range<Instant>,
}

impl LossRule {
    /// A rule for the whole run.
    pub fn always(src: Option<usize>, dst: Option<usize>, model: LossModel) -> Self {
        Self {
            src,
            dst,
            model,
            takes: Takes::Data,
            active: Instant::ZERO..Instant::MAX,
        }
    }

    /// Whether it concerns `frame` at the radio `dst`, which has `acknowledged` it or is about to.
    pub fn applies(
        &self,
        frame: &Transmission,
        dst: usize,
        acknowledged: bool,
        now: Instant,
    ) -> bool {
        self.active.contains(&now)
            && self.takes.counts(frame.kind, acknowledged)
            && self.src.is_none_or(|s| s == frame.from)
            && self.dst.is_none_or(|d| d == dst)
    }

    /// Whether the frame that is the `number`-th of its sender is lost at `now`.
    pub fn loses(&mut self, now: Instant, number: u64, random: &mut Stream) -> bool {
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

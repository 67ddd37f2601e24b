// SPDX-License-Identifier: Apache-2.0
//! What is changed from outside while the channel is in use: a person's hand, not the scenario's.

use alloc::format;

use hoplab_base::{Instant, Stream};

use super::Medium;
use crate::loss::{LossModel, LossRule, Takes};
use crate::places::Place;

impl Medium {
    /// From now on the radio is at `place`, and stays. Frames on the air keep the power with which
    /// they began.
    pub fn put(&mut self, radio: usize, place: Place) {
        self.places.put(radio, place, self.now);
    }

    /// From now on frames from `src` to `dst` are lost with this probability, instead of what was
    /// said of just these two before; 0 for none.
    pub fn lose(&mut self, src: usize, dst: usize, rate: f64) {
        let ends = (Some(src), Some(dst));
        let name = format!("medium/loss/{src}/{dst}");
        let place = self.losses.iter().position(|(rule, _)| {
            let uniform = matches!(rule.model, LossModel::Uniform { .. });
            uniform && (rule.src, rule.dst) == ends
        });
        // A link that is set again goes on with its random numbers.
        let random = place.map_or_else(
            || Stream::new(self.params.seed, &name),
            |place| self.losses[place].1.clone(),
        );
        self.losses.retain(|(rule, _)| {
            let uniform = matches!(rule.model, LossModel::Uniform { .. });
            !(uniform && (rule.src, rule.dst) == ends)
        });
        if rate > 0.0 {
            let rule = LossRule {
                src: Some(src),
                dst: Some(dst),
                model: LossModel::Uniform { rate },
                takes: Takes::Data,
                active: self.now..Instant::MAX,
            };
            self.losses.push((rule, random));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What is changed from outside while the channel is in use: a person's hand, not the scenario's.

use alloc::format;

use hoplab_base::{Instant, Stream};

use super::Medium;
use crate::loss::{LossModel, LossRule, Takes};
use crate::places::Place;
use crate::propagation::Antenna;

impl Medium {
    /// From now on the radio is at `place`, and stays. Frames on the air keep the power with which
    /// they began.
    pub fn put(&mut self, radio: usize, place: Place) {
        self.places.put(radio, place, self.now);
    }

    /// From now on the radio has this antenna and power.
    pub fn fit(&mut self, radio: usize, antenna: Antenna) {
        self.places.equip(radio, antenna);
    }

    /// From now on the radio is on this channel, and hears no other.
    pub fn tune(&mut self, radio: usize, mhz: u32) {
        self.places.tune(radio, mhz);
    }

    /// From now on the radio hears only those of the same medium, and they it.
    pub fn assign(&mut self, radio: usize, medium: i32) {
        self.places.assign(radio, medium);
    }

    pub fn antenna(&self, radio: usize) -> Antenna {
        self.places.antenna(radio)
    }

    /// From now on powers are those of [`Medium::level`], and this where it says nothing; places
    /// count no more.
    pub fn level_all(&mut self, default_dbm: f64) {
        self.places.level_all(default_dbm);
    }

    /// From now on `src` is heard at `dst` with this power; false where places decide.
    pub fn level(&mut self, src: usize, dst: usize, dbm: f64) -> bool {
        self.places.level(src, dst, dbm)
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

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A link to a neighbour (RFC 3626 §4.2, §7.1), its hysteresis (§14) and its quality.

use crate::message::{LinkType, Qualities};
use crate::settings::Settings;
use hoplab_base::{Duration, Instant};
use hoplab_routing_core::Sequence16;

/// A gap of more packets is a station that began anew.
const MOST_MISSED: u16 = 100;

/// What arrives of a neighbour's packets, of which each has a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Smoothed share, 0 to 1.
    share: f64,
    last: Option<Sequence16>,
    seen: u32,
    /// When the next HELLO is due, with some patience.
    due: Instant,
    interval: Duration,
}

impl Arrivals {
    fn new(now: Instant, interval: Duration) -> Self {
        Arrivals {
            share: 0.0,
            last: None,
            seen: 0,
            due: now + patience(interval),
            interval,
        }
    }

    /// A packet came; those between it and the last one are lost.
    fn came(&mut self, sequence: Sequence16, weight: impl Fn(u32) -> f64) {
        let gap = self.last.map_or(1, |last| sequence.0.wrapping_sub(last.0));
        if gap == 0 {
            return;
        }
        let missed = if gap > MOST_MISSED { 0 } else { gap - 1 };
        for _ in 0..missed {
            self.count(0.0, &weight);
        }
        self.count(1.0, &weight);
        self.last = Some(sequence);
    }

    fn count(&mut self, arrived: f64, weight: impl Fn(u32) -> f64) {
        self.seen = self.seen.saturating_add(1);
        let weight = weight(self.seen);
        self.share = (1.0 - weight) * self.share + weight * arrived;
    }
}

/// A HELLO may be late by its jitter, and wait in a queue.
fn patience(interval: Duration) -> Duration {
    interval + Duration(interval.as_nanos() / 2)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// L_SYM_time, L_ASYM_time and L_time.
    pub symmetric_until: Instant,
    pub heard_until: Instant,
    pub until: Instant,
    /// L_LOST_LINK_time.
    pub lost_until: Instant,
    /// L_link_pending.
    pub pending: bool,
    pub arrivals: Arrivals,
    /// What the neighbour says of this station's packets, of 255.
    pub there: u8,
    pub willingness: u8,
    /// Until when the neighbour sends by this station (MS_time).
    pub selector_until: Instant,
}

impl Link {
    pub fn new(now: Instant, interval: Duration, settings: &Settings) -> Self {
        Link {
            symmetric_until: now,
            heard_until: now,
            until: now,
            lost_until: now,
            pending: settings.hysteresis,
            arrivals: Arrivals::new(now, interval),
            there: 0,
            willingness: 0,
            selector_until: now,
        }
    }

    pub fn is_symmetric(&self, now: Instant) -> bool {
        self.symmetric_until > now && !self.pending && self.lost_until <= now
    }

    pub fn is_selector(&self, now: Instant) -> bool {
        self.selector_until > now && self.is_symmetric(now)
    }

    /// What a HELLO says of it; `None`: nothing (§6.2, §14.2).
    pub fn kind(&self, now: Instant) -> Option<LinkType> {
        if self.lost_until > now {
            return Some(LinkType::Lost);
        }
        if self.pending {
            return None;
        }
        Some(match (self.symmetric_until > now, self.heard_until > now) {
            (true, _) => LinkType::Symmetric,
            (false, true) => LinkType::Asymmetric,
            (false, false) => LinkType::Lost,
        })
    }

    /// A packet came over it (§14.3).
    pub fn came(&mut self, now: Instant, sequence: Sequence16, settings: &Settings) {
        self.arrivals.came(sequence, weight(settings));
        self.judge(now, settings);
    }

    /// A HELLO came, and the next one is due after its interval.
    pub fn expect(&mut self, now: Instant, interval: Duration) {
        self.arrivals.interval = interval;
        self.arrivals.due = now + patience(interval);
    }

    /// No HELLO came in time.
    pub fn silent(&mut self, now: Instant, settings: &Settings) {
        while self.arrivals.due <= now {
            self.arrivals.count(0.0, weight(settings));
            let step = self.arrivals.interval.max(settings.hello_interval_ns);
            self.arrivals.due += step;
        }
        self.judge(now, settings);
    }

    /// Hysteresis (§14.3).
    fn judge(&mut self, now: Instant, settings: &Settings) {
        if !settings.hysteresis {
            return;
        }
        let share = self.arrivals.share;
        if share > settings.hyst_threshold_high {
            self.pending = false;
        } else if share < settings.hyst_threshold_low && !self.pending {
            self.pending = true;
            self.lose(now, settings.neighb_hold_time_ns);
        }
    }

    /// The link is lost for `hold`, and HELLOs say so.
    pub fn lose(&mut self, now: Instant, hold: Duration) {
        self.symmetric_until = now;
        self.lost_until = now + hold;
        self.until = self.until.max(self.lost_until);
    }

    pub fn qualities(&self) -> Qualities {
        Qualities {
            here: rounded(self.arrivals.share * 255.0),
            there: self.there,
        }
    }

    /// When something about it changes by itself, after `now`.
    pub fn next_deadline(&self, now: Instant, settings: &Settings) -> Instant {
        let judged = settings.hysteresis || settings.metric == crate::Metric::Etx;
        let times = [
            self.symmetric_until,
            self.heard_until,
            self.lost_until,
            self.selector_until,
        ];
        let later = times.into_iter().filter(|at| *at > now);
        let due = judged.then_some(self.arrivals.due);
        let first = later.chain(due).min();
        first.map_or(self.until, |at| at.min(self.until))
    }
}

/// Rounds a number from 0 to 255.
fn rounded(value: f64) -> u8 {
    (value + 0.5) as u8
}

/// How much a packet counts. ETX begins with a plain mean, so that a new link is judged at once.
fn weight(settings: &Settings) -> impl Fn(u32) -> f64 + '_ {
    move |seen| match settings.metric {
        crate::Metric::Hops => settings.hyst_scaling,
        crate::Metric::Etx => settings.etx_aging.max(1.0 / f64::from(seen)),
    }
}

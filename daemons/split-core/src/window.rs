// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A custodian's congestion window and timer. Slow start, congestion avoidance and what losses do
//! to them (RFC 5681) are in segments. The timeout comes from the round trip (RFC 6298).

use crate::config::Tuning;
use hoplab_base::{Duration, Instant};

/// RFC 6298 §2: the timeout from samples of the round trip.
#[derive(Clone)]
pub(crate) struct RoundTrip {
    /// Smoothed, and its mean deviation.
    known: Option<(Duration, Duration)>,
    rto: Duration,
    doubled: u32,
    bounds: (Duration, Duration),
}

impl RoundTrip {
    pub fn new(tuning: &Tuning) -> Self {
        RoundTrip {
            known: None,
            rto: tuning.initial_rto,
            doubled: 0,
            bounds: (tuning.min_rto, tuning.max_rto),
        }
    }

    pub fn sample(&mut self, took: Duration) {
        let (smoothed, deviation) = match self.known {
            None => (took, took / 2),
            Some((smoothed, deviation)) => {
                let error = (smoothed - took) + (took - smoothed);
                ((smoothed * 7 + took) / 8, (deviation * 3 + error) / 4)
            }
        };
        self.known = Some((smoothed, deviation));
        self.rto = smoothed + deviation * 4;
        self.doubled = 0;
    }

    /// §5.5: the timer ran out.
    pub fn double(&mut self) {
        self.doubled = (self.doubled + 1).min(16);
    }

    pub fn timeout(&self) -> Duration {
        let rto = self.rto.max(self.bounds.0) * (1 << self.doubled);
        rto.min(self.bounds.1)
    }

    pub fn smoothed(&self) -> Option<Duration> {
        self.known.map(|k| k.0)
    }
}

pub(crate) struct Window {
    size: f64,
    threshold: Option<f64>,
    /// It grows no further.
    most: f64,
    pub round_trip: RoundTrip,
    /// When the timer runs out, while anything is in flight.
    pub expires: Option<Instant>,
}

/// RFC 5681 §3.1, equation 4.
const LEAST_THRESHOLD: f64 = 2.0;

impl Window {
    pub fn new(tuning: &Tuning, most: usize) -> Self {
        let most = most.max(1) as f64;
        Window {
            size: (tuning.initial_window.max(1) as f64).min(most),
            threshold: None,
            most,
            round_trip: RoundTrip::new(tuning),
            expires: None,
        }
    }

    pub fn size(&self) -> f64 {
        self.size
    }

    pub fn segments(&self) -> usize {
        self.size as usize
    }

    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// §3.1: `segments` have been acknowledged while the window was in use.
    pub fn grow(&mut self, segments: usize) {
        for _ in 0..segments {
            let slow_start = self.threshold.is_none_or(|t| self.size < t);
            self.size += if slow_start { 1.0 } else { 1.0 / self.size };
        }
        self.size = self.size.min(self.most);
    }

    /// §3.2: a loss that later segments show.
    pub fn halve(&mut self, in_flight: usize) {
        let threshold = (in_flight as f64 / 2.0).max(LEAST_THRESHOLD);
        self.threshold = Some(threshold);
        self.size = threshold.min(self.most);
    }

    /// §3.1: the timer ran out.
    pub fn collapse(&mut self, in_flight: usize) {
        self.threshold = Some((in_flight as f64 / 2.0).max(LEAST_THRESHOLD));
        self.size = 1.0;
        self.round_trip.double();
    }

    /// RFC 6298 §5: started again at whatever shows progress.
    pub fn restart(&mut self, now: Instant, in_flight: usize) {
        self.expires = (in_flight > 0).then(|| now + self.round_trip.timeout());
    }
}

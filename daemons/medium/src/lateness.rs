// SPDX-License-Identifier: Apache-2.0
//! How late deliveries were in real time, how long the daemon was held up, and whether a run can be
//! trusted.

use hoplab_medium_core::Duration;
use serde_json::{json, Value};

/// A delivery later than this disturbs what hosts measure. It is the clock tick of a kernel with
/// HZ=1000, and a seventh of a 1500-byte exchange at 2 Mbit/s.
const LATE: Duration = Duration::from_millis(1);
/// Share of late deliveries from which a run is not trusted.
const SHARE: f64 = 0.01;
const BINS: usize = 32;
/// Held up for longer, the daemon was stopped or starved. In virtual time other programs take
/// microseconds, and a wait without limit some ticks more than its second. In real time a busy
/// machine takes tenths of a second.
const HELD_UP: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(100)];

/// Histogram over powers of two of a microsecond.
#[derive(Default)]
pub struct Lateness {
    virtual_time: bool,
    held_up: u64,
    held_up_for: Duration,
    bins: [u64; BINS],
    late: u64,
    count: u64,
    worst: Duration,
}

impl Lateness {
    pub fn new(virtual_time: bool) -> Self {
        Self {
            virtual_time,
            ..Self::default()
        }
    }

    /// A wait ended this long after it should have.
    pub fn woken(&mut self, late: Duration) {
        if late > HELD_UP[usize::from(self.virtual_time)] {
            self.held_up += 1;
            self.held_up_for += late;
        }
    }

    /// `deliveries` left this long after they were due.
    pub fn add(&mut self, late: Duration, deliveries: u64) {
        let bin = (64 - (late.as_nanos() / 1000).leading_zeros()) as usize;
        self.bins[bin.min(BINS - 1)] += deliveries;
        self.count += deliveries;
        self.worst = self.worst.max(late);
        if late > LATE {
            self.late += deliveries;
        }
    }

    /// Why the run is not to be trusted.
    pub fn doubts(&self) -> Vec<String> {
        let held_up = (self.held_up > 0).then(|| {
            format!(
                "the medium was held up {} times, for {:.3} s together: was it stopped?",
                self.held_up,
                self.held_up_for.as_secs_f64()
            )
        });
        self.too_many_late().into_iter().chain(held_up).collect()
    }

    fn too_many_late(&self) -> Option<String> {
        let share = self.late as f64 / self.count.max(1) as f64;
        (share > SHARE).then(|| {
            format!(
                "{:.1} % of {} deliveries were over {} ms late (worst {:.1} ms): \
                 use a faster machine, a smaller network or virtual time",
                100.0 * share,
                self.count,
                1e3 * LATE.as_secs_f64(),
                1e3 * self.worst.as_secs_f64()
            )
        })
    }

    /// Each bin that is not empty: below how many microseconds, how many deliveries; null in
    /// virtual time.
    pub fn as_json(&self) -> Value {
        if self.virtual_time {
            return Value::Null;
        }
        let bins = self.bins.iter().enumerate().filter(|bin| *bin.1 > 0);
        let bins: Vec<Value> = bins
            .map(|(i, count)| json!({"below_us": 1u64 << i, "deliveries": count}))
            .collect();
        json!({"deliveries": self.count, "late": self.late, "worst_us": self.worst.as_nanos() / 1000,
            "histogram": bins})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_may_be_late() {
        let mut lateness = Lateness::default();
        lateness.add(Duration::from_nanos(20_000), 99);
        lateness.add(Duration::from_nanos(2_000_000), 1);
        assert_eq!(lateness.too_many_late(), None);
        lateness.add(Duration::from_nanos(2_000_000), 1);
        assert!(lateness
            .too_many_late()
            .is_some_and(|why| why.contains("2.0 %")));
        let told = lateness.as_json();
        assert_eq!(
            told["histogram"][0],
            json!({"below_us": 32, "deliveries": 99})
        );
        assert_eq!(
            told["histogram"][1],
            json!({"below_us": 2048, "deliveries": 2})
        );
    }

    #[test]
    fn a_daemon_that_was_held_up_says_so() {
        for virtual_time in [false, true] {
            let mut lateness = Lateness::new(virtual_time);
            lateness.woken(Duration::from_nanos(90_000_000));
            assert_eq!(lateness.doubts(), [""; 0]);
            lateness.woken(Duration::from_nanos(3_000_000_000));
            let doubts = lateness.doubts();
            assert!(
                doubts[0].contains("held up 1 times, for 3.000 s"),
                "{doubts:?}"
            );
        }
    }
}

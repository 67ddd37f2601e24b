// SPDX-License-Identifier: Apache-2.0
//! How late deliveries were in real time, and whether a run can be trusted.

use serde_json::{json, Value};

/// A delivery later than this disturbs what hosts measure: it is the clock tick of a kernel with
/// HZ=1000 and a seventh of a 1500-byte exchange at 2 Mbit/s.
const LATE_NS: u64 = 1_000_000;
/// Share of late deliveries from which a run is not trusted.
const SHARE: f64 = 0.01;
const BINS: usize = 32;

/// Histogram over powers of two of a microsecond.
#[derive(Default)]
pub struct Lateness {
    bins: [u64; BINS],
    late: u64,
    count: u64,
    worst_ns: u64,
}

impl Lateness {
    /// `wakes` deliveries left `late_ns` after they were due.
    pub fn add(&mut self, late_ns: u64, deliveries: u64) {
        let bin = (64 - (late_ns / 1000).leading_zeros()) as usize;
        self.bins[bin.min(BINS - 1)] += deliveries;
        self.count += deliveries;
        self.worst_ns = self.worst_ns.max(late_ns);
        if late_ns > LATE_NS {
            self.late += deliveries;
        }
    }

    /// Why the run is not to be trusted.
    pub fn verdict(&self) -> Option<String> {
        let share = self.late as f64 / self.count.max(1) as f64;
        (share > SHARE).then(|| {
            format!(
                "{:.1} % of {} deliveries were over {} ms late (worst {:.1} ms): \
                 use a faster machine, a smaller network or virtual time",
                100.0 * share,
                self.count,
                LATE_NS / 1_000_000,
                self.worst_ns as f64 / 1e6
            )
        })
    }

    /// Each bin that is not empty: below how many microseconds, how many deliveries.
    pub fn report(&self) -> Value {
        let bins = self.bins.iter().enumerate().filter(|bin| *bin.1 > 0);
        let bins: Vec<Value> = bins
            .map(|(i, count)| json!({"below_us": 1u64 << i, "deliveries": count}))
            .collect();
        json!({"deliveries": self.count, "late": self.late, "worst_us": self.worst_ns / 1000,
            "histogram": bins})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_may_be_late() {
        let mut lateness = Lateness::default();
        lateness.add(20_000, 99);
        lateness.add(2_000_000, 1);
        assert_eq!(lateness.verdict(), None);
        lateness.add(2_000_000, 1);
        assert!(lateness.verdict().is_some_and(|why| why.contains("2.0 %")));
        let report = lateness.report();
        assert_eq!(
            report["histogram"][0],
            json!({"below_us": 32, "deliveries": 99})
        );
        assert_eq!(
            report["histogram"][1],
            json!({"below_us": 2048, "deliveries": 2})
        );
    }
}

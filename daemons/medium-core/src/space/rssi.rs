// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Powers of links that are given, wherever their ends are.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use hoplab_base::Instant;

use crate::{Dbm, RadioId};

pub struct RssiMatrix {
    default_dbm: Dbm,
    /// Of each link its power at times, in their order.
    links: BTreeMap<(RadioId, RadioId), Vec<(Instant, Dbm)>>,
}

impl RssiMatrix {
    /// Every link has this power.
    pub fn new(default_dbm: Dbm) -> Self {
        Self {
            default_dbm,
            links: BTreeMap::new(),
        }
    }

    pub fn set(&mut self, from: RadioId, to: RadioId, dbm: Dbm) {
        self.trace(from, to, alloc::vec![(Instant::ZERO, dbm)]);
    }

    /// The link's power at `points`, which are in order of time. It is linear between two of
    /// them, and constant before the first and after the last. Two points at one time are a jump.
    pub fn trace(&mut self, from: RadioId, to: RadioId, points: Vec<(Instant, Dbm)>) {
        self.links.insert((from, to), points);
    }

    pub fn dbm(&self, from: RadioId, to: RadioId, at: Instant) -> Dbm {
        let points = self.links.get(&(from, to)).map_or(&[][..], |link| link);
        let after = points.partition_point(|(time, _)| *time <= at);
        match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
            (None, None) => self.default_dbm,
            (None, Some(&(_, first))) => first,
            (Some((_, last)), None) => last,
            (Some((begin, from)), Some(&(end, to))) => {
                let part = at.since(begin).as_nanos() as f64 / end.since(begin).as_nanos() as f64;
                from + (to - from) * part
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_its_own_power_one_way() {
        let mut matrix = RssiMatrix::new(Dbm(-90.0));
        let [a, b] = [0, 1].map(RadioId::new);
        matrix.set(a, b, Dbm(-50.0));
        let at = Instant(7);
        let both = [matrix.dbm(a, b, at), matrix.dbm(b, a, at)];
        assert_eq!(both, [-50.0, -90.0].map(Dbm));
    }

    #[test]
    fn a_power_is_linear_between_its_points_and_jumps_where_two_share_a_time() {
        let mut matrix = RssiMatrix::new(Dbm(-90.0));
        let [a, b] = [0, 1].map(RadioId::new);
        let points = [(10, -60.0), (20, -80.0), (20, -40.0), (30, -50.0)];
        matrix.trace(a, b, points.map(|(at, dbm)| (Instant(at), Dbm(dbm))).into());
        for (at, dbm) in [
            (0, -60.0),
            (10, -60.0),
            (15, -70.0),
            (19, -78.0),
            (20, -40.0),
            (25, -45.0),
            (30, -50.0),
            (99, -50.0),
        ] {
            assert_eq!(matrix.dbm(a, b, Instant(at)), Dbm(dbm), "at {at}");
        }
    }
}

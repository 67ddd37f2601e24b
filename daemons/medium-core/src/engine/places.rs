// SPDX-License-Identifier: Apache-2.0
//! Where radios are and which of them a signal reaches.
//!
//! Radios are sorted into square cells as wide as a signal reaches, so that a transmission looks
//! at its surroundings and not at every radio. The cells of moving radios hold for a while; the
//! distance that the fastest may have gone since then widens the search, and powers are computed
//! from the exact places of the moment.

use std::collections::BTreeMap;

use super::radio::Heard;
use super::{Params, Station};
use crate::{Nanos, Propagation, Stream};

/// Shadowing beyond this many standard deviations (1 link in 16 000) is cut, so that reach is
/// bounded.
const SHADOWING_LIMIT: f64 = 4.0;
/// Shortest time for which cells of moving radios hold.
const SHORTEST: Nanos = 1_000_000;

/// Place at `at`, exact by the waypoints: linear between, at rest before and after.
pub fn position(station: &Station, at: Nanos) -> (f64, f64) {
    let points = &station.waypoints;
    let after = points.partition_point(|point| point.0 <= at);
    if after == 0 {
        return points.first().map_or((0.0, 0.0), |p| (p.1, p.2));
    }
    let (t0, x0, y0) = points[after - 1];
    let Some(&(t1, x1, y1)) = points.get(after) else {
        return (x0, y0);
    };
    let part = (at - t0) as f64 / (t1 - t0) as f64;
    (x0 + (x1 - x0) * part, y0 + (y1 - y0) * part)
}

pub(super) struct Places {
    stations: Vec<Station>,
    propagation: Propagation,
    seed: u64,
    shadowing_db: f64,
    shadowing: BTreeMap<(usize, usize), f64>,
    /// Mean power below which a signal counts nowhere.
    floor_dbm: f64,
    reach_m: f64,
    moves: bool,
    /// Neighbours of radios that never move, in order of radio.
    fixed: Vec<Vec<Heard>>,
    cells: BTreeMap<(i64, i64), Vec<usize>>,
    cells_until: Nanos,
    slack_m: f64,
    fastest_m_per_ns: f64,
    /// Times at which a radio is suddenly elsewhere.
    jumps: Vec<Nanos>,
}

impl Places {
    pub fn new(params: &Params, stations: Vec<Station>) -> Self {
        let fade_db = params.fading.limit_db();
        let floor_dbm = params.floor_dbm() - fade_db;
        let margin_db = SHADOWING_LIMIT * params.shadowing_db;
        let steps = || {
            let pairs = stations.iter().flat_map(|s| s.waypoints.windows(2));
            pairs.map(|w| {
                let way = (w[1].1 - w[0].1).hypot(w[1].2 - w[0].2);
                (w[0].0, w[1].0, way)
            })
        };
        let fastest = steps()
            .filter(|step| step.1 > step.0)
            .map(|(from, to, way)| way / (to - from) as f64)
            .fold(0.0, f64::max);
        let mut jumps: Vec<Nanos> = steps()
            .filter(|step| step.1 == step.0 && step.2 > 0.0)
            .map(|step| step.1)
            .collect();
        jumps.sort_unstable();
        let mut places = Self {
            moves: stations.iter().any(|s| s.waypoints.len() > 1),
            reach_m: params.propagation.reach_m(floor_dbm - margin_db),
            stations,
            propagation: params.propagation.clone(),
            seed: params.seed,
            shadowing_db: params.shadowing_db,
            shadowing: BTreeMap::new(),
            floor_dbm,
            fixed: Vec::new(),
            cells: BTreeMap::new(),
            cells_until: 0,
            slack_m: 0.0,
            fastest_m_per_ns: fastest,
            jumps,
        };
        if !places.moves {
            places.sort_into_cells(0);
            for radio in 0..places.stations.len() {
                let mut found = Vec::new();
                places.search(radio, 0, &mut found);
                places.fixed.push(found);
            }
        }
        places
    }

    /// Radios that `radio`'s signal reaches at `now` in the mean, in their order, without itself.
    pub fn neighbours(&mut self, radio: usize, now: Nanos, found: &mut Vec<Heard>) {
        found.clear();
        if !self.moves {
            found.extend_from_slice(&self.fixed[radio]);
            return;
        }
        if now >= self.cells_until {
            self.sort_into_cells(now);
        }
        self.search(radio, now, found);
    }

    /// Mean power in dBm of `from` at `to`.
    pub fn mean_dbm(&mut self, from: usize, to: usize, now: Nanos) -> f64 {
        let (a, b) = (self.position(from, now), self.position(to, now));
        self.dbm(from, to, (a.0 - b.0).hypot(a.1 - b.1))
    }

    pub fn position(&self, radio: usize, at: Nanos) -> (f64, f64) {
        position(&self.stations[radio], at)
    }

    fn dbm(&mut self, from: usize, to: usize, distance_m: f64) -> f64 {
        let mean = self.propagation.received_dbm(distance_m);
        if self.shadowing_db == 0.0 {
            return mean;
        }
        // The same both ways, and for the whole run.
        let pair = (from.min(to), from.max(to));
        let (seed, stations) = (self.seed, &self.stations);
        let deviation = self.shadowing.entry(pair).or_insert_with(|| {
            let names = (&stations[pair.0].name, &stations[pair.1].name);
            let name = format!("medium/shadowing/{}/{}", names.0, names.1);
            let drawn = Stream::new(seed, &name).gaussian();
            drawn.clamp(-SHADOWING_LIMIT, SHADOWING_LIMIT)
        });
        mean + *deviation * self.shadowing_db
    }

    fn sort_into_cells(&mut self, now: Nanos) {
        self.cells.clear();
        for radio in 0..self.stations.len() {
            let (x, y) = self.position(radio, now);
            let cell = (self.cell(x), self.cell(y));
            self.cells.entry(cell).or_default().push(radio);
        }
        if self.fastest_m_per_ns > 0.0 {
            let hold = (self.reach_m / 8.0 / self.fastest_m_per_ns).min(1e18) as Nanos;
            self.cells_until = now.saturating_add(hold.max(SHORTEST));
        } else {
            self.cells_until = Nanos::MAX;
        }
        let next = self.jumps.partition_point(|jump| *jump <= now);
        if let Some(jump) = self.jumps.get(next) {
            self.cells_until = self.cells_until.min(*jump);
        }
        self.slack_m = self.fastest_m_per_ns * self.cells_until.saturating_sub(now) as f64;
    }

    fn cell(&self, metres: f64) -> i64 {
        (metres / self.reach_m).floor() as i64
    }

    fn search(&mut self, radio: usize, now: Nanos, found: &mut Vec<Heard>) {
        let (x, y) = self.position(radio, now);
        let reach = self.reach_m + self.slack_m;
        let mut near: Vec<usize> = Vec::new();
        for column in self.cell(x - reach)..=self.cell(x + reach) {
            let rows = (column, self.cell(y - reach))..=(column, self.cell(y + reach));
            for cell in self.cells.range(rows) {
                near.extend_from_slice(cell.1);
            }
        }
        near.sort_unstable();
        for other in near {
            if other == radio {
                continue;
            }
            let place = self.position(other, now);
            let dbm = self.dbm(radio, other, (x - place.0).hypot(y - place.1));
            if dbm >= self.floor_dbm {
                let mw = 10f64.powf(dbm / 10.0);
                found.push(Heard {
                    radio: other,
                    dbm,
                    mw,
                });
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Where radios are and which of them a signal reaches.
//!
//! Radios are sorted into square cells as wide as a signal reaches, so that a transmission looks
//! at its surroundings and not at every radio. The cells of moving radios hold for a while; the
//! distance that the fastest may have gone since then widens the search, and powers are computed
//! from the exact places of the moment.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant, Stream};

use crate::propagation::{from_db, Propagation};
use crate::Params;

/// A point of the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    pub x_m: f64,
    pub y_m: f64,
}

impl Place {
    pub const fn new(x_m: f64, y_m: f64) -> Self {
        Self { x_m, y_m }
    }

    fn distance_m(self, other: Self) -> f64 {
        let (x_m, y_m) = (self.x_m - other.x_m, self.y_m - other.y_m);
        libm::sqrt(x_m * x_m + y_m * y_m)
    }
}

/// Where a radio is at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    pub at: Instant,
    pub place: Place,
}

impl Waypoint {
    pub const fn new(at: Instant, place: Place) -> Self {
        Self { at, place }
    }
}

/// A radio's name and way: linear between its points, at rest before and after. Two points at one
/// time are a jump.
#[derive(Clone, Debug)]
pub struct Station {
    pub name: String,
    pub waypoints: Vec<Waypoint>,
}

impl Station {
    /// At rest.
    pub fn at(name: &str, place: Place) -> Self {
        Self {
            name: name.into(),
            waypoints: alloc::vec![Waypoint::new(Instant::ZERO, place)],
        }
    }

    /// Where it is, exact by its waypoints.
    pub fn place(&self, at: Instant) -> Place {
        let points = &self.waypoints;
        let after = points.partition_point(|point| point.at <= at);
        let Some(before) = after.checked_sub(1).map(|before| points[before]) else {
            return points.first().map_or(Place::default(), |point| point.place);
        };
        let (Some(next), start) = (points.get(after), before.place) else {
            return before.place;
        };
        let part =
            at.since(before.at).as_nanos() as f64 / next.at.since(before.at).as_nanos() as f64;
        Place {
            x_m: start.x_m + (next.place.x_m - start.x_m) * part,
            y_m: start.y_m + (next.place.y_m - start.y_m) * part,
        }
    }
}

/// A radio that a signal reaches.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    pub radio: usize,
    pub dbm: f64,
    pub mw: f64,
}

/// Shadowing beyond this many standard deviations (1 link in 16 000) is cut, so that reach is
/// bounded.
const SHADOWING_LIMIT: f64 = 4.0;
/// Shortest time for which cells of moving radios hold.
const SHORTEST: Duration = Duration::from_millis(1);

pub struct Places {
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
    cells_until: Instant,
    slack_m: f64,
    fastest_m_per_ns: f64,
    /// Times at which a radio is suddenly elsewhere.
    jumps: Vec<Instant>,
}

impl Places {
    pub fn new(params: &Params, stations: Vec<Station>) -> Self {
        let fade_db = params.fading.limit_db();
        let floor_dbm = params.floor_dbm() - fade_db;
        let margin_db = SHADOWING_LIMIT * params.shadowing_db;
        let steps = || {
            stations
                .iter()
                .flat_map(|station| station.waypoints.windows(2))
        };
        let way_m = |step: &[Waypoint]| step[0].place.distance_m(step[1].place);
        let lasts = |step: &[Waypoint]| step[1].at.since(step[0].at);
        let fastest = steps()
            .filter(|step| !lasts(step).is_zero())
            .map(|step| way_m(step) / lasts(step).as_nanos() as f64)
            .fold(0.0, f64::max);
        let mut jumps: Vec<Instant> = steps()
            .filter(|step| lasts(step).is_zero() && way_m(step) > 0.0)
            .map(|step| step[1].at)
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
            cells_until: Instant::ZERO,
            slack_m: 0.0,
            fastest_m_per_ns: fastest,
            jumps,
        };
        if !places.moves {
            places.sort_into_cells(Instant::ZERO);
            for radio in 0..places.stations.len() {
                let mut found = Vec::new();
                places.search(radio, Instant::ZERO, &mut found);
                places.fixed.push(found);
            }
        }
        places
    }

    /// From `now` on the radio is at `place`, and stays.
    pub fn put(&mut self, radio: usize, place: Place, now: Instant) {
        let before = self.place(radio, now);
        self.stations[radio].waypoints =
            alloc::vec![Waypoint::new(now, before), Waypoint::new(now, place)];
        self.moves = true;
        self.cells_until = Instant::ZERO;
    }

    /// Radios that `radio`'s signal reaches at `now` in the mean, in their order, without itself.
    pub fn neighbours(&mut self, radio: usize, now: Instant, found: &mut Vec<Heard>) {
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
    pub fn mean_dbm(&mut self, from: usize, to: usize, now: Instant) -> f64 {
        let way_m = self.place(from, now).distance_m(self.place(to, now));
        self.dbm(from, to, way_m)
    }

    pub fn place(&self, radio: usize, at: Instant) -> Place {
        self.stations[radio].place(at)
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

    fn sort_into_cells(&mut self, now: Instant) {
        self.cells.clear();
        for radio in 0..self.stations.len() {
            let Place { x_m, y_m } = self.place(radio, now);
            let cell = (self.cell(x_m), self.cell(y_m));
            self.cells.entry(cell).or_default().push(radio);
        }
        if self.fastest_m_per_ns > 0.0 {
            let hold = (self.reach_m / 8.0 / self.fastest_m_per_ns).min(1e18);
            self.cells_until = now + Duration::from_nanos(hold as u64).max(SHORTEST);
        } else {
            self.cells_until = Instant::MAX;
        }
        let next = self.jumps.partition_point(|jump| *jump <= now);
        if let Some(jump) = self.jumps.get(next) {
            self.cells_until = self.cells_until.min(*jump);
        }
        self.slack_m = self.fastest_m_per_ns * self.cells_until.since(now).as_nanos() as f64;
    }

    fn cell(&self, metres: f64) -> i64 {
        libm::floor(metres / self.reach_m) as i64
    }

    fn search(&mut self, radio: usize, now: Instant, found: &mut Vec<Heard>) {
        let here = self.place(radio, now);
        let Place { x_m: x, y_m: y } = here;
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
            let way_m = here.distance_m(self.place(other, now));
            let dbm = self.dbm(radio, other, way_m);
            if dbm >= self.floor_dbm {
                let mw = from_db(dbm);
                found.push(Heard {
                    radio: other,
                    dbm,
                    mw,
                });
            }
        }
    }
}

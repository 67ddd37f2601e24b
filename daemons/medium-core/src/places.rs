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

use crate::propagation::{from_db, Antenna, Propagation};
use crate::Params;

/// A point in space, mostly on its ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    pub x_m: f64,
    pub y_m: f64,
    pub z_m: f64,
}

impl Place {
    /// On the ground.
    pub const fn new(x_m: f64, y_m: f64) -> Self {
        Self { x_m, y_m, z_m: 0.0 }
    }

    fn distance_m(self, other: Self) -> f64 {
        let (x_m, y_m) = (self.x_m - other.x_m, self.y_m - other.y_m);
        let z_m = self.z_m - other.z_m;
        libm::sqrt(x_m * x_m + y_m * y_m + z_m * z_m)
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
            z_m: start.z_m + (next.place.z_m - start.z_m) * part,
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
    /// Of each radio, once one has its own.
    antennas: Vec<Antenna>,
    /// What is given instead of places.
    levels: Option<Levels>,
    /// Of each radio, once one was tuned.
    tuned: Vec<Tuned>,
    /// Deviations that make reach longer.
    margin_db: f64,
}

/// Where a radio sends and listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tuned {
    /// Radios of one medium hear each other, on whatever channel.
    medium: i32,
    /// None: it has not sent yet, and listens everywhere.
    mhz: Option<u32>,
}

/// Powers of links, wherever their ends are.
struct Levels {
    default_dbm: f64,
    links: BTreeMap<(usize, usize), f64>,
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
            antennas: Vec::new(),
            levels: None,
            tuned: Vec::new(),
            margin_db,
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

    /// From now on the radio has this antenna and power.
    pub fn equip(&mut self, radio: usize, antenna: Antenna) {
        if self.antennas.is_empty() {
            self.antennas = alloc::vec![self.propagation.antenna(); self.stations.len()];
        }
        self.antennas[radio] = antenna;
        // As far as the strongest of each could reach.
        let mut best = antenna;
        for other in &self.antennas {
            best.tx_power_dbm = best.tx_power_dbm.max(other.tx_power_dbm);
            best.gain_dbi = best.gain_dbi.max(other.gain_dbi);
            best.height_m = best.height_m.max(other.height_m);
            best.frequency_mhz = best.frequency_mhz.min(other.frequency_mhz);
        }
        let strongest = Propagation {
            tx_power_dbm: best.tx_power_dbm,
            antenna_gain_dbi: best.gain_dbi,
            antenna_height_m: best.height_m,
            frequency_mhz: best.frequency_mhz,
            ..self.propagation.clone()
        };
        self.reach_m = strongest.reach_m(self.floor_dbm - self.margin_db);
        self.moves = true;
        self.cells_until = Instant::ZERO;
    }

    pub fn antenna(&self, radio: usize) -> Antenna {
        let own = self.antennas.get(radio).copied();
        own.unwrap_or_else(|| self.propagation.antenna())
    }

    /// From now on the radio is on this channel.
    pub fn tune(&mut self, radio: usize, mhz: u32) {
        let tuned = self.tuned_mut(radio);
        if tuned.mhz != Some(mhz) {
            tuned.mhz = Some(mhz);
            let antenna = Antenna {
                frequency_mhz: mhz.into(),
                ..self.antenna(radio)
            };
            self.equip(radio, antenna);
        }
    }

    /// From now on only radios of the same medium hear it, and it them; 0 is everybody's first.
    pub fn assign(&mut self, radio: usize, medium: i32) {
        self.tuned_mut(radio).medium = medium;
        self.moves = true;
    }

    fn tuned_mut(&mut self, radio: usize) -> &mut Tuned {
        self.tuned.resize(self.stations.len(), Tuned::default());
        &mut self.tuned[radio]
    }

    /// Whether `to` listens where `from` sends.
    fn listens(&self, from: usize, to: usize) -> bool {
        match (self.tuned.get(from), self.tuned.get(to)) {
            (Some(from), Some(to)) => {
                from.medium == to.medium && (to.mhz.is_none() || from.mhz == to.mhz)
            }
            _ => true,
        }
    }

    /// From now on places count for nothing: a link has this power, or what [`Self::level`] gives it.
    pub fn level_all(&mut self, default_dbm: f64) {
        self.levels = Some(Levels {
            default_dbm,
            links: BTreeMap::new(),
        });
        self.moves = true;
    }

    /// From now on the link has this power, where powers are given; whether they are.
    pub fn level(&mut self, from: usize, to: usize, dbm: f64) -> bool {
        let levels = self.levels.as_mut();
        levels.is_some_and(|levels| {
            levels.links.insert((from, to), dbm);
            true
        })
    }

    /// Radios that `radio`'s signal reaches at `now` in the mean, in their order, without itself.
    pub fn neighbours(&mut self, radio: usize, now: Instant, found: &mut Vec<Heard>) {
        found.clear();
        if !self.moves {
            found.extend_from_slice(&self.fixed[radio]);
            return;
        }
        if let Some(levels) = &self.levels {
            for other in 0..self.stations.len() {
                if other == radio || !self.listens(radio, other) {
                    continue;
                }
                let link = levels.links.get(&(radio, other));
                let dbm = link.copied().unwrap_or(levels.default_dbm);
                found.extend(self.heard(other, dbm));
            }
            return;
        }
        if now >= self.cells_until {
            self.sort_into_cells(now);
        }
        self.search(radio, now, found);
    }

    /// Mean power in dBm of `from` at `to`.
    pub fn mean_dbm(&mut self, from: usize, to: usize, now: Instant) -> f64 {
        if let Some(levels) = &self.levels {
            return levels
                .links
                .get(&(from, to))
                .copied()
                .unwrap_or(levels.default_dbm);
        }
        let way_m = self.place(from, now).distance_m(self.place(to, now));
        self.dbm(from, to, way_m)
    }

    pub fn place(&self, radio: usize, at: Instant) -> Place {
        self.stations[radio].place(at)
    }

    fn dbm(&mut self, from: usize, to: usize, distance_m: f64) -> f64 {
        let mean = match self.antennas.is_empty() {
            true => self.propagation.received_dbm(distance_m),
            false => {
                let (from, to) = (&self.antennas[from], &self.antennas[to]);
                self.propagation.between(from, to, distance_m)
            }
        };
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
            let Place { x_m, y_m, .. } = self.place(radio, now);
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
        let Place { x_m: x, y_m: y, .. } = here;
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
            if other == radio || !self.listens(radio, other) {
                continue;
            }
            let way_m = here.distance_m(self.place(other, now));
            let dbm = self.dbm(radio, other, way_m);
            found.extend(self.heard(other, dbm));
        }
    }

    /// A radio that a signal reaches with `dbm`; none where that is below the floor.
    fn heard(&self, radio: usize, dbm: f64) -> Option<Heard> {
        (dbm >= self.floor_dbm).then(|| Heard {
            radio,
            dbm,
            mw: from_db(dbm),
        })
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which radios a signal reaches, and with which power.

mod antennas;
mod band;
mod cells;
mod interferer;
mod mobility;
mod obstacles;
mod propagation;
mod rssi;
mod shadowing;
mod tuning;

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use crate::{Dbm, LinkId, MediumId, Mhz, Params, RadioId, Subchannels, Width};
use antennas::Antennas;
use band::Heard;
use cells::Cells;
use mobility::Pace;
use obstacles::Obstacles;
use rssi::RssiMatrix;
use shadowing::Shadowing;
use tuning::Tuning;

pub use band::{Extent, Hear, Sides, Span};
pub use interferer::{Course, Emission, Interferer, Share};
pub use mobility::{Position, Station, Waypoint};
pub use obstacles::{Floor, Wall};
pub use propagation::{Antenna, Fading, Model, Propagation};

/// A radio that a signal reaches.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    pub radio: RadioId,
    pub dbm: Dbm,
    pub mw: f64,
    pub hear: Hear,
    /// What it takes of the radio's channel.
    pub span: Span,
    /// How long the signal takes to it.
    pub delay: Duration,
}

impl Neighbour {
    /// Energy that is no signal of a radio.
    pub fn energy(radio: RadioId, dbm: Dbm) -> Self {
        Self {
            radio,
            dbm,
            mw: dbm.mw(),
            hear: Hear::Leak,
            span: Span::default(),
            delay: Duration::ZERO,
        }
    }

    /// Whether there is one on its primary channel.
    pub fn has_preamble(&self) -> bool {
        matches!(self.hear, Hear::Frame | Hear::Preamble)
    }
}

/// Of light, in a vacuum.
const METRES_PER_NS: f64 = 0.299_792_458;

/// Power of a link that was not measured: as good as none, and a number that a table takes.
const SILENT: Dbm = Dbm(-200.0);

pub struct Space {
    stations: Vec<Station>,
    pace: Pace,
    cells: Cells,
    propagation: Propagation,
    shadowing: Shadowing,
    obstacles: Obstacles,
    antennas: Antennas,
    tuning: Tuning,
    /// Powers of links, if they are given instead of positions.
    rssi: Option<RssiMatrix>,
    /// Mean power below which a signal counts nowhere.
    floor_dbm: Dbm,
    /// The same where deviations make reach longer.
    least_dbm: Dbm,
    reach_m: f64,
    /// Neighbours of radios in their order, until something moves or changes.
    fixed: Option<Vec<Vec<Neighbour>>>,
    /// The longest that a signal may take; none where signals are everywhere at once.
    longest_delay: Option<Duration>,
    /// Memory that is used again.
    near: Vec<RadioId>,
}

impl Space {
    pub fn new(params: &Params, stations: Vec<Station>) -> Self {
        // Fading may lift a signal by its limit, so weaker means count. Shadowing may favour a link
        // by its own limit, so the search must reach that much further.
        let floor_dbm = params.floor_dbm() - params.fading.limit_db();
        let least_dbm = floor_dbm - shadowing::LIMIT * params.shadowing_db;
        let moves = stations.iter().any(|s| s.waypoints.len() > 1);
        let mut space = Self {
            pace: Pace::of(&stations),
            cells: Cells::default(),
            antennas: Antennas::new(&params.propagation),
            reach_m: params.propagation.reach_m(least_dbm),
            stations,
            propagation: params.propagation.clone(),
            shadowing: Shadowing::new(
                params.seed,
                params.shadowing_db,
                params.shadowing_correlation_m,
            ),
            obstacles: Obstacles::new(&params.walls, &params.floors),
            tuning: Tuning::new(params),
            rssi: None,
            floor_dbm,
            least_dbm,
            fixed: None,
            // The acknowledgement of a signal that takes half a slot comes too late already. Within
            // one slot every frame arrives before its sender gives up.
            longest_delay: params.delay.then_some(params.phy.slot),
            near: Vec::new(),
        };
        // Nothing moves, so a search for each radio is enough for the run.
        if !moves && !space.tuning.has_widths() {
            let each = (0..space.stations.len()).map(|radio| {
                let mut found = Vec::new();
                space.search(
                    RadioId::new(radio),
                    Extent::NARROW,
                    Instant::ZERO,
                    &mut found,
                );
                found
            });
            space.fixed = Some(each.collect());
        }
        space
    }

    /// There is a radio more, on every channel until it is tuned.
    pub fn add(&mut self, station: Station) {
        self.stations.push(station);
        self.pace = Pace::of(&self.stations);
        self.antennas.grow(self.stations.len());
        self.tuning.grow(self.stations.len());
        self.changed();
    }

    fn changed(&mut self) {
        // It stays none: after a change from outside each frame searches anew.
        self.fixed = None;
        self.cells.expire();
    }

    /// From `now` on the radio is at `position`, and stays.
    pub fn put(&mut self, radio: RadioId, position: Position, now: Instant) {
        self.stations[radio.index()].put(position, now);
        self.changed();
    }

    /// From now on the radio has this antenna and power.
    pub fn fit(&mut self, radio: RadioId, antenna: Antenna) {
        self.antennas.fit(radio, self.stations.len(), antenna);
        // The search has one reach for all pairs: that of the best antennas at both ends.
        let best = self.antennas.strongest(antenna);
        let strongest = Propagation {
            tx_power_dbm: best.tx_power_dbm,
            antenna_gain_dbi: best.gain_dbi,
            antenna_height_m: best.height_m,
            frequency_mhz: best.frequency_mhz,
            ..self.propagation.clone()
        };
        self.reach_m = strongest.reach_m(self.least_dbm);
        self.changed();
    }

    pub fn antenna(&self, radio: RadioId) -> Antenna {
        self.antennas.of(radio)
    }

    /// From now on the radio is on this channel.
    pub fn tune(&mut self, radio: RadioId, channel: Mhz) {
        if self.tuning.tune(radio, self.stations.len(), channel) {
            let antenna = Antenna {
                frequency_mhz: channel.0.into(),
                ..self.antenna(radio)
            };
            self.fit(radio, antenna);
        }
    }

    /// From now on the radio is on this channel; its signals stay as strong as they were. Returns
    /// whether it was on another.
    pub fn place_on(&mut self, radio: RadioId, channel: Mhz) -> bool {
        let is_new = self.tuning.tune(radio, self.stations.len(), channel);
        if is_new {
            self.changed();
        }
        is_new
    }

    /// From now on only radios of the same medium hear it, and it them.
    pub fn assign(&mut self, radio: RadioId, medium: MediumId) {
        self.tuning.assign(radio, self.stations.len(), medium);
        self.changed();
    }

    /// From now on positions count for nothing: a link has this power, or what [`Self::set_rssi`]
    /// gives it.
    pub fn set_rssi_of_all(&mut self, dbm: Dbm) {
        self.rssi = Some(RssiMatrix::new(dbm));
        self.changed();
    }

    /// From now on the link has this power, where powers are given; whether they are.
    pub fn set_rssi(&mut self, from: RadioId, to: RadioId, dbm: Dbm) -> bool {
        let matrix = self.rssi.as_mut();
        matrix.is_some_and(|matrix| {
            // No `changed`: with given powers neighbours are never `fixed`.
            matrix.set(from, to, dbm);
            true
        })
    }

    /// From now on links have these powers at times, and positions count for nothing; a link
    /// that is not named carries nothing.
    pub fn set_rssi_traces(&mut self, traces: Vec<(LinkId, Vec<(Instant, Dbm)>)>) {
        let mut matrix = RssiMatrix::new(SILENT);
        for (link, points) in traces {
            matrix.trace(link.from, link.to, points);
        }
        self.rssi = Some(matrix);
        self.changed();
    }

    /// Radios that a PPDU of `radio` reaches at `now` in the mean, without itself, in the order in
    /// which it comes to them.
    pub fn neighbours(
        &mut self,
        radio: RadioId,
        extent: Extent,
        now: Instant,
        found: &mut Vec<Neighbour>,
    ) {
        found.clear();
        if let Some(fixed) = &self.fixed {
            found.extend_from_slice(&fixed[radio.index()]);
        } else if let Some(matrix) = &self.rssi {
            let others = (0..self.stations.len()).map(RadioId::new);
            let others = others.filter(|to| *to != radio);
            found.extend(others.filter_map(|to| {
                let heard = self.tuning.heard(radio, to, extent)?;
                self.neighbour(to, matrix.dbm(radio, to, now), heard, 0.0)
            }));
        } else {
            self.search(radio, extent, now, found);
        }
    }

    /// From now on the radio sends and receives on this much of its channel at most.
    pub fn narrow(&mut self, radio: RadioId, widest: Width) {
        self.tuning.narrow(radio, self.stations.len(), widest);
        self.changed();
    }

    /// The radio's channel; none where all have the same.
    pub fn subchannels(&self, radio: RadioId) -> Option<Subchannels> {
        self.tuning.subchannels(radio)
    }

    /// Mean power of `from` at `to`.
    pub fn mean_dbm(&mut self, from: RadioId, to: RadioId, now: Instant) -> Dbm {
        if let Some(matrix) = &self.rssi {
            return matrix.dbm(from, to, now);
        }
        let (here, there) = (self.position(from, now), self.position(to, now));
        self.dbm((from, to), here, there)
    }

    pub fn position(&self, radio: RadioId, at: Instant) -> Position {
        self.stations[radio.index()].position(at)
    }

    /// Mean power of the first radio at the second, at these places.
    fn dbm(&mut self, pair: (RadioId, RadioId), here: Position, there: Position) -> Dbm {
        let distance_m = here.distance_m(there);
        let mean = match self.antennas.pair(pair.0, pair.1) {
            None => self.propagation.received_dbm(distance_m),
            Some((from, to)) => self.propagation.between(from, to, distance_m),
        };
        let mean = if self.shadowing.is_none() {
            mean
        } else {
            mean + self.shadowing.db(pair, here, there, &self.stations)
        };
        self.through(mean, here, there)
    }

    /// What remains of a power behind the walls and floors between two places.
    fn through(&self, dbm: Dbm, here: Position, there: Position) -> Dbm {
        if self.obstacles.is_empty() {
            return dbm;
        }
        dbm - self.obstacles.loss_db(here, there)
    }

    /// Mean power of an interferer in a radio's channel; none where that is below the floor. Its
    /// antenna has no gain, and is as high as a radio's.
    pub fn energy(
        &self,
        interferer: &Interferer,
        emission: Emission,
        radio: RadioId,
        now: Instant,
    ) -> Option<Dbm> {
        let share_db = interferer.share_db(emission, self.tuning.channel(radio))?;
        let antenna = self.antenna(radio);
        let own = Antenna {
            tx_power_dbm: emission.dbm,
            gain_dbi: 0.0,
            sets_power: false,
            ..antenna
        };
        let to = Antenna {
            sets_power: false,
            ..antenna
        };
        let here = mobility::along(&interferer.waypoints, now);
        let there = self.position(radio, now);
        let mean = (self.propagation).between(&own, &to, here.distance_m(there));
        let mean = mean + self.shadowing.between_db(here, there);
        let dbm = self.through(mean, here, there) + share_db;
        (dbm >= self.floor_dbm).then_some(dbm)
    }

    fn search(&mut self, radio: RadioId, extent: Extent, now: Instant, found: &mut Vec<Neighbour>) {
        self.cells
            .refresh(&self.stations, &self.pace, self.reach_m, now);
        let here = self.position(radio, now);
        let mut near = core::mem::take(&mut self.near);
        self.cells.near(here, self.reach_m, &mut near);
        for &other in &near {
            let heard = self.tuning.heard(radio, other, extent);
            let Some(heard) = heard.filter(|_| other != radio) else {
                continue;
            };
            // Cells give candidates only. The exact distance decides.
            let there = self.position(other, now);
            let way_m = here.distance_m(there);
            // Radios of one station. What they leak to each other depends on how it is built, and
            // not on the far field.
            if way_m == 0.0 && heard.hear != Hear::Frame {
                continue;
            }
            // All that comes on top of the mean takes power, but for shadowing.
            if way_m > self.reach_m && self.shadowing.is_none() {
                continue;
            }
            let dbm = self.dbm((radio, other), here, there);
            found.extend(self.neighbour(other, dbm, heard, way_m));
        }
        self.near = near;
        if self.longest_delay.is_some() {
            found.sort_unstable_by_key(|neighbour| (neighbour.delay, neighbour.radio));
        }
    }

    /// A radio to which a signal comes with `dbm` as a whole; none where what is heard of it is
    /// below the floor.
    fn neighbour(&self, radio: RadioId, dbm: Dbm, heard: Heard, way_m: f64) -> Option<Neighbour> {
        let dbm = dbm + heard.db;
        (dbm >= self.floor_dbm).then(|| Neighbour {
            radio,
            dbm,
            mw: dbm.mw(),
            hear: heard.hear,
            span: heard.span,
            delay: self.delay(way_m),
        })
    }

    fn delay(&self, way_m: f64) -> Duration {
        let Some(longest) = self.longest_delay else {
            return Duration::ZERO;
        };
        let way_ns = libm::round(way_m / METRES_PER_NS);
        longest.min(Duration::from_nanos(way_ns as u64))
    }
}

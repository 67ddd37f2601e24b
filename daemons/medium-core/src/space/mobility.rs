// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where radios are, and how they move.

use alloc::string::String;
use alloc::vec::Vec;

use hoplab_base::Instant;

/// A point in space, mostly on its ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Position {
    pub x_m: f64,
    pub y_m: f64,
    #[cfg_attr(feature = "serde", serde(default))]
    pub z_m: f64,
}

impl Position {
    /// On the ground.
    pub const fn new(x_m: f64, y_m: f64) -> Self {
        Self { x_m, y_m, z_m: 0.0 }
    }

    pub(super) fn distance_m(self, other: Self) -> f64 {
        let (x_m, y_m) = (self.x_m - other.x_m, self.y_m - other.y_m);
        let z_m = self.z_m - other.z_m;
        libm::sqrt(x_m * x_m + y_m * y_m + z_m * z_m)
    }
}

/// Where a radio is at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Waypoint {
    pub at: Instant,
    pub position: Position,
}

impl Waypoint {
    pub const fn new(at: Instant, position: Position) -> Self {
        Self { at, position }
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
    pub fn at(name: &str, position: Position) -> Self {
        Self {
            name: name.into(),
            waypoints: alloc::vec![Waypoint::new(Instant::ZERO, position)],
        }
    }

    /// Where it is, exact by its waypoints.
    pub fn position(&self, at: Instant) -> Position {
        along(&self.waypoints, at)
    }

    /// From now on it is at `position`, and stays.
    pub(super) fn put(&mut self, position: Position, now: Instant) {
        // The old place stays for readers that look back, as for a frame that began earlier. `Pace`
        // does not learn of this jump, so the cells must expire.
        let before = self.position(now);
        self.waypoints = alloc::vec![Waypoint::new(now, before), Waypoint::new(now, position)];
    }
}

/// Where these points lead to at a time.
pub(super) fn along(points: &[Waypoint], at: Instant) -> Position {
    let after = points.partition_point(|point| point.at <= at);
    let Some(before) = after.checked_sub(1).map(|before| points[before]) else {
        let first = points.first();
        return first.map_or(Position::default(), |point| point.position);
    };
    let (Some(next), start) = (points.get(after), before.position) else {
        return before.position;
    };
    // `before.at` <= `at` < `next.at`, so the divisor is not 0.
    let part = at.since(before.at).as_nanos() as f64 / next.at.since(before.at).as_nanos() as f64;
    Position {
        x_m: start.x_m + (next.position.x_m - start.x_m) * part,
        y_m: start.y_m + (next.position.y_m - start.y_m) * part,
        z_m: start.z_m + (next.position.z_m - start.z_m) * part,
    }
}

/// How fast radios ever are, and when they are suddenly elsewhere.
pub struct Pace {
    pub fastest_m_per_ns: f64,
    /// In order.
    jumps: Vec<Instant>,
}

impl Pace {
    pub fn of(stations: &[Station]) -> Self {
        let steps = || {
            stations
                .iter()
                .flat_map(|station| station.waypoints.windows(2))
        };
        let way_m = |step: &[Waypoint]| step[0].position.distance_m(step[1].position);
        let lasts = |step: &[Waypoint]| step[1].at.since(step[0].at);
        let fastest_m_per_ns = steps()
            .filter(|step| !lasts(step).is_zero())
            .map(|step| way_m(step) / lasts(step).as_nanos() as f64)
            .fold(0.0, f64::max);
        let mut jumps: Vec<Instant> = steps()
            .filter(|step| lasts(step).is_zero() && way_m(step) > 0.0)
            .map(|step| step[1].at)
            .collect();
        jumps.sort_unstable();
        Self {
            fastest_m_per_ns,
            jumps,
        }
    }

    pub fn next_jump(&self, now: Instant) -> Option<Instant> {
        let next = self.jumps.partition_point(|jump| *jump <= now);
        self.jumps.get(next).copied()
    }
}

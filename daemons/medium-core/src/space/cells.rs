// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios sorted into square cells half as wide as a signal reaches, so that a transmission looks at
//! its surroundings and not at every radio.
//!
//! The cells of moving radios hold for a while; the distance that the fastest may have gone since
//! then widens the search.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::mobility::{Pace, Position, Station};
use crate::RadioId;

/// Shortest time for which cells of moving radios hold.
const SHORTEST: Duration = Duration::from_millis(1);

#[derive(Default)]
pub struct Cells {
    cells: BTreeMap<(i64, i64), Vec<RadioId>>,
    until: Instant,
    slack_m: f64,
}

impl Cells {
    /// Places or the reach have changed, so the cells no longer hold.
    pub fn expire(&mut self) {
        self.until = Instant::ZERO;
    }

    /// Sort anew, if they no longer hold.
    pub fn refresh(&mut self, stations: &[Station], pace: &Pace, reach_m: f64, now: Instant) {
        if now < self.until {
            return;
        }
        self.cells.clear();
        for (index, station) in stations.iter().enumerate() {
            let Position { x_m, y_m, .. } = station.position(now);
            let cell = (cell(x_m, reach_m), cell(y_m, reach_m));
            let radios = self.cells.entry(cell).or_default();
            radios.push(RadioId::new(index));
        }
        if pace.fastest_m_per_ns > 0.0 {
            // The fastest radio moves an eighth of the reach in `hold`. A longer one would save
            // sorting, but widen each search.
            let hold = (reach_m / 8.0 / pace.fastest_m_per_ns).min(1e18);
            self.until = now + Duration::from_nanos(hold as u64).max(SHORTEST);
        } else {
            self.until = Instant::MAX;
        }
        // No slack covers a jump, so the cells hold only until it.
        if let Some(jump) = pace.next_jump(now) {
            self.until = self.until.min(jump);
        }
        // Only the sorted radios' places are old. A search begins at an exact place, so one
        // movement counts.
        self.slack_m = pace.fastest_m_per_ns * self.until.since(now).as_nanos() as f64;
    }

    /// Radios that may be within reach of a position, in their order.
    pub fn near(&self, here: Position, reach_m: f64, found: &mut Vec<RadioId>) {
        found.clear();
        let Position { x_m: x, y_m: y, .. } = here;
        // Cells lie on the ground. Height only adds distance, so no radio in reach is left out.
        let reach = reach_m + self.slack_m;
        let (first, last) = (cell(x - reach, reach_m), cell(x + reach, reach_m));
        let (low, high) = (cell(y - reach, reach_m), cell(y + reach, reach_m));
        // Around very fast radios there are more columns than cells.
        if last.abs_diff(first) < self.cells.len() as u64 {
            for column in first..=last {
                for (_, radios) in self.cells.range((column, low)..=(column, high)) {
                    found.extend_from_slice(radios);
                }
            }
        } else {
            for ((_, row), radios) in self.cells.range((first, low)..=(last, high)) {
                if (low..=high).contains(row) {
                    found.extend_from_slice(radios);
                }
            }
        }
        // In the order of radios, whatever their cells, so a replay draws the same random numbers.
        found.sort_unstable();
    }
}

/// Narrower ones would leave out more of the radios out of reach, but take longer to go through.
fn cell(metres: f64, reach_m: f64) -> i64 {
    libm::floor(metres / (reach_m / 2.0)) as i64
}

#[cfg(test)]
mod tests {
    use super::super::mobility::Waypoint;
    use super::*;

    #[test]
    fn only_the_surroundings_are_near() {
        let at = |x_m| Station::at("", Position::new(x_m, 0.0));
        let stations = [0.0, 90.0, 250.0, 10_000.0].map(at);
        let mut cells = Cells::default();
        cells.refresh(&stations, &Pace::of(&stations), 100.0, Instant::ZERO);
        let mut found = Vec::new();
        cells.near(Position::new(50.0, 0.0), 100.0, &mut found);
        assert_eq!(found, [0, 1].map(RadioId::new));
    }

    #[test]
    fn a_search_costs_no_more_than_all_radios_however_fast_they_are() {
        let far = Position::new(1e9, 0.0);
        let waypoints = [(0, Position::default()), (1, far)]
            .map(|(ns, position)| Waypoint::new(Instant(ns), position));
        let fast = Station {
            waypoints: waypoints.into(),
            ..Station::at("", far)
        };
        let aside = Station::at("", Position::new(0.0, 1e30));
        let stations = [fast, Station::at("", Position::new(1e9, 0.0)), aside];
        let mut cells = Cells::default();
        cells.refresh(&stations, &Pace::of(&stations), 100.0, Instant::ZERO);
        let mut found = Vec::new();
        cells.near(Position::default(), 100.0, &mut found);
        assert_eq!(found, [0, 1].map(RadioId::new));
    }
}

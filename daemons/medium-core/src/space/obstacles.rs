// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Walls and floors, and what they take of a signal that goes straight through them.

use alloc::vec::Vec;

use super::mobility::Position;

/// A straight wall, from one place to another.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Wall {
    /// x and y in m.
    #[cfg_attr(feature = "serde", serde(rename = "from_m"))]
    pub from: (f64, f64),
    #[cfg_attr(feature = "serde", serde(rename = "to_m"))]
    pub to: (f64, f64),
    /// It stands from here, and ends below its top.
    pub bottom_m: f64,
    pub top_m: f64,
    pub loss_db: f64,
}

/// A floor of all the building, at one height.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Floor {
    pub height_m: f64,
    pub loss_db: f64,
}

/// Twice the area between a line and a point, positive on its left.
fn side(from: (f64, f64), to: (f64, f64), of: (f64, f64)) -> f64 {
    (to.0 - from.0) * (of.1 - from.1) - (to.1 - from.1) * (of.0 - from.0)
}

impl Wall {
    /// Whether a straight path from `a` to `b` goes through it.
    ///
    /// A point on a line counts as on its left. So a path through the corner of two walls meets one
    /// of them, and one along a wall does not meet it.
    fn stops(&self, a: Position, b: Position) -> bool {
        let (start, end) = ((a.x_m, a.y_m), (b.x_m, b.y_m));
        let (from, to) = (side(start, end, self.from), side(start, end, self.to));
        if (from >= 0.0) == (to >= 0.0) {
            return false;
        }
        let (first, last) = (
            side(self.from, self.to, start),
            side(self.from, self.to, end),
        );
        if (first >= 0.0) == (last >= 0.0) {
            return false;
        }
        // They have different signs, so the divisor is not 0.
        let height_m = a.z_m + (b.z_m - a.z_m) * (first / (first - last));
        self.bottom_m <= height_m && height_m < self.top_m
    }
}

impl Floor {
    fn stops(&self, a: Position, b: Position) -> bool {
        (a.z_m >= self.height_m) != (b.z_m >= self.height_m)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Obstacles {
    walls: Vec<Wall>,
    floors: Vec<Floor>,
}

impl Obstacles {
    pub fn new(walls: &[Wall], floors: &[Floor]) -> Self {
        Self {
            walls: walls.into(),
            floors: floors.into(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.walls.is_empty() && self.floors.is_empty()
    }

    /// What is between two places, in dB. It is the same both ways.
    pub fn loss_db(&self, a: Position, b: Position) -> f64 {
        // One order, so that a corner of two walls stands for the same one both ways.
        let (a, b) = if (a.x_m, a.y_m) <= (b.x_m, b.y_m) {
            (a, b)
        } else {
            (b, a)
        };
        let walls = self.walls.iter().filter(|wall| wall.stops(a, b));
        let floors = self.floors.iter().filter(|floor| floor.stops(a, b));
        walls.map(|wall| wall.loss_db).sum::<f64>() + floors.map(|floor| floor.loss_db).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(from: (f64, f64), to: (f64, f64), loss_db: f64) -> Wall {
        Wall {
            from,
            to,
            bottom_m: -1e6,
            top_m: 1e6,
            loss_db,
        }
    }

    fn both_ways(obstacles: &Obstacles, a: Position, b: Position) -> f64 {
        let loss_db = obstacles.loss_db(a, b);
        assert_eq!(loss_db, obstacles.loss_db(b, a));
        loss_db
    }

    #[test]
    fn a_path_loses_what_its_walls_take() {
        let walls = [
            wall((1.0, -5.0), (1.0, 5.0), 3.0),
            wall((2.0, 5.0), (2.0, -5.0), 4.0),
            wall((3.0, 1.0), (3.0, 5.0), 100.0),
            wall((0.0, 2.0), (9.0, 2.0), 100.0),
        ];
        let obstacles = Obstacles::new(&walls, &[]);
        let at = |x_m| Position::new(x_m, 0.0);
        for (to, loss_db) in [(0.5, 0.0), (1.5, 3.0), (4.0, 7.0)] {
            assert_eq!(both_ways(&obstacles, at(0.0), at(to)), loss_db, "{to}");
        }
        assert_eq!(both_ways(&obstacles, at(0.0), at(0.0)), 0.0);
    }

    #[test]
    fn a_corner_is_one_wall_and_a_path_along_a_wall_meets_none() {
        let corner = [
            wall((1.0, -5.0), (1.0, 0.0), 3.0),
            wall((1.0, 0.0), (1.0, 5.0), 3.0),
        ];
        let obstacles = Obstacles::new(&corner, &[]);
        let (west, east) = (Position::new(0.0, 0.0), Position::new(2.0, 0.0));
        assert_eq!(both_ways(&obstacles, west, east), 3.0);
        let (south, north) = (Position::new(1.0, -9.0), Position::new(1.0, 9.0));
        assert_eq!(both_ways(&obstacles, south, north), 0.0);
    }

    #[test]
    fn floors_and_walls_of_another_storey_count_by_height() {
        let floors = [3.0, 6.0].map(|height_m| Floor {
            height_m,
            loss_db: 16.0,
        });
        let upstairs = Wall {
            bottom_m: 3.0,
            top_m: 6.0,
            ..wall((1.0, -5.0), (1.0, 5.0), 5.0)
        };
        let obstacles = Obstacles::new(&[upstairs], &floors);
        let at = |x_m, z_m| Position {
            z_m,
            ..Position::new(x_m, 0.0)
        };
        assert_eq!(both_ways(&obstacles, at(0.0, 1.0), at(2.0, 1.0)), 0.0);
        assert_eq!(both_ways(&obstacles, at(0.0, 4.0), at(2.0, 4.0)), 5.0);
        assert_eq!(both_ways(&obstacles, at(0.0, 1.0), at(0.0, 7.0)), 32.0);
        // In the middle of its way it is at 2.5 m, below the wall.
        assert_eq!(both_ways(&obstacles, at(0.0, 1.0), at(2.0, 4.0)), 16.0);
        assert_eq!(both_ways(&obstacles, at(0.0, 2.0), at(2.0, 4.5)), 21.0);
    }
}

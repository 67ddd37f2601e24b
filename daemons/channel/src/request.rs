// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changes of the channel as requests from outside, in JSON.
//!
//! ```json
//! {"do": "move", "station": "n1", "x_m": 120.0, "y_m": 40.0}
//! {"do": "down", "station": "n1"}
//! {"do": "up", "station": "n1"}
//! {"do": "loss", "src": "n0", "dst": "n1", "rate": 0.1}
//! {"do": "transmit", "station": "n1", "dbm": 15.0}
//! {"do": "reseed", "seed": 2}
//! ```
//!
//! `hoplab/model/keys/requests.py` declares them, among all requests to a running network.

use hoplab_medium_core::{Dbm, LinkId, RadioId};
use serde::Deserialize;

use crate::channel::{Change, Part};

/// Octets of the longest request.
pub const LONGEST: usize = 512;
/// The scenario's bounds of coordinates (`hoplab/model/keys/declare.py`) and of powers.
pub const FARTHEST_M: f64 = 1e6;
const LEAST_DBM: f64 = -200.0;
const MOST_DBM: f64 = 100.0;

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Move { station: String, x_m: f64, y_m: f64 },
    Down { station: String },
    Up { station: String },
    Loss { src: String, dst: String, rate: f64 },
    Transmit { station: String, dbm: f64 },
    Reseed { seed: u64 },
}

/// Why a request is not followed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The datagram is longer than any request.
    #[error("a request has at most {LONGEST} bytes")]
    Long,
    /// The datagram is no request.
    #[error(transparent)]
    Malformed(serde_json::Error),
    /// No station has this name.
    #[error("{0:?}: no station of this name has a radio")]
    Station(String),
    /// A value is out of its range.
    #[error("{key}: {value} is not in {low} to {high}")]
    Range {
        key: &'static str,
        value: f64,
        low: f64,
        high: f64,
    },
}

/// What a request asks for, where stations have these names.
pub fn change(bytes: &[u8], names: &[String]) -> Result<Change, Refusal> {
    if bytes.len() > LONGEST {
        return Err(Refusal::Long);
    }
    let request: Request = serde_json::from_slice(bytes).map_err(Refusal::Malformed)?;
    let radio = |name: &str| {
        let found = names.iter().position(|known| known == name);
        found
            .map(RadioId::new)
            .ok_or_else(|| Refusal::Station(name.into()))
    };
    let within = |value: f64, key, low, high| {
        let holds = (low..=high).contains(&value);
        holds.then_some(value).ok_or(Refusal::Range {
            key,
            value,
            low,
            high,
        })
    };
    let power = |station: &str, up| radio(station).map(|radio| Change::Power { radio, up });
    Ok(match request {
        Request::Move { station, x_m, y_m } => Change::Move {
            radio: radio(&station)?,
            x_m: within(x_m, "x_m", -FARTHEST_M, FARTHEST_M)?,
            y_m: within(y_m, "y_m", -FARTHEST_M, FARTHEST_M)?,
        },
        Request::Down { station } => power(&station, false)?,
        Request::Up { station } => power(&station, true)?,
        Request::Loss { src, dst, rate } => Change::Lose {
            link: LinkId {
                from: radio(&src)?,
                to: radio(&dst)?,
            },
            rate: within(rate, "rate", 0.0, 1.0)?,
        },
        Request::Transmit { station, dbm } => Change::Fit {
            radio: radio(&station)?,
            part: Part::Power(Dbm(within(dbm, "dbm", LEAST_DBM, MOST_DBM)?)),
        },
        Request::Reseed { seed } => Change::Reseed { seed },
    })
}

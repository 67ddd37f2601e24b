// SPDX-License-Identifier: Apache-2.0
//! Stations, losses, events and records.

use std::path::PathBuf;

use hoplab_medium_core::{Burst, Duration, Instant, LossModel, LossRule, Place, Station, Waypoint};
use serde::Deserialize;

use super::{at, one_of, At};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationTable {
    name: String,
    mac: String,
    x_m: f64,
    y_m: f64,
    #[serde(default)]
    waypoints: Vec<(f64, f64, f64)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossTable {
    kind: String,
    src: Option<String>,
    dst: Option<String>,
    rate: Option<f64>,
    p_good_to_bad: Option<f64>,
    p_bad_to_good: Option<f64>,
    loss_good: Option<f64>,
    loss_bad: Option<f64>,
    on_s: Option<f64>,
    period_s: Option<f64>,
    start_s: Option<f64>,
    frames: Option<Vec<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTable {
    at_s: f64,
    kind: String,
    station: Option<String>,
    x_m: Option<f64>,
    y_m: Option<f64>,
    src: Option<String>,
    dst: Option<String>,
    rate: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// Where the tables go.
    pub dir: PathBuf,
    #[serde(default = "tenth")]
    pub interval_s: f64,
    /// Every frame on the air with its fate.
    #[serde(default)]
    pub frames: bool,
    /// File for a capture of what was on the air.
    pub air_capture: Option<PathBuf>,
}

fn tenth() -> f64 {
    0.1
}

impl Records {
    pub(super) fn check(&self) -> Result<(), At> {
        if (0.001..=3600.0).contains(&self.interval_s) {
            return Ok(());
        }
        let message = format!("{} is out of range; 0.001 to 3600 s", self.interval_s);
        Err(at("records", 0, "interval_s", message))
    }
}

#[derive(Clone, Copy)]
enum EventKind {
    Down,
    Up,
    Move,
    Loss,
}

const EVENTS: [(&str, EventKind); 4] = [
    ("down", EventKind::Down),
    ("up", EventKind::Up),
    ("move", EventKind::Move),
    ("loss", EventKind::Loss),
];

impl EventTable {
    fn kind(&self, index: usize) -> Result<EventKind, At> {
        let time = (0.0..1e9).contains(&self.at_s);
        if !time {
            let message = format!("{} is not a time in s from 0 on", self.at_s);
            return Err(at("event", index, "at_s", message));
        }
        one_of(&self.kind, &EVENTS).map_err(|message| at("event", index, "kind", message))
    }

    fn needs<T: Clone>(&self, value: &Option<T>, index: usize, key: &'static str) -> Result<T, At> {
        let message = format!("missing; an event of kind {:?} needs it", self.kind);
        value
            .clone()
            .ok_or_else(|| at("event", index, key, message))
    }
}

/// A radio goes off or comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerEvent {
    pub at: Instant,
    pub radio: usize,
    pub up: bool,
}

/// Stations and what happens to them; times from boot.
pub struct Network {
    pub names: Vec<String>,
    pub stations: Vec<Station>,
    pub macs: Vec<[u8; 6]>,
    pub power: Vec<PowerEvent>,
}

fn radio_of(
    names: &[String],
    name: &str,
    table: &'static str,
    index: usize,
    key: &'static str,
) -> Result<usize, At> {
    names.iter().position(|n| n == name).ok_or_else(|| {
        let message = format!("no station {name:?}; one of {}", names.join(", "));
        at(table, index, key, message)
    })
}

impl Network {
    pub fn new(tables: &[StationTable], events: &[EventTable], epoch: Instant) -> Result<Self, At> {
        let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
        for (i, name) in names.iter().enumerate() {
            if names[..i].contains(name) {
                return Err(at("station", i, "name", format!("{name:?} is given twice")));
            }
        }
        let mut network = Self {
            stations: Vec::new(),
            macs: Vec::new(),
            power: Vec::new(),
            names,
        };
        for (i, table) in tables.iter().enumerate() {
            network.stations.push(station(table, i, epoch)?);
            network.macs.push(mac(&table.mac, i)?);
        }
        let mut order: Vec<usize> = (0..events.len()).collect();
        order.sort_by(|a, b| events[*a].at_s.total_cmp(&events[*b].at_s));
        for i in order {
            let event = &events[i];
            let kind = event.kind(i)?;
            if matches!(kind, EventKind::Loss) {
                continue;
            }
            let name = event.needs(&event.station, i, "station")?;
            let radio = radio_of(&network.names, &name, "event", i, "station")?;
            let when = epoch + Duration::from_secs_f64(event.at_s);
            if matches!(kind, EventKind::Move) {
                let x = event.needs(&event.x_m, i, "x_m")?;
                let y = event.needs(&event.y_m, i, "y_m")?;
                jump(&mut network.stations[radio], when, Place::new(x, y));
            } else {
                let up = matches!(kind, EventKind::Up);
                network.power.push(PowerEvent {
                    at: when,
                    radio,
                    up,
                });
            }
        }
        Ok(network)
    }
}

/// From `when` on the station is there and stays there.
fn jump(station: &mut Station, when: Instant, there: Place) {
    let before = station.place(when);
    station.waypoints.retain(|point| point.at < when);
    station.waypoints.push(Waypoint::new(when, before));
    station.waypoints.push(Waypoint::new(when, there));
}

fn station(table: &StationTable, index: usize, epoch: Instant) -> Result<Station, At> {
    let mut waypoints = Vec::new();
    let mut last_s = 0.0;
    for &(t_s, x, y) in &table.waypoints {
        let finite = x.is_finite() && y.is_finite() && t_s.is_finite();
        if !finite || t_s < last_s {
            let message = "each is [time in s, x in m, y in m], times not decreasing";
            return Err(at("station", index, "waypoints", message));
        }
        last_s = t_s;
        let at = epoch + Duration::from_secs_f64(t_s);
        waypoints.push(Waypoint::new(at, Place::new(x, y)));
    }
    if waypoints.is_empty() {
        for (key, value) in [("x_m", table.x_m), ("y_m", table.y_m)] {
            if !value.is_finite() {
                return Err(at("station", index, key, format!("{value} is no place")));
            }
        }
        let place = Place::new(table.x_m, table.y_m);
        waypoints.push(Waypoint::new(Instant::ZERO, place));
    }
    Ok(Station {
        name: table.name.clone(),
        waypoints,
    })
}

fn mac(text: &str, index: usize) -> Result<[u8; 6], At> {
    let wrong = || {
        let message =
            format!("{text:?} is not six hexadecimal bytes with colons, as 02:00:00:00:00:01");
        at("station", index, "mac", message)
    };
    let mut bytes = [0u8; 6];
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() != 6 {
        return Err(wrong());
    }
    for (byte, part) in bytes.iter_mut().zip(parts) {
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    Ok(bytes)
}

/// The loss tables, then the loss events, each until the next one of its link.
pub fn losses(
    tables: &[LossTable],
    events: &[EventTable],
    names: &[String],
    epoch: Instant,
) -> Result<Vec<LossRule>, At> {
    let mut rules = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        let end = |name: &Option<String>, key| {
            let found = name.as_ref().map(|n| radio_of(names, n, "loss", i, key));
            found.transpose()
        };
        rules.push(LossRule {
            src: end(&table.src, "src")?,
            dst: end(&table.dst, "dst")?,
            model: loss_model(table, i, epoch)?,
            // Before time 0 stations only get to know each other.
            active: epoch..Instant::MAX,
        });
    }
    let mut timed = Vec::new();
    for (i, event) in events.iter().enumerate() {
        if matches!(event.kind(i)?, EventKind::Loss) {
            let src = event.needs(&event.src, i, "src")?;
            let dst = event.needs(&event.dst, i, "dst")?;
            let rate = event.needs(&event.rate, i, "rate")?;
            if !(0.0..=1.0).contains(&rate) {
                let message = format!("{rate} is no probability; 0 to 1 is allowed");
                return Err(at("event", i, "rate", message));
            }
            let src = radio_of(names, &src, "event", i, "src")?;
            let dst = radio_of(names, &dst, "event", i, "dst")?;
            let at = epoch + Duration::from_secs_f64(event.at_s);
            timed.push((at, src, dst, rate));
        }
    }
    timed.sort_by_key(|event| event.0);
    for (i, &(from, src, dst, rate)) in timed.iter().enumerate() {
        let next = timed[i + 1..].iter().find(|e| (e.1, e.2) == (src, dst));
        rules.push(LossRule {
            src: Some(src),
            dst: Some(dst),
            model: LossModel::Uniform { rate },
            active: from..next.map_or(Instant::MAX, |e| e.0),
        });
    }
    Ok(rules)
}

fn loss_model(table: &LossTable, index: usize, epoch: Instant) -> Result<LossModel, At> {
    let probability = |value: Option<f64>, key: &'static str, default: Option<f64>| {
        let missing = format!("missing; loss of kind {:?} needs it", table.kind);
        let value = value
            .or(default)
            .ok_or_else(|| at("loss", index, key, missing))?;
        if (0.0..=1.0).contains(&value) {
            return Ok(value);
        }
        let message = format!("{value} is no probability; 0 to 1 is allowed");
        Err(at("loss", index, key, message))
    };
    let time = |value: Option<f64>, key: &'static str| {
        let found = value.filter(|s| s.is_finite() && *s > 0.0);
        let found = found.map(Duration::from_secs_f64);
        let message = "loss of kind \"burst\" needs it, in s and above 0";
        found.ok_or_else(|| at("loss", index, key, message))
    };
    match table.kind.as_str() {
        "uniform" => Ok(LossModel::Uniform {
            rate: probability(table.rate, "rate", None)?,
        }),
        "burst" => {
            let (on, period) = (time(table.on_s, "on_s")?, time(table.period_s, "period_s")?);
            let rate = probability(table.rate, "rate", None)?;
            let start = epoch + Duration::from_secs_f64(table.start_s.unwrap_or(0.0));
            let burst = Burst::new(rate, on, period, start);
            let message = "is longer than period_s, or neither lasts a nanosecond; a burst ends \
                           with its period";
            let burst = burst.ok_or_else(|| at("loss", index, "on_s", message))?;
            Ok(LossModel::Burst(burst))
        }
        "gilbert-elliott" => Ok(LossModel::GilbertElliott {
            to_bad: probability(table.p_good_to_bad, "p_good_to_bad", None)?,
            to_good: probability(table.p_bad_to_good, "p_bad_to_good", None)?,
            good: probability(table.loss_good, "loss_good", Some(0.0))?,
            bad: probability(table.loss_bad, "loss_bad", Some(1.0))?,
            is_bad: false,
        }),
        "list" => {
            let frames = table.frames.clone();
            let message = "missing; loss of kind \"list\" needs it: numbers of frames from 1 on";
            let frames = frames.ok_or_else(|| at("loss", index, "frames", message))?;
            Ok(LossModel::List { frames })
        }
        other => {
            let message =
                format!("{other:?} is not allowed; one of uniform, gilbert-elliott, burst, list");
            Err(at("loss", index, "kind", message))
        }
    }
}

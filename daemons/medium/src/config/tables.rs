// SPDX-License-Identifier: Apache-2.0
//! Stations, losses, events and records.

use std::path::PathBuf;

use hoplab_keys::{nearest, Mistake};
use hoplab_medium_core::{
    Burst, Duration, Instant, LossModel, LossRule, Nic, Position, RadioId, Station, Takes, Waypoint,
};
use serde::Deserialize;

use super::one_of;
use super::radio::NicTable;

#[derive(Debug, Deserialize)]
pub struct StationTable {
    name: String,
    mac: String,
    x_m: f64,
    y_m: f64,
    waypoints: Vec<(f64, f64, f64)>,
    nic: Option<NicTable>,
}

#[derive(Debug, Deserialize)]
pub struct LossTable {
    kind: String,
    takes: Option<String>,
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
pub struct Records {
    /// Where the tables go.
    pub dir: PathBuf,
    pub interval_s: f64,
    /// Every frame on the air with its fate.
    pub frames: bool,
    /// File for a capture of what was on the air.
    pub air_capture: Option<PathBuf>,
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

/// What `kind` of loss or event needs beside it.
fn needed<T: Clone>(value: &Option<T>, key: &str, kind: &str) -> Result<T, Mistake> {
    let missing = || Mistake::at(key, format!("missing; kind {kind:?} needs it"));
    value.clone().ok_or_else(missing)
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
    /// Cards of those that have their own.
    pub nics: Vec<(usize, Nic)>,
    pub power: Vec<PowerEvent>,
}

fn radio_of(names: &[String], name: &str, key: &str) -> Result<usize, Mistake> {
    const SHOWN: usize = 20;
    names.iter().position(|n| n == name).ok_or_else(|| {
        let hint = nearest(name, names.iter().map(String::as_str));
        let hint = hint.map_or(String::new(), |name| format!(" (did you mean {name:?}?)"));
        let some = names[..names.len().min(SHOWN)].join(", ");
        Mistake::at(key, format!("no station {name:?}{hint}; one of {some}"))
    })
}

impl Network {
    pub fn new(
        tables: &[StationTable],
        events: &[EventTable],
        epoch: Instant,
    ) -> Result<Self, Mistake> {
        let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
        let mut network = Self {
            stations: Vec::new(),
            macs: Vec::new(),
            nics: Vec::new(),
            power: Vec::new(),
            names,
        };
        for (i, table) in tables.iter().enumerate() {
            let here = |mistake: Mistake| mistake.in_entry(i).below("station");
            if network.names[..i].contains(&table.name) {
                return Err(here(Mistake::at(
                    "name",
                    format!("{:?} is given twice", table.name),
                )));
            }
            network.stations.push(station(table, epoch).map_err(here)?);
            network.macs.push(mac(&table.mac).map_err(here)?);
            if let Some(nic) = &table.nic {
                network.nics.push((i, nic.check().map_err(here)?));
            }
        }
        let mut order: Vec<usize> = (0..events.len()).collect();
        order.sort_by(|a, b| events[*a].at_s.total_cmp(&events[*b].at_s));
        for i in order {
            let here = |mistake: Mistake| mistake.in_entry(i).below("event");
            network.take(&events[i], epoch).map_err(here)?;
        }
        Ok(network)
    }

    /// Let a station move, fail or return; lossy links are not the stations' affair.
    fn take(&mut self, event: &EventTable, epoch: Instant) -> Result<(), Mistake> {
        let kind = one_of(&event.kind, "kind", &EVENTS)?;
        if matches!(kind, EventKind::Loss) {
            return Ok(());
        }
        let name = needed(&event.station, "station", &event.kind)?;
        let radio = radio_of(&self.names, &name, "station")?;
        let when = epoch + Duration::from_secs_f64(event.at_s);
        if matches!(kind, EventKind::Move) {
            let x = needed(&event.x_m, "x_m", &event.kind)?;
            let y = needed(&event.y_m, "y_m", &event.kind)?;
            jump(&mut self.stations[radio], when, Position::new(x, y));
        } else {
            let up = matches!(kind, EventKind::Up);
            self.power.push(PowerEvent {
                at: when,
                radio,
                up,
            });
        }
        Ok(())
    }
}

/// From `when` on the station is there and stays there.
fn jump(station: &mut Station, when: Instant, there: Position) {
    let before = station.position(when);
    station.waypoints.retain(|point| point.at < when);
    station.waypoints.push(Waypoint::new(when, before));
    station.waypoints.push(Waypoint::new(when, there));
}

fn station(table: &StationTable, epoch: Instant) -> Result<Station, Mistake> {
    let mut waypoints = Vec::new();
    let mut last_s = 0.0;
    for &(t_s, x, y) in &table.waypoints {
        if t_s < last_s {
            return Err(Mistake::at("waypoints", "times must not decrease"));
        }
        last_s = t_s;
        let at = epoch + Duration::from_secs_f64(t_s);
        waypoints.push(Waypoint::new(at, Position::new(x, y)));
    }
    if waypoints.is_empty() {
        let place = Position::new(table.x_m, table.y_m);
        waypoints.push(Waypoint::new(Instant::ZERO, place));
    }
    Ok(Station {
        name: table.name.clone(),
        waypoints,
    })
}

fn mac(text: &str) -> Result<[u8; 6], Mistake> {
    let wrong = || {
        let message =
            format!("{text:?} is not six hexadecimal bytes with colons, as 02:00:00:00:00:01");
        Mistake::at("mac", message)
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
) -> Result<Vec<LossRule>, Mistake> {
    let mut rules = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        let rule = loss_rule(table, names, epoch);
        rules.push(rule.map_err(|mistake| mistake.in_entry(i).below("loss"))?);
    }
    let mut timed = Vec::new();
    for (i, event) in events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.kind == "loss")
    {
        let found = lossy_link(event, names);
        let (src, dst, rate) = found.map_err(|m| m.in_entry(i).below("event"))?;
        timed.push((epoch + Duration::from_secs_f64(event.at_s), src, dst, rate));
    }
    timed.sort_by_key(|event| event.0);
    for (i, &(from, src, dst, rate)) in timed.iter().enumerate() {
        let next = timed[i + 1..].iter().find(|e| (e.1, e.2) == (src, dst));
        rules.push(LossRule {
            src: Some(RadioId::new(src)),
            dst: Some(RadioId::new(dst)),
            model: LossModel::Uniform { rate },
            takes: Takes::Data,
            active: from..next.map_or(Instant::MAX, |e| e.0),
        });
    }
    Ok(rules)
}

fn loss_rule(table: &LossTable, names: &[String], epoch: Instant) -> Result<LossRule, Mistake> {
    let end = |name: &Option<String>, key| {
        let found = name.as_ref().map(|n| radio_of(names, n, key));
        found.map(|radio| radio.map(RadioId::new)).transpose()
    };
    Ok(LossRule {
        src: end(&table.src, "src")?,
        dst: end(&table.dst, "dst")?,
        model: loss_model(table, epoch)?,
        takes: takes(table.takes.as_deref())?,
        // Before time 0 stations only get to know each other.
        active: epoch..Instant::MAX,
    })
}

fn takes(name: Option<&str>) -> Result<Takes, Mistake> {
    match name {
        None | Some("data") => Ok(Takes::Data),
        Some("frames") => Ok(Takes::Frames),
        Some("packets") => Ok(Takes::Packets),
        Some(other) => Err(Mistake::at(
            "takes",
            format!("{other:?} is declared, but means nothing here"),
        )),
    }
}

/// Sender, receiver and rate of an event of kind "loss".
fn lossy_link(event: &EventTable, names: &[String]) -> Result<(usize, usize, f64), Mistake> {
    let end = |name: &Option<String>, key| radio_of(names, &needed(name, key, &event.kind)?, key);
    let rate = needed(&event.rate, "rate", &event.kind)?;
    Ok((end(&event.src, "src")?, end(&event.dst, "dst")?, rate))
}

fn loss_model(table: &LossTable, epoch: Instant) -> Result<LossModel, Mistake> {
    let number = |value: &Option<f64>, key| needed(value, key, &table.kind);
    match table.kind.as_str() {
        "uniform" => Ok(LossModel::Uniform {
            rate: number(&table.rate, "rate")?,
        }),
        "burst" => {
            let on = Duration::from_secs_f64(number(&table.on_s, "on_s")?);
            let period = Duration::from_secs_f64(number(&table.period_s, "period_s")?);
            let rate = number(&table.rate, "rate")?;
            let start = epoch + Duration::from_secs_f64(number(&table.start_s, "start_s")?);
            let message = "is longer than period_s; a burst ends with its period";
            let burst = Burst::new(rate, on, period, start);
            burst
                .map(LossModel::Burst)
                .ok_or_else(|| Mistake::at("on_s", message))
        }
        "gilbert-elliott" => Ok(LossModel::GilbertElliott {
            to_bad: number(&table.p_good_to_bad, "p_good_to_bad")?,
            to_good: number(&table.p_bad_to_good, "p_bad_to_good")?,
            good: number(&table.loss_good, "loss_good")?,
            bad: number(&table.loss_bad, "loss_bad")?,
            is_bad: false,
        }),
        "list" => Ok(LossModel::List {
            frames: needed(&table.frames, "frames", &table.kind)?,
        }),
        other => Err(Mistake::at(
            "kind",
            format!("{other:?} is declared, but means nothing here"),
        )),
    }
}

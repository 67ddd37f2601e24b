// SPDX-License-Identifier: Apache-2.0
//! The configuration file: TOML, every key checked; `[radio]` is completed by a profile.
//!
//! A mistake is told in one line: line of the file, key, value, what is allowed.

mod radio;
mod tables;

use std::fmt;

use hoplab_medium_core::{Duration, Instant, LossRule, Params, Station};
use serde::Deserialize;

use tables::{EventTable, LossTable, StationTable};
pub use tables::{PowerEvent, Records};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default = "one")]
    seed: u64,
    /// The time of the start where it is not given.
    epoch_ns: Option<u64>,
    /// When the records end, after time 0; 0 is when the daemon does.
    #[serde(default)]
    duration_s: f64,
    /// Whether hosts listen to frames for others (monitor interfaces).
    #[serde(default = "yes")]
    overhear: bool,
    #[serde(default)]
    radio: radio::RadioTable,
    station: Vec<StationTable>,
    #[serde(default)]
    loss: Vec<LossTable>,
    #[serde(default)]
    event: Vec<EventTable>,
    records: Records,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// A validated configuration. Times count from the kernel's boot, as the engine's do.
#[derive(Debug)]
pub struct Config {
    /// When the measured part begins: scenario time 0.
    pub epoch: Instant,
    /// When it ends; none for when the daemon does.
    pub end: Option<Instant>,
    pub params: Params,
    pub stations: Vec<Station>,
    /// Permanent address of each radio.
    pub macs: Vec<[u8; 6]>,
    pub losses: Vec<LossRule>,
    pub power: Vec<PowerEvent>,
    /// Centre of the channel, as captures name it.
    pub channel_mhz: u16,
    /// The noise of which records speak.
    pub noise_dbm: f64,
    pub records: Records,
}

/// What is wrong with a file.
#[derive(Debug, PartialEq)]
pub struct Mistake {
    line: Option<usize>,
    message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// A mistake at a place: table, index in an array of tables, key.
#[derive(Debug)]
struct At {
    table: &'static str,
    index: usize,
    key: &'static str,
    message: String,
}

fn at(table: &'static str, index: usize, key: &'static str, message: impl Into<String>) -> At {
    At {
        table,
        index,
        key,
        message: message.into(),
    }
}

/// Read and check `text`; `start` is time 0 where it names none.
pub fn parse(text: &str, start: Instant) -> Result<Config, Mistake> {
    let document: Document = toml::from_str(text).map_err(|e| describe(text, &e))?;
    check(document, start).map_err(|wrong| Mistake {
        line: line_of(text, &wrong),
        message: match wrong.table {
            "" => format!("{}: {}", wrong.key, wrong.message),
            table => format!("{table}.{}: {}", wrong.key, wrong.message),
        },
    })
}

fn check(document: Document, start: Instant) -> Result<Config, At> {
    let epoch = document.epoch_ns.map_or(start, Instant::from_nanos);
    if !document.duration_s.is_finite() || document.duration_s < 0.0 {
        let message = format!("{} is not a time in s", document.duration_s);
        return Err(at("", 0, "duration_s", message));
    }
    let mut radio = document.radio.complete()?.check(document.seed)?;
    let network = tables::Network::new(&document.station, &document.event, epoch)?;
    let losses = tables::losses(&document.loss, &document.event, &network.names, epoch)?;
    document.records.check()?;
    radio.params.trace = document.records.frames || document.records.air_capture.is_some();
    radio.params.histograms = true;
    radio.params.overhear = document.overhear;
    let duration = Duration::from_secs_f64(document.duration_s);
    Ok(Config {
        epoch,
        end: (!duration.is_zero()).then(|| epoch + duration),
        params: radio.params,
        stations: network.stations,
        macs: network.macs,
        losses,
        power: network.power,
        channel_mhz: radio.channel_mhz,
        noise_dbm: radio.noise_dbm,
        records: document.records,
    })
}

/// A mistake that the TOML reader found, with the key that its place belongs to.
fn describe(text: &str, error: &toml::de::Error) -> Mistake {
    let message = error.message().trim().replace('\n', "; ");
    let Some(span) = error.span() else {
        return Mistake {
            line: None,
            message,
        };
    };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let row = text.lines().nth(line - 1).unwrap_or("");
    let key = row.split_once('=').map(|parts| parts.0.trim());
    let message = match key {
        Some(key) if !message.contains(&format!("`{key}`")) => format!("{key}: {message}"),
        _ => message,
    };
    Mistake {
        line: Some(line),
        message,
    }
}

/// The line of a key; of its table where the key is not written out.
fn line_of(text: &str, wrong: &At) -> Option<usize> {
    let document = toml_edit::ImDocument::parse(text).ok()?;
    let table = if wrong.table.is_empty() {
        None
    } else {
        let item = document.get(wrong.table)?;
        let indexed = item.get(wrong.index);
        Some(indexed.unwrap_or(item))
    };
    let first = wrong.key.split('.').next()?;
    let value = match table {
        Some(table) => table.get(first),
        None => document.get(first),
    };
    let place = value
        .and_then(toml_edit::Item::span)
        .or_else(|| table.and_then(toml_edit::Item::span))?;
    Some(text.get(..place.start)?.matches('\n').count() + 1)
}

/// The value of a word, or what words there are.
fn one_of<T: Copy>(value: &str, allowed: &[(&str, T)]) -> Result<T, String> {
    let found = allowed.iter().find(|entry| entry.0 == value);
    found.map(|entry| entry.1).ok_or_else(|| {
        let names: Vec<&str> = allowed.iter().map(|entry| entry.0).collect();
        format!("{value:?} is not allowed; one of {}", names.join(", "))
    })
}

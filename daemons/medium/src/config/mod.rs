// SPDX-License-Identifier: Apache-2.0
//! The configuration file: TOML, checked by the declaration of its keys (`hoplab-keys`); `[radio]`
//! is completed by a profile. Here keys become what the engine takes.
//!
//! A mistake is told in one line: line of the file, key, value, what is allowed.

mod radio;
mod tables;

use std::path::PathBuf;

use hoplab_keys::{table, Mistake};
use hoplab_medium_core::{Duration, Instant, LossRule, Nic, Params, Station};
use serde::Deserialize;
use serde_json::Value;

use tables::{EventTable, LossTable, StationTable};
pub use tables::{PowerEvent, Records};

#[derive(Debug, Deserialize)]
struct Document {
    seed: u64,
    epoch_ns: Option<u64>,
    duration_s: Option<f64>,
    overhear: bool,
    control: Option<PathBuf>,
    radio: radio::RadioTable,
    station: Vec<StationTable>,
    loss: Vec<LossTable>,
    event: Vec<EventTable>,
    records: Records,
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
    /// Network cards of radios that have their own.
    pub nics: Vec<(usize, Nic)>,
    pub losses: Vec<LossRule>,
    pub power: Vec<PowerEvent>,
    /// Centre of the channel, as captures name it.
    pub channel_mhz: u16,
    /// The noise of which records speak.
    pub noise_dbm: f64,
    /// Unicast frames above it, FCS included, have an RTS: of HT and VHT, of which the kernel leaves
    /// that to the radio.
    pub rts_threshold: usize,
    /// Where a socket takes changes; none for nowhere.
    pub control: Option<PathBuf>,
    /// Whether radios are others' than Hoplab's: on several channels, with more than one address, and
    /// known by the address that their frames name.
    pub others_radios: bool,
    pub records: Records,
}

/// Read and check `text`; `start` is time 0 where it names none.
pub fn parse(text: &str, start: Instant) -> Result<Config, String> {
    document(text)
        .and_then(|document| check(document, start))
        .map_err(|mistake| mistake.told(text))
}

fn document(text: &str) -> Result<Document, Mistake> {
    let declared = table("MediumFile");
    let mut keys = declared.read(text)?;
    let radio = keys
        .entry("radio")
        .or_insert_with(|| Value::Object(Default::default()));
    if let Value::Object(given) = radio {
        radio::add_profile(given).map_err(|mistake| mistake.below("radio"))?;
    }
    declared.complete(&mut keys)?;
    let typed = serde_json::from_value(Value::Object(keys));
    // What the declaration accepts has the types of `Document`, by a test of every key.
    typed.map_err(|error| Mistake::at("file", error.to_string()))
}

fn check(document: Document, start: Instant) -> Result<Config, Mistake> {
    let epoch = document.epoch_ns.map_or(start, Instant::from_nanos);
    let in_radio = |mistake: Mistake| mistake.below("radio");
    let mut radio = document.radio.check(document.seed).map_err(in_radio)?;
    let network = tables::Network::new(&document.station, &document.event, epoch)?;
    let losses = tables::losses(&document.loss, &document.event, &network.names, epoch)?;
    radio.params.trace = document.records.frames || document.records.air_capture.is_some();
    radio.params.histograms = true;
    radio.params.overhear = document.overhear;
    Ok(Config {
        epoch,
        end: document
            .duration_s
            .map(|s| epoch + Duration::from_secs_f64(s)),
        params: radio.params,
        stations: network.stations,
        macs: network.macs,
        nics: network.nics,
        losses,
        power: network.power,
        channel_mhz: radio.channel_mhz,
        noise_dbm: radio.noise_dbm,
        rts_threshold: radio.rts_threshold,
        control: document.control,
        others_radios: false,
        records: document.records,
    })
}

/// What a word of the declaration means.
fn one_of<T: Copy>(value: &str, key: &str, meanings: &[(&str, T)]) -> Result<T, Mistake> {
    let found = meanings.iter().find(|entry| entry.0 == value);
    let unknown = || {
        Mistake::at(
            key,
            format!("{value:?} is declared, but means nothing here"),
        )
    };
    found.map(|entry| entry.1).ok_or_else(unknown)
}

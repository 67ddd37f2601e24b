// SPDX-License-Identifier: Apache-2.0
//! The configuration file: TOML, every key checked; `[radio]` is completed by a profile.

use std::path::PathBuf;

use hoplab_medium_core::{
    Energy, LossModel, LossRule, Model, Params, Phy, Propagation, Standard, Station,
};
use serde::Deserialize;

const PROFILES: [(&str, &str); 6] = [
    (
        "wavelan",
        include_str!("../../../hoplab/profiles/wavelan.toml"),
    ),
    ("hv99", include_str!("../../../hoplab/profiles/hv99.toml")),
    (
        "ns2-stock",
        include_str!("../../../hoplab/profiles/ns2-stock.toml"),
    ),
    (
        "80211b",
        include_str!("../../../hoplab/profiles/80211b.toml"),
    ),
    (
        "80211g",
        include_str!("../../../hoplab/profiles/80211g.toml"),
    ),
    (
        "80211a",
        include_str!("../../../hoplab/profiles/80211a.toml"),
    ),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    epoch_ns: u64,
    #[serde(default)]
    duration_s: f64,
    #[serde(default)]
    radio: toml::Table,
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // Keys that only the lab acts on are accepted here too.
struct RadioTable {
    profile: String,
    standard: String,
    channel: u32,
    rate_mbps: toml::Value,
    basic_rate_mbps: f64,
    plcp_rate_mbps: f64,
    preamble: String,
    mac: String,
    rts_threshold: u32,
    retry_short: u32,
    retry_long: u32,
    retry_rules: String,
    queue_packets: usize,
    cw_min: u32,
    cw_max: u32,
    slot_us: f64,
    sifs_us: f64,
    propagation: String,
    exponent: Option<f64>,
    reference_m: Option<f64>,
    tx_power_dbm: f64,
    frequency_mhz: f64,
    antenna_height_m: f64,
    antenna_gain_dbi: f64,
    range_m: Option<f64>,
    carrier_sense_m: Option<f64>,
    rx_threshold_dbm: Option<f64>,
    cs_threshold_dbm: Option<f64>,
    capture_db: f64,
    noise_dbm: Option<f64>,
    energy: Option<EnergyTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyTable {
    #[serde(default)]
    tx_w: f64,
    #[serde(default)]
    rx_w: f64,
    #[serde(default)]
    idle_w: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StationTable {
    name: String,
    mac: String,
    x_m: f64,
    y_m: f64,
    #[serde(default)]
    waypoints: Vec<(f64, f64, f64)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LossTable {
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
struct EventTable {
    at_s: f64,
    kind: String,
    station: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    pub dir: PathBuf,
    #[serde(default = "tenth")]
    pub interval_s: f64,
    #[serde(default)]
    pub frames: bool,
    #[serde(default)]
    pub pcapng: bool,
}

fn tenth() -> f64 {
    0.1
}

/// A validated configuration.
#[derive(Debug)]
pub struct Config {
    pub epoch_ns: u64,
    pub params: Params,
    pub stations: Vec<Station>,
    /// Permanent address of each radio.
    pub macs: Vec<[u8; 6]>,
    pub losses: Vec<LossRule>,
    /// (time in ns after the epoch, radio, on).
    pub power: Vec<(u64, usize, bool)>,
    pub records: Records,
}

/// Read and check `text`; the error says line, key and what is allowed.
pub fn parse(text: &str) -> Result<Config, String> {
    let document: Document = toml::from_str(text).map_err(|e| describe(&e))?;
    let radio = complete(document.radio)?;
    if document.records.frames || document.records.pcapng {
        return Err("records.frames and records.pcapng are not built yet; remove them".into());
    }
    let propagation = Propagation {
        model: model(&radio)?,
        tx_power_dbm: radio.tx_power_dbm,
        frequency_mhz: radio.frequency_mhz,
        antenna_height_m: radio.antenna_height_m,
        antenna_gain_dbi: radio.antenna_gain_dbi,
    };
    let threshold = |range: Option<f64>, dbm: Option<f64>, names: &str| match (range, dbm) {
        // A hair below the power at that distance, so that the distance itself is in.
        (Some(range), _) => Ok(propagation.received_dbm(range) - 1e-9),
        (None, Some(dbm)) => Ok(dbm),
        (None, None) => Err(format!("radio: give one of {names}")),
    };
    let rx = threshold(
        radio.range_m,
        radio.rx_threshold_dbm,
        "range_m, rx_threshold_dbm",
    )?;
    let cs = threshold(
        radio.carrier_sense_m,
        radio.cs_threshold_dbm,
        "carrier_sense_m, cs_threshold_dbm",
    )?;
    let names: Vec<String> = document.station.iter().map(|s| s.name.clone()).collect();
    let index = |name: &str, key: &str| {
        names
            .iter()
            .position(|n| n == name)
            .ok_or(format!("{key}: no station {name:?}"))
    };
    let mut losses = Vec::new();
    for loss in &document.loss {
        let end = |name: &Option<String>, key| name.as_ref().map(|n| index(n, key)).transpose();
        losses.push(LossRule::always(
            end(&loss.src, "loss.src")?,
            end(&loss.dst, "loss.dst")?,
            loss_model(loss)?,
        ));
    }
    let mut power = Vec::new();
    for event in &document.event {
        let name = event.station.as_deref().unwrap_or_default();
        let on = one_of("event.kind", &event.kind, &[("up", true), ("down", false)])?;
        power.push((nanos(event.at_s), index(name, "event.station")?, on));
    }
    let energy = radio.energy.as_ref().map_or(Energy::default(), |e| Energy {
        tx_w: e.tx_w,
        rx_w: e.rx_w,
        idle_w: e.idle_w,
        ..Energy::default()
    });
    let epoch_ns = document.epoch_ns;
    let _ = document.duration_s;
    Ok(Config {
        epoch_ns,
        params: params(&radio, document.seed, propagation, rx, cs, energy)?,
        stations: document.station.iter().map(station).collect(),
        macs: document
            .station
            .iter()
            .map(|s| mac(&s.mac))
            .collect::<Result<_, _>>()?,
        losses,
        power,
        records: document.records,
    })
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn describe(error: &toml::de::Error) -> String {
    error.to_string().trim_end().replace('\n', " ")
}

/// The user's keys over the profile's.
fn complete(given: toml::Table) -> Result<RadioTable, String> {
    let name = given
        .get("profile")
        .and_then(toml::Value::as_str)
        .unwrap_or("wavelan")
        .to_owned();
    let text = one_of("radio.profile", &name, &PROFILES)?;
    let profile: toml::Table = toml::from_str(text).map_err(|e| describe(&e))?;
    let mut table = match profile.get("radio") {
        Some(toml::Value::Table(radio)) => radio.clone(),
        _ => return Err(format!("radio.profile: {name} has no [radio] table")),
    };
    table.extend(given);
    RadioTable::deserialize(table).map_err(|e| format!("radio: {}", describe(&e)))
}

fn one_of<T: Copy>(key: &str, value: &str, allowed: &[(&str, T)]) -> Result<T, String> {
    allowed
        .iter()
        .find(|entry| entry.0 == value)
        .map(|entry| entry.1)
        .ok_or_else(|| {
            let names: Vec<&str> = allowed.iter().map(|entry| entry.0).collect();
            format!(
                "{key}: {value:?} is not allowed; one of {}",
                names.join(", ")
            )
        })
}

fn model(radio: &RadioTable) -> Result<Model, String> {
    one_of(
        "radio.propagation",
        &radio.propagation,
        &[
            ("two-ray", Model::TwoRay),
            ("friis", Model::Friis),
            (
                "log-distance",
                Model::LogDistance {
                    exponent: radio.exponent.unwrap_or(3.0),
                    reference_m: radio.reference_m.unwrap_or(1.0),
                },
            ),
        ],
    )
}

fn params(
    radio: &RadioTable,
    seed: u64,
    propagation: Propagation,
    rx_threshold_dbm: f64,
    cs_threshold_dbm: f64,
    energy: Energy,
) -> Result<Params, String> {
    let standard = one_of(
        "radio.standard",
        &radio.standard,
        &[
            ("802.11", Standard::Dsss),
            ("802.11b", Standard::Dsss),
            (
                "802.11g",
                Standard::Ofdm {
                    signal_extension: true,
                },
            ),
            (
                "802.11a",
                Standard::Ofdm {
                    signal_extension: false,
                },
            ),
        ],
    )?;
    let preamble_bits = one_of(
        "radio.preamble",
        &radio.preamble,
        &[("long", 144), ("short", 72)],
    )?;
    let follows_ns2 = ["hv99", "ns2-stock"].contains(&radio.profile.as_str());
    Ok(Params {
        seed,
        phy: Phy {
            standard,
            preamble_bits,
            plcp_rate_mbps: radio.plcp_rate_mbps,
            basic_rate_mbps: radio.basic_rate_mbps,
            slot: (radio.slot_us * 1000.0).round() as u64,
            sifs: (radio.sifs_us * 1000.0).round() as u64,
            cw_min: radio.cw_min,
            cw_max: radio.cw_max,
        },
        propagation,
        rx_threshold_dbm,
        cs_threshold_dbm,
        capture_db: radio.capture_db,
        cumulative_interference: !follows_ns2,
        retry_short: radio.retry_short,
        retry_long: radio.retry_long,
        kernel_retries: one_of(
            "radio.retry_rules",
            &radio.retry_rules,
            &[("standard", false), ("kernel", true)],
        )?,
        queue_packets: radio.queue_packets,
        no_ack: one_of(
            "radio.mac",
            &radio.mac,
            &[("80211", false), ("csma-ca-noack", true)],
        )?,
        always_backoff: follows_ns2,
        overhear: true,
        energy,
        ..Params::default()
    })
}

fn station(table: &StationTable) -> Station {
    let mut waypoints: Vec<(u64, f64, f64)> = table
        .waypoints
        .iter()
        .map(|p| (nanos(p.0), p.1, p.2))
        .collect();
    if waypoints.is_empty() {
        waypoints.push((0, table.x_m, table.y_m));
    }
    Station {
        name: table.name.clone(),
        waypoints,
    }
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let wrong =
        || format!("station.mac: {text:?} is not six hexadecimal bytes like 02:00:00:00:00:01");
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

fn loss_model(table: &LossTable) -> Result<LossModel, String> {
    let needs = |value: Option<f64>, key: &str| {
        value.ok_or(format!("loss: kind {:?} needs {key}", table.kind))
    };
    match table.kind.as_str() {
        "uniform" => Ok(LossModel::Uniform {
            rate: needs(table.rate, "rate")?,
        }),
        "burst" => Ok(LossModel::Burst {
            rate: needs(table.rate, "rate")?,
            on: nanos(needs(table.on_s, "on_s")?),
            period: nanos(needs(table.period_s, "period_s")?).max(1),
            start: nanos(table.start_s.unwrap_or(0.0)),
        }),
        "gilbert-elliott" => Ok(LossModel::GilbertElliott {
            to_bad: needs(table.p_good_to_bad, "p_good_to_bad")?,
            to_good: needs(table.p_bad_to_good, "p_bad_to_good")?,
            good: table.loss_good.unwrap_or(0.0),
            bad: table.loss_bad.unwrap_or(1.0),
            is_bad: false,
        }),
        "list" => Ok(LossModel::List {
            frames: table
                .frames
                .clone()
                .ok_or("loss: kind \"list\" needs frames")?,
        }),
        other => Err(format!(
            "loss.kind: {other:?} is not allowed; one of uniform, gilbert-elliott, burst, list"
        )),
    }
}

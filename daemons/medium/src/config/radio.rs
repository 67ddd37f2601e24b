// SPDX-License-Identifier: Apache-2.0
//! The table `[radio]`: what the file says, over what its profile says.

use hoplab_keys::{table, Keys, Mistake};
use hoplab_medium_core::{
    Cost, Duration, Energy, Fading, Model, Nic, Params, Phy, Propagation, Rate, Reception, Rules,
    Standard, Width,
};
use serde::Deserialize;
use serde_json::Value;

use super::one_of;

const PROFILES: [(&str, &str); 8] = [
    (
        "wavelan",
        include_str!("../../../../hoplab/model/scenario/profiles/wavelan.toml"),
    ),
    (
        "hv99",
        include_str!("../../../../hoplab/model/scenario/profiles/hv99.toml"),
    ),
    (
        "ns2-stock",
        include_str!("../../../../hoplab/model/scenario/profiles/ns2-stock.toml"),
    ),
    (
        "80211b",
        include_str!("../../../../hoplab/model/scenario/profiles/80211b.toml"),
    ),
    (
        "80211g",
        include_str!("../../../../hoplab/model/scenario/profiles/80211g.toml"),
    ),
    (
        "80211a",
        include_str!("../../../../hoplab/model/scenario/profiles/80211a.toml"),
    ),
    (
        "80211n",
        include_str!("../../../../hoplab/model/scenario/profiles/80211n.toml"),
    ),
    (
        "80211ac",
        include_str!("../../../../hoplab/model/scenario/profiles/80211ac.toml"),
    ),
];

/// Power draw in W: transmit, receive, idle, sleep.
///
/// - `ns2`: 0.2818 W to transmit and to receive, as ns-2's radio radiates; nothing else counts.
/// - `lucent-bronze`, `lucent-silver`: Lucent WaveLAN PC cards of 2 and 11 Mbit/s (Feeney, Nilsson
///   2001, table 1: 280, 204, 178, 14 and 284, 190, 156, 10 mA at 4.74 V).
const PRESETS: [(&str, [f64; 4]); 3] = [
    ("ns2", [0.2818, 0.2818, 0.0, 0.0]),
    ("lucent-bronze", [1.327, 0.967, 0.844, 0.066]),
    ("lucent-silver", [1.346, 0.901, 0.739, 0.047]),
];

/// Thermal noise density at 290 K in dBm/MHz, and the noise figure that ns-3 assumes.
const THERMAL_DBM_PER_MHZ: f64 = -113.975;
const NOISE_FIGURE_DB: f64 = 7.0;
const LAST_2_GHZ_CHANNEL: u16 = 14;
const SHORT_GUARD_NS: u16 = 400;

#[derive(Debug, Deserialize)]
pub struct RadioTable {
    rules: String,
    standard: String,
    channel: u16,
    /// None where `mcs` is.
    #[serde(default)]
    rate_mbps: Value,
    mcs: Option<u8>,
    width_mhz: Option<u16>,
    guard_ns: Option<u16>,
    streams: Option<u8>,
    basic_rate_mbps: f64,
    plcp_rate_mbps: f64,
    preamble: String,
    mac: String,
    rts_threshold: usize,
    retry_short: u32,
    retry_long: u32,
    retry_rules: String,
    queue_packets: usize,
    routing_priority: bool,
    cw_min: u32,
    cw_max: u32,
    slot_us: f64,
    sifs_us: f64,
    propagation: String,
    exponent: Option<f64>,
    shadowing_db: f64,
    reference_m: Option<f64>,
    fading: String,
    nakagami_m: Option<f64>,
    tx_power_dbm: f64,
    frequency_mhz: f64,
    antenna_height_m: f64,
    antenna_gain_dbi: f64,
    range_m: Option<f64>,
    carrier_sense_m: Option<f64>,
    rx_threshold_dbm: Option<f64>,
    cs_threshold_dbm: Option<f64>,
    capture_db: f64,
    capture_later: bool,
    noise_dbm: Option<f64>,
    reception: String,
    level_error_db: f64,
    nic: Option<NicTable>,
    energy: Option<EnergyTable>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct NicTable {
    tx_packet_us: f64,
    tx_service_mbps: f64,
    queue_packets: usize,
    tx_ring: usize,
    tx_load_us: f64,
    tx_load_mbps: f64,
    rx_packet_us: f64,
    rx_service_mbps: f64,
    rx_buffer_packets: usize,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct EnergyTable {
    preset: Option<String>,
    tx_w: Option<f64>,
    rx_w: Option<f64>,
    idle_w: Option<f64>,
    sleep_w: Option<f64>,
    battery_j: Option<f64>,
}

/// What the table comes to.
pub struct Radio {
    pub params: Params,
    pub channel_mhz: u16,
    pub noise_dbm: f64,
    pub rts_threshold: usize,
}

/// Keys that give the same, as a distance or as a power.
const THRESHOLDS: [(&str, &str); 2] = [
    ("range_m", "rx_threshold_dbm"),
    ("carrier_sense_m", "cs_threshold_dbm"),
];

/// The file's keys over its profile's.
pub fn add_profile(given: &mut Keys) -> Result<(), Mistake> {
    let default = table("Radio").words("profile")[0];
    let name = given
        .get("profile")
        .and_then(Value::as_str)
        .unwrap_or(default);
    let text = one_of(name, "profile", &PROFILES)?;
    let broken = |mistake: Mistake| Mistake::at("profile", mistake.told(text));
    // A profile's file is the start of a medium's.
    let file = table("MediumFile").read(text).map_err(broken)?;
    let mut profile = file["radio"].as_object().cloned().unwrap_or_default();
    for (distance, power) in THRESHOLDS {
        if given.contains_key(power) {
            if given.contains_key(distance) {
                return Err(Mistake::at(
                    power,
                    format!("gives what {distance} gives too; remove one"),
                ));
            }
            profile.remove(distance);
        }
    }
    let mut both = profile.clone();
    both.extend(given.clone());
    for (key, value) in profile {
        // Another standard than the profile's names its rates otherwise.
        if table("Radio").counts(&key, &both).is_ok() {
            given.entry(key).or_insert(value);
        }
    }
    Ok(())
}

impl NicTable {
    pub fn check(&self) -> Result<Nic, Mistake> {
        let cost = |frame_us, mbps| Cost { frame_us, mbps };
        let nic = Nic {
            tx: cost(self.tx_packet_us, self.tx_service_mbps),
            queue_packets: self.queue_packets,
            tx_ring: self.tx_ring,
            load: cost(self.tx_load_us, self.tx_load_mbps),
            rx: cost(self.rx_packet_us, self.rx_service_mbps),
            rx_buffer_packets: self.rx_buffer_packets,
        };
        if nic.rx.is_none() && nic.rx_buffer_packets > 0 {
            let message =
                "needs rx_service_mbps or rx_packet_us: a host that takes frames at once \
                           needs no buffer";
            return Err(Mistake::at("rx_buffer_packets", message).below("nic"));
        }
        Ok(nic)
    }
}

impl RadioTable {
    pub fn check(&self, seed: u64) -> Result<Radio, Mistake> {
        let phy = self.phy()?;
        let propagation = self.propagation()?;
        let threshold = |distance: Option<f64>, power: Option<f64>, key| match (distance, power) {
            // A hair below the power at that distance, so that the distance itself is in.
            (Some(m), _) => Ok(propagation.received_dbm(m) - 1e-9),
            (None, Some(level)) => Ok(level),
            (None, None) => Err(Mistake::at(key, "missing, as a distance and as a power")),
        };
        let rx_threshold_dbm = threshold(self.range_m, self.rx_threshold_dbm, "range_m")?;
        let cs_threshold_dbm = threshold(
            self.carrier_sense_m,
            self.cs_threshold_dbm,
            "carrier_sense_m",
        )?;
        if cs_threshold_dbm > rx_threshold_dbm {
            let message = "carrier sense ends before reception; raise it or lower range_m";
            return Err(Mistake::at("carrier_sense_m", message));
        }
        let rules = [("802.11", Rules::Standard), ("ns-2", Rules::Ns2)];
        let kinds = [
            ("threshold", Reception::Threshold),
            ("error-rate", Reception::ErrorRate),
        ];
        let reception = one_of(&self.reception, "reception", &kinds)?;
        let width_mhz: f64 = match phy.standard {
            Standard::Dsss => 22.0,
            Standard::Ofdm { .. } | Standard::Ht { .. } | Standard::Vht { .. } => 20.0,
        };
        let thermal_dbm = THERMAL_DBM_PER_MHZ + 10.0 * width_mhz.log10() + NOISE_FIGURE_DB;
        let noise_dbm = self.noise_dbm.unwrap_or(thermal_dbm);
        // Deciding by threshold, noise counts only where the file gives it, as in ns-2.
        let counts = self.noise_dbm.is_some() || reception == Reception::ErrorRate;
        let retries = [("standard", false), ("kernel", true)];
        let params = Params {
            seed,
            propagation,
            shadowing_db: self.shadowing_db,
            fading: self.fading()?,
            reception,
            rx_threshold_dbm,
            cs_threshold_dbm,
            capture_db: self.capture_db,
            capture_later: self.capture_later,
            noise_dbm: counts.then_some(noise_dbm),
            retry_short: self.retry_short,
            retry_long: self.retry_long,
            kernel_retries: one_of(&self.retry_rules, "retry_rules", &retries)?,
            queue_packets: self.queue_packets,
            routing_priority: self.routing_priority,
            nic: self.nic()?,
            level_error_db: self.level_error_db,
            energy: self.energy()?,
            no_ack: one_of(
                &self.mac,
                "mac",
                &[("80211", false), ("csma-ca-noack", true)],
            )?,
            rules: one_of(&self.rules, "rules", &rules)?,
            phy,
            ..Params::default()
        };
        Ok(Radio {
            params,
            channel_mhz: match self.channel {
                channel @ 1..LAST_2_GHZ_CHANNEL => 2407 + 5 * channel,
                LAST_2_GHZ_CHANNEL => 2484,
                channel => 5000 + 5 * channel,
            },
            noise_dbm,
            rts_threshold: self.rts_threshold,
        })
    }

    fn phy(&self) -> Result<Phy, Mistake> {
        let ofdm = |signal_extension| Standard::Ofdm { signal_extension };
        let signal_extension = self.channel <= LAST_2_GHZ_CHANNEL;
        let standards = [
            ("802.11", Standard::Dsss),
            ("802.11b", Standard::Dsss),
            ("802.11g", ofdm(true)),
            ("802.11a", ofdm(false)),
            ("802.11n", Standard::Ht { signal_extension }),
            ("802.11ac", Standard::Vht { signal_extension }),
        ];
        for (key, window) in [("cw_min", self.cw_min), ("cw_max", self.cw_max)] {
            if window & (window + 1) != 0 {
                return Err(Mistake::at(
                    key,
                    format!("{window} is not 2^n - 1, as 15, 31 and 1023 are"),
                ));
            }
        }
        if self.cw_max < self.cw_min {
            let message = format!("{} is below cw_min {}", self.cw_max, self.cw_min);
            return Err(Mistake::at("cw_max", message));
        }
        let micros = |value: f64| Duration::from_nanos((value * 1000.0).round() as u64);
        let standard = one_of(&self.standard, "standard", &standards)?;
        let header: &[Rate] = match standard {
            Standard::Dsss => &[Rate::DSSS_1, Rate::DSSS_2],
            Standard::Ofdm { .. } | Standard::Ht { .. } | Standard::Vht { .. } => &[Rate::OFDM_6],
        };
        let all = Rate::LEGACY.into_iter().filter(|rate| standard.has(*rate));
        let all: Vec<Rate> = all.collect();
        // The kernel chooses the data's rate; here it is only checked. None is "auto".
        if let Some(mbps) = self.rate_mbps.as_f64() {
            self.rate(mbps, "rate_mbps", &all)?;
        }
        if let Standard::Ht { .. } | Standard::Vht { .. } = standard {
            self.check_scheme(standard)?;
        }
        Ok(Phy {
            standard,
            preamble_bits: one_of(&self.preamble, "preamble", &[("long", 144), ("short", 72)])?,
            plcp_rate: self.rate(self.plcp_rate_mbps, "plcp_rate_mbps", header)?,
            basic_rate: self.rate(self.basic_rate_mbps, "basic_rate_mbps", &all)?,
            slot: micros(self.slot_us),
            sifs: micros(self.sifs_us),
            cw_min: self.cw_min,
            cw_max: self.cw_max,
        })
    }

    /// Whether the standard has a rate of this MCS with the width and the streams that go with it.
    fn check_scheme(&self, standard: Standard) -> Result<(), Mistake> {
        let mcs = self.mcs.ok_or_else(|| Mistake::at("mcs", "missing"))?;
        let width = match self.width_mhz {
            Some(80) => Width::Mhz80,
            Some(40) => Width::Mhz40,
            _ => Width::Mhz20,
        };
        let short = self.guard_ns == Some(SHORT_GUARD_NS);
        let found = match standard {
            Standard::Vht { .. } => Rate::vht(mcs, self.streams.unwrap_or(1), width, short),
            _ => Rate::ht(mcs, width, short),
        };
        let has = found.is_some_and(|rate| standard.has(rate));
        has.then_some(()).ok_or_else(|| {
            let (standard, width) = (&self.standard, width.mhz());
            Mistake::at("mcs", format!("{standard} has no MCS {mcs} at {width} MHz"))
        })
    }

    /// One of the rates that the standard has for this.
    fn rate(&self, mbps: f64, key: &str, allowed: &[Rate]) -> Result<Rate, Mistake> {
        let found = allowed.iter().find(|rate| rate.mbps() == mbps);
        found.copied().ok_or_else(|| {
            let mut known: Vec<f64> = allowed.iter().map(|rate| rate.mbps()).collect();
            known.sort_by(f64::total_cmp);
            let known: Vec<String> = known.iter().map(f64::to_string).collect();
            let (standard, known) = (&self.standard, known.join(", "));
            let message = format!("{mbps} Mbit/s is no such rate of {standard}; one of {known}");
            Mistake::at(key, message)
        })
    }

    fn propagation(&self) -> Result<Propagation, Mistake> {
        // Of the other models neither is asked.
        let log_distance = Model::LogDistance {
            exponent: self.exponent.unwrap_or_default(),
            reference_m: self.reference_m.unwrap_or_default(),
        };
        let models = [
            ("two-ray", Model::TwoRay),
            ("friis", Model::Friis),
            ("log-distance", log_distance),
        ];
        Ok(Propagation {
            model: one_of(&self.propagation, "propagation", &models)?,
            tx_power_dbm: self.tx_power_dbm,
            frequency_mhz: self.frequency_mhz,
            antenna_height_m: self.antenna_height_m,
            antenna_gain_dbi: self.antenna_gain_dbi,
        })
    }

    fn fading(&self) -> Result<Fading, Mistake> {
        let m = self.nakagami_m.unwrap_or_default();
        let kinds = [
            ("none", Fading::None),
            ("rayleigh", Fading::Nakagami { m: 1.0 }),
            ("nakagami", Fading::Nakagami { m }),
        ];
        one_of(&self.fading, "fading", &kinds)
    }

    fn nic(&self) -> Result<Nic, Mistake> {
        let given = self.nic.as_ref().map(NicTable::check).transpose();
        Ok(given?.unwrap_or_default())
    }

    fn energy(&self) -> Result<Energy, Mistake> {
        let table = self.energy.clone().unwrap_or_default();
        let preset = match &table.preset {
            Some(name) => one_of(name, "preset", &PRESETS).map_err(|m| m.below("energy"))?,
            None => [0.0; 4],
        };
        Ok(Energy {
            tx_w: table.tx_w.unwrap_or(preset[0]),
            rx_w: table.rx_w.unwrap_or(preset[1]),
            idle_w: table.idle_w.unwrap_or(preset[2]),
            sleep_w: table.sleep_w.unwrap_or(preset[3]),
            battery_j: table.battery_j,
        })
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The table `[radio]`: what the file says, over what its profile says.

use hoplab_medium_core::{
    Duration, Energy, Fading, Model, Nic, Params, Phy, Propagation, Rate, Reception, Rules,
    Standard,
};
use serde::Deserialize;

use super::{at, one_of, At};

const PROFILES: [(&str, &str); 6] = [
    (
        "wavelan",
        include_str!("../../../../hoplab/scenario/profiles/wavelan.toml"),
    ),
    (
        "hv99",
        include_str!("../../../../hoplab/scenario/profiles/hv99.toml"),
    ),
    (
        "ns2-stock",
        include_str!("../../../../hoplab/scenario/profiles/ns2-stock.toml"),
    ),
    (
        "80211b",
        include_str!("../../../../hoplab/scenario/profiles/80211b.toml"),
    ),
    (
        "80211g",
        include_str!("../../../../hoplab/scenario/profiles/80211g.toml"),
    ),
    (
        "80211a",
        include_str!("../../../../hoplab/scenario/profiles/80211a.toml"),
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

/// A table whose every key is optional, and its completion from another one.
macro_rules! optional_table {
    ($name:ident { $($key:ident: $kind:ty,)* }) => {
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)] // Keys that only the lab acts on are accepted here too.
        pub struct $name { $(pub $key: Option<$kind>,)* }

        impl $name {
            fn over(self, base: Self) -> Self {
                Self { $($key: self.$key.or(base.$key),)* }
            }
        }
    };
}

optional_table!(RadioTable {
    profile: String,
    rules: String,
    standard: String,
    channel: u16,
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
    routing_priority: bool,
    cw_min: u32,
    cw_max: u32,
    slot_us: f64,
    sifs_us: f64,
    propagation: String,
    exponent: f64,
    shadowing_db: f64,
    reference_m: f64,
    fading: String,
    nakagami_m: f64,
    tx_power_dbm: f64,
    frequency_mhz: f64,
    antenna_height_m: f64,
    antenna_gain_dbi: f64,
    range_m: f64,
    carrier_sense_m: f64,
    rx_threshold_dbm: f64,
    cs_threshold_dbm: f64,
    capture_db: f64,
    capture_later: bool,
    noise_dbm: f64,
    reception: String,
    nic: NicTable,
    energy: EnergyTable,
});

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NicTable {
    tx_ring: usize,
    rx_service_mbps: f64,
    rx_buffer_packets: usize,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyTable {
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
}

fn wrong(key: &'static str, message: impl Into<String>) -> At {
    at("radio", 0, key, message)
}

fn given<T: Clone>(value: &Option<T>, key: &'static str) -> Result<T, At> {
    let value = value.clone();
    value.ok_or_else(|| wrong(key, "missing; give it or a profile that has it"))
}

fn word<T: Copy>(
    value: &Option<String>,
    key: &'static str,
    allowed: &[(&str, T)],
) -> Result<T, At> {
    one_of(&given(value, key)?, allowed).map_err(|message| wrong(key, message))
}

/// A number in a range.
fn number(value: f64, key: &'static str, least: f64, most: f64) -> Result<f64, At> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let message = format!("{value} is out of range; {least} to {most} is allowed");
    Err(wrong(key, message))
}

/// The smallest number of which a quantity that must be positive is asked.
const ABOVE_ZERO: f64 = 1e-9;
const HUGE: f64 = 1e9;

impl RadioTable {
    /// The file's keys over its profile's.
    pub fn complete(self) -> Result<Self, At> {
        let name = self.profile.clone().unwrap_or_else(|| "wavelan".into());
        let text = one_of(&name, &PROFILES).map_err(|message| wrong("profile", message))?;
        #[derive(Deserialize)]
        struct Profile {
            radio: RadioTable,
        }
        let profile: Profile =
            toml::from_str(text).map_err(|e| wrong("profile", format!("{name}: {e}")))?;
        let mut base = profile.radio;
        // A threshold may be given as a distance or as a power.
        let pairs = [
            (
                "rx_threshold_dbm",
                self.range_m.is_some(),
                self.rx_threshold_dbm.is_some(),
            ),
            (
                "cs_threshold_dbm",
                self.carrier_sense_m.is_some(),
                self.cs_threshold_dbm.is_some(),
            ),
        ];
        for (key, distance, power) in pairs {
            if distance && power {
                let message = "gives what range_m or carrier_sense_m gives too; remove one";
                return Err(wrong(key, message));
            }
        }
        if pairs[0].2 {
            base.range_m = None;
        }
        if pairs[1].2 {
            base.carrier_sense_m = None;
        }
        Ok(self.over(base))
    }

    pub fn check(&self, seed: u64) -> Result<Radio, At> {
        let phy = self.phy()?;
        let data_mbps = self.rate_mbps.as_ref().and_then(|rate| match rate {
            toml::Value::Integer(rate) => Some(*rate as f64),
            other => other.as_float(),
        });
        if data_mbps.is_some() {
            self.rate(phy.standard, &data_mbps, "rate_mbps")?;
        }
        let propagation = self.propagation()?;
        let threshold = |range: (Option<f64>, &'static str), dbm: (Option<f64>, &'static str)| {
            match (range.0, dbm.0) {
                // A hair below the power at that distance, so that the distance itself is in.
                (Some(m), _) => {
                    let m = number(m, range.1, ABOVE_ZERO, HUGE)?;
                    Ok(propagation.received_dbm(m) - 1e-9)
                }
                (None, Some(level)) => number(level, dbm.1, -200.0, 100.0),
                (None, None) => Err(wrong(range.1, format!("missing; give it or {}", dbm.1))),
            }
        };
        let rx_threshold_dbm = threshold(
            (self.range_m, "range_m"),
            (self.rx_threshold_dbm, "rx_threshold_dbm"),
        )?;
        let cs_threshold_dbm = threshold(
            (self.carrier_sense_m, "carrier_sense_m"),
            (self.cs_threshold_dbm, "cs_threshold_dbm"),
        )?;
        let rules = [("802.11", Rules::Standard), ("ns-2", Rules::Ns2)];
        let reception = word(
            &self.reception.clone().or(Some("threshold".into())),
            "reception",
            &[
                ("threshold", Reception::Threshold),
                ("error-rate", Reception::ErrorRate),
            ],
        )?;
        let width_mhz: f64 = match phy.standard {
            Standard::Dsss => 22.0,
            Standard::Ofdm { .. } => 20.0,
        };
        let thermal_dbm = THERMAL_DBM_PER_MHZ + 10.0 * width_mhz.log10() + NOISE_FIGURE_DB;
        let noise_dbm = number(
            self.noise_dbm.unwrap_or(thermal_dbm),
            "noise_dbm",
            -200.0,
            100.0,
        )?;
        // Deciding by threshold, noise counts only where the file gives it, as in ns-2.
        let counts = self.noise_dbm.is_some() || reception == Reception::ErrorRate;
        let params = Params {
            seed,
            propagation,
            shadowing_db: number(self.shadowing_db.unwrap_or(0.0), "shadowing_db", 0.0, 30.0)?,
            fading: self.fading()?,
            reception,
            rx_threshold_dbm,
            cs_threshold_dbm,
            capture_db: number(
                given(&self.capture_db, "capture_db")?,
                "capture_db",
                0.0,
                1000.0,
            )?,
            capture_later: self.capture_later.unwrap_or(false),
            noise_dbm: counts.then_some(noise_dbm),
            retry_short: given(&self.retry_short, "retry_short")?,
            retry_long: given(&self.retry_long, "retry_long")?,
            kernel_retries: word(
                &self.retry_rules,
                "retry_rules",
                &[("standard", false), ("kernel", true)],
            )?,
            queue_packets: given(&self.queue_packets, "queue_packets")?,
            routing_priority: self.routing_priority.unwrap_or(false),
            nic: self.nic()?,
            energy: self.energy()?,
            no_ack: word(
                &self.mac,
                "mac",
                &[("80211", false), ("csma-ca-noack", true)],
            )?,
            rules: word(&self.rules, "rules", &rules)?,
            phy,
            ..Params::default()
        };
        for (key, value) in [
            ("retry_short", params.retry_short as usize),
            ("retry_long", params.retry_long as usize),
            ("queue_packets", params.queue_packets),
        ] {
            number(value as f64, key, 1.0, 10_000.0)?;
        }
        let channel = given(&self.channel, "channel")?;
        Ok(Radio {
            params,
            channel_mhz: match channel {
                1..=13 => 2407 + 5 * channel,
                14 => 2484,
                15..=200 => 5000 + 5 * channel,
                _ => return Err(wrong("channel", format!("{channel}: 1 to 200 is allowed"))),
            },
            noise_dbm,
        })
    }

    /// A rate that the standard has.
    fn rate(&self, standard: Standard, mbps: &Option<f64>, key: &'static str) -> Result<Rate, At> {
        let mbps = given(mbps, key)?;
        let rate = Rate::from_mbps(mbps).filter(|rate| standard.has(*rate));
        let name = given(&self.standard, "standard")?;
        rate.ok_or_else(|| {
            let known = list_rates(standard);
            wrong(
                key,
                format!("{mbps} Mbit/s is no rate of {name}; one of {known}"),
            )
        })
    }

    fn phy(&self) -> Result<Phy, At> {
        let ofdm = |signal_extension| Standard::Ofdm { signal_extension };
        let standard = word(
            &self.standard,
            "standard",
            &[
                ("802.11", Standard::Dsss),
                ("802.11b", Standard::Dsss),
                ("802.11g", ofdm(true)),
                ("802.11a", ofdm(false)),
            ],
        )?;
        let micros = |value: &Option<f64>, key| {
            let value = number(given(value, key)?, key, 0.001, 1e6)?;
            Ok(Duration::from_nanos((value * 1000.0).round() as u64))
        };
        let plcp_mbps = given(&self.plcp_rate_mbps, "plcp_rate_mbps")?;
        let headers = [Rate::DSSS_1, Rate::DSSS_2, Rate::OFDM_6];
        let plcp_rate = headers.into_iter().find(|rate| rate.mbps() == plcp_mbps);
        let unknown = || {
            let message = format!("{plcp_mbps} is not allowed; one of 1, 2, 6");
            wrong("plcp_rate_mbps", message)
        };
        let phy = Phy {
            standard,
            preamble_bits: word(&self.preamble, "preamble", &[("long", 144), ("short", 72)])?,
            plcp_rate: plcp_rate.ok_or_else(unknown)?,
            basic_rate: self.rate(standard, &self.basic_rate_mbps, "basic_rate_mbps")?,
            slot: micros(&self.slot_us, "slot_us")?,
            sifs: micros(&self.sifs_us, "sifs_us")?,
            cw_min: given(&self.cw_min, "cw_min")?,
            cw_max: given(&self.cw_max, "cw_max")?,
        };
        if phy.cw_max < phy.cw_min || phy.cw_max > 32_767 {
            let message = format!("{} is not allowed; cw_min to 32767", phy.cw_max);
            return Err(wrong("cw_max", message));
        }
        Ok(phy)
    }

    fn propagation(&self) -> Result<Propagation, At> {
        let positive = |value, key| number(value, key, ABOVE_ZERO, HUGE);
        let exponent = positive(self.exponent.unwrap_or(3.0), "exponent")?;
        let reference_m = positive(self.reference_m.unwrap_or(1.0), "reference_m")?;
        let model = word(
            &self.propagation,
            "propagation",
            &[
                ("two-ray", Model::TwoRay),
                ("friis", Model::Friis),
                (
                    "log-distance",
                    Model::LogDistance {
                        exponent,
                        reference_m,
                    },
                ),
            ],
        )?;
        let dbm = |value, key| number(value, key, -200.0, 100.0);
        Ok(Propagation {
            model,
            tx_power_dbm: dbm(given(&self.tx_power_dbm, "tx_power_dbm")?, "tx_power_dbm")?,
            frequency_mhz: positive(
                given(&self.frequency_mhz, "frequency_mhz")?,
                "frequency_mhz",
            )?,
            antenna_height_m: positive(
                given(&self.antenna_height_m, "antenna_height_m")?,
                "antenna_height_m",
            )?,
            antenna_gain_dbi: dbm(
                given(&self.antenna_gain_dbi, "antenna_gain_dbi")?,
                "antenna_gain_dbi",
            )?,
        })
    }

    fn fading(&self) -> Result<Fading, At> {
        let m = number(self.nakagami_m.unwrap_or(1.0), "nakagami_m", 0.5, 1000.0)?;
        let name = self.fading.clone().or(Some("none".into()));
        word(
            &name,
            "fading",
            &[
                ("none", Fading::None),
                ("rayleigh", Fading::Nakagami { m: 1.0 }),
                ("nakagami", Fading::Nakagami { m }),
            ],
        )
    }

    fn nic(&self) -> Result<Nic, At> {
        let nic = self.nic.clone().unwrap_or_default();
        let rx_service_mbps = number(nic.rx_service_mbps, "nic.rx_service_mbps", 0.0, HUGE)?;
        if rx_service_mbps == 0.0 && nic.rx_buffer_packets > 0 {
            let message = "needs rx_service_mbps: a host that takes frames at once needs no buffer";
            return Err(wrong("nic.rx_buffer_packets", message));
        }
        Ok(Nic {
            tx_ring: nic.tx_ring,
            rx_service_mbps,
            rx_buffer_packets: nic.rx_buffer_packets,
        })
    }

    fn energy(&self) -> Result<Energy, At> {
        let table = self.energy.clone().unwrap_or_default();
        let preset = match &table.preset {
            Some(name) => {
                one_of(name, &PRESETS).map_err(|message| wrong("energy.preset", message))?
            }
            None => [0.0; 4],
        };
        let watts =
            |given: Option<f64>, preset, key| number(given.unwrap_or(preset), key, 0.0, HUGE);
        Ok(Energy {
            tx_w: watts(table.tx_w, preset[0], "energy.tx_w")?,
            rx_w: watts(table.rx_w, preset[1], "energy.rx_w")?,
            idle_w: watts(table.idle_w, preset[2], "energy.idle_w")?,
            sleep_w: watts(table.sleep_w, preset[3], "energy.sleep_w")?,
            battery_j: match table.battery_j {
                Some(j) => Some(number(j, "energy.battery_j", ABOVE_ZERO, 1e12)?),
                None => None,
            },
        })
    }
}

fn list_rates(standard: Standard) -> String {
    let known = Rate::ALL.into_iter().filter(|rate| standard.has(*rate));
    let mut known: Vec<f64> = known.map(Rate::mbps).collect();
    known.sort_by(f64::total_cmp);
    let names: Vec<String> = known.iter().map(f64::to_string).collect();
    names.join(", ")
}

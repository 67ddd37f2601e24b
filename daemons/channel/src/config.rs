// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The document: final values, that `hoplab` has checked and computed
//! (`hoplab/model/network/medium_document.py`). Times count from the kernel's boot, as the engine's
//! do.

use std::path::PathBuf;

use hoplab_medium_core::{
    CategoryParams, Dbm, Duration, Emlsr, Instant, LossRule, Nic, Params, RadioId, Waypoint, Width,
};
use hoplab_wire::Mac;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::rates::DataRate;

/// The RTS threshold that no frame exceeds (dot11RTSThreshold, IEEE 802.11-2020 annex C).
pub const NO_RTS: usize = 2347;

/// What the daemon does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// When the measured part begins: scenario time 0.
    #[serde(rename = "epoch_ns")]
    pub epoch: Instant,
    /// When it ends; none for when the daemon does.
    #[serde(rename = "end_ns")]
    pub end: Option<Instant>,
    pub params: Params,
    pub stations: Vec<Radio>,
    pub losses: Vec<LossRule>,
    /// Power of links, where it was measured; none where positions decide. A link that is not
    /// named carries nothing.
    pub measured: Option<Vec<Measured>>,
    /// Centre of the channel, as captures name it.
    pub channel_mhz: u16,
    /// The noise of which records speak.
    pub noise_dbm: Dbm,
    /// Standard deviation of the levels that cards report, in dB. It affects records alone.
    pub level_error_db: f64,
    /// Hosts get unicast frames also for others, where their radios decoded them.
    pub overhear: bool,
    /// Unicast frames above it, FCS included, have an RTS: of HT and VHT, of which the kernel leaves
    /// that to the radio.
    pub rts_threshold: usize,
    /// The rate of data frames where the kernel's rate control does not know it.
    pub data_rate: Option<DataRate>,
    /// Whether radios go from one access point to another, and to its channel. They are then where
    /// their hosts tune them to, and table `handovers` is written.
    pub roams: bool,
    /// How clients that announce it doze; none where none does.
    #[serde(default)]
    pub power_save: Option<PowerSave>,
    /// Where a socket takes changes; none for nowhere.
    pub control: Option<PathBuf>,
    /// Whether radios are others' than Hoplab's: on several channels, with more than one address, and
    /// known by the address that their frames name.
    #[serde(skip)]
    pub others_radios: bool,
    pub records: Records,
}

hoplab_document::document!(Config);

impl Config {
    /// Permanent address of each radio.
    pub fn macs(&self) -> Vec<Mac> {
        self.stations.iter().map(|radio| radio.mac).collect()
    }

    /// Centre of each radio's channel.
    pub fn channels_mhz(&self) -> Vec<u16> {
        let own = self.stations.iter().map(|radio| radio.channel_mhz);
        own.map(|own| own.unwrap_or(self.channel_mhz)).collect()
    }

    /// Centre of the channel of each radio's further links.
    pub fn links_mhz(&self) -> Vec<Vec<u16>> {
        let links = |radio: &Radio| radio.links.iter().map(|link| link.channel_mhz).collect();
        self.stations.iter().map(links).collect()
    }

    /// Whether some radios have access categories of their own. Then clients have those that their
    /// hosts learn from their access points.
    pub fn have_own_categories(&self) -> bool {
        self.stations.iter().any(|radio| radio.categories.is_some())
    }

    pub fn names(&self) -> Vec<String> {
        let names = self.stations.iter().map(|radio| radio.name.clone());
        names.collect()
    }
}

/// An address as its six octets.
fn mac<'de, D: Deserializer<'de>>(from: D) -> Result<Mac, D::Error> {
    Deserialize::deserialize(from).map(Mac)
}

/// A station's radio.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    pub name: String,
    /// Its permanent address.
    #[serde(deserialize_with = "mac")]
    pub mac: Mac,
    pub waypoints: Vec<Waypoint>,
    /// Its own network card; none for that of [`Params`].
    pub nic: Option<Nic>,
    /// When it goes off and comes up.
    pub power: Vec<Power>,
    /// Centre of its channel; none where all are on that of [`Config`].
    pub channel_mhz: Option<u16>,
    /// How much of its channel it uses; none for all of it.
    #[serde(default)]
    pub width_mhz: Option<Width>,
    /// Further links of a multi-link device.
    #[serde(default)]
    pub links: Vec<Link>,
    /// It has one radio for all of them; none where it has one for each.
    #[serde(default)]
    pub emlsr: Option<Emlsr>,
    /// Its beacons are held back so long.
    #[serde(default, rename = "beacon_offset_ns")]
    pub beacon_offset: Duration,
    /// Its access categories, voice first; none for those of [`Params`].
    pub categories: Option<[CategoryParams; 4]>,
}

/// A further link of a multi-link device.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub channel_mhz: u16,
    pub width_mhz: Width,
    /// Of its signals, if they do not spread as those of the first link.
    #[serde(default)]
    pub frequency_mhz: Option<f64>,
}

/// Power of one radio's signals at another, at times in their order; linear between them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    pub from: RadioId,
    pub to: RadioId,
    pub points: Vec<(Instant, Dbm)>,
}

/// When a radio that saves power is awake.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSave {
    /// It listens to every beacon of this number, and to each that frames for all follow.
    pub listen_interval: u32,
    /// How long before a beacon it is awake.
    #[serde(rename = "ahead_ns")]
    pub ahead: Duration,
    /// How long it waits for a beacon after its time, and for frames that it has asked for.
    #[serde(rename = "patience_ns")]
    pub patience: Duration,
    /// How it comes by frames that its access point keeps for it.
    #[serde(default)]
    pub fetch: Fetch,
}

/// How a client that saves power comes by frames that its access point keeps for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fetch {
    /// Its host says that it is awake.
    #[default]
    Awake,
    /// Its host asks for each by a PS-Poll (IEEE 802.11-2020 11.2.3.6).
    PsPoll,
    /// A frame of its own, which the radio sends after a beacon if the host does not, brings all of
    /// them (U-APSD, 11.2.3.5).
    UApsd,
    /// As the former, but at times of its own, and not after beacons (individual target wake time,
    /// 10.47, announced).
    Twt {
        /// From one of its periods to the next.
        #[serde(rename = "interval_ns", deserialize_with = "interval")]
        interval: Duration,
        /// For how long it waits in a period that its access point does not end.
        #[serde(rename = "duration_ns")]
        duration: Duration,
    },
}

/// The unit of a service period's duration (802.11ax-2021 9.4.2.199). Periods of less than that would
/// keep the medium busy with nothing else.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(256);

fn interval<'de, D: Deserializer<'de>>(given: D) -> Result<Duration, D::Error> {
    let interval = Duration::deserialize(given)?;
    if interval < SHORTEST_INTERVAL {
        let least = SHORTEST_INTERVAL.as_nanos();
        let why = format!("{}: expected at least {least} ns", interval.as_nanos());
        return Err(D::Error::custom(why));
    }
    Ok(interval)
}

/// A radio goes off or comes up.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    #[serde(rename = "at_ns")]
    pub at: Instant,
    pub up: bool,
}

/// What is written, and where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// Where the tables go.
    pub dir: PathBuf,
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// Every frame on the air with its fate.
    pub frames: bool,
    /// File for a capture of what was on the air.
    pub air_capture: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_one_upon_the_other_are_refused() {
        let read = |interval_ns: u64| {
            let given =
                format!("{{\"twt\": {{\"interval_ns\": {interval_ns}, \"duration_ns\": 1}}}}");
            serde_json::from_str::<Fetch>(&given)
        };
        assert!(read(256_000).is_ok());
        let refused = read(0).expect_err("a refusal").to_string();
        assert!(
            refused.contains("0: expected at least 256000 ns"),
            "{refused}"
        );
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The document that says what the daemon is to do.

use hoplab_base::{Duration, Instant, Stream};
use hoplab_dsr_core::Settings;
use hoplab_dsr_elfn as notices;
use hoplab_split_core::{self as split_core, Connection};
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overhear {
    /// A monitor interface beside the wireless one (works with mac80211 in IBSS mode).
    Monitor,
    /// The interface itself in promiscuous mode (drivers that pass foreign frames).
    Promiscuous,
    /// Not at all: no route shortening, fewer routes learned.
    Off,
}

/// The document. `DsrFile` in `hoplab/model/keys/dsr.py` declares what its keys mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub interface: String,
    pub address: Ipv4Addr,
    pub prefix: u8,
    pub name: String,
    pub seed: u64,
    pub epoch_ns: Instant,
    pub end_ns: Option<Instant>,
    pub events: Option<PathBuf>,
    pub counters: Option<PathBuf>,
    pub control: String,
    pub tun: String,
    pub tun_mtu: u32,
    pub overhear: Overhear,
    pub elfn: bool,
    pub keep_privileges: bool,
    /// Run in the kernel, where that offers it.
    pub resident: bool,
    /// Those that are split; without one the station takes no part in Split-TCP.
    pub connection: Vec<Connection>,
    pub split_table: Option<PathBuf>,
    pub split_interval_ns: Duration,
    pub settings: Settings,
    pub notices: notices::Settings,
}

hoplab_document::document!(Config);

impl Config {
    /// The station's part in Split-TCP.
    pub fn split(&self) -> split_core::Config {
        split_core::Config {
            connection: self.connection.clone(),
            tuning: split_core::Tuning::default(),
        }
    }

    /// The station's random stream, "SEED/dsr/NAME".
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, &format!("dsr/{}", self.name))
    }
}

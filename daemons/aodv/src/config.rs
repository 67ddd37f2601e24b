// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The document that says what the daemon is to do.

use hoplab_aodv_core::Settings;
use hoplab_base::{Instant, Stream};
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// The document. `AodvFile` in `hoplab/model/keys/aodv.py` declares what its keys mean.
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
    pub keep_privileges: bool,
    /// Run in the kernel, where that offers it.
    pub resident: bool,
    pub settings: Settings,
}

impl Config {
    /// The station's random stream, "SEED/aodv/NAME".
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, &format!("aodv/{}", self.name))
    }
}

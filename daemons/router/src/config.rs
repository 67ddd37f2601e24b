// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The document that says what the daemon is to do.

use hoplab_base::{Instant, Stream};
use hoplab_document::DocumentError;
use serde::de::DeserializeOwned;
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

/// The document with the settings `S` of a protocol. `RouterFile` in `hoplab/model/keys/router.py`
/// declares what its keys mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config<S> {
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
    /// Tell the local TCP of routes that fail. Only a protocol that can has the key.
    #[serde(default)]
    pub elfn: bool,
    pub keep_privileges: bool,
    /// Run in the kernel, where that offers it.
    pub resident: bool,
    pub settings: S,
}

impl<S: DeserializeOwned> FromStr for Config<S> {
    type Err = DocumentError;

    fn from_str(text: &str) -> Result<Self, DocumentError> {
        hoplab_document::parse(text)
    }
}

impl<S> Config<S> {
    /// The station's random stream, "SEED/PROTOCOL/NAME".
    pub fn stream(&self, protocol: &str) -> Stream {
        Stream::new(self.seed, &format!("{protocol}/{}", self.name))
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Networks of stations that run DSDV.

#[path = "../../../tests/net.rs"]
mod net;

use hoplab_dsdv_core::{Dsdv, Settings};
pub use net::{hop, ip, mac, no_loop, packet, station, MS};

pub type Net = net::Net<Dsdv>;

/// Those of `settings.json`, which `python -m hoplab.front.pages.keys` writes.
pub fn settings() -> Settings {
    serde_json::from_str(include_str!("../settings.json")).expect("a document of settings")
}

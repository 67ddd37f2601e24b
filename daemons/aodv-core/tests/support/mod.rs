// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Networks of stations that run AODV.

#[path = "../../../tests/net.rs"]
mod net;

use hoplab_aodv_core::{Aodv, Settings, PORT};
pub use net::{hop, ip, mac, no_loop, packet, segment, station, MS};
use std::collections::BTreeMap;

pub type Net = net::Net<Aodv>;

/// Those of `settings.json`, which `python -m hoplab.front.pages.keys` writes.
pub fn settings() -> Settings {
    serde_json::from_str(include_str!("../settings.json")).expect("a document of settings")
}

/// The frame of a message as the link layer gives it back.
pub fn message(from: usize, to: usize, payload: &[u8]) -> Vec<u8> {
    net::message(PORT, from, to, payload)
}

/// The kernels have the valid routes and no others.
pub fn kernels_agree(net: &Net) {
    for node in &net.nodes {
        let table = node.core.table().all();
        let valid = table.filter(|(_, route)| route.is_valid());
        let valid: BTreeMap<_, _> = valid.map(|(to, route)| (to, route.next_hop)).collect();
        assert_eq!(valid, node.routes);
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every constant of RFC 3626 §18, and every choice that the text leaves open, as settings. Field
//! names are the keys of the daemon's document, whose values are final.

use hoplab_base::Duration;
use hoplab_routing_core::Resolution;
use serde::{Deserialize, Serialize};

/// By what a route is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Fewest hops (§10).
    Hops,
    /// Fewest expected transmissions, as olsrd with its messages of link quality.
    Etx,
}

/// All of them; `OlsrSettings` in `hoplab/model/keys/olsr.py` declares each with its default and
/// its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    // RFC 3626 §18.
    pub hello_interval_ns: Duration,
    pub tc_interval_ns: Duration,
    pub neighb_hold_time_ns: Duration,
    pub top_hold_time_ns: Duration,
    pub dup_hold_time_ns: Duration,
    pub max_jitter_ns: Duration,
    pub willingness: u8,
    /// Which neighbours a TC advertises (§15).
    pub tc_redundancy: u8,
    /// By how many relays each two-hop neighbour is to be reached (§16).
    pub mpr_coverage: usize,
    pub hyst_threshold_high: f64,
    pub hyst_threshold_low: f64,
    pub hyst_scaling: f64,

    // What stations may do.
    /// A link counts only after several packets in a row (§14).
    pub hysteresis: bool,
    /// A TC as soon as its content changes (§9.3).
    pub triggered_tc: bool,
    /// The link layer's failures break links (§13).
    pub link_layer_feedback: bool,
    /// A packet of such a failure goes by another route, if there is one.
    pub keep_failed_packets: bool,

    // Beyond the RFC.
    pub metric: Metric,
    /// Weight of a packet in a link's quality.
    pub etx_aging: f64,
    pub topology_table_size: usize,
    pub duplicate_table_size: usize,
    pub resolution: Resolution,
    /// mac80211 forgets an IBSS neighbour that is silent for 60 s.
    pub neighbour_timeout_ns: Duration,
}

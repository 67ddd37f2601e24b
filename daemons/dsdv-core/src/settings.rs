// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the paper leaves open, as settings. Field names are the keys of the daemon's document, whose
//! values are final.

use hoplab_base::Duration;
use hoplab_routing_core::Resolution;
use serde::{Deserialize, Serialize};

/// All of them; `DsdvSettings` in `hoplab/model/keys/dsdv.py` declares each with its default and
/// its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Between updates with all routes.
    pub update_interval_ns: Duration,
    /// Between other updates, at least. One that tells of a break waits for nothing.
    pub triggered_interval_ns: Duration,
    /// Intervals without an update after which a neighbour, or a route, is gone.
    pub hold_times: u64,
    /// The settling time that is assumed until one was measured.
    pub settling_time_ns: Duration,
    /// Weight of the mean so far in a settling time's mean.
    pub settling_weight: f64,
    /// A route that may become better is in no update for so many of its settling times.
    pub damp_times: u64,
    /// A shorter way waits as well.
    pub damp_shorter: bool,
    /// A new sequence number alone is worth an update, as DSDV-SQ of the Monarch project.
    pub triggered_by_sequence: bool,
    /// A break counts only if the next hop tells of it.
    pub breaks_of_next_hop: bool,
    /// The link layer's failures break links.
    pub link_layer_feedback: bool,
    /// A packet of such a failure waits for another route.
    pub keep_failed_packets: bool,
    pub broadcast_jitter_ns: Duration,
    /// Packets that wait for a route; none where it is 0.
    pub queue_packets: usize,
    pub queue_timeout_ns: Duration,
    pub route_table_size: usize,
    pub resolution: Resolution,
    /// mac80211 forgets an IBSS neighbour that is silent for 60 s.
    pub neighbour_timeout_ns: Duration,
}

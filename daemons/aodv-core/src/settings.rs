// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every constant of RFC 3561 §10, and every choice that the text leaves open, as settings. Field
//! names are the keys of the daemon's document, whose values are final.

use hoplab_base::Duration;
use hoplab_routing_core::Resolution;
use serde::{Deserialize, Serialize};

/// All of them; `AodvSettings` in `hoplab/model/keys/aodv.py` declares each with its default and
/// its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    // RFC 3561 §10.
    pub active_route_timeout_ns: Duration,
    pub allowed_hello_loss: u64,
    pub blacklist_timeout_ns: Duration,
    pub delete_period_ns: Duration,
    pub hello_interval_ns: Duration,
    pub local_add_ttl: u8,
    pub max_repair_ttl: u8,
    pub my_route_timeout_ns: Duration,
    pub net_diameter: u8,
    pub net_traversal_time_ns: Duration,
    pub next_hop_wait_ns: Duration,
    pub node_traversal_time_ns: Duration,
    pub path_discovery_time_ns: Duration,
    pub rerr_ratelimit: u32,
    pub rreq_retries: u32,
    pub rreq_ratelimit: u32,
    pub timeout_buffer: u64,
    pub ttl_start: u8,
    pub ttl_increment: u8,
    pub ttl_threshold: u8,

    // What stations may do.
    /// Only the destination may answer (flag D).
    pub destination_only: bool,
    /// An intermediate station that answers tells the destination too (flag G).
    pub gratuitous_rrep: bool,
    /// Replies ask the next hop for a RREP-ACK (flag A).
    pub rrep_ack: bool,
    pub local_repair: bool,
    pub hello: bool,
    /// The link layer's failures break links.
    pub link_layer_feedback: bool,
    /// A station whose frame the link layer lost sends that packet along the next route.
    pub keep_failed_packets: bool,
    /// The station was up before, and other stations may have old routes through it (§6.13).
    pub after_reboot: bool,

    // What the RFC leaves open.
    /// Most that a broadcast waits.
    pub broadcast_jitter_ns: Duration,
    pub queue_packets: usize,
    pub queue_timeout_ns: Duration,
    pub route_table_size: usize,
    pub request_table_size: usize,
    pub resolution: Resolution,
    /// mac80211 forgets an IBSS neighbour that is silent for 60 s.
    pub neighbour_timeout_ns: Duration,
}

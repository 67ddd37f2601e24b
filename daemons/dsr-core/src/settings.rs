// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every constant of RFC 4728 §9 and every choice that the text leaves open, as settings.
//! Field names are the keys of the daemon's document, whose values are final.

use hoplab_base::Duration;
pub use hoplab_routing_core::Resolution;
use serde::{Deserialize, Serialize};

/// How the reachability of a next hop is confirmed (§8.3.1 to §8.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledgement {
    /// The link layer tells whether each frame was acknowledged.
    Link,
    /// Overhearing the next hop forward; network-layer acknowledgement on the last hop.
    Passive,
    /// Acknowledgement Request and Acknowledgement options.
    Network,
}

/// Which structure the Route Cache has (§4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    Path,
    Link,
}

/// How long a cached route stays usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheTimeout {
    /// Until a Route Error removes it (the Monarch ns-2 code).
    None,
    /// `route_cache_timeout_ns` after its last use (§4.1, RouteCacheTimeout).
    Unused,
    /// `route_cache_timeout_ns` after it was learned, used or not.
    Fixed,
    /// After a time that follows the observed lifetimes of routes that broke.
    Adaptive,
}

/// What a node learns from packets that it forwards or overhears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learning {
    /// Their whole route in both directions, the way of Route Requests, and what Route Replies
    /// say (§3.3.1, for bidirectional links).
    Full,
    /// The way still before them, as the Monarch ns-2 code does. Replies teach those who asked.
    Onward,
}

/// All of them; `hoplab/model/keys/dsr.py` declares each with its default and its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    // RFC 4728 §9.
    pub discovery_hop_limit: u8,
    pub broadcast_jitter_ns: Duration,
    pub route_cache_timeout_ns: Duration,
    pub send_buffer_timeout_ns: Duration,
    pub send_buffer_packets: usize,
    pub request_table_size: usize,
    pub request_table_ids: usize,
    pub max_request_rexmt: u32,
    pub max_request_period_ns: Duration,
    pub request_period_ns: Duration,
    pub nonprop_request_timeout_ns: Duration,
    /// RexmtBufferSize: packets in the Maintenance Buffer.
    pub maintenance_buffer_packets: usize,
    pub maint_holdoff_ns: Duration,
    pub max_maint_rexmt: u32,
    pub try_passive_acks: u32,
    pub passive_ack_timeout_ns: Duration,
    pub grat_reply_holdoff_ns: Duration,
    pub max_salvage_count: u8,
    // Link-MaxLife, §4.1.
    pub init_stability_ns: Duration,
    pub stability_incr_factor: f64,
    pub stability_decr_factor: f64,
    pub min_lifetime_ns: Duration,
    pub use_extends_ns: Duration,

    // Route discovery.
    pub nonpropagating_first: bool,
    /// A non-propagating request before each propagating one, not before the first only (the
    /// Monarch ns-2 code).
    pub nonpropagating_every_time: bool,
    /// Factor from one request period to the next (RFC: doubling; Monarch: 4).
    pub request_backoff: u64,
    pub reply_from_cache: bool,
    /// H of §8.2.5, the delay per hop of a cached reply.
    pub reply_hop_delay_ns: Duration,
    pub prevent_reply_storms: bool,
    pub piggyback_errors: bool,
    /// Errors older than this are not spread any more (Monarch: 1 s).
    pub error_news_ns: Duration,

    // Route maintenance.
    pub acknowledgement: Acknowledgement,
    pub salvage: bool,
    /// Salvaged packets say where they have been and do not return there.
    pub visited_option: bool,
    /// A packet of another node may be impossible to salvage. It then waits for `request_period_ns`
    /// in the Send Buffer, and this node asks its neighbours for a route (the Monarch ns-2 code).
    pub salvage_discovery: bool,
    pub gratuitous_replies: bool,
    /// No status for a unicast frame after this long counts as a failure.
    pub status_timeout_ns: Duration,
    /// First timeout of a network-layer acknowledgement, before a round trip was measured.
    pub network_ack_timeout_ns: Duration,
    /// A "probable" unidirectional link becomes "questionable" after this long (§4.6).
    pub blacklist_timeout_ns: Duration,
    pub use_blacklist: bool,

    // Route cache.
    pub cache: CacheKind,
    pub cache_timeout: CacheTimeout,
    pub primary_routes: usize,
    pub secondary_routes: usize,
    pub overhear_routes: bool,
    pub learning: Learning,
    /// A data packet is overheard at each of its hops, not at the first only (the Monarch ns-2
    /// code).
    pub overhear_every_hop: bool,
    /// How long a broken link is refused when others tell of it; zero: no negative cache.
    pub negative_cache_ns: Duration,
    /// Factor on the mean lifetime of broken routes for `CacheTimeout::Adaptive`.
    pub adaptive_factor: f64,
    pub adaptive_minimum_ns: Duration,
    /// Links heard weaker than this are used only when no stronger route exists, and are
    /// dropped from the cache when they fade below it. `None`: signal is not considered.
    pub signal_threshold_dbm: Option<i16>,

    // Link layer.
    /// Interface queue, packets (ns-2 and the papers: 50).
    pub queue_packets: usize,
    /// Unicast frames handed to the driver and whose status has not come.
    pub outstanding: usize,
    pub resolution: Resolution,
    /// A learned address serves this long. Linux forgets an IBSS neighbour that was silent for
    /// 60 s and then drops without a word what is sent to it.
    pub neighbour_timeout_ns: Duration,
    /// Packets that wait for one address resolution; 1 is the BSD queue.
    pub arp_queue_packets: usize,
    pub arp_retry_ns: Duration,
    pub arp_tries: u32,
    pub arp_timeout_ns: Duration,
    /// Largest IP packet that fits one frame. mac80211_hwsim takes frames of at most 2304 octets.
    /// The MAC header takes 24 of them, the LLC and SNAP header 8.
    pub link_mtu: usize,
}

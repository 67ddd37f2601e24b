// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which connections are split, where, and how.

use crate::stats::Ends;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Duration;
use serde::Deserialize;

/// Every connection that is split.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The first one that a segment fits counts.
    pub connection: Vec<Connection>,
    pub tuning: Tuning,
}

/// One direction of a TCP connection, from the sender of data to their receiver. An end that is not
/// given is any. A station's own address says what it is to it. Field names are keys of the
/// daemons' documents (`SplitConnection` in `hoplab/model/keys/split.py`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// What tables call it; its ends where it has none.
    pub name: Option<String>,
    pub source: Option<Ipv4Addr>,
    pub source_port: Option<u16>,
    pub destination: Option<Ipv4Addr>,
    pub destination_port: Option<u16>,
    /// Stations that are proxies, wherever a segment meets them.
    pub proxies: Vec<Ipv4Addr>,
    /// Every so many hops from the source is a proxy.
    pub every_hops: Option<u8>,
    /// Segments that a proxy holds for the connection; a full one declines.
    pub buffer_packets: usize,
    /// What the source's TCP may have unacknowledged, segments: its own fixed window. It stands
    /// here so that the source knows when TCP waits.
    pub window: usize,
    /// The destination lets one of so many end-to-end ACKs go. Above 1 it also sends LACKs.
    pub ack_every: usize,
}

/// What the paper leaves open and no scenario sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// Congestion window of a custodian at its start, segments.
    pub initial_window: usize,
    /// Timeout before a LACK was timed, and its bounds (RFC 6298).
    pub initial_rto: Duration,
    pub min_rto: Duration,
    pub max_rto: Duration,
    /// One LACK goes for so many segments. It goes at once where its custodian's window is
    /// used up, a segment came again, or one is missing. Each costs a frame on every hop back.
    pub lack_every: usize,
    /// The longest time for which a LACK waits for a further segment.
    pub lack_delay: Duration,
    /// The longest time for which an end-to-end ACK is held back.
    pub ack_delay: Duration,
    /// A custodian gives a segment up that nobody acknowledged for so long. It is below the
    /// lifetime of a segment that TCP assumes (RFC 9293 §3.4.1: 2 min).
    pub give_up: Duration,
    /// What is known of a connection is forgotten after so long a silence.
    pub idle: Duration,
    /// Segments that the source keeps for a connection beside its window.
    pub source_reserve: usize,
    /// Largest packet that a stamped segment may become, octets.
    pub mtu: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            initial_window: 2,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(10),
            lack_every: 4,
            lack_delay: Duration::from_millis(100),
            ack_delay: Duration::from_millis(200),
            give_up: Duration::from_secs(100),
            idle: Duration::from_secs(300),
            source_reserve: 64,
            mtu: 1500,
        }
    }
}

impl Config {
    /// The settings of the connection with these ends.
    pub fn of(&self, ends: &Ends) -> Option<&Connection> {
        self.connection.iter().find(|c| c.fits(ends))
    }

    /// What tables call the connection with these ends.
    pub fn name(&self, ends: &Ends) -> String {
        let named = self.of(ends).and_then(|c| c.name.clone());
        named.unwrap_or_else(|| ends.to_string())
    }
}

impl Connection {
    pub fn fits(&self, ends: &Ends) -> bool {
        self.source.is_none_or(|a| a == ends.source)
            && self.source_port.is_none_or(|p| p == ends.source_port)
            && self.destination.is_none_or(|a| a == ends.destination)
            && self
                .destination_port
                .is_none_or(|p| p == ends.destination_port)
    }

    /// Whether `station`, so many hops from the source, is a proxy.
    pub fn has_proxy(&self, station: Ipv4Addr, hops: u8) -> bool {
        let by_distance = |n: u8| n > 0 && hops > 0 && hops % n == 0;
        self.proxies.contains(&station) || self.every_hops.is_some_and(by_distance)
    }
}

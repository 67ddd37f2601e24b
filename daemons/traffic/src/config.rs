// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The document that says what the end of a flow does. Times are of CLOCK_MONOTONIC.

use hoplab_base::{Duration, Instant};
use hoplab_traffic_core::{Draw, Pauses};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Run in the kernel, where that offers it.
    pub resident: bool,
    pub end: End,
}

hoplab_document::document!(Config);

/// A table with one key, which says what the end does.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    UdpSend(UdpSend),
    UdpReceive(UdpReceive),
    TcpSend(TcpSend),
    TcpReceive(TcpReceive),
    Ping(Ping),
    Request(Request),
    Respond(Respond),
    Call(CallEnd),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpSend {
    pub own: SocketAddr,
    pub to: SocketAddr,
    /// IP's octet with the code point in it (RFC 2474); None leaves the kernel's.
    pub traffic_class: Option<u8>,
    pub buffer_bytes: Option<u32>,
    pub packet_bytes: usize,
    /// None: without end.
    pub packets: Option<u64>,
    /// None: as fast as the socket takes them.
    pub rate_bps: Option<f64>,
    /// Gaps of a sender with a rate.
    pub spacing: Gaps,
    /// None: without silence.
    pub pauses: Option<Pauses>,
    /// Of random gaps and pauses.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    Even,
    Random,
    Poisson,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpReceive {
    pub own: SocketAddr,
    pub rows: Rows,
    pub begin_ns: Instant,
    pub end_ns: Instant,
    pub interval_ns: Duration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSend {
    pub own: SocketAddr,
    pub to: SocketAddr,
    pub traffic_class: Option<u8>,
    /// With options, octets; None leaves the kernel's.
    pub mss: Option<u32>,
    /// By the kernel's name.
    pub congestion_control: String,
    /// By Multipath TCP (RFC 8684).
    pub multipath: bool,
    /// None: without end.
    pub counted: Option<Counted>,
}

/// A transfer that ends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    pub packets: u64,
    pub packet_bytes: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpReceive {
    pub own: SocketAddr,
    pub traffic_class: Option<u8>,
    pub multipath: bool,
    pub counted: Option<Awaited>,
}

/// The end of a transfer that ends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Awaited {
    pub octets: u64,
    /// Where the time of the last octet goes.
    pub report: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    pub own: SocketAddr,
    pub to: SocketAddr,
    pub traffic_class: Option<u8>,
    pub rows: Rows,
    pub identifier: u16,
    pub packet_bytes: usize,
    /// None: until `end_ns`.
    pub packets: Option<u64>,
    pub interval_ns: Duration,
    pub timeout_ns: Duration,
    pub end_ns: Instant,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub own: SocketAddr,
    pub to: SocketAddr,
    pub traffic_class: Option<u8>,
    pub rows: Rows,
    pub seed: u64,
    /// Octets.
    pub request: Draw,
    pub response: Draw,
    /// Seconds.
    pub think: Draw,
    /// None: until `end_ns`.
    pub transactions: Option<u64>,
    pub end_ns: Instant,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Respond {
    pub own: SocketAddr,
    pub traffic_class: Option<u8>,
    pub seed: u64,
    pub request: Draw,
    pub response: Draw,
}

/// Either end of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallEnd {
    pub own: SocketAddr,
    pub to: SocketAddr,
    pub traffic_class: Option<u8>,
    /// Of the other end's frames.
    pub rows: Rows,
    /// The highest rate.
    pub most_bps: f64,
    pub seed: u64,
    pub begin_ns: Instant,
    pub end_ns: Instant,
    /// A frame that took longer is late.
    pub late_ns: Duration,
}

/// Where rows go, and whose they are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    pub flow: String,
    pub table: PathBuf,
    /// Time 0.
    pub epoch_ns: Instant,
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line, and the document that says what the end of a flow does.

use clap::Parser;
use hoplab_base::{Duration, Instant};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

const LONG: &str = "\
hoplab-traffic is one end of a flow of a scenario: it sends datagrams at a rate, or counts and times
those that come. A lab starts it at the flow's stations.";

const AFTER: &str = "\
DOCUMENT
  JSON with final values, as hoplab/guest/traffic/datagrams.py writes it: what the end does
  (udp_send, udp_receive), and how.

SIGNALS
  SIGTERM, SIGINT   a receiver writes its last row and exits with status 0

EXIT STATUS
  0 after a signal to a receiver, 1 when something could not be set up";

#[derive(Parser)]
#[command(name = "hoplab-traffic", version, long_about = LONG, after_long_help = AFTER)]
#[command(about = "One end of a flow", arg_required_else_help = true)]
pub struct Cli {
    /// What the end does, JSON.
    pub document: PathBuf,
}

/// The document: a table with one key, which says what the end does.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Config {
    UdpSend(UdpSend),
    UdpReceive(UdpReceive),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpSend {
    pub own: SocketAddr,
    pub to: SocketAddr,
    pub traffic_class: Option<u8>,
    pub buffer_bytes: Option<u32>,
    pub packet_bytes: usize,
    /// None: without end.
    pub packets: Option<u64>,
    /// None: as fast as the socket takes them.
    pub rate_bps: Option<f64>,
    /// Of random gaps; None: even ones.
    pub seed: Option<u64>,
}

/// Times are of CLOCK_MONOTONIC.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpReceive {
    pub own: SocketAddr,
    pub flow: String,
    /// Where its rows go: the table `udp`.
    pub table: PathBuf,
    pub epoch_ns: Instant,
    pub begin_ns: Instant,
    pub end_ns: Instant,
    pub interval_ns: Duration,
}

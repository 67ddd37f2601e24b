// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line.

use clap::Parser;
use std::path::PathBuf;

const LONG: &str = "\
hoplab-traffic is one end of a flow of a scenario: of a transfer by TCP or UDP, of echoes, or of requests
and responses. A lab starts it at the flow's stations.";

const AFTER: &str = "\
DOCUMENT
  JSON with final values, as hoplab/guest/traffic/ends.py writes it: what the end does (udp_send,
  udp_receive, tcp_send, tcp_receive, ping, request, respond, call), and how.

SIGNALS
  SIGTERM, SIGINT   an end with rows writes its last ones and exits with status 0

EXIT STATUS
  0 after a signal to an end with rows, or when all of a ping's packets are answered or given up; 1 when
  something could not be set up, or the peer closed the connection";

#[derive(Parser)]
#[command(name = "hoplab-traffic", version, long_about = LONG, after_long_help = AFTER)]
#[command(about = "One end of a flow", arg_required_else_help = true)]
pub struct Cli {
    /// What the end does, JSON.
    pub document: PathBuf,
}

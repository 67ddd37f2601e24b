// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Where a daemon's control socket is unless its document says otherwise: an abstract name, so that
/// every network namespace has its own and nothing is left behind.
const DEFAULT_CONTROL: &str = "@hoplab-dsr";

const LONG: &str = "\
hoplab-dsr runs the Dynamic Source Routing protocol (RFC 4728) on a Linux wireless interface.

It creates a TUN interface that carries the local stack's traffic, sends DSR packets by a packet
socket on the wireless interface, learns of broken links from the link layer (SO_WIFI_STATUS),
and overhears its neighbours through a monitor interface that disappears with the process.";

const AFTER: &str = "\
DOCUMENT
  JSON with final values. 'hoplab dsr FILE' checks a TOML file, completes it, writes the document and
  starts the daemon with it; 'hoplab dsr --help' explains the keys.

SIGNALS
  SIGTERM, SIGINT   write the remaining records and exit with status 0

EXIT STATUS
  0 after SIGTERM, 1 when something could not be set up

EXAMPLES
  hoplab dsr dsr.toml
  hoplab-dsr dsr.json
  hoplab-dsr ctl routes";

#[derive(Parser)]
#[command(name = "hoplab-dsr", version, long_about = LONG, after_long_help = AFTER)]
#[command(about = "Dynamic Source Routing (RFC 4728) daemon")]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What the daemon is to do, JSON.
    pub document: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Ask a running daemon.
    Ctl {
        /// The daemon's control socket; a leading @ means an abstract name.
        #[arg(long, default_value = DEFAULT_CONTROL)]
        control: String,
        request: Request,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Request {
    /// Print the route cache, one route a line.
    Routes,
    /// Print the counters, one a line.
    Stats,
    /// Forget all routes.
    Flush,
    /// Print the settings in force, as the document has them.
    Settings,
    /// Print what the station does for split connections, a line for each.
    Split,
}

impl Request {
    pub fn as_str(self) -> &'static str {
        match self {
            Request::Routes => "routes",
            Request::Stats => "stats",
            Request::Flush => "flush",
            Request::Settings => "settings",
            Request::Split => "split",
        }
    }
}

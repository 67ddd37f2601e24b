// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A daemon's control socket unless its document says otherwise. The name is abstract, so every
/// network namespace has its own and nothing is left behind.
const DEFAULT_CONTROL: &str = "@hoplab-aodv";

const LONG: &str = "\
hoplab-aodv runs the Dynamic Source Routing protocol (RFC 4728) on a Linux wireless interface.

It puts routes into the kernel's table, which forwards by them. A TUN interface catches packets that
have none. A monitor interface, which disappears with the process, tells of frames that nobody
acknowledged.";

const AFTER: &str = "\
DOCUMENT
  JSON with final values. 'hoplab aodv FILE' checks a TOML file, completes it, writes the document and
  starts the daemon with it; 'hoplab aodv --help' explains the keys.

SIGNALS
  SIGTERM, SIGINT   write the remaining records and exit with status 0

EXIT STATUS
  0 after SIGTERM, 1 when something could not be set up

EXAMPLES
  hoplab aodv aodv.toml
  hoplab-aodv aodv.json
  hoplab-aodv ctl routes";

#[derive(Parser)]
#[command(name = "hoplab-aodv", version, long_about = LONG, after_long_help = AFTER)]
#[command(about = "Ad hoc On-Demand Distance Vector (RFC 3561) daemon")]
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
    /// Print the route table, one route a line.
    Routes,
    /// Print the counters, one a line.
    Stats,
    /// Forget all routes.
    Flush,
    /// Print the settings in force, as the document has them.
    Settings,
}

impl Request {
    pub fn as_str(self) -> &'static str {
        match self {
            Request::Routes => "routes",
            Request::Stats => "stats",
            Request::Flush => "flush",
            Request::Settings => "settings",
        }
    }
}

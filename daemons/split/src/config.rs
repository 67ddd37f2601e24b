// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line, and the document that says what the daemon is to do.

use clap::{Parser, Subcommand};
use hoplab_base::{Duration, Instant};
use hoplab_split_core::Connection;
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Where a daemon's control socket is unless its document says otherwise. The name is abstract, so
/// every network namespace has its own and nothing is left behind.
pub const DEFAULT_CONTROL: &str = "@hoplab-split";
/// Of `hoplab-dsr`, which takes part in Split-TCP itself.
pub const DSR_CONTROL: &str = "@hoplab-dsr";

const LONG: &str = "\
hoplab-split takes part in Split-TCP (Kopparty et al. 2002) at a station whose kernel routes: as
source, proxy or destination of the TCP connections that its document names. It gets their packets
by a queue of the packet filter, keeps, acknowledges and sends on what it takes, and lets all else
pass. Where hoplab-dsr routes, that does it itself.";

const AFTER: &str = "\
DOCUMENT
  JSON with final values. 'hoplab split FILE' checks a TOML file, completes it, writes the document
  and starts the daemon with it; 'hoplab split --help' explains the keys.

RULES
  Packets come by rules of the packet filter, which are not the daemon's to set: those of the
  connections, both ways, where they leave (source and destination), are forwarded (proxy) and
  arrive, and protocol 253 where it arrives; not those that bear the daemon's mark. With `bypass`
  packets pass while no daemon listens:

    nft add table ip split
    nft add chain ip split forward '{ type filter hook forward priority 0; }'
    nft add rule ip split forward tcp dport 5201 queue num 0 bypass
    nft add chain ip split input '{ type filter hook input priority 0; }'
    nft add rule ip split input ip protocol 253 queue num 0 bypass
    nft add chain ip split output '{ type filter hook output priority 0; }'
    nft add rule ip split output meta mark != 0x53504c54 tcp dport 5201 queue num 0 bypass

  A source's TCP needs a window that stays: congestion control \"window\" (docs/split-tcp.md).

PRIVILEGES
  CAP_NET_ADMIN and CAP_NET_RAW to start; as user nobody with CAP_NET_ADMIN after that.

SIGNALS
  SIGTERM, SIGINT   write the remaining records and exit with status 0

EXIT STATUS
  0 after SIGTERM, 1 when something could not be set up

EXAMPLES
  hoplab split split.toml
  hoplab-split split.json
  hoplab-split ctl";

#[derive(Parser)]
#[command(name = "hoplab-split", version, long_about = LONG, after_long_help = AFTER)]
#[command(about = "Split-TCP for routing by the kernel")]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What the daemon is to do, JSON.
    pub document: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Print what the station does, of hoplab-split or hoplab-dsr: a line for each connection.
    Ctl {
        /// The daemon's control socket; a leading @ means an abstract name [default: that of
        /// hoplab-split, or else of hoplab-dsr, in this network namespace].
        #[arg(long)]
        control: Option<String>,
    },
}

/// The document. `SplitFile` in `hoplab/model/keys/split.py` declares what its keys mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub address: Ipv4Addr,
    pub queue: u16,
    pub mark: u32,
    pub mtu: usize,
    pub name: String,
    pub epoch_ns: Instant,
    pub end_ns: Option<Instant>,
    pub events: Option<PathBuf>,
    pub table: Option<PathBuf>,
    pub interval_ns: Duration,
    pub control: String,
    pub keep_privileges: bool,
    pub connection: Vec<Connection>,
}

hoplab_document::document!(Config);

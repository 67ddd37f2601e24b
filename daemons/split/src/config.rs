// SPDX-License-Identifier: Apache-2.0
//! The command line.

use clap::{Args, Parser, Subcommand};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Where the control socket is unless told otherwise: an abstract name, so that every network
/// namespace has its own and nothing is left behind.
pub const DEFAULT_CONTROL: &str = "@hoplab-split";
/// Of `hoplab-dsr`, which takes part in Split-TCP itself.
pub const DSR_CONTROL: &str = "@hoplab-dsr";

const LONG: &str = "\
hoplab-split takes part in Split-TCP (Kopparty et al. 2002) at a station whose kernel routes: as
source, proxy or destination of the TCP connections that its file names. It gets their packets by a
queue of the packet filter, keeps, acknowledges and sends on what it takes, and lets all else pass.
Where hoplab-dsr routes, that does it itself.";

/// What else a manual page has.
fn after() -> String {
    format!(
        "\
CONNECTIONS
  The file is TOML, a table [[connection]] for each; the first that a segment fits counts.
{}
RULES
  Packets come by rules of the packet filter, which are not the daemon's to set: those of the
  connections, both ways, where they leave (source and destination), are forwarded (proxy) and
  arrive, and protocol 253 where it arrives; not those that bear the daemon's mark. With `bypass`
  packets pass while no daemon listens:

    nft add table ip split
    nft add chain ip split forward '{{ type filter hook forward priority 0; }}'
    nft add rule ip split forward tcp dport 5201 queue num 0 bypass
    nft add chain ip split input '{{ type filter hook input priority 0; }}'
    nft add rule ip split input ip protocol 253 queue num 0 bypass
    nft add chain ip split output '{{ type filter hook output priority 0; }}'
    nft add rule ip split output meta mark != 0x53504c54 tcp dport 5201 queue num 0 bypass

  A source's TCP needs a window that stays: congestion control \"window\" (docs/split-tcp.md).

PRIVILEGES
  CAP_NET_ADMIN and CAP_NET_RAW to start; as user nobody with CAP_NET_ADMIN after that.

SIGNALS
  SIGTERM, SIGINT   write the remaining records and exit with status 0

EXIT STATUS
  0 after SIGTERM, 1 when something could not be set up

EXAMPLES
  hoplab-split --address 10.0.0.4 --connections split.toml
  hoplab-split ctl",
        hoplab_split::help()
    )
}

#[derive(Parser)]
#[command(name = "hoplab-split", version, long_about = LONG, after_long_help = after())]
#[command(about = "Split-TCP for routing by the kernel")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: Option<Config>,
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

#[derive(Args)]
pub struct Config {
    /// This station's address: that of its own segments, and of its local acknowledgements.
    #[arg(long)]
    pub address: Ipv4Addr,
    /// File of the connections that are split (TOML).
    #[arg(long, value_name = "FILE")]
    pub connections: PathBuf,
    /// Number of the packet filter's queue.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u16,
    /// Mark of the packets that the daemon sends.
    #[arg(long, value_name = "N", default_value_t = 0x5350_4c54)]
    pub mark: u32,
    /// Largest IP packet that every interface on the way takes, octets; a segment becomes 16
    /// octets longer where it is taken first.
    #[arg(long, value_name = "OCTETS", default_value_t = 1500)]
    pub mtu: usize,
    /// Name of this station in records.
    #[arg(long, default_value = "n0")]
    pub name: String,
    /// CLOCK_MONOTONIC value, ns, that is time 0 in the records.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    pub epoch_ns: u64,
    /// Scenario time at which the last rows are taken, s [default: the daemon's end].
    #[arg(long, value_name = "S")]
    pub duration_s: Option<f64>,
    /// Append events to FILE as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Append rows of table `split` to FILE as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// Time between two rows of a connection at least, s.
    #[arg(long, value_name = "S", default_value_t = 0.1)]
    pub interval_s: f64,
    /// Control socket; a leading @ means an abstract name.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_CONTROL)]
    pub control: String,
    /// Stay the user who started the daemon instead of becoming `nobody` after set-up.
    #[arg(long)]
    pub keep_privileges: bool,
}

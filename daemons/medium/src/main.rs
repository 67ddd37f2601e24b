// SPDX-License-Identifier: Apache-2.0
//! `hoplab-medium`: decide the fate of every frame that leaves a `mac80211_hwsim` radio.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hoplab_channel::config::Config;
use hoplab_medium::control::Control;
use hoplab_medium::in_kernel::InKernel;
use hoplab_medium::port::hwsim::Hwsim;
use hoplab_medium::server::Server;
use hoplab_medium::Error;

const ABOUT: &str = "\
An 802.11 channel for simulated radios.

Registers with the kernel's mac80211_hwsim and decides, by carrier sense, backoff, collisions, \
capture and distance, when each frame is on the air and who receives it; it is to studies what \
wmediumd is to tests. Prints 'ready' when registered, ends on SIGTERM or SIGINT with its records \
written. Needs CAP_NET_ADMIN and a kernel from 5.15 on with mac80211_hwsim loaded. With --in-kernel \
the same engine works inside a guest's kernel, and this program only starts and ends it.";

const AFTER: &str = "\
DOCUMENT
  JSON with final values. 'hoplab medium FILE' checks a TOML file, completes it, writes the document
  and starts the daemon with it; 'hoplab medium --help' explains the keys.

EXIT STATUS
  0 after SIGTERM or SIGINT, 1 for a mistake in DOCUMENT, a kernel that refuses or an end before the
  document's, 2 for a wrong option

EXAMPLES
  hoplab medium two.toml
  hoplab-medium two.json

The models and the formulas behind them are in docs/medium.md.";

/// An 802.11 channel for simulated radios.
#[derive(Parser)]
#[command(version, about, long_about = ABOUT, after_long_help = AFTER)]
struct Options {
    /// Channel, stations and records, JSON.
    document: PathBuf,

    /// Let the guest's own kernel be the medium, in virtual time.
    #[arg(long)]
    in_kernel: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("hoplab-medium: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Error> {
    let text = hoplab_document::text(&options.document)?;
    let config: Config = hoplab_document::parse_of(&options.document, &text)?;
    if options.in_kernel {
        let control = config.control.as_deref();
        let control = control.map(|path| Control::open(path, config.names()));
        let medium = InKernel::start(&text, control.transpose()?)?;
        println!("ready");
        return medium.run();
    }
    let port = Hwsim::open(&config.macs(), config.others_radios)?;
    let server = Server::new(config, port)?;
    println!("ready");
    server.run()
}

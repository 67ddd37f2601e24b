// SPDX-License-Identifier: Apache-2.0
//! `hoplab-medium`: decide the fate of every frame that leaves a `mac80211_hwsim` radio.

mod help;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hoplab_medium::config;
use hoplab_medium::port::hwsim::Hwsim;
use hoplab_medium::server::Server;

/// An 802.11 channel for simulated radios.
#[derive(Parser)]
#[command(version, about, long_about = help::DESCRIPTION, after_long_help = help::manual())]
struct Options {
    /// Channel, stations and records, in TOML; keys are described below.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,

    /// Read and check the file, tell what is wrong with it, and do nothing else.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hoplab-medium: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let name = options.config.display();
    let text = std::fs::read_to_string(&options.config).map_err(|e| format!("{name}: {e}"))?;
    let config =
        config::parse(&text, hoplab_linux::kernel::now()).map_err(|e| format!("{name}: {e}"))?;
    if options.check {
        println!("{name}: {} stations, no mistakes", config.stations.len());
        return Ok(());
    }
    let port = Hwsim::open(&config.macs)?;
    let server = Server::new(config, port)?;
    println!("ready");
    server.run()
}

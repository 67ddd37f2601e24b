// SPDX-License-Identifier: Apache-2.0
//! `hoplab-medium`: decide the fate of every frame that leaves a `mac80211_hwsim` radio.
#![deny(unsafe_op_in_unsafe_fn)]

mod config;
mod hwsim;
mod records;
mod shell;
mod sys;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// An 802.11 channel for simulated radios.
///
/// Registers with the kernel's mac80211_hwsim and decides, by carrier sense, backoff, collisions,
/// capture and distance, when each frame is on the air and who receives it. Prints `ready` when
/// registered; ends on SIGTERM with its records written. Needs CAP_NET_ADMIN.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Channel, stations and records, in TOML.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
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
    let config = config::parse(&text).map_err(|e| format!("{name}: {e}"))?;
    shell::run(config)
}

// SPDX-License-Identifier: Apache-2.0
//! `hoplab-medium`: decide the fate of every frame that leaves a `mac80211_hwsim` radio.

mod help;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hoplab_medium::config;
use hoplab_medium::port::hwsim::Hwsim;
use hoplab_medium::server::Server;
use hoplab_medium::wmediumd;

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

/// The options that wmediumd has.
#[derive(Parser)]
#[command(
    name = "wmediumd",
    version,
    about = "hoplab-medium in the place of wmediumd"
)]
struct WmediumdOptions {
    /// Radios and model, as wmediumd has them.
    #[arg(short, value_name = "FILE")]
    config: PathBuf,

    /// Table of frame losses by level and rate (FILE, or FILEax).
    #[arg(short = 'x', value_name = "FILE")]
    losses: Option<String>,

    /// Take changes at /var/run/wmediumd.sock.
    #[arg(short)]
    socket: bool,

    /// What to log, 0 to 7; nothing depends on it here.
    #[arg(short, value_name = "LEVEL", default_value_t = 0)]
    level: u8,
}

/// Where a wmediumd's records go, which has no option for them.
const RECORDS: &str = "HOPLAB_MEDIUM_RECORDS";

fn main() -> ExitCode {
    let called = std::env::args_os().next().map(PathBuf::from);
    let called = called.as_deref().and_then(std::path::Path::file_name);
    let result = if called.is_some_and(|name| name == "wmediumd") {
        run_wmediumd(&WmediumdOptions::parse())
    } else {
        run(&Options::parse())
    };
    match result {
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
    let port = Hwsim::open(&config.macs, config.others_radios)?;
    let server = Server::new(config, port)?;
    println!("ready");
    server.run()
}

fn run_wmediumd(options: &WmediumdOptions) -> Result<(), String> {
    let name = options.config.display();
    let text = std::fs::read_to_string(&options.config).map_err(|e| format!("{name}: {e}"))?;
    let losses = options.losses.as_deref().map(wmediumd::read_table);
    let losses = losses.transpose()?;
    let named = std::env::var_os(RECORDS).map(PathBuf::from);
    let passing = std::env::temp_dir().join(format!("hoplab-medium-{}", std::process::id()));
    let folder = named.as_ref().unwrap_or(&passing);
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let start = hoplab_linux::kernel::now();
    let described = wmediumd::describe(&text, losses.as_deref(), folder, start);
    let described = described.map_err(|e| format!("{name}: {e}"))?;
    let port = Hwsim::open(&described.config.macs, described.config.others_radios)?;
    println!("ready");
    let done = Server::wmediumd(described, port, options.socket)?.run();
    if named.is_none() {
        let _ = std::fs::remove_dir_all(&passing);
    }
    done
}

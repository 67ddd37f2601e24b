// SPDX-License-Identifier: Apache-2.0
//! `hoplab-wmediumd`: [`hoplab_medium`]'s channel in the place of wmediumd.
//!
//! A program that starts wmediumd and talks to it needs to know nothing of this. What is behind is
//! the same channel as ever: carrier sense, collisions, hidden terminals.
#![forbid(unsafe_code)]

mod error;
mod file;
mod libconfig;
mod messages;
mod socket;
mod table;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use error::Error;
use file::Described;
use hoplab_channel::config::{Config, Radio};
use hoplab_medium::port::hwsim::Hwsim;
use hoplab_medium::server::Server;
use hoplab_medium_core::{Duration, RadioId, Stream};
use socket::Socket;

/// The options that wmediumd has.
#[derive(Parser)]
#[command(
    name = "wmediumd",
    version,
    about = "Hoplab's channel in the place of wmediumd"
)]
struct Options {
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

/// Where the records go, for which wmediumd has no option.
const RECORDS: &str = "HOPLAB_MEDIUM_RECORDS";
/// Units of 1.024 ms between the beacons of an access point, as a rule.
const BEACON_UNITS: u32 = 100;
const TIME_UNIT: Duration = Duration::from_micros(1024);

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("wmediumd: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Error> {
    let named = std::env::var_os(RECORDS).map(PathBuf::from);
    let passing = std::env::temp_dir().join(format!("hoplab-medium-{}", std::process::id()));
    let folder = named.as_ref().unwrap_or(&passing);
    let described = described(options, folder)?;
    std::fs::create_dir_all(folder).map_err(|why| file_failed(folder, why))?;
    let done = serve(described, options.socket);
    if named.is_none() {
        let _ = std::fs::remove_dir_all(&passing);
    }
    done
}

fn described(options: &Options, records: &Path) -> Result<Described, Error> {
    let path = &options.config;
    let text = std::fs::read_to_string(path).map_err(|why| file_failed(path, why))?;
    let losses = options
        .losses
        .as_deref()
        .map(file::read_table)
        .transpose()?;
    let start = hoplab_linux::kernel::now();
    let described = file::describe(&text, losses.as_deref(), records, start);
    let described = described.map_err(|why| Error::Configuration {
        path: path.into(),
        why,
    })?;
    for setting in &described.unknown {
        eprintln!("wmediumd: {}: {setting}", path.display());
    }
    Ok(described)
}

fn file_failed(path: &Path, why: io::Error) -> Error {
    let path = path.into();
    Error::Medium(hoplab_medium::Error::File { path, why })
}

fn serve(described: Described, takes_changes: bool) -> Result<(), Error> {
    let config = &described.config;
    let open = || Socket::open(&described);
    let socket = takes_changes.then(open).transpose()?;
    let port = Hwsim::open(&config.macs(), config.others_radios)?;
    let phases = beacon_phases(config);
    let mut server = Server::new(described.config, port)?;
    server.hold_beacons(phases);
    if let Some(socket) = socket {
        server.take_changes_from(socket)?;
    }
    let medium = server.medium();
    for (radio, antenna) in described.antennas.into_iter().enumerate() {
        medium.fit(RadioId::new(radio), antenna);
    }
    if let Some((default, links)) = described.levels {
        medium.set_rssi_of_all(default);
        for (link, dbm) in links {
            medium.set_rssi(link, dbm);
        }
    }
    for (link, rate) in described.losses {
        medium.set_loss(link, rate);
    }
    for (radio, medium_id) in described.mediums {
        medium.assign(radio, medium_id);
    }
    println!("ready");
    Ok(server.run()?)
}

/// How long each radio's beacons are held back. The radios of hwsim have one clock, and without it
/// all would send their beacons in one instant, forever.
fn beacon_phases(config: &Config) -> Vec<Duration> {
    let phase = |radio: &Radio| {
        let name = format!("medium/beacons/{}", radio.name);
        TIME_UNIT
            * Stream::new(config.params.seed, &name)
                .below(BEACON_UNITS)
                .into()
    };
    config.stations.iter().map(phase).collect()
}

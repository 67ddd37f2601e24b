// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-split`: a station of Split-TCP whose kernel routes.

#![forbid(unsafe_code)]

mod config;
mod daemon;
mod queue;

use clap::Parser;
use config::{Cli, Command, Config, DEFAULT_CONTROL, DSR_CONTROL};
use hoplab_linux::control;
use hoplab_split::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Some(Command::Ctl { control }) => ask(control.as_deref()),
        None => serve(&cli.document.unwrap_or_default()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hoplab-split: {message}");
            ExitCode::FAILURE
        }
    }
}

fn ask(named: Option<&str>) -> Result<(), Error> {
    let text = match named {
        Some(name) => control::ask(name, "split"),
        // Of the two daemons a station has at most one.
        None => control::ask(DEFAULT_CONTROL, "split")
            .or_else(|error| control::ask(DSR_CONTROL, "split").map_err(|_| error)),
    };
    print!("{}", text?);
    Ok(())
}

fn serve(document: &Path) -> Result<(), Error> {
    let config: Config = hoplab_document::read(document)?;
    hoplab_linux::signals::catch_in_wait();
    let daemon = daemon::Daemon::set_up(config)?;
    println!("ready");
    std::io::stdout().flush().map_err(Error::Output)?;
    daemon.run()
}

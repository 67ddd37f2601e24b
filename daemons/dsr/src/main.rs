// SPDX-License-Identifier: Apache-2.0
//! `hoplab-dsr`: the Dynamic Source Routing protocol on a Linux wireless interface.

#![forbid(unsafe_code)]

mod config;
mod control;
mod daemon;
mod elfn;
mod error;
mod filter;
mod monitor;
mod nl80211;
mod outbox;
mod records;
mod samples;
mod stack;

use clap::Parser;
use config::{Cli, Command, Config};
use error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Some(Command::Ctl { control, request }) => {
            hoplab_linux::control::ask(&control, request.as_str())
                .map(|text| print!("{text}"))
                .map_err(Error::Linux)
        }
        None => serve(&cli.document.unwrap_or_default()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hoplab-dsr: {message}");
            ExitCode::FAILURE
        }
    }
}

fn serve(document: &Path) -> Result<(), Error> {
    let config: Config = hoplab_document::read(document)?;
    hoplab_linux::signals::catch_in_wait();
    let daemon = daemon::Daemon::set_up(&config)?;
    println!("ready");
    std::io::stdout().flush().map_err(Error::Output)?;
    daemon.run()
}

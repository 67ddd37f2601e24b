// SPDX-License-Identifier: Apache-2.0
//! `hoplab-dsr`: the Dynamic Source Routing protocol on a Linux wireless interface.

#![forbid(unsafe_code)]

mod config;
mod control;
mod daemon;
mod elfn;
mod monitor;
mod nl80211;
mod outbox;
mod records;
mod split;

use clap::Parser;
use config::{Cli, Command, Config};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Some(Command::Ctl { control, request }) => {
            hoplab_linux::control::ask(&control, request.as_str()).map(|text| print!("{text}"))
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

fn serve(document: &Path) -> Result<(), String> {
    let config: Config = hoplab_document::read(document).map_err(|e| e.to_string())?;
    hoplab_linux::signals::catch_in_wait();
    let daemon = daemon::Daemon::set_up(&config)?;
    println!("ready");
    std::io::stdout()
        .flush()
        .map_err(|e| format!("standard output: {e}"))?;
    daemon.run()
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-dsr`: the Dynamic Source Routing protocol on a Linux wireless interface.

#![forbid(unsafe_code)]

mod cli;

use clap::Parser;
use cli::{Cli, Command};
use hoplab_dsr::{serve, Config, Error};
use hoplab_linux::resident::Resident;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Some(Command::Ctl { control, request }) => {
            hoplab_linux::control::ask(&control, request.as_str())
                .map(|text| print!("{text}"))
                .map(|()| ExitCode::SUCCESS)
                .map_err(Error::Linux)
        }
        None => run(&cli.document.unwrap_or_default()),
    };
    result.unwrap_or_else(|message| {
        eprintln!("hoplab-dsr: {message}");
        ExitCode::FAILURE
    })
}

/// Serves by the document, in the kernel where it offers that.
fn run(path: &Path) -> Result<ExitCode, Error> {
    let text = hoplab_document::text(path)?;
    let config: Config = hoplab_document::parse_of(path, &text)?;
    hoplab_linux::signals::catch_in_wait();
    match Resident::open().filter(|_| config.resident) {
        None => serve(&config).map(|()| ExitCode::SUCCESS),
        Some(resident) => match resident
            .run(hoplab_dsr::NAME, &text)
            .map_err(Error::Resident)?
        {
            true => Ok(ExitCode::SUCCESS),
            // It has said why.
            false => Ok(ExitCode::FAILURE),
        },
    }
}

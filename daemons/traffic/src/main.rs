// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-traffic`: one end of a flow.

#![forbid(unsafe_code)]

mod cli;

use clap::Parser;
use cli::Cli;
use hoplab_linux::resident::Resident;
use hoplab_traffic::{catch_signals, serve, Config, Error, NAME};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    run(&Cli::parse().document).unwrap_or_else(|message| {
        eprintln!("{NAME}: {message}");
        ExitCode::FAILURE
    })
}

/// Serves by the document, in the kernel where it offers that.
fn run(path: &Path) -> Result<ExitCode, Error> {
    let text = hoplab_document::text(path)?;
    let config: Config = hoplab_document::parse_of(path, &text)?;
    catch_signals(&config);
    match Resident::open().filter(|_| config.resident) {
        None => serve(&config).map(|()| ExitCode::SUCCESS),
        Some(resident) => match resident.run(NAME, &text).map_err(Error::Resident)? {
            true => Ok(ExitCode::SUCCESS),
            // It has said why.
            false => Ok(ExitCode::FAILURE),
        },
    }
}

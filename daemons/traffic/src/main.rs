// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-traffic`: one end of a flow.

#![forbid(unsafe_code)]

mod config;
mod error;
mod udp;

use clap::Parser;
use config::{Cli, Config};
use error::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match act(&Cli::parse().document) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hoplab-traffic: {message}");
            ExitCode::FAILURE
        }
    }
}

fn act(document: &Path) -> Result<(), Error> {
    match hoplab_document::read(document)? {
        Config::UdpSend(config) => udp::send(&config),
        Config::UdpReceive(config) => udp::receive(&config),
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Dynamic Source Routing protocol on a Linux wireless interface: what `hoplab-dsr` does after it
//! has read its document.

#![forbid(unsafe_code)]

mod config;
mod control;
mod daemon;
mod error;
mod layers;
mod monitor;
mod outbox;
mod samples;
mod stack;

pub use config::Config;
pub use error::Error;
use hoplab_station::command::Program;
use std::process::ExitCode;

const LONG: &str = "\
It creates a TUN interface that carries the local stack's traffic, sends DSR packets by a packet
socket on the wireless interface, learns of broken links from the link layer (SO_WIFI_STATUS),
and overhears its neighbours through a monitor interface that disappears with the process.";

/// The request of the control socket that only this daemon knows.
const SPLIT: (&str, &str) = (
    "split",
    "Print what the station does for split connections, a line for each",
);

/// The name by which the guest's kernel knows it.
pub const NAME: &str = "hoplab-dsr";

/// The program. It is compiled here, beside what the guest's kernel has of it.
pub fn main() -> ExitCode {
    let program = Program {
        name: "dsr",
        title: "Dynamic Source Routing (RFC 4728)",
        long: LONG,
        requests: &[SPLIT],
        resident: |config: &Config| config.resident,
        serve,
    };
    program.main()
}

/// Routes until SIGTERM. `ready` on standard output says that it begins.
pub fn serve(config: &Config) -> Result<(), Error> {
    let daemon = daemon::Daemon::set_up(config)?;
    hoplab_station::command::ready()?;
    daemon.run()
}

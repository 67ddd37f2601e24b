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

/// The request of the control socket that only this daemon knows.
pub const SPLIT: (&str, &str) = (
    "split",
    "Print what the station does for split connections, a line for each",
);

/// The name by which the guest's kernel knows it.
pub const NAME: &str = "hoplab-dsr";

/// Routes until SIGTERM. `ready` on standard output says that it begins.
pub fn serve(config: &Config) -> Result<(), Error> {
    let daemon = daemon::Daemon::set_up(config)?;
    hoplab_station::command::ready()?;
    daemon.run()
}

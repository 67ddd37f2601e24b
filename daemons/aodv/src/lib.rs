// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ad hoc On-Demand Distance Vector routing on a Linux wireless interface: what `hoplab-aodv` does
//! after it has read its document.

#![forbid(unsafe_code)]

mod config;
mod control;
mod daemon;
mod datagram;
mod error;
mod filter;
mod routes;

pub use config::Config;
pub use error::Error;

/// The name by which the guest's kernel knows it.
pub const NAME: &str = "hoplab-aodv";

/// Routes until SIGTERM. `ready` on standard output says that it begins.
pub fn serve(config: &Config) -> Result<(), Error> {
    let daemon = daemon::Daemon::set_up(config)?;
    hoplab_linux::say::line("ready").map_err(Error::Output)?;
    daemon.run()
}

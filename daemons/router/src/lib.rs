// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Routing protocols whose routes the kernel has, on a Linux wireless interface: what each daemon does
//! after it has read its document. A protocol is a state machine, [`Protocol`], and costs a line here.

#![forbid(unsafe_code)]

mod config;
mod control;
mod daemon;
mod datagram;
mod filter;
mod routes;

pub use config::Config;
use hoplab_aodv_core::Aodv;
use hoplab_dsdv_core::Dsdv;
use hoplab_olsr_core::Olsr;
pub use hoplab_routing_core::Protocol;
use hoplab_station::command::{self, Program};
pub use hoplab_station::Error;
use std::process::ExitCode;

const LONG: &str = "\
It puts routes into the kernel's table, which forwards by them. A TUN interface catches packets that
have none. A monitor interface, which disappears with the process, tells of frames that nobody
acknowledged.";

/// `hoplab-aodv`. A program is compiled here, beside what the guest's kernel has of it.
pub fn aodv() -> ExitCode {
    main::<Aodv>()
}

/// `hoplab-olsr`.
pub fn olsr() -> ExitCode {
    main::<Olsr>()
}

/// `hoplab-dsdv`.
pub fn dsdv() -> ExitCode {
    main::<Dsdv>()
}

fn main<P: Protocol>() -> ExitCode {
    let program = Program {
        name: P::NAME,
        title: P::TITLE,
        long: LONG,
        requests: &[],
        resident: |config: &Config<P::Settings>| config.resident,
        serve: serve::<P>,
    };
    program.main()
}

/// Routes by the protocol of a program of this name, until a signal comes. `None`: there is none.
pub fn serve_named(program: &str, document: &str) -> Option<Result<(), Error>> {
    let serve = match program.strip_prefix("hoplab-")? {
        Aodv::NAME => parsed::<Aodv>,
        Olsr::NAME => parsed::<Olsr>,
        Dsdv::NAME => parsed::<Dsdv>,
        _ => return None,
    };
    Some(serve(document))
}

fn parsed<P: Protocol>(document: &str) -> Result<(), Error> {
    serve::<P>(&document.parse()?)
}

/// Routes until SIGTERM. `ready` on standard output says that it begins.
fn serve<P: Protocol>(config: &Config<P::Settings>) -> Result<(), Error> {
    let daemon = daemon::Daemon::<P>::set_up(config)?;
    command::ready()?;
    daemon.run()
}

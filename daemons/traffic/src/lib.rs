// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One end of a flow: what `hoplab-traffic` does after it has read its document.

#![forbid(unsafe_code)]

mod call;
mod config;
mod error;
mod ping;
mod rows;
mod tcp;
mod turns;
mod udp;

use config::End;
use hoplab_base::Duration;
use hoplab_linux::{signals, wait};

pub use config::Config;
pub use error::Error;

/// The name by which the guest's kernel knows it.
pub const NAME: &str = "hoplab-traffic";

/// Has the process note the signals that ask for its last rows, as its end waits for them.
pub fn catch_signals(config: &Config) {
    match config.end {
        // It waits in its socket, for no longer than from row to row.
        End::UdpReceive(_) => signals::catch(),
        _ => signals::catch_in_wait(),
    }
}

/// Sends or receives until a signal asks for the last rows, or the flow's end. Other ends stay until
/// they are killed, so that their connection can be measured to the end.
pub fn serve(config: &Config) -> Result<(), Error> {
    match &config.end {
        End::UdpSend(config) => udp::send(config),
        End::UdpReceive(config) => udp::receive(config),
        End::TcpSend(config) => tcp::send(config),
        End::TcpReceive(config) => tcp::receive(config),
        End::Ping(config) => ping::ping(config),
        End::Request(config) => turns::request(config),
        End::Respond(config) => turns::respond(config),
        End::Call(config) => call::call(config),
    }
}

/// Waits for a signal.
fn stay() {
    while !signals::stopped() {
        wait(&mut [], Duration::MAX);
    }
}

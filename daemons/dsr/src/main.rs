// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-dsr`: the Dynamic Source Routing protocol on a Linux wireless interface.

#![forbid(unsafe_code)]

use hoplab_dsr::{serve, Config, SPLIT};
use hoplab_station::command::Program;

const LONG: &str = "\
It creates a TUN interface that carries the local stack's traffic, sends DSR packets by a packet
socket on the wireless interface, learns of broken links from the link layer (SO_WIFI_STATUS),
and overhears its neighbours through a monitor interface that disappears with the process.";

fn main() -> std::process::ExitCode {
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

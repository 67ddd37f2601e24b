// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-aodv`: the AODV protocol (RFC 3561) on a Linux wireless interface.

fn main() -> std::process::ExitCode {
    hoplab_router::aodv()
}

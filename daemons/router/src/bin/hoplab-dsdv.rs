// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-dsdv`: the DSDV protocol (Perkins, Bhagwat 1994) on a Linux wireless interface.

fn main() -> std::process::ExitCode {
    hoplab_router::dsdv()
}

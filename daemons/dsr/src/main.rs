// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-dsr`: the Dynamic Source Routing protocol on a Linux wireless interface.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    hoplab_dsr::main()
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hoplab-olsr`: the OLSR protocol (RFC 3626) on a Linux wireless interface.

fn main() -> std::process::ExitCode {
    hoplab_router::olsr()
}

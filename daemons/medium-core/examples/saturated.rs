// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Saturated stations about one receiver, as Bianchi (2000) has them: a line of JSON for each number
//! of stations, without and with RTS, for programs to read.
//!
//! `cargo run --release -p hoplab-medium-core --example saturated [SECONDS]`

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let seconds = std::env::args().nth(1).unwrap_or_else(|| "300".into());
    let seconds: u64 = seconds
        .parse()
        .ok()
        .filter(|seconds| *seconds > 0)
        .unwrap_or_else(|| panic!("{seconds}: expected a number of seconds"));
    for rts in [false, true] {
        for stations in common::SATURATED {
            let found = common::saturated(stations, rts, seconds);
            println!(
                "{{\"stations\": {stations}, \"rts\": {rts}, \"frames_per_s\": {}, \
                 \"collisions\": {}}}",
                found.frames_per_s, found.collisions
            );
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Saturated stations about one receiver, as Bianchi (2000) has them, without and with RTS. The
//! output is a line of JSON for each number of stations, for programs to read.
//!
//! `cargo run --release -p hoplab-medium-core --example saturated [SECONDS [SEED]]`

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let [seconds, seed] = [(1, 300), (2, 1)].map(|(at, default)| {
        std::env::args().nth(at).map_or(default, |word| {
            let number = word.parse().ok().filter(|number: &u64| *number > 0);
            number.unwrap_or_else(|| panic!("{word}: expected a number above 0"))
        })
    });
    for rts in [false, true] {
        for stations in common::SATURATED {
            let found = common::saturated(stations, rts, seconds, seed);
            println!(
                "{{\"stations\": {stations}, \"rts\": {rts}, \"frames_per_s\": {}, \
                 \"collisions\": {}}}",
                found.frames_per_s, found.collisions
            );
        }
    }
}

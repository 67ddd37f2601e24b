// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of `impl Radio` stand in levels: each calls only itself and files below it.

#[path = "../../tests/levels.rs"]
mod order;

use std::path::Path;

/// The lowest first. `mod.rs` has the entry points that concern the whole radio.
const LEVELS: [&str; 13] = [
    "ahead", "state", "hear", "contend", "single", "queue", "poll", "bsrp", "sound", "txop",
    "send", "receive", "mod",
];

#[test]
fn calls_lead_downwards() {
    order::hold(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/radio"),
        &LEVELS,
    );
}

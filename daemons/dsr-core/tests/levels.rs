// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of `impl Dsr` stand in levels: each calls only itself and files below it.

#[path = "../../tests/levels.rs"]
mod order;

use std::path::Path;

/// The lowest first. `mod.rs` has the entry points of the driver, besides those of the link.
const LEVELS: [&str; 11] = [
    "effects",
    "signal",
    "send",
    "custody",
    "maintain",
    "acks",
    "link",
    "discovery",
    "learn",
    "receive",
    "mod",
];

#[test]
fn calls_lead_downwards() {
    order::hold(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/node"),
        &LEVELS,
    );
}

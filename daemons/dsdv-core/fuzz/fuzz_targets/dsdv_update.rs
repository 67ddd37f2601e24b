// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary bytes as an update of DSDV: no panic, and what parses is emitted as it was.
#![no_main]

use hoplab_dsdv_core::message::{emit, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(rows) = parse(bytes) {
        assert_eq!(emit(&rows), bytes);
    }
});

// SPDX-License-Identifier: Apache-2.0
//! Arbitrary bytes in a document: it is refused in a line, or read; no panic.
#![no_main]

use hoplab_channel::config::Config;
use hoplab_document::parse;
use libfuzzer_sys::fuzz_target;

const WHOLE: &[u8] = include_bytes!("../../tests/document.json");

fuzz_target!(|bytes: &[u8]| {
    let (place, bytes) = bytes.split_at(bytes.len().min(2));
    let at = place
        .iter()
        .fold(0, |at, byte| at << 8 | usize::from(*byte))
        % WHOLE.len();
    let end = (at + bytes.len()).min(WHOLE.len());
    // In the place of a part of a right one, so that what comes before it is read.
    let whole = [&WHOLE[..at], bytes, &WHOLE[end..]].concat();
    for text in [bytes, &whole].map(String::from_utf8_lossy) {
        if let Err(error) = parse::<Config>(&text) {
            assert!(!error.to_string().is_empty());
        }
    }
});

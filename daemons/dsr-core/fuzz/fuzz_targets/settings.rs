// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary text as a document of settings: no panic, and what is read is written as a document
//! that reads the same.
#![no_main]

use hoplab_dsr_core::Settings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(settings) = hoplab_document::parse::<Settings>(text) {
        let again = serde_json::to_string(&settings).expect("settings are JSON");
        assert_eq!(
            hoplab_document::parse::<Settings>(&again).ok(),
            Some(settings)
        );
    }
});

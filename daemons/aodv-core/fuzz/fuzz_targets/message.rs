// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary bytes as a message of AODV: no panic, and what parses is emitted again to something that
//! parses the same.
#![no_main]

use hoplab_aodv_core::Message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = Message::parse(bytes) {
        assert_eq!(Message::parse(&message.emit()), Ok(message));
    }
});

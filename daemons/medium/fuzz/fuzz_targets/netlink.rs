// SPDX-License-Identifier: Apache-2.0
//! Arbitrary bytes as a datagram of the kernel: no panic, no endless loop, slices inside the input.
#![no_main]

use hoplab_channel::dot11;
use hoplab_medium::port::messages::{self, Message, MAX_RATES};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let messages = messages::parse(bytes);
    assert!(messages.len() <= bytes.len() / 16 + 1);
    for message in messages {
        if let Message::Frame(sent) = message {
            assert!(sent.frame.len() >= 10 && sent.frame.len() <= bytes.len());
            assert!(sent.rates.len() <= MAX_RATES);
            let _ = dot11::parse(sent.frame);
        }
    }
});

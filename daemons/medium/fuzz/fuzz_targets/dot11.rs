// SPDX-License-Identifier: Apache-2.0
//! Arbitrary bytes as an 802.11 frame: no panic, and what goes on the air keeps its addresses.
#![no_main]

use hoplab_channel::dot11;
use hoplab_wire::ieee80211::on_air;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let header = dot11::parse(bytes);
    if let Some(begin) = on_air(bytes, true, 44) {
        let aired = [&begin[..], &bytes[begin.len()..]].concat();
        assert_eq!(header, dot11::parse(&aired));
    }
});

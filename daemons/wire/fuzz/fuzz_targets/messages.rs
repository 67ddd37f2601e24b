// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary bytes as netlink messages and attributes: no panic, no endless loop.
#![no_main]

use hoplab_wire::netlink::{family_id, Attributes, Message, Messages};
use hoplab_wire::nfqueue::Queued;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut count = 0;
    for message in Messages::new(bytes) {
        count += 1;
        let queued = Queued::of(&message);
        assert!(queued.is_none_or(|queued| queued.packet.len() < bytes.len()));
        if let Message::Generic { attributes, .. } = message {
            let values: usize = attributes.map(|(_, value)| value.len() + 4).sum();
            assert!(values <= bytes.len());
        }
    }
    assert!(count <= bytes.len() / 16 + 1);
    let _ = (family_id(bytes), Attributes::new(bytes).find(1));
});

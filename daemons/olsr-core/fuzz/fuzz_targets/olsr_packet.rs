// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary bytes as a packet of OLSR: no panic, and what parses is emitted again to something that
//! parses the same.
#![no_main]

use hoplab_olsr_core::message::{self, Body, Message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((number, messages)) = message::parse(bytes) else {
        return;
    };
    let octets: Vec<_> = messages.iter().map(Message::emit).collect();
    let again = message::parse(&message::emit(number, &octets));
    assert_eq!(again, Ok((number, messages.clone())));
    for one in messages {
        let Ok(parsed) = one.parsed() else { continue };
        let (kind, body) = match &parsed {
            Body::Hello(hello) => hello.emit(),
            Body::Tc(tc) => tc.emit(),
            Body::Other => continue,
        };
        assert_eq!(Message { kind, body, ..one }.parsed(), Ok(parsed));
    }
});

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary bytes as a packet and as an option: no panic, and what parses is emitted again to
//! something that parses the same.
#![no_main]

use hoplab_dsr_core::wire::{options::DsrOption, Packet};
use hoplab_dsr_elfn::LostSegment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = Packet::parse(bytes) {
        if packet.payload.is_empty() {
            assert_eq!(Packet::parse(&packet.emit()).as_ref(), Ok(&packet));
        }
    }
    if let Ok((option, used)) = DsrOption::parse(bytes) {
        assert!(used <= bytes.len());
        let mut out = Vec::new();
        option.emit(&mut out);
        assert_eq!(DsrOption::parse(&out).map(|o| o.0), Ok(option));
    }
    let _ = LostSegment::parse_all(bytes);
});

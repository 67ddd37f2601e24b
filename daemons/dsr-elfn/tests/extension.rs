// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The octets of the lost-segment extension.

use hoplab_dsr_elfn::{Fate, LostSegment, RECORD_LEN};
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn segment() -> LostSegment {
    LostSegment {
        fate: Fate::Dropped,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 4),
        source_port: 0x1451,
        destination_port: 0xc000,
        sequence: 0xdead_beef,
    }
}

#[test]
fn a_record_is_as_documented() {
    let mut extension = Vec::new();
    segment().emit(&mut extension);
    let octets = [
        0x54, 18, 1, 6, 10, 0, 0, 1, 10, 0, 0, 4, 0x14, 0x51, 0xc0, 0, 0xde, 0xad, 0xbe, 0xef,
    ];
    assert_eq!((&extension[..], extension.len()), (&octets[..], RECORD_LEN));
}

#[test]
fn unknown_extensions_are_skipped() {
    let mut extension = vec![0x55, 2, 9, 9];
    segment().emit(&mut extension);
    assert_eq!(LostSegment::parse_all(&extension), [segment()]);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(LostSegment::parse_all(&bytes).len() <= bytes.len() / RECORD_LEN);
    }
}

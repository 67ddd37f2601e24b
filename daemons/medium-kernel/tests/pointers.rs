// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entry points and what they do with C's pointers, in so little work that Miri can watch.

use hoplab_abi as abi;
use hoplab_medium_kernel::entry;

#[no_mangle]
extern "C" fn hoplab_medium_deliver(
    _: *const [u8; 6],
    _: *const u8,
    _: u32,
    _: u32,
    _: u32,
    _: i32,
) {
}

#[no_mangle]
extern "C" fn hoplab_medium_status(_: *const [u8; 6], _: *const abi::Status) {}

#[no_mangle]
extern "C" fn hoplab_medium_died(_: *const u8, _: u32) -> ! {
    std::process::abort()
}

/// The next message, of which `room` octets are taken.
fn message(room: usize) -> String {
    let mut taken = vec![0u8; room];
    // SAFETY: there is that much room.
    let length = unsafe { entry::hoplab_engine_message(taken.as_mut_ptr(), room) };
    taken.truncate(length);
    String::from_utf8(taken).expect("text")
}

#[test]
fn what_c_gives_is_read_within_its_bounds() {
    let text = b"{\"stations\": 1}";
    // SAFETY: pointer and length are the text's.
    assert!(!unsafe { entry::hoplab_engine_start(text.as_ptr(), text.len()) });
    assert!(entry::hoplab_engine_has_message());
    assert_eq!(message(10).len(), 10, "as much as there is room for");
    assert_eq!(message(10), "", "it was the only one");
    let address = [2, 0, 0, 0, 1, 0];
    let bytes = [0u8; 24];
    let row = abi::Rate {
        index: -1,
        tries: 0,
        flags: 0,
    };
    let frame = abi::Frame {
        bytes: bytes.as_ptr(),
        cookie: 1,
        length: bytes.len() as u32,
        frequency_mhz: 2412,
        radio: abi::UNKNOWN_RADIO,
        window: 0,
        rates: [row; abi::RATES],
    };
    let contention = abi::Contention {
        aifsn: 2,
        cw_min: 15,
        cw_max: 1023,
        txop: 0,
    };
    // SAFETY: each pointer is to what it says, or null where that means none.
    unsafe {
        assert_eq!(
            entry::hoplab_engine_radio(&raw const address),
            abi::UNKNOWN_RADIO
        );
        entry::hoplab_engine_associated(1, -1, &raw const address);
        entry::hoplab_engine_associated(2, -1, std::ptr::null());
        entry::hoplab_engine_contends(3, -1, 0, &raw const contention);
        entry::hoplab_engine_contends(4, -1, 9, &raw const contention);
        entry::hoplab_engine_sent(5, &raw const frame);
        assert!(!entry::hoplab_engine_change(6, text.as_ptr(), text.len()));
    }
    entry::hoplab_engine_end(7);
}

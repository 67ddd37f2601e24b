// SPDX-License-Identifier: Apache-2.0 OR MIT

use alloc::vec::Vec;

use super::super::reorder::{Arrival, Reorder};
use super::{arrived, us};
use crate::FrameId;

/// The frames that the host gets.
fn released(reorder: &mut Reorder) -> Vec<FrameId> {
    let released = reorder.take_released(|_| ());
    released.iter().map(|arrived| arrived.frame).collect()
}

#[test]
fn a_frame_given_up_by_the_buffer_is_not_acknowledged() {
    let mut reorder = Reorder::new(64, true);
    // Frame 0 is missing.
    assert_eq!(
        reorder.receive(1, arrived(0, 1), false, us(0)),
        Arrival::New
    );
    assert!(released(&mut reorder).is_empty());
    reorder.expire(us(0));
    assert_eq!(released(&mut reorder), [1]);
    assert!(!reorder.block_ack().covers(0));
    assert!(reorder.block_ack().covers(1));

    // It comes after all: acknowledged, but too late for the host, whose frames stay in order.
    assert_eq!(
        reorder.receive(0, arrived(0, 0), false, us(1)),
        Arrival::Repeat
    );
    assert!(reorder.block_ack().covers(0));
    assert!(released(&mut reorder).is_empty());
    reorder.receive(2, arrived(0, 2), false, us(2));
    assert_eq!(released(&mut reorder), [2]);
}

#[test]
fn a_frame_given_up_by_its_sender_needs_not_be_sent_again() {
    let mut reorder = Reorder::new(64, true);
    reorder.receive(1, arrived(0, 1), false, us(0));
    reorder.move_to(1);
    assert_eq!(released(&mut reorder), [1]);
    assert_eq!(reorder.block_ack().start(), 2);
    // A frame beyond the window shows that the sender has given up those before its own.
    reorder.receive(70, arrived(0, 70), false, us(1));
    assert_eq!(reorder.block_ack().start(), 7);
    assert!(reorder.block_ack().covers(6));
    assert!(!reorder.block_ack().covers(7));
    assert!(reorder.block_ack().covers(70));
}

#[test]
fn a_window_is_no_larger_than_a_bitmap() {
    let mut reorder = Reorder::new(2000, true);
    reorder.receive(1999, arrived(0, 1999), false, us(0));
    assert_eq!(reorder.block_ack().start(), 976);
    assert!(reorder.block_ack().covers(1999));
}

// SPDX-License-Identifier: Apache-2.0 OR MIT

use super::super::CarrierSense;
use super::{setup, us};

#[test]
fn the_space_before_a_frame_begins_when_the_nav_has_ended_too() {
    let space = setup().timing.difs;
    let mut sense = CarrierSense::default();
    sense.idle_again(us(100));
    assert!(!sense.was_idle_for(space, us(149)));
    assert!(sense.was_idle_for(space, us(150)));

    sense.set_nav(us(1000));
    for (at, idle) in [(999, false), (1000, false), (1049, false), (1050, true)] {
        assert_eq!(sense.was_idle_for(space, us(at)), idle, "at {at} us");
    }
}

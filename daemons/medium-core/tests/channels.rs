// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios that change their channel.

mod common;

use common::{at, frame, ms};
use hoplab_medium_core::{Class, Frame, Medium, Mhz, Output, Params, RadioId, To};

const HOME: Mhz = Mhz(2412);
const OTHER: Mhz = Mhz(2462);
/// Of a broadcast at 1 Mbit/s, which lasts 12.6 ms.
const BYTES: usize = 1536;

/// How often the second radio hears the first, which broadcasts at 0, 20 and 40 ms: the second one
/// is placed on channels at these times.
fn heard(places: &[(u64, Mhz)]) -> usize {
    let stations = vec![at("a", 0.0), at("b", 100.0)];
    let mut medium = Medium::new(Params::default(), stations, Vec::new());
    let [sender, listener] = [0, 1].map(RadioId::new);
    medium.place_on(sender, HOME);
    medium.place_on(listener, HOME);
    let mut agenda: Vec<(u64, Option<Mhz>)> = [0, 20, 40].map(|at| (at, None)).into();
    agenda.extend(places.iter().map(|(at, channel)| (*at, Some(*channel))));
    agenda.sort_by_key(|(at, _)| *at);
    for (id, (at, channel)) in agenda.into_iter().enumerate() {
        medium.advance(ms(at));
        match channel {
            Some(channel) => medium.place_on(listener, channel),
            None => {
                let sent = frame(id as u64, To::Everyone, BYTES, 1.0, false);
                let class = Class::Management;
                medium.enqueue(sender, Frame { class, ..sent });
            }
        }
    }
    medium.advance(ms(100));
    let outputs = std::iter::from_fn(|| medium.poll_output());
    outputs
        .filter(|output| matches!(output, Output::Deliver { .. }))
        .count()
}

#[test]
fn a_radio_hears_what_is_on_its_channel_while_it_is_there() {
    assert_eq!(heard(&[]), 3);
    assert_eq!(heard(&[(0, OTHER)]), 0);
    assert_eq!(heard(&[(15, OTHER)]), 1);
    assert_eq!(heard(&[(15, OTHER), (38, HOME)]), 2);
    // It stays where it is.
    assert_eq!(heard(&[(5, HOME), (25, HOME)]), 3);
}

#[test]
fn a_frame_of_which_it_missed_a_part_is_lost() {
    assert_eq!(heard(&[(25, OTHER), (26, HOME)]), 2);
    assert_eq!(heard(&[(18, OTHER), (25, HOME)]), 2);
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A radio that comes while others send.

use crate::common::{at, frame, ms};
use hoplab_medium_core::{Medium, MediumId, Output, Params, RadioId, To};

const BYTES: usize = 1000;

/// Deliveries so far: which radio, from which.
fn heard(medium: &mut Medium) -> Vec<(usize, usize)> {
    let outputs = std::iter::from_fn(|| medium.poll_output());
    let of = |output| match output {
        Output::Deliver { to, from, .. } => Some((to.index(), from.index())),
        _ => None,
    };
    outputs.filter_map(of).collect()
}

#[test]
fn a_radio_that_is_added_hears_is_heard_and_counts_from_then_on() {
    let stations = vec![at("a", 0.0), at("b", 100.0)];
    let mut medium = Medium::new(Params::default(), stations, Vec::new());
    let broadcast = |id| frame(id, To::Everyone, BYTES, 1.0, false);
    medium.enqueue(RadioId::new(0), broadcast(1));
    // It comes while a frame is on the air, of which it hears nothing.
    medium.advance(ms(2));
    let added = medium.add(at("c", 50.0));
    assert_eq!(added.index(), 2);
    medium.advance(ms(100));
    assert_eq!(heard(&mut medium), [(1, 0)]);
    medium.enqueue(RadioId::new(0), broadcast(2));
    medium.advance(ms(200));
    assert_eq!(heard(&mut medium), [(1, 0), (2, 0)]);
    medium.enqueue(
        added,
        frame(3, To::Radio(RadioId::new(1)), BYTES, 1.0, false),
    );
    medium.advance(ms(300));
    assert_eq!(heard(&mut medium), [(1, 2)]);
    assert_eq!(medium.counters(added).tx_frames, 1);
    assert_eq!(medium.counters(added).rx_frames, 1);
}

#[test]
fn it_is_as_far_as_it_is_and_on_the_medium_of_all() {
    let stations = vec![at("a", 0.0), at("b", 100.0)];
    let mut medium = Medium::new(Params::default(), stations, Vec::new());
    medium.assign(RadioId::new(1), MediumId(1));
    let near = medium.add(at("c", 50.0));
    medium.add(at("d", 5000.0));
    medium.enqueue(RadioId::new(0), frame(1, To::Everyone, BYTES, 1.0, false));
    medium.advance(ms(100));
    assert_eq!(heard(&mut medium), [(near.index(), 0)]);
}

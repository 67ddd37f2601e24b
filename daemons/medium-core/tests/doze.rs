// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios that doze: what they miss, what they draw, and what wakes them.

use crate::common::{at, frame, ms};
use hoplab_medium_core::{
    Class, Duration, Energy, Fate, Frame, Medium, Output, Params, RadioId, To,
};

const ENERGY: Energy = Energy {
    tx_w: 1.3,
    rx_w: 0.9,
    idle_w: 0.8,
    sleep_w: 0.05,
    battery_j: None,
};

fn pair() -> (Medium, [RadioId; 2]) {
    let params = Params {
        energy: ENERGY,
        ..Params::default()
    };
    let medium = Medium::new(params, vec![at("a", 0.0), at("b", 100.0)], Vec::new()).traced();
    (medium, [0, 1].map(RadioId::new))
}

/// A broadcast of 1536 octets at 1 Mbit/s, which lasts 12.48 ms.
fn broadcast(id: u64) -> Frame {
    let class = Class::Management;
    Frame {
        class,
        ..frame(id, To::Everyone, 1536, 1.0, false)
    }
}

/// How often frames came to hosts, and the fates of what was on the air.
fn outputs(medium: &mut Medium) -> (usize, Vec<Fate>) {
    let (mut delivered, mut fates) = (0, Vec::new());
    while let Some(output) = medium.poll_output() {
        match output {
            Output::Deliver { .. } => delivered += 1,
            Output::Aired(aired) => fates.push(aired.fate),
            _ => {}
        }
    }
    (delivered, fates)
}

#[test]
fn a_dozing_radio_misses_frames_and_draws_less() {
    let (mut medium, [a, b]) = pair();
    medium.doze(b, true);
    medium.enqueue(a, broadcast(1));
    medium.advance(ms(50));
    assert_eq!(outputs(&mut medium).0, 0);
    medium.doze(b, false);
    medium.enqueue(a, broadcast(2));
    medium.advance(ms(100));
    assert_eq!(outputs(&mut medium), (1, vec![Fate::Delivered]));
    let times = medium.counters(b).times;
    assert_eq!(times.sleep, Duration::from_millis(50));
    assert_eq!(
        times.sleep + times.rx + times.idle,
        Duration::from_millis(100)
    );
    let awake_j = times.rx.as_secs_f64() * 0.9 + times.idle.as_secs_f64() * 0.8;
    let spent_j = medium.joules(b).sum();
    assert!((spent_j - awake_j - 0.05 * 0.05).abs() < 1e-12, "{spent_j}");
}

#[test]
fn a_frame_is_lost_in_the_midst_of_which_it_dozes_or_wakes() {
    for dozes in [true, false] {
        let (mut medium, [a, b]) = pair();
        medium.doze(b, !dozes);
        medium.enqueue(a, broadcast(1));
        medium.advance(ms(5));
        medium.doze(b, dozes);
        medium.advance(ms(50));
        assert_eq!(outputs(&mut medium), (0, vec![Fate::Off]), "{dozes}");
    }
}

#[test]
fn its_own_frame_wakes_it_and_waits_for_what_is_on_the_air() {
    let (mut medium, [a, b]) = pair();
    medium.doze(b, true);
    medium.enqueue(a, broadcast(1));
    medium.advance(ms(5));
    medium.enqueue(b, frame(2, To::Radio(a), 100, 2.0, false));
    medium.advance(ms(50));
    let (delivered, fates) = outputs(&mut medium);
    assert_eq!(delivered, 1);
    assert_eq!(fates[1..], [Fate::Delivered, Fate::Delivered]);
    assert_eq!(medium.counters(b).times.sleep, Duration::from_millis(5));
}

#[test]
fn it_does_not_doze_before_its_frames_are_sent() {
    let (mut medium, [a, b]) = pair();
    medium.enqueue(a, broadcast(1));
    medium.advance(ms(5));
    medium.enqueue(b, frame(2, To::Radio(a), 100, 2.0, false));
    medium.doze(b, true);
    medium.advance(ms(50));
    assert_eq!(outputs(&mut medium).0, 2);
    assert_eq!(medium.counters(b).times.sleep, Duration::ZERO);
}

#[test]
fn it_rests_when_it_has_answered() {
    let (mut medium, [a, b]) = pair();
    medium.enqueue(a, frame(1, To::Radio(b), 100, 2.0, false));
    let acknowledges = loop {
        let next = medium.next_deadline().unwrap();
        medium.advance(next);
        if medium.poll_output().is_some() {
            break next;
        }
    };
    // It owes the acknowledgement, and sends it.
    medium.rest(b);
    assert_eq!(medium.counters(b).times.sleep, Duration::ZERO);
    medium.advance(ms(50));
    let asleep = medium.counters(b).times.sleep;
    let since = ms(50).since(acknowledges);
    assert!(asleep < since && asleep + Duration::from_micros(500) > since);
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios that change their channel, and what channels side by side leak to each other.

use crate::common::{at, frame, ms};
use hoplab_medium_core::{
    Aired, Class, Dbm, Duration, Fate, Frame, Leak, Leakage, Medium, Mhz, Output, Params, RadioId,
    To,
};

const HOME: Mhz = Mhz(2412);
const OTHER: Mhz = Mhz(2462);
/// Of a broadcast at 1 Mbit/s, which lasts 12.6 ms.
const BYTES: usize = 1536;

/// How often the second radio hears the first, which broadcasts at 0, 20 and 40 ms. The second one
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

const CHANNEL: Mhz = Mhz(5180);
const BESIDE: Mhz = Mhz(5200);
const TWO_AWAY: Mhz = Mhz(5220);

/// The radios' own rules, with what channels of 20 MHz leak by their masks. The energy that makes
/// the channel busy is 20 dB above a signal that does.
fn leaking() -> Params {
    let params = Params::default();
    let pair = |from, to, db| Leak { from, to, db };
    let pairs = vec![
        pair(BESIDE, CHANNEL, -26.1),
        pair(CHANNEL, BESIDE, -26.1),
        pair(TWO_AWAY, CHANNEL, -40.2),
        pair(CHANNEL, TWO_AWAY, -40.2),
    ];
    let leakage = Leakage {
        ed_threshold_dbm: params.cs_threshold_dbm + 20.0,
        pairs,
    };
    Params {
        leakage: Some(leakage),
        ..params
    }
}

/// What was on the air while radios at `(x_m, channel)` sent broadcasts at `(ms, sender)`, and how
/// often each radio got one.
fn aired(radios: &[(f64, Mhz)], sent: &[(u64, usize)]) -> (Vec<Aired>, Vec<usize>) {
    let names = ["a", "b", "c", "d"];
    let stations = names.iter().zip(radios);
    let stations = stations.map(|(name, (x_m, _))| at(name, *x_m)).collect();
    let mut medium = Medium::new(leaking(), stations, Vec::new()).traced();
    for (radio, (_, channel)) in radios.iter().enumerate() {
        medium.place_on(RadioId::new(radio), *channel);
    }
    for (id, (at, sender)) in sent.iter().enumerate() {
        medium.advance(ms(*at));
        let broadcast = frame(id as u64, To::Everyone, BYTES, 1.0, false);
        medium.enqueue(RadioId::new(*sender), broadcast);
    }
    medium.advance(ms(100));
    let (mut aired, mut got) = (Vec::new(), vec![0; radios.len()]);
    while let Some(output) = medium.poll_output() {
        match output {
            Output::Aired(one) => aired.push(*one),
            Output::Deliver { to, .. } => got[to.index()] += 1,
            _ => {}
        }
    }
    (aired, got)
}

#[test]
fn a_near_sender_on_the_next_channel_spoils_a_weak_frame() {
    // The receiver hears its sender with -60.5 dBm, and a radio 20 m away with -33.2 dBm. Of that
    // it hears -59.3 dBm on the next channel, -73.4 on the one after. Capture needs 10 dB.
    let fates = |other, x_m| {
        let (aired, got) = aired(
            &[(0.0, CHANNEL), (200.0, CHANNEL), (x_m, other)],
            &[(0, 2), (1, 0)],
        );
        let weak = aired.iter().find(|one| one.from == RadioId::new(0));
        (weak.expect("it was sent").fate, got)
    };
    assert_eq!(fates(BESIDE, 220.0), (Fate::Collided, vec![0, 0, 0]));
    assert_eq!(fates(TWO_AWAY, 220.0), (Fate::Delivered, vec![0, 1, 0]));
    // As far away as the sender, it is 26 dB weaker.
    assert_eq!(fates(BESIDE, 400.0), (Fate::Delivered, vec![0, 1, 0]));
}

#[test]
fn a_radio_defers_to_the_energy_of_the_next_channel_and_not_to_less() {
    // -53.3 dBm come from 10 m, -62.8 from 30 m, by a threshold of -58.1.
    let begins = |x_m| {
        let (aired, _) = aired(&[(0.0, CHANNEL), (x_m, BESIDE)], &[(0, 1), (1, 0)]);
        let of = |radio| aired.iter().find(|one| one.from == RadioId::new(radio));
        let (first, second) = (of(1).expect("it was sent"), of(0).expect("it was sent"));
        assert!(first.at < ms(1) && first.until > ms(12));
        (second.at, first.until)
    };
    let (deferred, quiet_from) = begins(10.0);
    assert!(deferred > quiet_from);
    // DIFS and whole slots, not EIFS: a leak is no frame with errors.
    let slot = Duration::from_micros(20).as_nanos();
    let since = deferred.since(quiet_from) - Duration::from_micros(50);
    assert_eq!(since.as_nanos() % slot, 0);
    let (at_once, quiet_from) = begins(30.0);
    assert!(at_once == ms(1) && at_once < quiet_from);
}

#[test]
fn no_radio_receives_what_another_channel_leaks() {
    // The leak is above the threshold of reception at one radio of the next channel, and below at
    // the other.
    let radios = [
        (0.0, BESIDE),
        (5.0, BESIDE),
        (-5.0, CHANNEL),
        (40.0, CHANNEL),
    ];
    let (aired, got) = aired(&radios, &[(0, 0)]);
    assert_eq!(got, [0, 1, 0, 0]);
    let fates: Vec<Fate> = aired.iter().map(|one| one.fate).collect();
    assert_eq!(fates, [Fate::Delivered]);
    // Where nobody is on the channel, nobody is listed.
    let (aired, _) = self::aired(&[(0.0, BESIDE), (5.0, CHANNEL)], &[(0, 0)]);
    let heard = (aired[0].fate, aired[0].signal_dbm);
    assert_eq!(heard, (Fate::Nobody, None::<Dbm>));
}

#[test]
fn radios_at_one_place_do_not_leak_to_each_other() {
    let (aired, _) = aired(&[(0.0, CHANNEL), (0.0, BESIDE)], &[(0, 1), (1, 0)]);
    let second = aired.iter().find(|one| one.from == RadioId::new(0));
    assert_eq!(second.expect("it was sent").at, ms(1));
}

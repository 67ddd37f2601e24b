// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Multi-link devices (IEEE 802.11be-2024 35.3): several channels, one window, one order.

use std::collections::BTreeMap;

use crate::common::{aggregating, at, data, keep_waiting};
use hoplab_medium_core::{
    Duration, FurtherLink, Guard, Instant, Medium, Mhz, Output, Params, RadioId, Rate, Standard,
    Stream, Width,
};

const SECONDS: u64 = 4;
const OCTETS: usize = 1500;

fn params(window: usize) -> Params {
    let standard = Standard::Eht {
        signal_extension: false,
    };
    aggregating(standard, window, 2528, Duration::from_micros(8))
}

fn eht(width: Width) -> Rate {
    Rate::eht(9, 1, width, Guard::Ns800).expect("an EHT rate")
}

/// Channels of each device, the first one first.
fn channels(links: &[Width]) -> impl Iterator<Item = (Mhz, Width)> + '_ {
    (5180..).step_by(160).map(Mhz).zip(links.iter().copied())
}

/// So many devices, all with these links.
fn devices(params: Params, count: usize, links: &[Width]) -> Medium {
    let stations = (0..count).map(|i| at(&format!("s{i}"), i as f64));
    let mut medium = Medium::new(params, stations.collect(), vec![]).traced();
    for (number, (channel, width)) in channels(links).enumerate() {
        for radio in 0..count {
            let id = RadioId::new(radio);
            if number == 0 {
                medium.place_on(id, channel);
                continue;
            }
            let station = at(&format!("s{radio}/{number}"), radio as f64);
            let link = FurtherLink {
                station,
                channel,
                width,
                frequency_mhz: None,
            };
            medium.add_link(id, link);
        }
    }
    medium
}

fn mbps(medium: &mut Medium, flows: &[(usize, usize, u8)], width: Width) -> f64 {
    let done = keep_waiting(medium, flows, (OCTETS, eht(width)), SECONDS);
    done.iter().sum::<u64>() as f64 * 8.0 * OCTETS as f64 / SECONDS as f64 / 1e6
}

/// Saturated, two links carry what each of them carries alone.
#[test]
fn links_add_up() {
    use Width::{Mhz20, Mhz40, Mhz80};
    for (first, second) in [(Mhz40, Mhz40), (Mhz80, Mhz20), (Mhz20, Mhz80)] {
        let alone = |width| mbps(&mut devices(params(1024), 2, &[width]), &[(0, 1, 0)], width);
        let sum = alone(first) + alone(second);
        let mut both = devices(params(1024), 2, &[first, second]);
        let both = mbps(&mut both, &[(0, 1, 0)], first);
        println!("{first:?} + {second:?}: {both:.1} Mbit/s, alone together {sum:.1}");
        assert!((both / sum - 1.0).abs() < 0.03, "{both} {sum}");
    }
}

/// Frames go by one link where the receiver has no other.
#[test]
fn a_receiver_with_one_link_hears_all() {
    let mut medium = devices(params(1024), 1, &[Width::Mhz40, Width::Mhz40]);
    let single = medium.add(at("single", 1.0));
    medium.place_on(single, Mhz(5180));
    let flows = [(0, single.index(), 0)];
    let done = mbps(&mut medium, &flows, Width::Mhz40);
    let mut alone = devices(params(1024), 2, &[Width::Mhz40]);
    assert_eq!(done, mbps(&mut alone, &[(0, 1, 0)], Width::Mhz40));
}

/// Lone frames take whichever link is free, and come in their order.
#[test]
fn frames_that_come_one_by_one_do_not_wait() {
    let mut medium = devices(params(1024), 2, &[Width::Mhz40, Width::Mhz40]);
    let mut random = Stream::new(1, "gaps");
    let (mut sent, mut delivered) = (BTreeMap::new(), Vec::new());
    let mut now = Instant::ZERO;
    for id in 1..2000 {
        now += Duration::from_micros(u64::from(random.below(800)));
        while let Some(next) = medium.next_deadline().filter(|next| *next <= now) {
            medium.advance(next);
            take(&mut medium, next, &mut sent, &mut delivered);
        }
        medium.advance(now);
        sent.insert(id, now);
        medium.enqueue(RadioId::new(0), data(id, 1, OCTETS, eht(Width::Mhz40)));
        take(&mut medium, now, &mut sent, &mut delivered);
    }
    let end = now + Duration::from_secs(1);
    while let Some(next) = medium.next_deadline().filter(|next| *next < end) {
        medium.advance(next);
        take(&mut medium, next, &mut sent, &mut delivered);
    }
    assert!(sent.is_empty(), "{} are missing", sent.len());
    assert!(delivered.is_sorted_by_key(|(id, _)| *id));
    let longest = delivered.iter().map(|(_, delay)| *delay).max().unwrap();
    assert!(longest < Duration::from_millis(2), "{longest:?}");
}

fn take(
    medium: &mut Medium,
    now: Instant,
    sent: &mut BTreeMap<u64, Instant>,
    delivered: &mut Vec<(u64, Duration)>,
) {
    while let Some(output) = medium.poll_output() {
        if let Output::Deliver { frame, .. } = output {
            let at = sent.remove(&frame).expect("a frame comes once");
            delivered.push((frame, now.since(at)));
        }
    }
}

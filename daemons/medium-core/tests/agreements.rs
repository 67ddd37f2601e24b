// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block ack agreements that hosts make: frames come with their numbers, receivers' hosts reorder,
//! and a status tells of a whole A-MPDU.

use std::collections::BTreeSet;

use crate::common::{after, at, at_5_ghz, category, data, SECOND};
use hoplab_medium_core::{
    Aggregation, Agreement, AirKind, Duration, Edca, Frame, FrameId, LossModel, LossRule, Medium,
    Numbered, Outcome, Output, Params, RadioId, Rate, Standard, Width, MAX_RATES,
};

const FRAMES: u64 = 5000;
const WINDOW: usize = 64;
const NUMBERS: u64 = 4096;
/// The host's number of the first frame: the numbers wrap soon after it.
const FIRST: u64 = 4000;

/// What came of frames from one radio to another.
#[derive(Default)]
struct Seen {
    delivered: Vec<FrameId>,
    /// Each frame's outcome, tries and agreement.
    statuses: Vec<(Outcome, [u32; MAX_RATES], Agreement)>,
    /// Times at which a frame was on the air.
    airings: u64,
    largest: u32,
    until_us: u64,
}

fn params(by_hosts: bool, retries: u32) -> Params {
    Params {
        phy: at_5_ghz(Standard::Vht {
            signal_extension: false,
        }),
        edca: Some(Edca {
            categories: [category(3, 15, 1023, 0); 4],
            aggregation: Some(Aggregation {
                window: WINDOW,
                octets: usize::MAX,
                start_spacing: Duration::from_micros(8),
                by_hosts,
            }),
            rts_threshold: usize::MAX,
        }),
        retry_short: retries,
        retry_long: retries,
        queue_packets: FRAMES as usize,
        ..Params::default()
    }
}

/// Send all frames at once, with this window of the host's agreement.
fn send(params: Params, window: Option<usize>, losses: Vec<LossRule>) -> Seen {
    let mut medium = Medium::new(params, vec![at("a", 0.0), at("b", 10.0)], losses).traced();
    let rate = Rate::vht(7, 1, Width::Mhz80, false).expect("a rate of the standard");
    for id in 0..FRAMES {
        let frame = Frame {
            numbered: window.map(|window| Numbered {
                sequence: ((FIRST + id) % NUMBERS) as u16,
                window,
            }),
            ..data(id, 1, 1000, rate)
        };
        medium.enqueue(RadioId::new(0), frame);
    }
    let mut seen = Seen::default();
    while let Some(next) = medium
        .next_deadline()
        .filter(|next| *next < after(2 * SECOND))
    {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Deliver { frame, .. } => seen.delivered.push(frame),
                Output::Status {
                    outcome,
                    tries,
                    agreement,
                    at,
                    ..
                } => {
                    seen.statuses.push((outcome, tries, agreement));
                    seen.until_us = at.as_nanos() / 1000;
                }
                Output::Aired(aired) if aired.kind == AirKind::Data => {
                    seen.airings += 1;
                    let frames = aired.place.map_or(1, |place| place.frames);
                    seen.largest = seen.largest.max(frames);
                }
                _ => {}
            }
        }
    }
    assert_eq!(seen.statuses.len() as u64, FRAMES);
    seen
}

fn lossy(rate: f64) -> Vec<LossRule> {
    vec![LossRule::always(None, None, LossModel::Uniform { rate })]
}

#[test]
fn without_losses_both_ways_are_alike() {
    let own = send(params(false, 7), None, vec![]);
    let hosts = send(params(true, 7), Some(WINDOW), vec![]);
    assert_eq!(own.delivered, hosts.delivered);
    assert_eq!(own.until_us, hosts.until_us);
}

#[test]
fn a_host_gets_frames_as_they_come_and_each_once() {
    let own = send(params(false, 100), None, lossy(0.1));
    let hosts = send(params(true, 100), Some(WINDOW), lossy(0.1));
    assert!(own.delivered.is_sorted() && !hosts.delivered.is_sorted());
    let once: BTreeSet<_> = hosts.delivered.iter().collect();
    assert_eq!((once.len(), hosts.delivered.len()), (5000, 5000));
    // The sender's exchanges are the same ones.
    assert_eq!((own.airings, own.until_us), (hosts.airings, hosts.until_us));
}

/// So rate control counts tries and successes as they were, and A-MPDUs of their true length.
#[test]
fn statuses_tell_of_each_frame_on_the_air_once() {
    let seen = send(params(true, 100), Some(WINDOW), lossy(0.1));
    let told = seen.statuses.iter().filter_map(|status| status.2.aggregate);
    let (mut tried, mut acked) = (0, 0);
    for aggregate in told {
        tried += u64::from(aggregate.tries[0]) * aggregate.frames as u64;
        acked += aggregate.acked as u64;
    }
    assert_eq!((tried, acked), (seen.airings, FRAMES));
    let silent = send(params(false, 100), None, lossy(0.1));
    assert!(silent
        .statuses
        .iter()
        .all(|status| status.2 == Agreement::default()));
}

#[test]
fn no_aggregate_exceeds_the_hosts_window() {
    for window in [1, 8, WINDOW, 2 * WINDOW] {
        let seen = send(params(true, 7), Some(window), vec![]);
        assert_eq!(seen.largest as usize, window.min(WINDOW));
    }
}

#[test]
fn a_frame_outside_an_agreement_goes_alone() {
    let seen = send(params(true, 7), None, vec![]);
    assert_eq!(seen.largest, 1);
}

/// The medium asks for no BlockAck then: the host's request moves the receiver on.
#[test]
fn a_host_learns_of_a_gap_when_all_before_it_is_done() {
    let lost = vec![100, 101, 3000];
    let rule = LossRule::always(None, None, LossModel::List { frames: lost });
    let seen = send(params(true, 3), Some(WINDOW), vec![rule]);
    let abandoned = |status: &&(Outcome, _, _)| status.0 == Outcome::RetryLimit;
    assert_eq!(seen.statuses.iter().filter(abandoned).count(), 3);
    let gaps: Vec<u16> = (seen.statuses.iter())
        .filter_map(|status| status.2.gap)
        .collect();
    // The list counts from 1. Nothing that is younger was abandoned, so each gap is passed at once,
    // up to the first frame that is not done.
    let place = |gap: u16| (u64::from(gap) + NUMBERS - FIRST) % NUMBERS;
    assert_eq!(gaps.len(), 2);
    assert!(place(gaps[0]) >= 101 && place(gaps[0]) < 101 + WINDOW as u64);
    assert!(place(gaps[1]) >= 3000 && place(gaps[1]) < 3000 + WINDOW as u64);
}

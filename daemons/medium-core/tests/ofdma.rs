// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An access point that serves several stations at once, against the times of one exchange by hand
//! (IEEE 802.11ax-2021 27.3). `--nocapture` prints the table of `docs/medium-figures.md`.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{
    after, aggregating, at, at_5_ghz, attempts, category, data, keep_waiting, ms, SECOND,
};
use hoplab_medium_core::{
    Acknowledgement, AirKind, Aired, Asked, Block, Class, Dbm, Duration, Fate, Frame, Guard,
    LossModel, LossRule, Medium, Mhz, Ofdma, Outcome, Output, Params, Punctured, RadioId, Rate,
    Reception, Scheduler, Standard, Station, Takes, To, Unit, Width,
};

const WINDOW: usize = 256;
const SIFS_US: f64 = 16.0;
/// AIFS of best effort, and the mean backoff of 15 slots.
const ACCESS_US: f64 = SIFS_US + 3.0 * 9.0 + 7.5 * 9.0;
const BOTH: [Acknowledgement; 2] = [Acknowledgement::MuBar, Acknowledgement::Sequential];

fn params(acknowledgement: Option<Acknowledgement>) -> Params {
    let standard = Standard::He {
        signal_extension: false,
    };
    Params {
        ofdma: acknowledgement.map(|acknowledgement| Ofdma {
            scheduler: Scheduler::RoundRobin,
            acknowledgement,
            uplink: false,
            bsrp: None,
            mimo: None,
        }),
        ..aggregating(standard, WINDOW, 0, Duration::from_micros(8))
    }
}

/// An access point and so many stations around it.
fn cell(stations: usize) -> Vec<Station> {
    let places = (0..=stations).map(|i| at(&format!("s{i}"), i as f64));
    places.collect()
}

/// A channel whose first radio is an access point, as its beacon shows.
fn access_point(params: Params, stations: Vec<Station>, losses: Vec<LossRule>) -> Medium {
    let mut medium = Medium::new(params, stations, losses).traced();
    announce(&mut medium);
    medium
}

/// The first radio sends a beacon.
fn announce(medium: &mut Medium) {
    let beacon = Frame {
        to: To::Everyone,
        rates: vec![attempts(6.0, 1, false)],
        class: Class::ScheduledBeacon,
        tid: None,
        ..data(u64::MAX, 0, 100, he(0, Width::Mhz20))
    };
    medium.enqueue(RadioId::new(0), beacon);
    medium.advance(ms(1));
    while medium.poll_output().is_some() {}
}

fn flows(stations: usize) -> Vec<(usize, usize, u8)> {
    (1..=stations).map(|to| (0, to, 0)).collect()
}

fn he(mcs: u8, width: Width) -> Rate {
    Rate::he(mcs, 1, width, Guard::Ns800).expect("an HE rate")
}

/// At 24 Mbit/s, which answers at MCS 3 and more go by.
fn control_us(octets: usize) -> f64 {
    20.0 + 4.0 * ((22 + 8 * octets) as f64 / 96.0).ceil()
}

/// One way of serving so many stations at MCS 7 (64-QAM 5/6), of one stream and 0.8 us.
struct Case {
    stations: usize,
    width: Width,
    /// Receivers of a PPDU, data bits that a symbol has for each, and microseconds of HE-SIG-B, all
    /// by hand from 27.3.11.8.
    users: usize,
    bits: usize,
    sig_b_us: f64,
    /// Data bits of a symbol of MCS 3 (16-QAM 1/2) on the same unit.
    answer_bits: usize,
}

const CASES: [Case; 10] = [
    // HE-SIG-B at its MCS 5 has 208 bits a symbol: 18 + 52 bits, 18 + 2 x 52, 18 + 4 x 52 + 31.
    case(1, Width::Mhz20, 1, 1170, 0.0, 0),
    case(2, Width::Mhz20, 2, 510, 4.0, 204),
    case(4, Width::Mhz20, 4, 240, 4.0, 96),
    case(8, Width::Mhz20, 4, 240, 4.0, 96),
    case(9, Width::Mhz20, 9, 120, 8.0, 48),
    // Of 80 MHz it has half of the users in each content: 27 + 31, 27 + 52, 27 + 2 x 52, 27 + 4 x 52.
    case(1, Width::Mhz80, 1, 4900, 0.0, 0),
    case(2, Width::Mhz80, 2, 2340, 4.0, 936),
    case(4, Width::Mhz80, 4, 1170, 4.0, 468),
    case(8, Width::Mhz80, 8, 510, 4.0, 204),
    case(16, Width::Mhz80, 16, 240, 8.0, 96),
];

const fn case(
    stations: usize,
    width: Width,
    users: usize,
    bits: usize,
    sig_b_us: f64,
    answer_bits: usize,
) -> Case {
    Case {
        stations,
        width,
        users,
        bits,
        sig_b_us,
        answer_bits,
    }
}

impl Case {
    /// Hold what each station got in four seconds to the frames a second of all by the formula.
    fn judge(&self, what: &str, done: &[u64], expected: f64) {
        let measured = done.iter().sum::<u64>() as f64 / 4.0;
        let off = measured / expected - 1.0;
        println!(
            "{} {} {what} {measured:.0} {expected:.0} {:+.2} %",
            self.width.mhz(),
            self.stations,
            100.0 * off
        );
        assert!(off.abs() < 0.01, "{} {what}", self.stations);
        // Turns give each the same.
        let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
        assert!(*least as f64 > 0.95 * *most as f64, "{done:?}");
    }

    fn ppdu_us(&self, octets: usize) -> f64 {
        let symbols = ((16 + 8 * octets) as f64 / self.bits as f64).ceil();
        36.0 + self.sig_b_us + 7.2 + 13.6 * symbols
    }

    /// Octets of an A-MPDU of frames so long, each at least 8 us after the one before.
    fn octets(&self, frames: usize, frame: usize) -> usize {
        let spacing = (8.0 * self.bits as f64 / 13.6 / 8.0).ceil() as usize;
        let padded = (4 + frame).max(spacing).next_multiple_of(4);
        (frames - 1) * padded + 4 + frame
    }

    /// From the end of the data to that of the last BlockAck, of 24 + 32 octets.
    fn answered_us(&self, by: Acknowledgement) -> f64 {
        let block_ack = SIFS_US + control_us(56);
        let others = self.users as f64 - 1.0;
        match by {
            _ if self.users == 1 => block_ack,
            Acknowledgement::Sequential => {
                block_ack + others * (SIFS_US + control_us(24) + block_ack)
            }
            Acknowledgement::MuBar => {
                // The trigger frame has 28 octets and 9 each. Its answers have a preamble of 40 us, a
                // training of 8 us with 1.6 us of guard interval, and 60 octets.
                let symbols = ((16 + 8 * 60) as f64 / self.answer_bits as f64).ceil();
                let trigger = control_us(28 + 9 * self.users);
                SIFS_US + trigger + SIFS_US + 48.0 + 14.4 * symbols
            }
        }
    }

    /// Frames that one second brings to all.
    fn frames(&self, frame: usize, by: Acknowledgement) -> f64 {
        let fits = |frames: &usize| self.ppdu_us(self.octets(*frames, frame)) <= 5484.0;
        let frames = (1..=WINDOW).rev().find(fits).expect("one frame fits");
        let lasts = self.ppdu_us(self.octets(frames, frame)) + self.answered_us(by);
        (frames * self.users) as f64 * 1e6 / (ACCESS_US + lasts)
    }
}

/// The limit is a hundredth; the mean of the backoffs alone is known to some thousandths.
#[test]
fn saturated_stations_get_what_the_times_of_an_exchange_give() {
    println!("width stations acknowledgement octets frames/s by_formula deviation");
    for case in &CASES {
        for by in BOTH {
            for bytes in [106, 1538] {
                let mut medium = access_point(params(Some(by)), cell(case.stations), vec![]);
                let load = (bytes, he(7, case.width));
                let done = keep_waiting(&mut medium, &flows(case.stations), load, 4);
                let expected = case.frames(bytes, by);
                case.judge(&format!("{by:?} {bytes}"), &done, expected);
                assert!(medium.audit().holds());
            }
        }
    }
}

/// How many frames of this length one second brings from stations that are asked for them together.
fn asked_frames(case: &Case, frame: usize) -> f64 {
    // Symbols have a guard interval of 1.6 us. The preamble takes 40 us, the training 8 us.
    let room = ((5484.0 - 48.0) / 14.4_f64).floor();
    let lasts = 48.0 + 14.4 * room;
    let spacing = (8.0 * case.bits as f64 / 14.4 / 8.0).ceil() as usize;
    let padded = (4 + frame).max(spacing).next_multiple_of(4);
    let fits = |frames: &usize| {
        let octets = (frames - 1) * padded + 4 + frame;
        (16 + 8 * octets) as f64 <= room * case.bits as f64
    };
    let frames = (1..=WINDOW).rev().find(fits).expect("one frame fits");
    // The trigger has 28 octets and 6 each, the BlockAck to all 22 and 36 each.
    let trigger = control_us(28 + 6 * case.users);
    let answer = control_us(22 + 36 * case.users);
    let cycle = ACCESS_US + trigger + SIFS_US + lasts + SIFS_US + answer;
    (frames * case.users) as f64 * 1e6 / cycle
}

/// Stations with full queues are asked again and again, and leave the channel to the access point. Of
/// short frames on wide units the window holds less than the PPDU, which is then partly empty.
#[test]
fn saturated_stations_send_what_the_times_of_a_triggered_exchange_give() {
    println!("width stations octets frames/s by_formula deviation");
    for case in CASES.iter().filter(|case| case.users > 1) {
        let lengths: &[usize] = match case.width {
            Width::Mhz20 => &[106, 1538],
            _ => &[1538],
        };
        for &bytes in lengths {
            let params = with_uplink(Acknowledgement::MuBar);
            let up: Vec<_> = (1..=case.stations).map(|from| (from, 0, 0)).collect();
            let after = |seconds| {
                let mut medium = access_point(params.clone(), cell(case.stations), vec![]);
                let load = (bytes, he(7, case.width));
                let done = keep_waiting(&mut medium, &up, load, seconds);
                assert!(medium.audit().holds());
                done
            };
            // At first each contends, until the access point knows of its queue.
            let (early, late) = (after(1), after(5));
            let done: Vec<_> = late
                .iter()
                .zip(early)
                .map(|(late, early)| late - early)
                .collect();
            case.judge(&bytes.to_string(), &done, asked_frames(case, bytes));
        }
    }
}

/// What was on the air up to then, and the medium's other outputs.
fn run(medium: &mut Medium, until_ms: u64) -> (Vec<Aired>, Vec<Output>) {
    let (mut aired, mut others) = (vec![], vec![]);
    while let Some(next) = medium.next_deadline().filter(|next| *next < ms(until_ms)) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Aired(one) => aired.push(*one),
                other => others.push(other),
            }
        }
    }
    (aired, others)
}

/// A frame that occupies the channel, behind which those of stations 1 and 2 gather.
fn gather(medium: &mut Medium, to: &[usize]) {
    let rate = he(7, Width::Mhz20);
    medium.enqueue(RadioId::new(0), data(1, 3, 1500, rate));
    medium.advance(ms(1) + Duration::from_micros(100));
    for (number, to) in to.iter().enumerate() {
        medium.enqueue(RadioId::new(0), data(10 + number as u64, *to, 1000, rate));
    }
}

fn traced(by: Acknowledgement, stations: Vec<Station>, losses: Vec<LossRule>) -> Medium {
    access_point(params(Some(by)), stations, losses)
}

#[test]
fn one_ppdu_carries_frames_of_two_stations_and_both_answer() {
    for by in BOTH {
        let mut medium = traced(by, cell(3), vec![]);
        gather(&mut medium, &[1, 2, 2]);
        let (aired, outputs) = run(&mut medium, 20);
        let data: Vec<_> = aired
            .iter()
            .filter(|one| one.kind == AirKind::Data && one.frame != Some(1))
            .collect();
        assert_eq!(data.len(), 3, "{by:?}");
        let (first, last) = (data[0], data[2]);
        assert!(data
            .iter()
            .all(|one| (one.at, one.until) == (first.at, first.until)));
        assert!(data.iter().all(|one| one.fate == Fate::Delivered));
        let unit = |one: &Aired| one.rate.scheme().and_then(|scheme| scheme.unit);
        assert_eq!([unit(first), unit(last)], [Some(Unit::Tones106); 2]);
        // 8 x 2008 + 16 bits and padding need 32 symbols of 510; the preamble takes 47.2 us.
        assert_eq!(first.until.since(first.at).as_nanos(), 47_200 + 32 * 13_600);
        // The NAV of others lasts until the last answer ends.
        let answers = || aired.iter().filter(|one| one.kind == AirKind::BlockAck);
        assert_eq!(answers().count(), 2);
        let ends = answers().map(|one| one.until).max().unwrap();
        assert_eq!(first.until + first.nav, ends, "{by:?}");
        let begins: Vec<_> = answers().map(|one| one.at).collect();
        assert_eq!(begins[0] == begins[1], by == Acknowledgement::MuBar);
        let mut order = BTreeMap::<RadioId, Vec<u64>>::new();
        for output in &outputs {
            if let Output::Deliver { frame, to, .. } = output {
                order.entry(*to).or_default().push(*frame);
            }
        }
        assert_eq!(order[&RadioId::new(1)], [10]);
        assert_eq!(order[&RadioId::new(2)], [11, 12]);
        let acked = |output: &&Output| {
            matches!(
                output,
                Output::Status {
                    outcome: Outcome::Acked,
                    ..
                }
            )
        };
        assert_eq!(outputs.iter().filter(acked).count(), 4);
    }
}

/// Loss of one station's answers, or of its frames, concerns that one alone.
#[test]
fn a_station_that_does_not_answer_leaves_the_others_alone() {
    for by in BOTH {
        for lost in [
            (Some(0), Some(1)),
            (Some(1), Some(0)),
            (Some(0), Some(2)),
            (Some(2), Some(0)),
        ] {
            let rule = LossRule {
                takes: Takes::Frames,
                active: ms(0)..ms(4),
                ..LossRule::always(
                    lost.0.map(RadioId::new),
                    lost.1.map(RadioId::new),
                    LossModel::Uniform { rate: 1.0 },
                )
            };
            let mut medium = traced(by, cell(3), vec![rule]);
            gather(&mut medium, &[1, 2]);
            let (_, outputs) = run(&mut medium, 60);
            let acked = |output: &&Output| {
                matches!(
                    output,
                    Output::Status {
                        outcome: Outcome::Acked,
                        ..
                    }
                )
            };
            assert_eq!(outputs.iter().filter(acked).count(), 3, "{by:?} {lost:?}");
            let came = |output: &&Output| matches!(output, Output::Deliver { .. });
            assert_eq!(outputs.iter().filter(came).count(), 3, "{by:?} {lost:?}");
            assert!(medium.audit().holds());
        }
    }
}

/// Frames in flight to a station that is off come to an end, and those to others arrive.
#[test]
fn a_station_that_goes_off_takes_only_its_own_frames() {
    for by in BOTH {
        let mut medium = traced(by, cell(3), vec![]);
        medium.schedule_power(ms(1), RadioId::new(2), false);
        let rate = he(7, Width::Mhz20);
        for id in 0..600 {
            medium.enqueue(RadioId::new(0), data(id, 1 + (id % 2) as usize, 1000, rate));
        }
        let (_, outputs) = run(&mut medium, 2000);
        let to_the_first = |output: &&Output| matches!(output, Output::Deliver { to, .. } if *to == RadioId::new(1));
        assert_eq!(outputs.iter().filter(to_the_first).count(), 300, "{by:?}");
        let audit = medium.audit();
        assert!(audit.holds() && audit.open == 0, "{by:?} {audit:?}");
    }
}

fn with_uplink(by: Acknowledgement) -> Params {
    let mut params = params(Some(by));
    params.ofdma = params.ofdma.map(|ofdma| Ofdma {
        uplink: true,
        ..ofdma
    });
    params
}

/// Triggers, answers and BlockAcks that get lost delay frames, and lose none.
#[test]
fn frames_that_a_trigger_asks_for_survive_losses() {
    let ends = [(0, 1), (1, 0), (0, 2), (2, 0)];
    let both = [with_uplink(Acknowledgement::MuBar), with_bsrp(5)];
    let cases = both
        .iter()
        .flat_map(|params| ends.map(|ends| (params, ends)));
    for (params, (from, to)) in cases {
        let rule = LossRule {
            takes: Takes::Frames,
            active: ms(20)..ms(400),
            ..LossRule::always(
                Some(RadioId::new(from)),
                Some(RadioId::new(to)),
                LossModel::Uniform { rate: 0.5 },
            )
        };
        let params = Params {
            retry_short: 30,
            ..params.clone()
        };
        let mut medium = access_point(params, cell(4), vec![rule]);
        let rate = he(7, Width::Mhz20);
        for id in 0..2000 {
            let from = 1 + (id % 4) as usize;
            medium.enqueue(RadioId::new(from), data(id, 0, 1000, rate));
        }
        let (_, outputs) = run(&mut medium, 3000);
        let mut came = BTreeMap::<RadioId, Vec<u64>>::new();
        for output in &outputs {
            if let Output::Deliver { frame, from, .. } = output {
                came.entry(*from).or_default().push(*frame);
            }
        }
        for frames in came.values() {
            assert_eq!(frames.len(), 500, "{from} to {to}");
            assert!(frames.is_sorted(), "{from} to {to}");
        }
        let audit = medium.audit();
        assert!(
            audit.holds() && audit.acked == 2000,
            "{from} to {to}: {audit:?}"
        );
    }
}

/// A station that has gone off is asked in vain a few times, and the others go on.
#[test]
fn a_station_that_goes_off_is_asked_no_longer() {
    let params = with_uplink(Acknowledgement::MuBar);
    let mut medium = access_point(params, cell(3), vec![]);
    medium.schedule_power(ms(100), RadioId::new(3), false);
    let rate = he(7, Width::Mhz20);
    for id in 0..9000 {
        medium.enqueue(RadioId::new(1 + (id % 3) as usize), data(id, 0, 1000, rate));
    }
    let (aired, _) = run(&mut medium, 1000);
    let asked = |after: u64, to| {
        let is_it = |one: &&Aired| {
            let to = To::Radio(RadioId::new(to));
            one.kind == AirKind::Trigger && one.to == to && one.at > ms(after)
        };
        aired.iter().filter(is_it).count()
    };
    assert!(asked(0, 3) > 0);
    assert!(asked(100, 3) <= 7, "{}", asked(100, 3));
    assert!(asked(300, 1) > 20 && asked(300, 2) > 20);
}

/// Queues are polled, too, at the latest after so long.
fn with_bsrp(milliseconds: u64) -> Params {
    let mut params = with_uplink(Acknowledgement::MuBar);
    params.ofdma = params.ofdma.map(|ofdma| Ofdma {
        bsrp: Some(Duration::from_millis(milliseconds)),
        ..ofdma
    });
    params
}

/// So many frames of each of these stations come to their queues at this time.
fn come(medium: &mut Medium, at_ms: u64, stations: usize, frames: u64) {
    medium.advance(ms(at_ms));
    for id in 0..frames * stations as u64 {
        let from = 1 + (id % stations as u64) as usize;
        let frame = data(at_ms * 1000 + id, 0, 1000, he(7, Width::Mhz20));
        medium.enqueue(RadioId::new(from), frame);
    }
}

/// Until then twenty frames wait at each station.
fn keep_queues(medium: &mut Medium, stations: usize, until_ms: u64) {
    let frame = |id| data(id, 0, 1000, he(7, Width::Mhz20));
    let mut ids = 0..;
    for station in (1..=stations).flat_map(|station| [station; 20]) {
        medium.enqueue(RadioId::new(station), frame(ids.next().unwrap()));
    }
    while let Some(next) = medium.next_deadline().filter(|next| *next < ms(until_ms)) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            if let Output::Status { radio, .. } = output {
                medium.enqueue(radio, frame(ids.next().unwrap()));
            }
        }
    }
}

/// Stations that were asked do not contend for 32.8 ms, even if their queues are empty. A poll finds
/// what has come since, and a trigger asks for it in the same TXOP.
#[test]
fn a_poll_of_queues_finds_frames_that_have_come_since() {
    for (stations, unit_bits) in [(2, 204), (4, 96)] {
        let mut medium = access_point(with_bsrp(5), cell(stations), vec![]);
        keep_queues(&mut medium, stations, 100);
        run(&mut medium, 120);
        assert_eq!(medium.audit().open, 0);
        come(&mut medium, 121, stations, 1);
        let (aired, outputs) = run(&mut medium, 128);
        let of = |kind| {
            let is_it = move |one: &&Aired| one.kind == kind && one.at > ms(121);
            aired.iter().filter(is_it)
        };
        let came = |output: &&Output| matches!(output, Output::Deliver { .. });
        assert_eq!(outputs.iter().filter(came).count(), stations);
        let data: Vec<&Aired> = of(AirKind::Data).collect();
        assert_eq!(data.len(), stations);
        assert!(data.iter().all(|one| one.at == data[0].at));
        let told: Vec<&Aired> = of(AirKind::BufferStatus)
            .filter(|one| one.at < data[0].at)
            .collect();
        assert_eq!(told.len(), stations);
        let triggers: Vec<&Aired> = of(AirKind::Trigger)
            .filter(|one| one.at < data[0].at)
            .collect();
        let [poll, .., trigger] = triggers[..] else {
            panic!("a poll and a trigger")
        };
        // 28 octets, and 5 or 6 for each station. The answers have 34 octets and a delimiter.
        assert_eq!(poll.bytes, 28 + 5 * stations);
        assert_eq!(trigger.bytes, 28 + 6 * stations);
        let symbols = ((16.0 + 8.0 * 38.0) / unit_bits as f64).ceil();
        let us = |one: &Aired| one.until.since(one.at).as_nanos() as f64 / 1000.0;
        assert_eq!(us(poll), control_us(poll.bytes));
        assert_eq!(us(told[0]), 48.0 + 14.4 * symbols);
        let sifs = Duration::from_micros(16);
        assert!(told.iter().all(|one| one.at == poll.until + sifs));
        assert_eq!(poll.until + poll.nav, told[0].until);
        assert_eq!(trigger.at, told[0].until + sifs);
        assert_eq!(data[0].at, trigger.until + sifs);
    }
}

/// The host of the access point answers each frame, as TCP does, and each answer brings the next
/// frame. Queues are empty between, so the access point knows of them by polls alone.
#[test]
fn senders_that_wait_for_answers_are_asked_where_queues_are_polled() {
    let share = |params: Params| {
        let mut medium = access_point(params, cell(4), vec![]);
        let rate = he(7, Width::Mhz20);
        let frame = |id, to, bytes| data(id, to, bytes, rate);
        for station in 1..=4 {
            for id in 0..8 {
                let id = 100 * id + station as u64;
                medium.enqueue(RadioId::new(station), frame(id, 0, 1500));
            }
        }
        let (mut asked, mut alone) = (0, 0);
        let mut id = 10_000;
        let end = after(SECOND);
        while let Some(next) = medium.next_deadline().filter(|next| *next < end) {
            medium.advance(next);
            while let Some(output) = medium.poll_output() {
                match output {
                    Output::Deliver { from, to, .. } => {
                        id += 1;
                        let bytes = if to == RadioId::new(0) { 80 } else { 1500 };
                        medium.enqueue(to, frame(id, from.index(), bytes));
                    }
                    Output::Aired(one) if one.kind == AirKind::Data && one.bytes == 1500 => {
                        let is_asked = one.rate.scheme().is_some_and(|it| it.unit.is_some());
                        *(if is_asked { &mut asked } else { &mut alone }) += 1;
                    }
                    _ => {}
                }
            }
        }
        assert!(medium.audit().holds());
        (asked as f64 / f64::from(asked + alone), asked + alone)
    };
    let plain = with_uplink(Acknowledgement::MuBar);
    let (without, with) = (share(plain), share(with_bsrp(10)));
    println!("asked, frames: {without:?} without polls, {with:?} with");
    assert!(without.0 < 0.2 && with.0 > 0.9, "{without:?} {with:?}");
}

/// Nothing else is on the air: an access point polls as often as its key says.
#[test]
fn queues_are_polled_at_the_interval_and_silent_stations_no_longer() {
    let mut medium = access_point(with_bsrp(10), cell(3), vec![]);
    come(&mut medium, 2, 3, 1);
    medium.schedule_power(ms(500), RadioId::new(3), false);
    let (aired, _) = run(&mut medium, 1000);
    let polls = |of: usize, from: u64, until: u64| {
        let is_it = |one: &&Aired| {
            let to = To::Radio(RadioId::new(of));
            one.kind == AirKind::Trigger && one.to == to && (ms(from)..ms(until)).contains(&one.at)
        };
        aired.iter().filter(is_it).count()
    };
    // One more when a station is new, then each 10 ms and the time to win the channel.
    let [first, last] = [polls(1, 0, 500), polls(3, 0, 500)];
    assert!((47..=52).contains(&first), "{first}");
    assert!(last.abs_diff(first) <= 2, "{first} {last}");
    assert_eq!(polls(3, 500, 1000), 7);
    assert!(polls(1, 500, 1000) >= 47);
}

/// Both ways at once: an access point sends and asks by turns, so that each gets half of the PPDUs.
#[test]
fn an_access_point_sends_and_asks_by_turns() {
    let params = with_uplink(Acknowledgement::MuBar);
    let mut medium = access_point(params, cell(4), vec![]);
    let rate = he(7, Width::Mhz20);
    for id in 0..16_000 {
        let station = 1 + (id % 4) as usize;
        let (from, to) = match id % 8 {
            0..4 => (0, station),
            _ => (station, 0),
        };
        medium.enqueue(RadioId::new(from), data(id, to, 1000, rate));
    }
    let (aired, _) = run(&mut medium, 1000);
    let mut order = Vec::new();
    for one in aired.iter().filter(|one| one.at > ms(300)) {
        let is_first = order.last().is_none_or(|(at, _)| *at != one.at);
        if one.from == RadioId::new(0) && is_first {
            match one.kind {
                AirKind::Trigger => order.push((one.at, true)),
                AirKind::Data => order.push((one.at, false)),
                _ => {}
            }
        }
    }
    assert!(order.len() > 80, "{}", order.len());
    assert!(order.windows(2).all(|pair| pair[0].1 != pair[1].1));
}

/// A TXOP of 4.8 ms for best effort, the only category of these tests.
fn within_txop(mut params: Params) -> Params {
    if let Some(edca) = &mut params.edca {
        edca.categories = [category(3, 15, 1023, 4800); 4];
    }
    params
}

/// A trigger's exchange ends within the limit: no answer is as long as a PPDU may be. By hand, four
/// stations have 4800 us less 40 us of trigger, 16, 16 and 84 us of BlockAck. That leaves 319 symbols
/// of 192 bits behind 48 us, 7656 octets. Seven frames of 1066 octets need 7502.
#[test]
fn a_triggered_exchange_keeps_within_the_txop() {
    let params = within_txop(with_uplink(Acknowledgement::MuBar));
    let mut medium = access_point(params, cell(4), vec![]);
    for id in 0..4000 {
        let from = 1 + (id % 4) as usize;
        medium.enqueue(RadioId::new(from), data(id, 0, 1066, he(5, Width::Mhz20)));
    }
    let (aired, _) = run(&mut medium, 400);
    let of = |kind| aired.iter().filter(move |one| one.kind == kind);
    let mut full = 0;
    for trigger in of(AirKind::Trigger).filter(|one| one.to == To::Radio(RadioId::new(1))) {
        let answer = of(AirKind::BlockAck).find(|one| one.at > trigger.at);
        let Some(answer) = answer else { break };
        let lasts = answer.until.since(trigger.at);
        assert!(lasts <= Duration::from_micros(4800), "{lasts:?}");
        let during = |one: &&Aired| one.at > trigger.at && one.at < answer.at;
        full += usize::from(of(AirKind::Data).filter(during).count() == 28);
    }
    assert!(full > 30, "{full}");
}

/// Five stations take turns in four units, whatever the order of their answers. What a shared PPDU
/// leaves of a TXOP would hold a frame or two of the fifth, and would be its turn.
#[test]
fn more_stations_than_units_get_the_same() {
    for (by, is_limited) in BOTH.into_iter().flat_map(|by| [(by, false), (by, true)]) {
        let params = match is_limited {
            true => within_txop(params(Some(by))),
            false => params(Some(by)),
        };
        let mut medium = access_point(params, cell(5), vec![]);
        let done = keep_waiting(&mut medium, &flows(5), (1066, he(5, Width::Mhz20)), 2);
        let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
        assert!(
            *least as f64 > 0.95 * *most as f64,
            "{by:?} {is_limited}: {done:?}"
        );
    }
}

/// A single station, one with another width, frames without an agreement: as without the key.
#[test]
fn who_cannot_share_is_served_alone() {
    let (wide, narrow) = (he(7, Width::Mhz80), he(7, Width::Mhz20));
    let vht = Rate::vht(7, 1, Width::Mhz80, false).expect("a VHT rate");
    for rates in [[wide, narrow], [wide, vht], [vht, vht]] {
        let mut medium = traced(Acknowledgement::MuBar, cell(3), vec![]);
        for (number, rate) in rates.into_iter().enumerate() {
            for id in 0..4 {
                let id = 10 * number as u64 + id;
                medium.enqueue(RadioId::new(0), data(id, 1 + number, 1000, rate));
            }
        }
        let (aired, _) = run(&mut medium, 50);
        let unit = |one: &Aired| one.rate.scheme().and_then(|scheme| scheme.unit);
        assert!(aired.iter().all(|one| unit(one).is_none()));
        let data = aired.iter().filter(|one| one.kind == AirKind::Data);
        assert_eq!(data.count(), 8);
    }
}

/// A station far away loses its frames by its own ratio, and the one nearby gets all.
#[test]
fn each_station_receives_by_its_own_ratio() {
    let places = vec![at("ap", 0.0), at("near", 5.0), at("far", 400.0)];
    let params = Params {
        reception: Reception::ErrorRate,
        noise_dbm: Some(Dbm(-90.0)),
        cs_threshold_dbm: Dbm(-110.0),
        ..params(Some(Acknowledgement::MuBar))
    };
    let mut medium = access_point(params, places, vec![]);
    let done = keep_waiting(&mut medium, &flows(2), (1500, he(11, Width::Mhz20)), 1);
    let link = |to| {
        let link = hoplab_medium_core::LinkId {
            from: RadioId::new(0),
            to: RadioId::new(to),
        };
        medium.link(link)
    };
    let (near, far) = (link(1), link(2));
    assert!(done[0] > 1000 && near.weak == 0, "{near:?}");
    // The beacon comes through, at 6 Mbit/s.
    assert!(far.frames > 100 && far.delivered == 1, "{far:?}");
}

/// Seven stations take turns in four units. Each scheduler gives all of them the same, as their
/// rates are the same.
#[test]
fn schedulers_serve_all() {
    let both = [Scheduler::ProportionalFair, Scheduler::Airtime];
    for scheduler in both {
        let mut params = params(Some(Acknowledgement::MuBar));
        params.ofdma = params.ofdma.map(|ofdma| Ofdma { scheduler, ..ofdma });
        let mut medium = access_point(params, cell(7), vec![]);
        let done = keep_waiting(&mut medium, &flows(7), (1000, he(7, Width::Mhz20)), 3);
        let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
        assert!(
            *least as f64 > 0.9 * *most as f64,
            "{scheduler:?}: {done:?}"
        );
    }
}

/// With short frames to many, sharing a PPDU beats one PPDU each, as each of these has its own
/// backoff, preamble and answer.
#[test]
fn short_frames_to_many_go_faster_together() {
    // Few frames of each wait, as of games or calls: each PPDU of one station is nearly empty.
    let frames = |acknowledgement| {
        let mut medium = access_point(params(acknowledgement), cell(16), vec![]);
        let rate = he(7, Width::Mhz80);
        let mut delivered = 0;
        let mut id = 0;
        let mut send = |medium: &mut Medium, to: usize| {
            id += 1;
            medium.enqueue(RadioId::new(0), data(id * 100 + to as u64, to, 200, rate));
        };
        (1..=16).for_each(|to| send(&mut medium, to));
        let end = after(SECOND);
        while let Some(next) = medium.next_deadline().filter(|next| *next < end) {
            medium.advance(next);
            while let Some(output) = medium.poll_output() {
                match output {
                    Output::Deliver { .. } => delivered += 1,
                    Output::Status { frame, .. } => send(&mut medium, (frame % 100) as usize),
                    _ => {}
                }
            }
        }
        f64::from(delivered)
    };
    let alone = frames(None);
    let together = frames(Some(Acknowledgement::MuBar));
    println!("{alone} frames a second alone, {together} together");
    // By hand: alone 110.5 us of access, 43.2 + 13.6 us of data and 16 + 28 us of ACK, 211.3 us each.
    // Together 110.5 us, 51.2 + 8 x 13.6 us, and 16 + 80 + 16 + 134.4 us of answers, 516.9 us for 16.
    // The data are 1648 bits, which fill seven symbols of 240. LDPC needs an eighth (19.3.11.7.5). Of
    // its two codewords of 1296, 480 bits are shortened and 96 punctured. The 96 are more than a tenth
    // of 432 check bits, and 480 < 1.2 x 96 x 5.
    assert!((alone * 211.3e-6 - 1.0).abs() < 0.01, "{alone}");
    assert!(
        (together * 516.9e-6 / 16.0 - 1.0).abs() < 0.01,
        "{together}"
    );
}

/// What is left out of the channel of an access point and so many stations: the last 20 of 80 MHz.
const GAP: Punctured = Punctured(0x8);

/// Such a cell by these parameters, with EHT.
fn beside_a_gap(params: Params, stations: usize) -> Medium {
    let params = Params {
        phy: at_5_ghz(Standard::Eht {
            signal_extension: false,
        }),
        blocks: vec![Block {
            primary: Mhz(5180),
            low: Mhz(5170),
            width: Width::Mhz80,
            punctured: GAP,
        }],
        ..params
    };
    let mut medium = Medium::new(params, cell(stations), Vec::new()).traced();
    for radio in 0..=stations {
        medium.place_on(RadioId::new(radio), Mhz(5180));
    }
    announce(&mut medium);
    medium
}

fn eht() -> Rate {
    Rate::eht(7, 1, Width::Mhz80, Guard::Ns800).expect("an EHT rate")
}

/// The unit that each of so many stations has, if one, and what is punctured.
fn shared_beside_a_gap(stations: usize) -> BTreeSet<(Option<Unit>, Punctured)> {
    let mut medium = beside_a_gap(params(Some(Acknowledgement::MuBar)), stations);
    // The first frame goes alone, and the others gather behind it.
    for number in 0..2 * stations {
        let to = 1 + number % stations;
        medium.enqueue(RadioId::new(0), data(1 + number as u64, to, 1500, eht()));
    }
    let (aired, _) = run(&mut medium, 20);
    let later = |one: &&Aired| one.kind == AirKind::Data && one.frame != Some(1);
    let of_data = aired.iter().filter(later);
    assert!(of_data.clone().all(|one| one.fate == Fate::Delivered));
    of_data.map(unit_and_gap).collect()
}

fn unit_and_gap(aired: &Aired) -> (Option<Unit>, Punctured) {
    let scheme = aired.rate.scheme().expect("a rate of EHT");
    (scheme.unit, scheme.punctured)
}

#[test]
fn stations_share_what_is_left_of_a_punctured_channel() {
    assert_eq!(shared_beside_a_gap(2), BTreeSet::from([(None, GAP)]));
    let of_three = shared_beside_a_gap(3);
    assert!(
        of_three.contains(&(Some(Unit::Tones242), GAP)),
        "{of_three:?}"
    );
    assert!(of_three.iter().all(|(_, punctured)| *punctured == GAP));
}

/// No two equal units fill what is left, so stations are asked one by one for all of it.
#[test]
fn two_stations_of_a_punctured_channel_are_asked_by_turns() {
    let mut medium = beside_a_gap(with_bsrp(5), 2);
    for id in 0..4000 {
        let from = RadioId::new(1 + id as usize % 2);
        medium.enqueue(from, data(id, 0, 1500, eht()));
    }
    let (aired, outputs) = run(&mut medium, 200);
    let asks = |one: &&Aired| one.asks.is_some_and(|asks| asks.what == Asked::Frames);
    let asked: Vec<_> = aired.iter().filter(asks).map(|one| one.at).collect();
    let times: BTreeSet<_> = asked.iter().collect();
    assert!(asked.len() > 10 && asked.len() == times.len(), "{asked:?}");
    let data = aired.iter().filter(|one| one.kind == AirKind::Data);
    assert!(data.map(unit_and_gap).all(|one| one == (None, GAP)));
    let came = |from: usize| {
        let is_its = |output: &&Output| matches!(output, Output::Status { radio, .. } if radio.index() == from);
        outputs.iter().filter(is_its).count()
    };
    assert!(came(1) > 500 && came(2) > 500, "{} {}", came(1), came(2));
}

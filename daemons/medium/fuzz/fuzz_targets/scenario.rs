// SPDX-License-Identifier: Apache-2.0
//! Arbitrary bytes as a scenario: stations and their ways, rates, rules and every model, losses,
//! power events, frames. No panic, no time that runs backwards, every frame accounted for.
#![no_main]

use std::collections::BTreeMap;

use hoplab_medium_core::{
    Acknowledgement, Aggregation, Attempts, Burst, Category, CategoryParams, Class, Cost, Course,
    Dbm, Duration, Edca, Energy, Fading, Frame, FurtherLink, Guard, Instant, Interferer, Leakage,
    LossModel, LossRule, Medium, Mhz, Mimo, Nic, Numbered, Ofdma, Output, Params, Position, RadioId,
    Rate, Reception, Rules, Scheduler, Share, Standard, Station, Takes, To, Wall, Waypoint, Width,
};
use libfuzzer_sys::fuzz_target;

/// So many events are enough for what the frames of a short input come to. More inputs find more
/// than longer ones.
const MOST_EVENTS: u64 = 2_000;

/// Enough for two pairs out of each other's range, and one between them.
const MOST_STATIONS: usize = 5;

/// The input, then zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    fn chance(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn share(&mut self) -> f64 {
        f64::from(self.byte()) / 255.0
    }

    /// A time of up to 6.5 s in steps of 0.1 ms, at times one beyond all others.
    fn duration(&mut self) -> Duration {
        match self.byte() {
            255 => Duration::MAX,
            254 => Duration::from_nanos(1),
            _ => Duration::from_micros(100 * u64::from(self.word())),
        }
    }

    fn instant(&mut self) -> Instant {
        Instant::ZERO + self.duration()
    }

    fn place(&mut self) -> Position {
        Position::new(20.0 * f64::from(self.byte()), 10.0 * f64::from(self.byte()))
    }
}

fn params(from: &mut Bytes<'_>) -> Params {
    let mut params = Params {
        seed: from.byte().into(),
        rules: [Rules::Standard, Rules::Ns2][from.below(2)],
        capture_later: from.chance(),
        kernel_retries: from.chance(),
        routing_priority: from.chance(),
        no_ack: from.chance(),
        queue_packets: from.below(8),
        retry_short: from.below(8) as u32,
        retry_long: from.below(8) as u32,
        capture_db: f64::from(from.byte()),
        shadowing_db: 10.0 * from.share(),
        nic: nic(from),
        ..Params::default()
    };
    if from.chance() {
        params.shadowing_correlation_m = Some(1.0 + f64::from(from.byte()));
    }
    if from.chance() {
        params.noise_dbm = Some(Dbm(-40.0 - f64::from(from.byte())));
    }
    if from.chance() && params.noise_dbm.is_some() {
        params.reception = Reception::ErrorRate;
    }
    if from.chance() {
        let m = 0.5 + 4.0 * from.share();
        params.fading = Fading::Nakagami { m };
    }
    if from.chance() {
        params.energy = Energy {
            tx_w: 2.0 * from.share(),
            rx_w: 2.0 * from.share(),
            idle_w: 2.0 * from.share(),
            sleep_w: from.share(),
            battery_j: from.chance().then(|| 0.001 + from.share()),
        };
    }
    if from.chance() {
        params.edca = Some(edca(from));
        params.delay = from.chance();
        let signal_extension = from.chance();
        params.phy.standard = if from.chance() {
            Standard::Vht { signal_extension }
        } else {
            params.ofdma = from.chance().then(|| Ofdma {
                scheduler: [
                    Scheduler::RoundRobin,
                    Scheduler::ProportionalFair,
                    Scheduler::Airtime,
                ][from.below(3)],
                acknowledgement: [Acknowledgement::MuBar, Acknowledgement::Sequential]
                    [from.below(2)],
                uplink: from.chance(),
                bsrp: from.chance().then(|| Duration::from_millis(from.below(50) as u64)),
                mimo: from.chance().then(|| Mimo {
                    antennas: from.byte(),
                    sounding: from.duration(),
                }),
            });
            match from.chance() {
                true => Standard::Eht { signal_extension },
                false => Standard::He { signal_extension },
            }
        };
    }
    if from.chance() {
        let (one, other) = (from.place(), from.place());
        params.walls = vec![Wall {
            from: (one.x_m, one.y_m),
            to: (other.x_m, other.y_m),
            bottom_m: 0.0,
            top_m: 3.0,
            loss_db: 60.0 * from.share(),
        }];
    }
    if from.chance() {
        params.interferers = vec![interferer(from)];
        params.leakage = Some(Leakage {
            ed_threshold_dbm: params.cs_threshold_dbm + 40.0 * from.share(),
            pairs: Vec::new(),
        });
    }
    params
}

fn interferer(from: &mut Bytes<'_>) -> Interferer {
    let dbm = Dbm(f64::from(from.byte()) - 100.0);
    let course = if from.chance() {
        let points = vec![(from.duration(), Some(dbm)), (from.duration(), None)];
        let period = from.chance().then(|| from.duration());
        Course::Steps { points, period }
    } else {
        Course::Hops {
            dbm,
            slot: from.duration(),
            on: from.duration(),
            frequencies: from.byte().into(),
        }
    };
    let share = Share {
        channel: Mhz(2412),
        db: -30.0 * from.share(),
        hops: from
            .chance()
            .then(|| (from.byte().into(), from.byte().into())),
    };
    Interferer {
        name: "oven".into(),
        waypoints: vec![Waypoint::new(Instant::ZERO, from.place())],
        begins: from.instant(),
        ends: from.instant(),
        course,
        shares: vec![share],
    }
}

fn edca(from: &mut Bytes<'_>) -> Edca {
    let categories = Category::ALL.map(|_| CategoryParams {
        aifsn: from.below(8) as u32,
        cw_min: (1 << from.below(5)) - 1,
        cw_max: (1 << (4 + from.below(5))) - 1,
        txop: Duration::from_micros(32 * u64::from(from.byte())),
    });
    let aggregation = from.chance().then(|| Aggregation {
        window: 1 + from.below(64),
        octets: 64 + usize::from(from.word()),
        start_spacing: Duration::from_micros(from.below(17) as u64),
        by_hosts: from.chance(),
    });
    Edca {
        categories,
        aggregation,
        rts_threshold: from.word().into(),
    }
}

fn nic(from: &mut Bytes<'_>) -> Nic {
    Nic {
        tx: cost(from),
        queue_packets: from.below(4),
        tx_ring: from.below(4),
        load: cost(from),
        rx: cost(from),
        rx_buffer_packets: from.below(4),
    }
}

fn cost(from: &mut Bytes<'_>) -> Cost {
    Cost {
        frame_us: if from.chance() {
            10.0 * f64::from(from.byte())
        } else {
            0.0
        },
        mbps: f64::from(from.byte()) / 16.0,
    }
}

fn station(i: usize, from: &mut Bytes<'_>) -> Station {
    let mut station = Station::at(&format!("n{i}"), from.place());
    let mut at = Instant::ZERO;
    for _ in 0..from.below(4) {
        at += from.duration();
        station.waypoints.push(Waypoint::new(at, from.place()));
    }
    station
}

fn loss(stations: usize, from: &mut Bytes<'_>) -> LossRule {
    let model = match from.below(4) {
        0 => LossModel::Uniform { rate: from.share() },
        1 => LossModel::GilbertElliott {
            to_bad: from.share(),
            to_good: from.share(),
            good: from.share(),
            bad: from.share(),
            is_bad: from.chance(),
        },
        2 => {
            let (rate, on, period) = (from.share(), from.duration(), from.duration());
            match Burst::new(rate, on, period, from.instant()) {
                Some(burst) => LossModel::Burst(burst),
                None => LossModel::Uniform { rate },
            }
        }
        _ => LossModel::List {
            frames: vec![from.byte().into(), from.byte().into()],
        },
    };
    LossRule {
        src: from.chance().then(|| RadioId::new(from.below(stations))),
        dst: from.chance().then(|| RadioId::new(from.below(stations))),
        model,
        takes: [Takes::Data, Takes::Frames, Takes::Packets][from.below(3)],
        active: from.instant()..from.instant(),
    }
}

fn frame(id: u64, stations: usize, from: &mut Bytes<'_>) -> Frame {
    let to = match from.below(8) {
        0 => To::Everyone,
        1 => To::Nobody,
        _ => To::Radio(RadioId::new(from.below(stations))),
    };
    let entries = from.below(6);
    let rates = (0..entries).map(|_| Attempts {
        rate: rate(from),
        tries: from.below(4) as u32,
        rts: from.chance(),
    });
    Frame {
        id,
        to,
        rates: rates.collect(),
        bytes: from.word().into(),
        class: [
            Class::Data,
            Class::Management,
            Class::Beacon,
            Class::ScheduledBeacon,
        ][from.below(4)],
        routing: from.chance(),
        tid: from.chance().then(|| from.byte()),
        numbered: from.chance().then(|| Numbered {
            sequence: from.word(),
            window: from.byte().into(),
        }),
    }
}

/// One in four is for A-MPDUs, which a radio of an older standard refuses.
fn rate(from: &mut Bytes<'_>) -> Rate {
    let one = Rate::LEGACY[from.below(5)];
    if from.below(4) != 0 {
        return one;
    }
    let width = [Width::Mhz20, Width::Mhz80, Width::Mhz160, Width::Mhz320][from.below(4)];
    let mcs = from.below(14) as u8;
    let fast = match from.below(3) {
        0 => Rate::vht(mcs, 1, width, from.chance()),
        1 => Rate::he(mcs, 1, width, Guard::Ns800),
        _ => Rate::eht(mcs, 1, width, Guard::Ns800),
    };
    fast.unwrap_or(one)
}

/// Whatever hosts get to know, a frame has one status, and nothing is said of it after its end.
#[derive(Default)]
struct Told {
    open: BTreeMap<u64, bool>,
}

impl Told {
    fn take(&mut self, medium: &mut Medium) {
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Status { frame, kept, .. } => {
                    assert_eq!(self.open.remove(&frame), Some(false));
                    if kept {
                        self.open.insert(frame, true);
                    }
                }
                Output::Released { frame } => assert_eq!(self.open.remove(&frame), Some(true)),
                Output::Deliver { frame, .. } => assert!(self.open.contains_key(&frame)),
                Output::Aired(aired) => assert!(aired.at <= aired.until),
                Output::Exhausted { .. } => {}
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut from = Bytes(bytes);
    let params = params(&mut from);
    let count = 1 + from.below(MOST_STATIONS);
    let stations = (0..count).map(|i| station(i, &mut from)).collect();
    let losses = (0..from.below(3)).map(|_| loss(count, &mut from)).collect();
    let mut medium = Medium::new(params, stations, losses);
    if from.chance() {
        medium = medium.traced();
    }
    if from.chance() {
        medium = medium.overheard();
    }
    if from.chance() {
        medium = medium.misread(2.0);
    }
    for number in 1..=from.below(4) {
        let link = FurtherLink {
            station: station(count + number, &mut from),
            channel: Mhz(5180 + 80 * from.below(3) as u32),
            width: [Width::Mhz20, Width::Mhz40, Width::Mhz80][from.below(3)],
            frequency_mhz: from.chance().then_some(6000.0),
        };
        medium.add_link(RadioId::new(from.below(count)), link);
    }
    for _ in 0..from.below(6) {
        let (at, radio) = (from.instant(), RadioId::new(from.below(count)));
        medium.schedule_power(at, radio, from.chance());
    }
    medium.schedule_measure(from.instant());
    let mut told = Told::default();
    let mut now = Instant::ZERO;
    let mut id = 0;
    while !from.0.is_empty() && medium.handled() < MOST_EVENTS {
        now += Duration::from_micros(u64::from(from.word()));
        while let Some(next) = medium.next_deadline().filter(|next| *next <= now) {
            assert!(medium.next_output().is_none_or(|wake| wake >= next));
            medium.advance(next);
            told.take(&mut medium);
            if medium.handled() > MOST_EVENTS {
                return;
            }
        }
        medium.advance(now);
        id += 1;
        told.open.insert(id, false);
        let radio = RadioId::new(from.below(count));
        medium.enqueue(radio, frame(id, count, &mut from));
        told.take(&mut medium);
    }
    // Each beginning of an input is an input of its own: its end is the place to look.
    assert!(medium.audit().holds());
    for radio in (0..count).map(RadioId::new) {
        assert!(medium.joules(radio).sum().is_finite());
    }
});

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hidden and exposed terminals, and capture, against models that share no code with the engine.
//! `--nocapture` prints the table of `docs/medium-figures.md`.

use crate::common::{after, at, frame, link, ms, saturate, Load, SECOND};
use hoplab_medium_core::{
    AirKind, Dbm, Duration, Fate, Medium, Output, Params, Position, RadioId, Rate, Rules, Station,
    Stream, To,
};

const DATA_US: f64 = 192.0 + 1536.0 * 4.0;
const ACK_US: f64 = 304.0;
const RTS_US: f64 = 352.0;
const CTS_US: f64 = 304.0;
const SIFS_US: f64 = 10.0;
const DIFS_US: f64 = 50.0;
const SLOT_US: f64 = 20.0;

/// Carrier sense no farther than reception, so that stations two hops apart are hidden.
fn short_sense() -> Params {
    let params = Params::default();
    Params {
        cs_threshold_dbm: params.rx_threshold_dbm,
        ..params
    }
}

const LOAD: Load = Load {
    bytes: 1536,
    rate: Rate::DSSS_2,
    rts: false,
};

#[derive(Clone, Copy)]
enum Sender {
    /// Until its next transmission.
    Counting(f64),
    /// Until when, and whether the other one has spoiled it.
    Sending(f64, bool),
}

/// Two saturated senders that hear their common receiver but not each other. Each counts its slots
/// through the other's frame, and stops only for what the receiver sends. What overlaps is lost.
/// Returns frames per second.
fn hidden_model(rts: bool, seconds: f64) -> f64 {
    let vulnerable = if rts { RTS_US } else { DATA_US };
    // From the end of the vulnerable part to the end of the exchange.
    let rest = if rts {
        SIFS_US + CTS_US + SIFS_US + DATA_US + SIFS_US + ACK_US
    } else {
        SIFS_US + ACK_US
    };
    let timeout = SIFS_US + ACK_US + SLOT_US;
    let mut random = Stream::new(99, "hidden model");
    let mut backoff = |window: u32| f64::from(random.below(window)) * SLOT_US;
    let mut stations = [32, 32].map(|w| Sender::Counting(DIFS_US + backoff(w)));
    let mut windows = [32u32; 2];
    let mut tries = [0; 2];
    let mut delivered = 0u64;
    loop {
        let when = |station: Sender| match station {
            Sender::Counting(at) | Sender::Sending(at, _) => at,
        };
        let me = usize::from(when(stations[1]) < when(stations[0]));
        let other = 1 - me;
        match stations[me] {
            Sender::Counting(at) if at > seconds * 1e6 => return delivered as f64 / seconds,
            Sender::Counting(at) => {
                let overlaps = matches!(stations[other], Sender::Sending(..));
                if let Sender::Sending(_, spoiled) = &mut stations[other] {
                    *spoiled = true;
                }
                stations[me] = Sender::Sending(at + vulnerable, overlaps);
            }
            Sender::Sending(end, true) => {
                tries[me] += 1;
                windows[me] = (windows[me] * 2).min(1024);
                if tries[me] == 7 {
                    (tries[me], windows[me]) = (0, 32);
                }
                stations[me] = Sender::Counting(end + timeout + backoff(windows[me]));
            }
            Sender::Sending(end, false) => {
                delivered += 1;
                (tries[me], windows[me]) = (0, 32);
                let idle = end + rest + DIFS_US;
                if let Sender::Counting(at) = &mut stations[other] {
                    // Slots that have elapsed when the receiver is heard are gone.
                    let left = ((*at - (end + SIFS_US)) / SLOT_US).ceil().max(0.0);
                    *at = idle + left * SLOT_US;
                }
                stations[me] = Sender::Counting(idle + backoff(32));
            }
        }
    }
}

#[test]
fn hidden_terminals_gain_by_rts_what_the_model_says() {
    let seconds = 300;
    let engine = |rts| {
        let stations = vec![at("a", 0.0), at("b", 200.0), at("c", 400.0)];
        let mut medium = Medium::new(short_sense(), stations, vec![]);
        let load = Load { rts, ..LOAD };
        let done = saturate(&mut medium, &[(0, 1), (2, 1)], seconds, load);
        done.iter().map(|d| d.delivered).sum::<u64>() as f64 / seconds as f64
    };
    let measured = [engine(false), engine(true)];
    let model = [hidden_model(false, 3000.0), hidden_model(true, 3000.0)];
    let (gain, predicted) = (measured[1] / measured[0], model[1] / model[0]);
    println!("hidden, frames/s: engine {measured:.2?}, model {model:.2?}");
    println!("hidden, gain by RTS: engine {gain:.3}, model {predicted:.3}");
    for (found, expected) in measured.iter().zip(model) {
        assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
    }
    assert!((gain / predicted - 1.0).abs() < 0.05, "{gain} {predicted}");
}

/// Two senders that hear each other, each with a receiver that hears only its own: they take turns
/// although both could send. Nothing collides, so tau = 2 / (W + 1) (Bianchi 2000, p = 0), and
/// frames that start in one slot both arrive.
#[test]
fn exposed_terminals_take_turns() {
    let stations = vec![
        at("r1", 0.0),
        at("s1", 200.0),
        at("s2", 400.0),
        at("r2", 600.0),
    ];
    let seconds = 300;
    let mut medium = Medium::new(short_sense(), stations, vec![]);
    let done = saturate(&mut medium, &[(1, 0), (2, 3)], seconds, LOAD);
    let total = done.iter().map(|d| d.delivered).sum::<u64>() as f64 / seconds as f64;
    let tau = 2.0 / 33.0f64;
    let idle = (1.0 - tau) * (1.0 - tau);
    let cycle = DATA_US + SIFS_US + ACK_US + DIFS_US;
    let model = 2.0 * tau / (idle * SLOT_US + (1.0 - idle) * cycle) * 1e6;
    let alone = 1e6 / (cycle + 15.5 * SLOT_US);
    println!(
        "exposed, frames/s: engine {total:.2}, model {model:.2}, two alone {:.2}",
        2.0 * alone
    );
    assert!((total / model - 1.0).abs() < 0.03, "{total} {model}");
    assert_eq!(
        medium.counters(RadioId::new(1)).retries + medium.counters(RadioId::new(2)).retries,
        0
    );
}

/// Fates of two frames that overlap at a receiver at 0 m. One comes from `first_m`, and, `later_us`
/// after it began, the other from `second_m` on the other side.
fn overlap(params: Params, first_m: f64, second_m: f64, later_us: u64) -> [Fate; 2] {
    let stations = vec![at("r", 0.0), at("a", first_m), at("b", -second_m)];
    let params = Params {
        // The second cannot sense the first.
        cs_threshold_dbm: params.rx_threshold_dbm,
        ..params
    };
    let mut medium = Medium::new(params, stations, vec![]).traced();
    medium.advance(after(SECOND));
    medium.enqueue(
        RadioId::new(1),
        frame(1, To::Radio(RadioId::new(0)), 1000, 2.0, false),
    );
    medium.advance(after(SECOND + Duration::from_micros(later_us)));
    medium.enqueue(
        RadioId::new(2),
        frame(2, To::Radio(RadioId::new(0)), 1000, 2.0, false),
    );
    medium.advance(after(2 * SECOND));
    let mut fates = [None; 2];
    while let Some(output) = medium.poll_output() {
        if let Output::Aired(aired) = output {
            if aired.kind == AirKind::Data && aired.attempt == 1 {
                fates[aired.from.index() - 1] = Some(aired.fate);
            }
        }
    }
    fates.map(|fate| fate.expect("both were sent"))
}

#[test]
fn a_frame_ten_decibels_stronger_survives() {
    use Fate::{CaptureLost, Collided, Delivered};
    // d^-4 from 71.8 m on: 10 dB are a factor of 1.778 in distance.
    let params = Params::default;
    assert_eq!(
        overlap(params(), 110.0, 200.0, 500),
        [Delivered, CaptureLost]
    );
    assert_eq!(overlap(params(), 115.0, 200.0, 500), [Collided, Collided]);
    // A stronger frame that comes later spoils the first one, and is lost, or taken instead.
    assert_eq!(overlap(params(), 200.0, 110.0, 500), [Collided, Collided]);
    let later = Params {
        capture_later: true,
        ..Params::default()
    };
    assert_eq!(
        overlap(later.clone(), 200.0, 110.0, 500),
        [Collided, Delivered]
    );
    assert_eq!(overlap(later, 200.0, 115.0, 500), [Collided, Collided]);
}

/// Near and far saturated senders that sense each other: a collision is the near one's frame.
#[test]
fn the_near_sender_wins_collisions() {
    let stations = vec![at("r", 0.0), at("near", 50.0), at("far", 240.0)];
    let mut medium = Medium::new(Params::default(), stations, vec![]);
    let done = saturate(&mut medium, &[(1, 0), (2, 0)], 300, LOAD);
    let rate = |i: usize| done[i].delivered as f64;
    let jain = (rate(0) + rate(1)).powi(2) / (2.0 * (rate(0).powi(2) + rate(1).powi(2)));
    println!("capture: near {}, far {}, Jain {jain:.4}", rate(0), rate(1));
    assert_eq!(medium.link(link(1, 0)).collided, 0);
    assert!(medium.link(link(2, 0)).collided + medium.link(link(2, 0)).capture_lost > 500);
    assert!(rate(0) > 1.03 * rate(1));
}

/// Interferers that are each 12 dB below the signal are 9 dB below it together; by ns-2's rules each
/// counts alone.
#[test]
fn interference_adds_up() {
    let params = |rules| Params {
        rules,
        // Nobody defers: a radio that has a frame sends it.
        cs_threshold_dbm: Dbm(-70.0),
        rx_threshold_dbm: Dbm(-69.0),
        ..Params::default()
    };
    let fate = |rules| {
        let place = |name: &str, x_m, y_m| Station::at(name, Position::new(x_m, y_m));
        // 12 dB are a factor of 1.995 in distance; the two interferers are out of each other's
        // and of the sender's reach.
        let stations = vec![
            place("receiver", 0.0, 0.0),
            place("sender", 0.0, 150.0),
            place("i1", 300.0, -80.0),
            place("i2", -300.0, -80.0),
        ];
        let mut medium = Medium::new(params(rules), stations, vec![]).traced();
        medium.advance(ms(1000));
        medium.enqueue(
            RadioId::new(1),
            frame(1, To::Radio(RadioId::new(0)), 1000, 2.0, false),
        );
        // In ns-2 the sender backs off for up to 31 slots; its frame lasts 4.2 ms.
        medium.advance(ms(1001));
        medium.enqueue(RadioId::new(2), frame(2, To::Everyone, 500, 2.0, false));
        medium.enqueue(RadioId::new(3), frame(3, To::Everyone, 500, 2.0, false));
        medium.advance(ms(2000));
        let mut found = None;
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Aired(aired) if aired.frame == Some(1) && aired.attempt == 1 => {
                    found = Some(aired.fate);
                }
                _ => {}
            }
        }
        found
    };
    assert_eq!(fate(Rules::Standard), Some(Fate::Collided));
    assert_eq!(fate(Rules::Ns2), Some(Fate::Delivered));
}

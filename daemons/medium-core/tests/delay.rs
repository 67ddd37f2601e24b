// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals that take their way, 3.34 ns a metre.

use crate::common::{
    self, after, at, at_5_ghz, attempts, category, ms, one_by_one, saturate_by, Load, OFDM, SECOND,
};
use hoplab_medium_core::{
    AirKind, Dbm, Duration, Fate, Frame, Instant, Medium, Output, Params, RadioId, Rate, To,
};

const SLOT_US: f64 = 9.0;
const BYTES: usize = 1500;
const BEST_EFFORT: Option<u8> = Some(0);
const LOAD: Load = Load {
    bytes: BYTES,
    rate: Rate::OFDM_54,
    rts: false,
};

/// OFDM at 5 GHz; all hear each other over several kilometres.
fn params(delay: bool) -> Params {
    Params {
        phy: at_5_ghz(OFDM),
        edca: Some(one_by_one([category(3, 15, 1023, 0); 4])),
        rx_threshold_dbm: Dbm(-120.0),
        cs_threshold_dbm: Dbm(-120.0),
        capture_db: 1000.0,
        retry_short: u32::MAX,
        delay,
        ..Params::default()
    }
}

fn pair(distance_m: f64, params: Params) -> Medium {
    Medium::new(params, vec![at("a", 0.0), at("b", distance_m)], vec![]).traced()
}

fn saturated(medium: &mut Medium, pairs: &[(usize, usize)], seconds: u64) -> (f64, f64) {
    let tids = vec![BEST_EFFORT; pairs.len()];
    let done = saturate_by(medium, pairs, &tids, seconds, LOAD);
    let acked = done.iter().map(|done| done.acked).sum::<u64>() as f64;
    let retries = pairs
        .iter()
        .map(|pair| medium.counters(RadioId::new(pair.0)).retries);
    let retries = retries.sum::<u64>() as f64;
    (acked / seconds as f64, retries / (retries + acked))
}

/// Each exchange takes twice the way longer.
#[test]
fn an_exchange_takes_the_way_there_and_back() {
    let phy = params(true).phy;
    let data = phy.duration(BYTES, Rate::OFDM_54).as_nanos() as f64 / 1e3;
    let ack = phy.duration(14, Rate::OFDM_24).as_nanos() as f64 / 1e3;
    for distance_m in [0.1, 300.0, 1300.0] {
        let way_us = distance_m / 299.792_458;
        let (rate, _) = saturated(&mut pair(distance_m, params(true)), &[(0, 1)], 20);
        let exchange = data + way_us + 16.0 + ack + way_us;
        let expected = 1e6 / (16.0 + 3.0 * SLOT_US + 7.5 * SLOT_US + exchange);
        let error = rate / expected - 1.0;
        println!("{distance_m} m: {rate} frames/s, {expected:.1} by formula");
        assert!(error.abs() < 0.003, "{distance_m} m: {error}");
    }
}

/// As with a card whose coverage class is 0; a longer slot heals it.
#[test]
fn beyond_half_a_slot_the_acknowledgement_comes_too_late() {
    let mut far = pair(1400.0, params(true));
    let (rate, failures) = saturated(&mut far, &[(0, 1)], 1);
    assert_eq!((rate, failures), (0.0, 1.0));
    // It has come all the same, once.
    assert!(far.counters(RadioId::new(1)).rx_frames <= 1);
    let mut patient = params(true);
    patient.phy.slot = Duration::from_micros(12);
    let (_, failures) = saturated(&mut pair(1400.0, patient), &[(0, 1)], 1);
    assert_eq!(failures, 0.0);
}

/// Stations whose slots end together collide wherever they are: none hears the other in time.
#[test]
fn slots_end_together_whatever_the_way() {
    let collisions = |delay, spread_m: f64| {
        let places = (0..=8).map(|i| at(&format!("s{i}"), spread_m * f64::from(i) / 8.0));
        let mut medium = Medium::new(params(delay), places.collect(), vec![]).traced();
        let pairs: Vec<_> = (1..=8).map(|i| (i, 0)).collect();
        saturated(&mut medium, &pairs, 40).1
    };
    let together = collisions(false, 8.0);
    for spread_m in [8.0, 100.0, 600.0] {
        let apart = collisions(true, spread_m);
        println!("{spread_m} m: {apart:.4} of the tries collide, {together:.4} without delay");
        assert!(
            (apart / together - 1.0).abs() < 0.02,
            "{spread_m} m: {apart}"
        );
    }
}

/// A broadcast comes to each when it comes, and its frame is kept until it has come to the last.
#[test]
fn a_broadcast_comes_to_each_after_its_way() {
    let places = [("a", 0.0), ("near", 30.0), ("far", 900.0)];
    let places = places.map(|(name, x_m)| at(name, x_m));
    let mut medium = Medium::new(params(true), places.to_vec(), vec![]).traced();
    let hello = Frame {
        tid: None,
        ..common::frame(1, To::Everyone, 100, 6.0, false)
    };
    medium.enqueue(RadioId::new(0), hello);
    let mut came = Vec::new();
    while let Some(next) = medium.next_deadline().filter(|at| *at < after(SECOND)) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            let what = match output {
                Output::Deliver { to, .. } => ("to", to.index()),
                Output::Status { kept, .. } => ("status", usize::from(kept)),
                Output::Released { .. } => ("released", 0),
                Output::Aired(aired) => {
                    assert_eq!(
                        (aired.kind, aired.fate),
                        (AirKind::Broadcast, Fate::Delivered)
                    );
                    ("aired", aired.until.since(aired.at).as_nanos() as usize)
                }
                _ => continue,
            };
            came.push((next.since(Instant::ZERO).as_nanos() as usize, what));
        }
    }
    let lasts = params(true).phy.duration(100, Rate::OFDM_6).as_nanos() as usize;
    let end = came[0].0;
    let expected = [
        (end, ("status", 1)),
        (end + 100, ("to", 1)),
        (end + 3002, ("to", 2)),
        (end + 3002, ("aired", lasts)),
        (end + 3002, ("released", 0)),
    ];
    assert_eq!(came, expected);
}

/// Of frames that come within 4 us the stronger is received, though it comes later.
#[test]
fn a_receiver_settles_on_the_stronger_of_frames_that_begin_together() {
    let places = [("weak", 0.0), ("receiver", 200.0), ("strong", 500.0)];
    let received = |strong_first: bool| {
        let params = Params {
            capture_db: 3.0,
            cs_threshold_dbm: Dbm(-70.0),
            ..params(true)
        };
        let places = places.map(|(name, x_m)| at(name, x_m));
        let mut medium = Medium::new(params, places.to_vec(), vec![]).traced();
        let antenna = hoplab_medium_core::Antenna {
            tx_power_dbm: Dbm(60.0),
            ..medium.antenna(RadioId::new(2))
        };
        if strong_first {
            medium.fit(RadioId::new(2), antenna);
        }
        // Idle for DIFS by now, so both send at once.
        medium.advance(ms(1));
        for from in [0, 2] {
            let frame = common::frame(from as u64 + 1, To::Everyone, 500, 6.0, false);
            let rates = vec![attempts(6.0, 1, false)];
            medium.enqueue(RadioId::new(from), Frame { rates, ..frame });
        }
        let mut from = Vec::new();
        while let Some(next) = medium.next_deadline().filter(|at| *at < after(SECOND)) {
            medium.advance(next);
            while let Some(output) = medium.poll_output() {
                if let Output::Deliver {
                    from: sender, to, ..
                } = output
                {
                    if to == RadioId::new(1) {
                        from.push(sender.index());
                    }
                }
            }
        }
        from
    };
    // The signal from 300 m away comes a third of a microsecond after that from 200 m.
    assert_eq!(received(true), [2]);
    assert_eq!(received(false), [0]);
}

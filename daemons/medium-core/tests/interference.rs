// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What transmitters that are no radios do to radios, and what walls take of signals.

use crate::common::{after, at, frame, ms, saturate, Load};
use hoplab_medium_core::{
    Course, Dbm, Duration, Instant, Interferer, Leakage, Medium, Mhz, Output, Params, Position,
    RadioId, Rate, Reception, Share, To, Wall, Waypoint,
};

/// At the origin, in all of the channel.
fn interferer(course: Course) -> Interferer {
    Interferer {
        name: "oven".into(),
        waypoints: vec![Waypoint::new(Instant::ZERO, Position::default())],
        begins: Instant::ZERO,
        ends: ms(60_000),
        course,
        shares: vec![Share {
            channel: Mhz(2412),
            db: 0.0,
            hops: None,
        }],
    }
}

fn constant(dbm: f64) -> Course {
    Course::Steps {
        points: vec![(Duration::ZERO, Some(Dbm(dbm)))],
        period: None,
    }
}

/// On for the first half of each 20 ms.
fn oven(dbm: f64) -> Course {
    Course::Steps {
        points: vec![
            (Duration::ZERO, Some(Dbm(dbm))),
            (Duration::from_millis(10), None),
        ],
        period: Some(Duration::from_millis(20)),
    }
}

fn with(course: Course, ed_threshold_dbm: f64) -> Params {
    Params {
        interferers: vec![interferer(course)],
        leakage: Some(Leakage {
            ed_threshold_dbm: Dbm(ed_threshold_dbm),
            pairs: Vec::new(),
        }),
        ..Params::default()
    }
}

const LOAD: Load = Load {
    bytes: 500,
    rate: Rate::DSSS_2,
    rts: false,
};

/// Frames that a saturated sender next to the origin gets acknowledged in a second.
fn acknowledged(params: Params) -> u64 {
    let mut medium = Medium::new(params, vec![at("a", 1.0), at("b", 100.0)], Vec::new());
    let done = saturate(&mut medium, &[(0, 1)], 1, LOAD);
    done[0].acked
}

#[test]
fn a_carrier_above_the_threshold_of_energy_silences_a_radio() {
    let free = acknowledged(Params::default());
    assert!(free > 300);
    let silent = acknowledged(with(constant(20.0), -60.0));
    assert_eq!(silent, 0);
    // Below the threshold it is noise, which these receivers withstand by 10 dB.
    let weak = acknowledged(with(constant(-40.0), -60.0));
    assert!(weak > 300);
}

#[test]
fn an_oven_leaves_half_of_the_time() {
    let free = acknowledged(Params::default());
    let half = acknowledged(with(oven(20.0), -60.0));
    // A frame that begins before the oven ends within its time, and is lost or not: so up to a
    // frame's time in each period.
    let share = half as f64 / free as f64;
    assert!((0.40..=0.50).contains(&share), "{share}");
}

#[test]
fn nobody_senses_less_than_the_threshold_nor_receives_energy() {
    let mut medium = Medium::new(
        with(oven(10.0), 0.0),
        vec![at("a", 50.0), at("b", 51.0)],
        Vec::new(),
    );
    medium.advance(ms(1000));
    assert!(medium.poll_output().is_none());
    let times = medium.counters(RadioId::new(0)).times;
    assert_eq!(times.rx, Duration::ZERO);
    let sensed = with(oven(10.0), -70.0);
    let mut medium = Medium::new(sensed, vec![at("a", 50.0), at("b", 51.0)], Vec::new());
    medium.advance(ms(1000));
    let times = medium.counters(RadioId::new(0)).times;
    assert_eq!(times.rx, Duration::from_millis(500));
}

#[test]
fn a_carrier_is_noise() {
    // Two sources of the same noise lose as many frames: the receiver's own, and a carrier that
    // adds to a tenth of it.
    let propagation = Params::default().propagation;
    let noise = Dbm(propagation.received_dbm(200.0).0);
    let lost = |params: Params| {
        let stations = vec![at("a", 200.0), at("b", 400.0)];
        let mut medium = Medium::new(
            Params {
                reception: Reception::ErrorRate,
                no_ack: true,
                cs_threshold_dbm: Dbm(-90.0),
                ..params
            },
            stations,
            Vec::new(),
        );
        let mut delivered = 0;
        for id in 0..3000 {
            let to = To::Radio(RadioId::new(1));
            medium.enqueue(RadioId::new(0), frame(id, to, 500, 2.0, false));
            medium.advance(after(Duration::from_millis(10 * (id + 1))));
            let outputs = std::iter::from_fn(|| medium.poll_output());
            delivered += outputs
                .filter(|output| matches!(output, Output::Deliver { .. }))
                .count();
        }
        delivered as f64 / 3000.0
    };
    let alone = lost(Params {
        noise_dbm: Some(noise),
        ..Params::default()
    });
    assert!((0.2..0.9).contains(&alone), "{alone}");
    // At 400 m from the origin; the carrier is at the receiver as strong as 0.9 of that noise.
    let there = propagation.received_dbm(400.0) - propagation.tx_power_dbm.0;
    let power = Dbm::from_mw(0.9 * noise.mw()).0 - there.0;
    let disturbed = lost(Params {
        noise_dbm: Some(Dbm::from_mw(0.1 * noise.mw())),
        ..with(constant(power), 0.0)
    });
    println!("{alone:.4} {disturbed:.4}");
    // Four standard deviations of a difference of two shares of 3000.
    let bound = 4.0 * (2.0 * alone * (1.0 - alone) / 3000.0_f64).sqrt();
    assert!((alone - disturbed).abs() < bound, "{alone} {disturbed}");
}

/// With which power two radios hear each other's broadcasts.
fn heard(medium: &mut Medium, from_ms: u64) -> [Dbm; 2] {
    [0, 1].map(|radio| {
        let sent = frame(from_ms + radio, To::Everyone, 100, 1.0, false);
        medium.advance(ms(from_ms + 10 * radio));
        medium.enqueue(RadioId::new(radio as usize), sent);
        medium.advance(ms(from_ms + 10 * radio + 9));
        let mut outputs = std::iter::from_fn(|| medium.poll_output());
        let dbm = outputs.find_map(|output| match output {
            Output::Aired(aired) => aired.signal_dbm,
            _ => None,
        });
        dbm.expect("it was heard")
    })
}

#[test]
fn each_wall_takes_its_loss() {
    let wall = |x_m: f64, loss_db| Wall {
        from: (x_m, -5.0),
        to: (x_m, 5.0),
        bottom_m: -1e6,
        top_m: 1e6,
        loss_db,
    };
    let losses = [3.0, 7.5, 0.25];
    for count in 0..=losses.len() {
        let walls = (losses[..count].iter().enumerate())
            .map(|(i, loss_db)| wall(10.0 + i as f64, *loss_db))
            .collect();
        let params = Params {
            walls,
            ..Params::default()
        };
        let free = params.propagation.received_dbm(50.0);
        let mut medium =
            Medium::new(params, vec![at("a", 0.0), at("b", 50.0)], Vec::new()).traced();
        let expected = free - losses[..count].iter().sum::<f64>();
        assert_eq!(heard(&mut medium, 0), [expected, expected]);
        // One that walks around the walls loses nothing.
        medium.put(RadioId::new(1), Position::new(0.0, 50.0));
        assert_eq!(heard(&mut medium, 100), [free, free]);
    }
}

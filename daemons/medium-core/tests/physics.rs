// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ranges, movement, fading, energy, losses and the network card against numbers worked out by
//! hand.

use crate::common::{after, at, frame, link, ms, saturate, Load, SECOND};
use hoplab_medium_core::{
    bit_error_rate, Burst, Class, Cost, Dbm, Duration, Energy, Fading, Fate, Instant, LossModel,
    LossRule, Medium, Model, Nic, Outcome, Output, Params, Position, Propagation, RadioId, Rate,
    Reception, Station, Takes, To, Waypoint,
};

fn drain(medium: &mut Medium) -> Vec<Output> {
    std::iter::from_fn(|| medium.poll_output()).collect()
}

fn arrives(params: &Params, distance_m: f64) -> bool {
    let stations = vec![at("a", 0.0), at("b", distance_m)];
    let mut medium = Medium::new(params.clone(), stations, vec![]);
    medium.enqueue(RadioId::new(0), frame(1, To::Everyone, 100, 1.0, false));
    medium.advance(after(SECOND));
    let found = drain(&mut medium);
    found.iter().any(|o| matches!(o, Output::Deliver { .. }))
}

/// The distance beyond which frames no longer arrive, to 0.1 m.
fn range_m(params: &Params) -> f64 {
    let (mut near, mut far) = (1.0, 20_000.0);
    while far - near > 0.1 {
        let middle = (near + far) / 2.0;
        if arrives(params, middle) {
            near = middle;
        } else {
            far = middle;
        }
    }
    near
}

#[test]
fn ranges_are_those_of_the_formulae() {
    let wavelength = 299_792_458.0 / 914e6;
    // Two-ray: Pr = Pt h^4 / d^4. ns-2's WaveLAN: 3.652e-10 W at 250 m from 0.2818 W.
    let watts = |dbm: f64| 10f64.powf(dbm / 10.0) / 1000.0;
    let two_ray = Params {
        rx_threshold_dbm: Dbm(10.0 * 3.652e-10f64.log10() + 30.0),
        ..Params::default()
    };
    let expected = (watts(24.5) * 1.5f64.powi(4) / 3.652e-10).powf(0.25);
    let found = range_m(&two_ray);
    println!("two-ray: {found:.1} m, formula {expected:.1} m");
    assert!((found - expected).abs() < 1.0 && (found - 250.0).abs() < 1.0);
    // Friis: Pr = Pt (lambda / 4 pi d)^2.
    for threshold in [-64.37, -80.0] {
        let friis = Params {
            propagation: Propagation {
                model: Model::Friis,
                ..Params::default().propagation
            },
            rx_threshold_dbm: Dbm(threshold),
            cs_threshold_dbm: Dbm(threshold),
            ..Params::default()
        };
        let budget = watts(24.5) / watts(threshold);
        let expected = wavelength / (4.0 * std::f64::consts::PI) * budget.sqrt();
        let found = range_m(&friis);
        println!("Friis to {threshold} dBm: {found:.1} m, formula {expected:.1} m");
        assert!((found - expected).abs() < 1.0);
    }
    let log = Params {
        propagation: Propagation {
            model: Model::LogDistance {
                exponent: 3.5,
                reference_m: 2.0,
            },
            ..Params::default().propagation
        },
        cs_threshold_dbm: Dbm(-64.37),
        ..Params::default()
    };
    let at_reference = 24.5 + 20.0 * (wavelength / (4.0 * std::f64::consts::PI * 2.0)).log10();
    let expected = 2.0 * 10f64.powf((at_reference + 64.37) / 35.0);
    let found = range_m(&log);
    assert!((found - expected).abs() < 1.0, "{found} {expected}");
}

/// At x metres at this time.
fn point(at_ms: u64, x_m: f64) -> Waypoint {
    Waypoint::new(ms(at_ms), Position::new(x_m, 0.0))
}

#[test]
fn a_moving_station_loses_its_link_at_the_computed_instant() {
    // 200 m to 300 m in 10 s: 250 m at 5 s.
    let mover = Station {
        name: "b".into(),
        waypoints: vec![point(0, 200.0), point(10_000, 300.0)],
    };
    let propagation = Params::default().propagation;
    let params = Params {
        rx_threshold_dbm: propagation.received_dbm(250.0),
        ..Params::default()
    };
    let mut medium = Medium::new(params, vec![at("a", 0.0), mover], vec![]).traced();
    let (mut last, mut first_lost) = (Instant::ZERO, Instant::MAX);
    medium.advance(ms(4_900));
    medium.enqueue(RadioId::new(0), frame(0, To::Everyone, 30, 11.0, false));
    while medium.next_deadline().is_some_and(|at| at < ms(5_100)) {
        let next = medium.next_deadline().unwrap_or_default();
        medium.advance(next);
        for output in drain(&mut medium) {
            match output {
                Output::Aired(aired) if aired.fate == Fate::Delivered => last = aired.at,
                Output::Aired(aired) => first_lost = first_lost.min(aired.at),
                Output::Status { frame: id, .. } => {
                    medium.enqueue(
                        RadioId::new(0),
                        frame(id + 1, To::Everyone, 30, 11.0, false),
                    );
                }
                _ => {}
            }
        }
    }
    println!("moving: last at {last:?}, first lost at {first_lost:?}, computed 5 s");
    assert!((ms(4_999)..=ms(5_000)).contains(&last));
    assert!(first_lost > ms(5_000) && first_lost < ms(5_001));
}

#[test]
fn a_jump_is_a_jump() {
    let jumper = Station {
        name: "b".into(),
        waypoints: vec![point(0, 100.0), point(1_000, 100.0), point(1_000, 900.0)],
    };
    let mut medium = Medium::new(Params::default(), vec![at("a", 0.0), jumper], vec![]);
    let before = after(SECOND - Duration::from_nanos(1));
    assert_eq!(medium.position(RadioId::new(1), before).x_m, 100.0);
    assert_eq!(medium.position(RadioId::new(1), after(SECOND)).x_m, 900.0);
    for (when, arrived) in [(500, true), (2_000, false)] {
        medium.advance(ms(when));
        medium.enqueue(RadioId::new(0), frame(when, To::Everyone, 100, 1.0, false));
        medium.advance(ms(when + 250));
        let found = drain(&mut medium);
        let delivered = found.iter().any(|o| matches!(o, Output::Deliver { .. }));
        assert_eq!(delivered, arrived);
    }
}

/// One 1536-byte frame at 2 Mbit/s and its ACK at 1 Mbit/s within a second.
#[test]
fn energy_is_power_times_time() {
    let energy = Energy {
        tx_w: 1.327,
        rx_w: 0.967,
        idle_w: 0.844,
        sleep_w: 0.066,
        battery_j: None,
    };
    let params = Params {
        energy,
        ..Params::default()
    };
    let stations = vec![at("a", 0.0), at("b", 100.0), at("bystander", 400.0)];
    let mut medium = Medium::new(params, stations, vec![]);
    medium.enqueue(
        RadioId::new(0),
        frame(1, To::Radio(RadioId::new(1)), 1536, 2.0, false),
    );
    medium.schedule_power(ms(750), RadioId::new(2), false);
    medium.advance(after(SECOND));
    let (data, ack) = (0.000192 + 0.006144, 0.000192 + 0.000112);
    let idle = 1.0 - data - ack;
    let cases = [
        [1.327 * data, 0.967 * ack, 0.844 * idle, 0.0],
        [1.327 * ack, 0.967 * data, 0.844 * idle, 0.0],
        // Overheard both, switched off for the last quarter.
        [
            0.0,
            0.967 * (data + ack),
            0.844 * (idle - 0.25),
            0.066 * 0.25,
        ],
    ];
    for (radio, expected) in cases.iter().enumerate() {
        let found = medium.joules(RadioId::new(radio));
        let states = [found.tx, found.rx, found.idle, found.sleep];
        for (f, e) in states.iter().zip(expected) {
            assert!(
                (f - e).abs() <= 1e-3 * e,
                "radio {radio}: {found:?} {expected:?}"
            );
        }
    }
}

#[test]
fn an_empty_battery_ends_a_station() {
    let params = Params {
        energy: Energy {
            tx_w: 2.0,
            rx_w: 1.0,
            idle_w: 0.5,
            sleep_w: 0.0,
            battery_j: Some(2.0),
        },
        ..Params::default()
    };
    let stations = vec![at("a", 0.0), at("b", 5000.0)];
    let mut medium = Medium::new(params, stations, vec![]);
    // 2 W for the 12.48 ms of a 1536-byte broadcast at 1 Mbit/s leaves 1.97504 J: 3.95008 s idle.
    medium.enqueue(RadioId::new(0), frame(1, To::Everyone, 1536, 1.0, false));
    medium.schedule_power(after(10 * SECOND), RadioId::new(0), true);
    medium.advance(after(20 * SECOND));
    let ends: Vec<_> = drain(&mut medium)
        .into_iter()
        .filter_map(|output| match output {
            Output::Exhausted { radio, at } => Some((radio, at)),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 2);
    assert_eq!(ends[0].0, RadioId::new(0));
    assert!(
        ends[0].1.as_nanos().abs_diff(12_480_000 + 3_950_080_000) <= 1,
        "{ends:?}"
    );
    assert_eq!(ends[1], (RadioId::new(1), after(4 * SECOND)));
    assert!((medium.joules(RadioId::new(0)).sum() - 2.0).abs() < 1e-8);
    medium.enqueue(RadioId::new(0), frame(2, To::Everyone, 100, 1.0, false));
    assert!(matches!(
        drain(&mut medium)[..],
        [Output::Status {
            outcome: Outcome::Off,
            ..
        }]
    ));
}

/// Broadcasts from one station to many on a circle; the share that arrived.
fn share(params: Params, distance_m: f64, receivers: usize, frames: u64) -> f64 {
    let mut stations = vec![at("a", 0.0)];
    for i in 0..receivers {
        let angle = i as f64 * std::f64::consts::TAU / receivers as f64;
        let place = Position::new(distance_m * angle.cos(), distance_m * angle.sin());
        stations.push(Station::at(&format!("r{i}"), place));
    }
    let mut medium = Medium::new(params, stations, vec![]);
    let mut arrived = 0;
    for id in 0..frames {
        medium.advance(ms(50 * id));
        medium.enqueue(RadioId::new(0), frame(id, To::Everyone, 500, 2.0, false));
        let found = drain(&mut medium);
        arrived += found
            .iter()
            .filter(|o| matches!(o, Output::Deliver { .. }))
            .count();
    }
    arrived as f64 / (frames * receivers as u64) as f64
}

/// Five standard deviations of a share of `n` trials.
fn bound(p: f64, n: f64) -> f64 {
    5.0 * (p * (1.0 - p) / n).sqrt() + 1e-12
}

#[test]
fn fading_and_shadowing_have_their_distributions() {
    // In the mean 3 dB above the threshold.
    let propagation = Params::default().propagation;
    let threshold = propagation.received_dbm(200.0) - 3.0;
    let params = Params {
        rx_threshold_dbm: threshold,
        ..Params::default()
    };
    // Rayleigh: P(power > x of the mean) = exp(-x); the last frame is still on the air.
    let below = 10f64.powf(-0.3);
    let rayleigh = Params {
        fading: Fading::Nakagami { m: 1.0 },
        ..params.clone()
    };
    let (expected, found) = ((-below).exp(), share(rayleigh, 200.0, 20, 1000));
    println!("Rayleigh: {found:.4}, formula {expected:.4}");
    assert!((found - expected).abs() < bound(expected, 20_000.0) + 1e-3);
    // Nakagami m = 2: P = exp(-2x) (1 + 2x).
    let nakagami = Params {
        fading: Fading::Nakagami { m: 2.0 },
        ..params.clone()
    };
    let expected = (-2.0 * below).exp() * (1.0 + 2.0 * below);
    let found = share(nakagami, 200.0, 20, 1000);
    println!("Nakagami 2: {found:.4}, formula {expected:.4}");
    assert!((found - expected).abs() < bound(expected, 20_000.0) + 1e-3);
    // Shadowing of 6 dB: a link is 3 dB better or worse once and for all; P = Q(-1/2) = 0.69146.
    let shadowed = Params {
        shadowing_db: 6.0,
        ..params
    };
    let found = share(shadowed, 200.0, 3000, 2) * 2.0;
    println!("shadowing: {found:.4}, formula 0.6915");
    assert!((found - 0.69146).abs() < bound(0.69146, 3000.0));
}

#[test]
fn error_rates_are_those_of_the_formula() {
    let propagation = Params::default().propagation;
    let signal = propagation.received_dbm(200.0);
    for snr_db in [-0.5, 0.0, 0.5] {
        let params = Params {
            reception: Reception::ErrorRate,
            noise_dbm: Some(signal - snr_db),
            ..Params::default()
        };
        let snr = 10f64.powf(snr_db / 10.0);
        // 192 bits of preamble and header at 1 Mbit/s, 4000 at 2 Mbit/s.
        let expected = (1.0 - bit_error_rate(Rate::DSSS_1, snr)).powi(192)
            * (1.0 - bit_error_rate(Rate::DSSS_2, snr)).powi(4000);
        let found = share(params, 200.0, 20, 1000) * 1000.0 / 999.0;
        println!("{snr_db} dB: {found:.4}, formula {expected:.4}");
        assert!((found - expected).abs() < bound(expected, 20_000.0) + 1e-3);
    }
}

fn lossy(model: LossModel, seconds: u64) -> Medium {
    let rule = LossRule::always(Some(RadioId::new(0)), Some(RadioId::new(1)), model);
    let params = Params {
        no_ack: true,
        ..Params::default()
    };
    let stations = vec![at("a", 0.0), at("b", 100.0)];
    let mut medium = Medium::new(params, stations, vec![rule]);
    let load = Load {
        bytes: 200,
        rate: Rate::CCK_11,
        rts: false,
    };
    saturate(&mut medium, &[(0, 1)], seconds, load);
    medium
}

#[test]
fn losses_hit_the_configured_figure() {
    let rate = |medium: &Medium| {
        let link = medium.link(link(0, 1));
        (
            link.error_model as f64 / link.frames as f64,
            link.frames as f64,
        )
    };
    let (found, n) = rate(&lossy(LossModel::Uniform { rate: 0.05 }, 60));
    assert!((found - 0.05).abs() < bound(0.05, n), "uniform {found}");
    let burst =
        Burst::new(0.85, SECOND, 12 * SECOND, Instant::ZERO).expect("shorter than its period");
    let (found, n) = rate(&lossy(LossModel::Burst(burst), 120));
    assert!(
        (found - 0.85 / 12.0).abs() < bound(0.85 / 12.0, n),
        "burst {found}"
    );
    // Stationary probability of the bad state: 0.02 / (0.02 + 0.1) = 1/6. Runs of 10 in the mean
    // widen the bound by (1 + r) / (1 - r), r = 1 - 0.12 (Fisz 1963).
    let elliott = LossModel::GilbertElliott {
        to_bad: 0.02,
        to_good: 0.1,
        good: 0.0,
        bad: 1.0,
        is_bad: false,
    };
    let (found, n) = rate(&lossy(elliott, 120));
    let wider = (1.88f64 / 0.12).sqrt();
    assert!(
        (found - 1.0 / 6.0).abs() < wider * bound(1.0 / 6.0, n),
        "elliott {found}"
    );
    let list = LossModel::List {
        frames: vec![1, 7, 8, 100],
    };
    assert_eq!(lossy(list, 10).link(link(0, 1)).error_model, 4);
}

/// What a loss of one in ten does by what it takes: tries repeated, packets that reach the host.
#[test]
fn a_loss_takes_data_or_every_frame_or_acknowledged_packets() {
    let shares = |takes: Takes| {
        let rule = LossRule {
            takes,
            ..LossRule::always(None, None, LossModel::Uniform { rate: 0.1 })
        };
        let params = Params {
            retry_short: u32::MAX,
            ..Params::default()
        };
        let stations = vec![at("a", 0.0), at("b", 100.0)];
        let mut medium = Medium::new(params, stations, vec![rule]);
        let load = Load {
            bytes: 200,
            rate: Rate::CCK_11,
            rts: false,
        };
        let done = saturate(&mut medium, &[(0, 1)], 30, load);
        let tries = medium.counters(RadioId::new(0)).tx_frames as f64;
        let repeated = medium.counters(RadioId::new(0)).retries as f64 / tries;
        (
            repeated,
            done[0].delivered as f64 / done[0].acked as f64,
            tries,
        )
    };
    for (takes, again, arrived) in [
        (Takes::Data, 0.1, 1.0),
        // Data or its acknowledgement is lost.
        (Takes::Frames, 0.19, 1.0),
        (Takes::Packets, 0.0, 0.9),
    ] {
        let (repeated, delivered, tries) = shares(takes);
        assert!(
            (repeated - again).abs() <= bound(again, tries),
            "{takes:?}: {repeated}"
        );
        assert!(
            (delivered - arrived).abs() <= bound(0.1, tries),
            "{takes:?}: {delivered}"
        );
    }
}

#[test]
fn a_burst_has_a_length_and_fits_its_period() {
    let burst = |on, period| {
        let [on, period] = [on, period].map(Duration::from_nanos);
        Burst::new(0.5, on, period, Instant::ZERO)
    };
    assert!(burst(0, 0).is_none());
    assert!(burst(0, 5).is_none());
    assert!(burst(6, 5).is_none());
    assert!(burst(5, 5).is_some());
}

#[test]
fn a_loss_rule_holds_for_its_time() {
    let rule = LossRule {
        active: ms(1_000)..ms(2_000),
        ..LossRule::always(None, None, LossModel::Uniform { rate: 1.0 })
    };
    let stations = vec![at("a", 0.0), at("b", 100.0)];
    let mut medium = Medium::new(Params::default(), stations, vec![rule]);
    for (when, arrives) in [(0, true), (1_000, false), (2_000, true)] {
        medium.advance(ms(when));
        medium.enqueue(RadioId::new(0), frame(when, To::Everyone, 100, 1.0, false));
        medium.advance(ms(when + 500));
        let delivered = drain(&mut medium)
            .iter()
            .any(|o| matches!(o, Output::Deliver { .. }));
        assert_eq!(delivered, arrives, "at {when}");
    }
}

/// A receiver that takes 1 Mbit/s with room for 4 frames, and a sender at 11 Mbit/s.
#[test]
fn a_fast_sender_overruns_a_slow_receiver() {
    let params = Params {
        nic: Nic {
            tx_ring: 1,
            rx: Cost {
                frame_us: 0.0,
                mbps: 1.0,
            },
            rx_buffer_packets: 4,
            ..Nic::default()
        },
        ..Params::default()
    };
    let mut medium = Medium::new(params, vec![at("a", 0.0), at("b", 100.0)], vec![]);
    let load = Load {
        bytes: 1000,
        rate: Rate::CCK_11,
        rts: false,
    };
    let done = saturate(&mut medium, &[(0, 1)], 20, load)[0];
    let overrun = medium.counters(RadioId::new(1)).rx_overrun;
    // One frame each 8 ms.
    assert!(done.delivered.abs_diff(20 * 125) <= 1, "{done:?}");
    assert!(overrun > done.delivered);
    // What was acknowledged is delivered, lost in the buffer, or still in it.
    assert!(
        done.acked - done.delivered - overrun <= 4,
        "{done:?} {overrun}"
    );
}

/// Order in which frames reach the receiver; frame 9 is a routing frame that comes last.
fn order(tx_ring: usize, priority: bool) -> Vec<u64> {
    let params = Params {
        routing_priority: priority,
        queue_packets: 5,
        nic: Nic {
            tx_ring,
            ..Nic::default()
        },
        ..Params::default()
    };
    let mut medium = Medium::new(params, vec![at("a", 0.0), at("b", 100.0)], vec![]);
    for id in 1..=6 {
        medium.enqueue(
            RadioId::new(0),
            frame(id, To::Radio(RadioId::new(1)), 500, 2.0, false),
        );
    }
    let mut routing = frame(9, To::Radio(RadioId::new(1)), 100, 2.0, false);
    routing.routing = true;
    routing.class = Class::Data;
    medium.enqueue(RadioId::new(0), routing);
    medium.advance(after(SECOND));
    let found = drain(&mut medium).into_iter();
    found
        .filter_map(|output| match output {
            Output::Deliver { frame, .. } => Some(frame),
            _ => None,
        })
        .collect()
}

#[test]
fn routing_frames_go_first_but_not_past_the_card() {
    // Frame 1 is in service at once, 2 to 6 fill the queue: frame 9 finds no room, or 6 gives way.
    assert_eq!(order(1, false), [1, 2, 3, 4, 5, 6]);
    assert_eq!(order(1, true), [1, 9, 2, 3, 4, 5]);
    // A card with three buffers has taken 1, 2 and 3, which leaves room in the queue.
    assert_eq!(order(3, false), [1, 2, 3, 4, 5, 6, 9]);
    assert_eq!(order(3, true), [1, 2, 3, 9, 4, 5, 6]);
}

#[test]
fn rates_of_another_standard_are_refused() {
    let mut medium = Medium::new(Params::default(), vec![at("a", 0.0)], vec![]);
    for rate in [6.0, 9.0, 24.0, 36.0, 54.0] {
        medium.enqueue(RadioId::new(0), frame(1, To::Everyone, 100, rate, false));
    }
    let mut empty = frame(2, To::Everyone, 100, 1.0, false);
    empty.rates.clear();
    medium.enqueue(RadioId::new(0), empty);
    let found = drain(&mut medium);
    assert_eq!(found.len(), 6);
    for output in found {
        let refused = matches!(
            output,
            Output::Status {
                outcome: Outcome::Refused,
                ..
            }
        );
        assert!(refused, "{output:?}");
    }
    assert_eq!(medium.audit().refused, 6);
}

#[test]
fn a_station_that_is_put_elsewhere_is_heard_from_there() {
    let range_m = range_m(&Params::default());
    let stations = vec![at("a", 0.0), at("b", range_m * 2.0)];
    let mut medium = Medium::new(Params::default(), stations, vec![]);
    let mut second = 0;
    let mut heard = |medium: &mut Medium| {
        second += 1;
        medium.advance(ms(1_000 * second));
        medium.enqueue(
            RadioId::new(0),
            frame(second, To::Everyone, 100, 1.0, false),
        );
        medium.advance(ms(1_000 * second + 500));
        let found = drain(medium);
        found.iter().any(|o| matches!(o, Output::Deliver { .. }))
    };
    assert!(!heard(&mut medium));
    medium.put(RadioId::new(1), Position::new(range_m * 0.9, 0.0));
    assert_eq!(
        medium.position(RadioId::new(1), Instant::MAX).x_m,
        range_m * 0.9
    );
    assert!(heard(&mut medium));
    medium.set_loss(link(0, 1), 1.0);
    assert!(!heard(&mut medium));
    medium.set_loss(link(0, 1), 0.0);
    assert!(heard(&mut medium));
    medium.put(RadioId::new(1), Position::new(0.0, range_m * 5.0));
    assert!(!heard(&mut medium));
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine's physics as a committed text: goodput by rate and size, delivery by distance, shares
//! by distance. A model that changes shows in the diff of `tests/snapshot.txt`;
//! `HOPLAB_SNAPSHOT=write` writes it anew.

use std::fmt::Write;

use crate::common::{at, at_5_ghz, frame, ms, saturate, Load, OFDM};
use hoplab_medium_core::{
    Dbm, Fading, Medium, Model, Output, Params, Propagation, RadioId, Rate, Reception, Rules,
    Station, To,
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshot.txt");

fn params_of(rate: Rate) -> Params {
    if rate.is_dsss() {
        return Params::default();
    }
    Params {
        phy: at_5_ghz(OFDM),
        ..Params::default()
    }
}

/// Mbit/s of frames' bodies that a saturated sender brings to a receiver 100 m away.
fn goodput(text: &mut String) -> std::fmt::Result {
    const SECONDS: u64 = 4;
    writeln!(
        text,
        "goodput of one sender, Mbit/s, by rate and frame size; with RTS"
    )?;
    writeln!(
        text,
        "{:>6} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "Mbit/s", 100, 500, 1000, 1536, "1536 RTS"
    )?;
    for rate in Rate::LEGACY {
        write!(text, "{:>6}", rate.mbps())?;
        for (bytes, rts) in [
            (100, false),
            (500, false),
            (1000, false),
            (1536, false),
            (1536, true),
        ] {
            let stations = vec![at("a", 0.0), at("b", 100.0)];
            let mut medium = Medium::new(params_of(rate), stations, vec![]);
            let load = Load { bytes, rate, rts };
            let done = saturate(&mut medium, &[(0, 1)], SECONDS, load)[0];
            let mbps = (done.delivered * 8 * bytes as u64) as f64 / (1e6 * SECONDS as f64);
            write!(text, " {mbps:>8.3}")?;
        }
        writeln!(text)?;
    }
    writeln!(text)
}

/// Share of 200 frames of 1000 bytes that arrive.
fn delivered(params: &Params, rate: Rate, distance_m: f64) -> f64 {
    const FRAMES: u64 = 200;
    let stations = vec![at("a", 0.0), at("b", distance_m)];
    let mut medium = Medium::new(params.clone(), stations, vec![]);
    let mut arrived = 0;
    for id in 0..FRAMES {
        medium.advance(ms(20 * id));
        medium.enqueue(
            RadioId::new(0),
            frame(id, To::Everyone, 1000, rate.mbps(), false),
        );
        medium.advance(ms(20 * id + 19));
        let outputs = std::iter::from_fn(|| medium.poll_output());
        arrived += outputs
            .filter(|output| matches!(output, Output::Deliver { .. }))
            .count();
    }
    arrived as f64 / FRAMES as f64
}

fn delivery(text: &mut String) -> std::fmt::Result {
    let noisy = |rate| Params {
        reception: Reception::ErrorRate,
        noise_dbm: Some(Dbm(-70.0)),
        ..params_of(rate)
    };
    let columns = [
        ("two-ray", Params::default(), Rate::DSSS_2),
        (
            "friis",
            Params {
                propagation: Propagation {
                    model: Model::Friis,
                    ..Params::default().propagation
                },
                ..Params::default()
            },
            Rate::DSSS_2,
        ),
        (
            "log 3.5",
            Params {
                propagation: Propagation {
                    model: Model::LogDistance {
                        exponent: 3.5,
                        reference_m: 2.0,
                    },
                    ..Params::default().propagation
                },
                ..Params::default()
            },
            Rate::DSSS_2,
        ),
        (
            "rayleigh",
            Params {
                fading: Fading::Nakagami { m: 1.0 },
                ..Params::default()
            },
            Rate::DSSS_2,
        ),
        ("bits 1", noisy(Rate::DSSS_1), Rate::DSSS_1),
        ("bits 11", noisy(Rate::CCK_11), Rate::CCK_11),
        ("bits 6", noisy(Rate::OFDM_6), Rate::OFDM_6),
        ("bits 54", noisy(Rate::OFDM_54), Rate::OFDM_54),
    ];
    writeln!(
        text,
        "share of frames delivered, by distance in m and model"
    )?;
    write!(text, "{:>5}", "m")?;
    for column in &columns {
        write!(text, " {:>8}", column.0)?;
    }
    writeln!(text)?;
    for distance_m in [
        25, 50, 75, 100, 125, 150, 175, 200, 225, 249, 251, 275, 300, 350, 400, 500,
    ] {
        write!(text, "{distance_m:>5}")?;
        for (_, params, rate) in &columns {
            write!(
                text,
                " {:>8.3}",
                delivered(params, *rate, distance_m.into())
            )?;
        }
        writeln!(text)?;
    }
    writeln!(text)
}

/// Frames a second of two saturated senders.
fn shares(params: Params, stations: Vec<Station>, pairs: &[(usize, usize)], rts: bool) -> String {
    const SECONDS: u64 = 20;
    let mut medium = Medium::new(params, stations, vec![]);
    let load = Load {
        bytes: 1536,
        rate: Rate::DSSS_2,
        rts,
    };
    let done = saturate(&mut medium, pairs, SECONDS, load);
    let rates = done
        .iter()
        .map(|done| done.delivered as f64 / SECONDS as f64);
    let rates: Vec<String> = rates.map(|rate| format!("{rate:>6.1}")).collect();
    rates.join(" ")
}

/// Both rules, without and with RTS.
fn four_ways(
    text: &mut String,
    first: &str,
    params: &Params,
    stations: &[Station],
    pairs: &[(usize, usize)],
) -> std::fmt::Result {
    write!(text, "{first:>5}")?;
    for rules in [Rules::Standard, Rules::Ns2] {
        for rts in [false, true] {
            let params = Params {
                rules,
                ..params.clone()
            };
            write!(text, "  {}", shares(params, stations.to_vec(), pairs, rts))?;
        }
    }
    writeln!(text)
}

fn contention(text: &mut String) -> std::fmt::Result {
    let titles = "    m       802.11    802.11, RTS           ns-2      ns-2, RTS";
    let wide = Params::default();
    let short = Params {
        cs_threshold_dbm: wide.rx_threshold_dbm,
        ..Params::default()
    };
    writeln!(
        text,
        "capture: frames/s of senders on two sides of a receiver, near at m, far at 240 m"
    )?;
    writeln!(text, "{titles}")?;
    for near_m in [25, 100, 130, 140, 200, 240] {
        let stations = [at("r", 0.0), at("near", near_m.into()), at("far", -240.0)];
        four_ways(
            text,
            &near_m.to_string(),
            &wide,
            &stations,
            &[(1, 0), (2, 0)],
        )?;
    }
    writeln!(
        text,
        "\nhidden: frames/s of senders that far apart, the receiver between, carrier sense 250 m"
    )?;
    writeln!(text, "{titles}")?;
    for apart_m in [100, 200, 249, 251, 300, 400, 490] {
        let half = f64::from(apart_m) / 2.0;
        let stations = [at("r", 0.0), at("a", half), at("b", -half)];
        four_ways(
            text,
            &apart_m.to_string(),
            &short,
            &stations,
            &[(1, 0), (2, 0)],
        )?;
    }
    writeln!(text, "\nexposed: frames/s of senders that far apart, receivers 200 m outside, carrier sense 550 m")?;
    writeln!(text, "{titles}")?;
    for apart_m in [100, 200, 300, 400, 500, 549, 551, 700, 800] {
        let apart = f64::from(apart_m);
        let stations = [
            at("r1", -200.0),
            at("s1", 0.0),
            at("s2", apart),
            at("r2", apart + 200.0),
        ];
        four_ways(
            text,
            &apart_m.to_string(),
            &wide,
            &stations,
            &[(1, 0), (2, 3)],
        )?;
    }
    Ok(())
}

#[test]
fn the_physics_are_those_of_the_snapshot() {
    let mut text = String::new();
    goodput(&mut text)
        .and_then(|()| delivery(&mut text))
        .and_then(|()| contention(&mut text))
        .expect("a string takes whatever is written");
    if std::env::var("HOPLAB_SNAPSHOT").is_ok_and(|how| how == "write") {
        std::fs::write(FILE, &text).unwrap_or_else(|e| panic!("{FILE}: {e}"));
    }
    let kept = std::fs::read_to_string(FILE).unwrap_or_else(|e| panic!("{FILE}: {e}"));
    for (number, (found, kept)) in text.lines().zip(kept.lines()).enumerate() {
        assert_eq!(
            found,
            kept,
            "line {} of {FILE}; is the change meant? HOPLAB_SNAPSHOT=write keeps it",
            number + 1
        );
    }
    assert_eq!(text.lines().count(), kept.lines().count(), "{FILE}");
}

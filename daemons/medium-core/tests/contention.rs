// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios whose access categories are not those of all, against the chain of Bianchi with two windows.

use crate::common::{at, at_5_ghz, category, one_by_one, saturate_by, Done, Load, OFDM};
use hoplab_medium_core::{Category, CategoryParams, Medium, Params, RadioId, Rate};

const STATIONS: usize = 10;
const SECONDS: u64 = 30;
const PAYLOAD: usize = 1500;
/// LLC and SNAP, QoS header and FCS.
const AROUND: usize = 8 + 26 + 4;
const BEST_EFFORT: Option<u8> = Some(0);
/// Of five stations with windows of 15 to 1023 beside five with 31 to 1023, at 54 Mbit/s with AIFS =
/// DIFS: `tests/validate/classes.py` has the chain.
const SMALL_MBPS: f64 = 19.2;
const LARGE_MBPS: f64 = 9.0;
/// Three standard deviations: a station that has collided stays behind for long, so seeds differ by 2 %.
const PART: f64 = 0.06;

fn window(cw_min: u32) -> CategoryParams {
    category(2, cw_min, 1023, 0)
}

/// Ten stations about a receiver, all by windows from 15 on.
fn stations(edca: bool) -> Medium {
    let params = Params {
        phy: at_5_ghz(OFDM),
        edca: edca.then_some(one_by_one([window(15); 4])),
        retry_short: u32::MAX,
        retry_long: u32::MAX,
        capture_db: 1000.0,
        ..Params::default()
    };
    let places = (0..=STATIONS).map(|i| at(&format!("s{i}"), 0.1 * i as f64));
    Medium::new(params, places.collect(), vec![])
}

/// Stations 1 to 5 contend by this window from now on, and 6 to 10 by the other.
fn contend_by(medium: &mut Medium, first: u32, second: u32) {
    for i in 1..=STATIONS {
        let cw_min = if i <= STATIONS / 2 { first } else { second };
        medium.contend_by(RadioId::new(i), Category::BestEffort, window(cw_min));
    }
}

/// Mbit/s of stations 1 to 5, and of 6 to 10, up to this second.
fn saturate(medium: &mut Medium, tid: Option<u8>, from: u64, to: u64) -> [f64; 2] {
    let load = Load {
        bytes: PAYLOAD + AROUND,
        rate: Rate::from_mbps(54.0).expect("a rate of OFDM"),
        rts: false,
    };
    let pairs: Vec<_> = (1..=STATIONS).map(|i| (i, 0)).collect();
    let done = saturate_by(medium, &pairs, &[tid; STATIONS], to, load);
    let (first, second) = done.split_at(STATIONS / 2);
    [first, second].map(|half| {
        let frames: u64 = half.iter().map(|done: &Done| done.delivered).sum();
        frames as f64 * 8e-6 * PAYLOAD as f64 / (to - from) as f64
    })
}

fn near(found: [f64; 2], expected: [f64; 2]) {
    for (found, expected) in found.into_iter().zip(expected) {
        println!("{found:.2} Mbit/s, chain {expected:.2}");
        let strays = (found / expected - 1.0).abs();
        assert!(strays < PART, "{found:.2} instead of {expected:.2} Mbit/s");
    }
}

#[test]
fn each_radio_contends_by_its_own_parameters_from_when_it_learns_them() {
    let mut medium = stations(true);
    contend_by(&mut medium, 15, 31);
    let before = saturate(&mut medium, BEST_EFFORT, 0, SECONDS);
    near(before, [SMALL_MBPS, LARGE_MBPS]);
    contend_by(&mut medium, 31, 15);
    let after = saturate(&mut medium, BEST_EFFORT, SECONDS, 2 * SECONDS);
    near(after, [LARGE_MBPS, SMALL_MBPS]);
}

#[test]
fn stations_without_qos_have_the_windows_of_dcf() {
    for edca in [true, false] {
        let mut medium = stations(edca);
        contend_by(&mut medium, 7, 31);
        let [first, second] = saturate(&mut medium, None, 0, SECONDS);
        let strays = (first / second - 1.0).abs();
        assert!(strays < PART, "{first:.2} and {second:.2} Mbit/s");
    }
}

/// A station whose voice and best effort never back off, with this limit or the kernel's table of
/// rates. Returns frames of voice and of best effort that arrived, and frames that were given up.
fn always_at_once(kernel_retries: bool) -> [u64; 3] {
    let params = Params {
        phy: at_5_ghz(OFDM),
        edca: Some(one_by_one([category(2, 0, 0, 0); 4])),
        kernel_retries,
        ..Params::default()
    };
    let mut medium = Medium::new(params, vec![at("s0", 0.0), at("s1", 1.0)], vec![]);
    let load = Load {
        bytes: PAYLOAD + AROUND,
        rate: Rate::from_mbps(54.0).expect("a rate of OFDM"),
        rts: false,
    };
    let done = saturate_by(&mut medium, &[(1, 0); 2], &[Some(6), BEST_EFFORT], 1, load);
    let given_up = medium.counters(RadioId::new(1)).retry_limit;
    [done[0].delivered, done[1].delivered, given_up]
}

/// The frame counts a failure (10.23.2.4), and is given up after seven.
#[test]
fn a_frame_that_loses_within_its_station_has_failed() {
    let [voice, best_effort, given_up] = always_at_once(false);
    assert_eq!(best_effort, 0);
    assert!(
        given_up.abs_diff(voice / 7) <= 1,
        "{given_up} of {voice} turns"
    );
}

#[test]
fn by_the_kernels_table_only_tries_on_the_air_count() {
    let [_, best_effort, given_up] = always_at_once(true);
    assert_eq!([best_effort, given_up], [0, 0]);
}

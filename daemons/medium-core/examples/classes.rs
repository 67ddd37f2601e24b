// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Saturated stations of several access categories about one receiver, at 5 GHz: a line of JSON for
//! each class of stations, for programs to read.
//!
//! `cargo run --release -p hoplab-medium-core --example classes RATE OCTETS SECONDS SEED CLASS...`
//!
//! A RATE is one before HT in Mbit/s, or he:MCS on 20 MHz with a guard interval of 0.8 us.
//! A class is STATIONS:AIFSN:CWMIN:CWMAX:TXOP_US. Frames have so many OCTETS from MAC header to FCS
//! and go one by one, there is no retry limit and no capture. Classes take turns with voice, video,
//! best effort and background, whose parameters they set: four at most.

#[path = "../tests/common/mod.rs"]
mod common;

use std::str::FromStr;

use common::{at, at_5_ghz, one_by_one, Load};
use hoplab_medium_core::{
    Category, CategoryParams, Duration, Guard, Medium, Params, RadioId, Rate, Standard, Width,
};

/// A user priority of each category, in the order of [`Category::ALL`].
const PRIORITIES: [u8; 4] = [6, 4, 0, 1];

struct ClassOf {
    stations: usize,
    params: CategoryParams,
}

fn number<T: FromStr>(text: &str) -> T {
    let found = text.parse().ok();
    found.unwrap_or_else(|| panic!("{text}: expected a number"))
}

fn class(text: &str) -> ClassOf {
    let fields: Vec<&str> = text.split(':').collect();
    let [stations, aifsn, cw_min, cw_max, txop_us] = fields[..] else {
        panic!("{text}: expected STATIONS:AIFSN:CWMIN:CWMAX:TXOP_US");
    };
    ClassOf {
        stations: number(stations),
        params: CategoryParams {
            aifsn: number(aifsn),
            cw_min: number(cw_min),
            cw_max: number(cw_max),
            txop: Duration::from_micros(number(txop_us)),
        },
    }
}

fn params(seed: u64, classes: &[ClassOf]) -> Params {
    let categories = Category::ALL.map(|category| {
        let class = classes.get(category as usize).unwrap_or(&classes[0]);
        class.params
    });
    Params {
        seed,
        phy: at_5_ghz(Standard::He {
            signal_extension: false,
        }),
        edca: Some(one_by_one(categories)),
        retry_short: u32::MAX,
        retry_long: u32::MAX,
        capture_db: 1000.0,
        ..Params::default()
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rate, octets, seconds, seed, classes @ ..] = &words[..] else {
        panic!("expected RATE OCTETS SECONDS SEED CLASS...");
    };
    let classes: Vec<ClassOf> = classes.iter().map(|text| class(text)).collect();
    assert!(
        (1..=4).contains(&classes.len()),
        "expected one to four classes"
    );
    let rate = match rate.strip_prefix("he:") {
        Some(mcs) => Rate::he(number(mcs), 1, Width::Mhz20, Guard::Ns800),
        None => Rate::from_mbps(number(rate)),
    };
    let rate = rate.expect("a rate before HT, or of HE");
    let of_station: Vec<usize> = (0..classes.len())
        .flat_map(|class| std::iter::repeat_n(class, classes[class].stations))
        .collect();
    let places = (0..=of_station.len()).map(|i| at(&format!("s{i}"), 0.1 * i as f64));
    let mut medium = Medium::new(params(number(seed), &classes), places.collect(), vec![]);
    let load = Load {
        bytes: number(octets),
        rate,
        rts: false,
    };
    let seconds: u64 = number(seconds);
    let pairs: Vec<_> = (1..=of_station.len()).map(|i| (i, 0)).collect();
    let tids = of_station.iter().map(|class| Some(PRIORITIES[*class]));
    let done = common::saturate_by(
        &mut medium,
        &pairs,
        &tids.collect::<Vec<_>>(),
        seconds,
        load,
    );
    for class in 0..classes.len() {
        let members = || (0..of_station.len()).filter(|i| of_station[*i] == class);
        let delivered: u64 = members().map(|i| done[i].delivered).sum();
        let acked: u64 = members().map(|i| done[i].acked).sum();
        let retries: u64 = members()
            .map(|i| medium.counters(RadioId::new(i + 1)).retries)
            .sum();
        println!(
            "{{\"class\": {class}, \"frames_per_s\": {}, \"collisions\": {}}}",
            delivered as f64 / seconds as f64,
            retries as f64 / (retries + acked) as f64
        );
    }
}

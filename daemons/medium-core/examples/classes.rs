// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Saturated stations of several access categories about one receiver, at 5 GHz: a line of JSON for
//! each class of stations, for programs to read.
//!
//! `cargo run --release -p hoplab-medium-core --example classes RATE OCTETS SECONDS SEED TRIES CLASS...`
//!
//! A RATE is one before HT in Mbit/s, or he:MCS on 20 MHz with a guard interval of 0.8 us.
//! A class is STATIONS:AIFSN:CWMIN:CWMAX:TXOP_US. One of 0 stations is at those of the class before,
//! so that the categories of a station collide within it. Frames have so many OCTETS from MAC header
//! to FCS and go one by one, at most TRIES times (0: until they arrive). There is no capture. Classes
//! take turns with voice, video, best effort and background, whose parameters they set: four at most.

#[path = "../tests/common/mod.rs"]
mod common;

use std::str::FromStr;

use common::{at, at_5_ghz, one_by_one, Load};
use hoplab_medium_core::{
    Category, CategoryParams, Duration, Guard, Medium, Params, Rate, Standard, Width,
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

fn params(seed: u64, tries: u32, classes: &[ClassOf]) -> Params {
    let categories = Category::ALL.map(|category| {
        let class = classes.get(category as usize).unwrap_or(&classes[0]);
        class.params
    });
    let limit = if tries == 0 { u32::MAX } else { tries };
    Params {
        seed,
        phy: at_5_ghz(Standard::He {
            signal_extension: false,
        }),
        edca: Some(one_by_one(categories)),
        retry_short: limit,
        retry_long: limit,
        capture_db: 1000.0,
        ..Params::default()
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rate, octets, seconds, seed, tries, classes @ ..] = &words[..] else {
        panic!("expected RATE OCTETS SECONDS SEED TRIES CLASS...");
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
    // The sender and the class of each queue of frames.
    let mut queues = Vec::new();
    let mut members = 0..0;
    for (class, of) in classes.iter().enumerate() {
        if of.stations > 0 {
            members = members.end..members.end + of.stations;
        }
        queues.extend(members.clone().map(|station| (station + 1, class)));
    }
    let places = (0..=members.end).map(|i| at(&format!("s{i}"), 0.1 * i as f64));
    let params = params(number(seed), number(tries), &classes);
    let mut medium = Medium::new(params, places.collect(), vec![]);
    let load = Load {
        bytes: number(octets),
        rate,
        rts: false,
    };
    let seconds: u64 = number(seconds);
    let pairs: Vec<_> = queues.iter().map(|(station, _)| (*station, 0)).collect();
    let tids = queues.iter().map(|(_, class)| Some(PRIORITIES[*class]));
    let done = common::saturate_by(
        &mut medium,
        &pairs,
        &tids.collect::<Vec<_>>(),
        seconds,
        load,
    );
    for class in 0..classes.len() {
        let of_class = queues.iter().zip(&done);
        let of_class = of_class.filter(|((_, of), _)| *of == class);
        let (mut delivered, mut acked, mut tries) = (0, 0, 0);
        for (_, done) in of_class {
            delivered += done.delivered;
            acked += done.acked;
            tries += done.tries;
        }
        println!(
            "{{\"class\": {class}, \"frames_per_s\": {}, \"collisions\": {}}}",
            delivered as f64 / seconds as f64,
            1.0 - acked as f64 / tries as f64
        );
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What tests of the engine share, and examples.
#![allow(dead_code)] // An example uses a part.

use std::collections::BTreeMap;

use hoplab_medium_core::{
    Aggregation, Attempts, CategoryParams, Class, Duration, Edca, Frame, Instant, LinkId, Medium,
    Output, Params, Phy, Position, RadioId, Rate, Standard, Station, To,
};

pub const SECOND: Duration = Duration::from_secs(1);

/// So long after the start.
pub fn after(time: Duration) -> Instant {
    Instant::ZERO + time
}

pub fn ms(ms: u64) -> Instant {
    after(Duration::from_millis(ms))
}

pub fn link(from: usize, to: usize) -> LinkId {
    LinkId {
        from: RadioId::new(from),
        to: RadioId::new(to),
    }
}

/// OFDM without the signal extension of 2.4 GHz.
pub const OFDM: Standard = Standard::Ofdm {
    signal_extension: false,
};

/// With the times of 5 GHz (17.4.4).
pub fn at_5_ghz(standard: Standard) -> Phy {
    Phy {
        standard,
        plcp_rate: Rate::OFDM_6,
        basic_rate: Rate::OFDM_6,
        slot: Duration::from_micros(9),
        sifs: Duration::from_micros(16),
        cw_min: 15,
        ..Params::default().phy
    }
}

pub fn category(aifsn: u32, cw_min: u32, cw_max: u32, txop_us: u64) -> CategoryParams {
    CategoryParams {
        aifsn,
        cw_min,
        cw_max,
        txop: Duration::from_micros(txop_us),
    }
}

/// Frames go one by one, by these categories.
pub fn one_by_one(categories: [CategoryParams; 4]) -> Edca {
    Edca {
        categories,
        aggregation: None,
        rts_threshold: usize::MAX,
    }
}

/// Stations of `standard` at 5 GHz with long queues, which send A-MPDUs of up to `window` frames.
pub fn aggregating(
    standard: Standard,
    window: usize,
    txop_us: u64,
    start_spacing: Duration,
) -> Params {
    Params {
        phy: at_5_ghz(standard),
        edca: Some(Edca {
            categories: [category(3, 15, 1023, txop_us); 4],
            aggregation: Some(Aggregation {
                window,
                octets: usize::MAX,
                start_spacing,
                by_hosts: false,
            }),
            rts_threshold: usize::MAX,
        }),
        queue_packets: 20_000,
        capture_db: 1000.0,
        ..Params::default()
    }
}

/// An entry of a rate table.
pub fn attempts(rate_mbps: f64, tries: u32, rts: bool) -> Attempts {
    Attempts {
        rate: Rate::from_mbps(rate_mbps).expect("a rate of the standard"),
        tries,
        rts,
    }
}

pub fn at(name: &str, x_m: f64) -> Station {
    Station::at(name, Position::new(x_m, 0.0))
}

pub fn frame(id: u64, to: To, bytes: usize, rate_mbps: f64, rts: bool) -> Frame {
    Frame {
        id,
        to,
        bytes,
        rates: vec![attempts(rate_mbps, 7, rts)],
        class: Class::Data,
        routing: false,
        tid: None,
        numbered: None,
    }
}

/// What saturated senders came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub delivered: u64,
    pub acked: u64,
    /// Of frames that are done.
    pub tries: u64,
}

/// How senders are loaded.
#[derive(Clone, Copy)]
pub struct Load {
    pub bytes: usize,
    pub rate: Rate,
    pub rts: bool,
}

/// Keep the queue of every (sender, receiver) filled for `seconds`; one result per pair.
pub fn saturate(
    medium: &mut Medium,
    pairs: &[(usize, usize)],
    seconds: u64,
    load: Load,
) -> Vec<Done> {
    saturate_by(medium, pairs, &vec![None; pairs.len()], seconds, load)
}

/// As [`saturate`], with the traffic identifier of each pair's frames.
pub fn saturate_by(
    medium: &mut Medium,
    pairs: &[(usize, usize)],
    tids: &[Option<u8>],
    seconds: u64,
    load: Load,
) -> Vec<Done> {
    let loads = vec![load; pairs.len()];
    saturate_and(medium, pairs, tids, seconds, &loads, |_| {})
}

/// The same, with a load of each pair, and all other outputs handed out.
pub fn saturate_and(
    medium: &mut Medium,
    pairs: &[(usize, usize)],
    tids: &[Option<u8>],
    seconds: u64,
    loads: &[Load],
    mut other: impl FnMut(Output),
) -> Vec<Done> {
    let mut done = vec![Done::default(); pairs.len()];
    // A frame's identity says whose it is: a radio may send of several categories.
    let every = pairs.len() as u64;
    let mut count = 0;
    let mut send = |medium: &mut Medium, at: usize| {
        count += 1;
        let id = count * every + at as u64;
        let (from, to) = pairs[at];
        let (to, load) = (To::Radio(RadioId::new(to)), loads[at]);
        let rates = vec![Attempts {
            rate: load.rate,
            tries: 7,
            rts: load.rts,
        }];
        let sent = frame(id, to, load.bytes, 1.0, load.rts);
        let tid = tids[at];
        medium.enqueue(RadioId::new(from), Frame { rates, tid, ..sent });
    };
    for at in 0..pairs.len() {
        send(medium, at);
        send(medium, at);
    }
    let of = |frame: u64| (frame % every) as usize;
    let end = after(seconds * SECOND);
    while let Some(next) = medium.next_deadline().filter(|at| *at < end) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Deliver { frame, .. } => done[of(frame)].delivered += 1,
                Output::Status {
                    frame,
                    outcome,
                    tries,
                    ..
                } => {
                    let pair = &mut done[of(frame)];
                    pair.acked += u64::from(outcome.succeeded());
                    pair.tries += tries.iter().copied().map(u64::from).sum::<u64>();
                    send(medium, of(frame));
                }
                output => other(output),
            }
        }
    }
    done
}

/// A frame of best effort, with seven tries at one rate.
pub fn data(id: u64, to: usize, bytes: usize, rate: Rate) -> Frame {
    Frame {
        id,
        to: To::Radio(RadioId::new(to)),
        bytes,
        rates: vec![Attempts {
            rate,
            tries: 7,
            rts: false,
        }],
        class: Class::Data,
        routing: false,
        tid: Some(0),
        numbered: None,
    }
}

/// Keep many frames of each (sender, receiver, TID) waiting; frames delivered of each, in their order.
pub fn keep_waiting(
    medium: &mut Medium,
    flows: &[(usize, usize, u8)],
    (bytes, rate): (usize, Rate),
    seconds: u64,
) -> Vec<u64> {
    const DEPTH: usize = 800;
    let mut id = 0;
    let mut of = BTreeMap::new();
    let mut delivered = vec![0; flows.len()];
    let mut last = vec![0; flows.len()];
    let mut send = |medium: &mut Medium, of: &mut BTreeMap<u64, usize>, flow: usize| {
        let (from, to, tid) = flows[flow];
        id += 1;
        of.insert(id, flow);
        let frame = Frame {
            tid: Some(tid),
            ..data(id, to, bytes, rate)
        };
        medium.enqueue(RadioId::new(from), frame);
    };
    for flow in 0..flows.len() {
        for _ in 0..DEPTH {
            send(medium, &mut of, flow);
        }
    }
    let end = after(seconds * SECOND);
    while let Some(next) = medium.next_deadline().filter(|next| *next < end) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Deliver { frame, .. } => {
                    let flow = of[&frame];
                    delivered[flow] += 1;
                    assert!(frame > last[flow], "frames come in their order");
                    last[flow] = frame;
                }
                Output::Status { frame, .. } => {
                    let flow = of[&frame];
                    send(medium, &mut of, flow);
                }
                _ => {}
            }
        }
    }
    delivered
}

/// Numbers of stations of which figures are kept.
pub const SATURATED: [usize; 6] = [1, 2, 5, 10, 20, 50];

/// What saturated stations came to together.
#[derive(Clone, Copy, Debug)]
pub struct Saturated {
    pub frames_per_s: f64,
    /// Share of the tries that collided.
    pub collisions: f64,
}

/// Bianchi's stations: no retry limit (his chain stays at stage m), no capture.
pub fn saturated(stations: usize, rts: bool, seconds: u64, seed: u64) -> Saturated {
    let places = (0..=stations).map(|i| at(&format!("s{i}"), 0.1 * i as f64));
    let params = Params {
        seed,
        retry_short: u32::MAX,
        retry_long: u32::MAX,
        capture_db: 1000.0,
        ..Params::default()
    };
    let mut medium = Medium::new(params, places.collect(), vec![]);
    let pairs: Vec<_> = (1..=stations).map(|i| (i, 0)).collect();
    let load = Load {
        bytes: 1536,
        rate: Rate::DSSS_2,
        rts,
    };
    let done = saturate(&mut medium, &pairs, seconds, load);
    let sum = |of: fn(&Done) -> u64| done.iter().map(of).sum::<u64>() as f64;
    let retries = (1..=stations).map(|i| medium.counters(RadioId::new(i)).retries);
    let retries = retries.sum::<u64>() as f64;
    Saturated {
        frames_per_s: sum(|done| done.delivered) / seconds as f64,
        collisions: retries / (retries + sum(|done| done.acked)),
    }
}

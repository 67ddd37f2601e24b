// SPDX-License-Identifier: Apache-2.0
//! Seeded runs whose every decision is hashed: a change of the engine that moves one of them is
//! either a mistake or changes every result that users have kept.

use hoplab_medium_core::{
    Class, Frame, LossModel, LossRule, Medium, Output, Params, Station, Stream, To,
};
use sha2::{Digest, Sha256};

fn params(ns2: bool) -> Params {
    Params {
        seed: 7,
        cumulative_interference: !ns2,
        queue_packets: 5,
        always_backoff: ns2,
        overhear: true,
        ..Params::default()
    }
}

/// SHA-256 over (time, decision) of twelve stations, some of them moving, under random load.
fn digest(params: Params, moving: bool) -> String {
    let stations = (0..12u64)
        .map(|i| {
            let (x, y) = ((i % 4) as f64 * 190.0, (i / 4) as f64 * 170.0);
            let mut waypoints = vec![(0, x, y)];
            if moving && i % 3 == 0 {
                waypoints.push((1_000_000_000, x, y));
                waypoints.push((9_000_000_000, x + 300.0, y - 100.0));
            }
            Station {
                name: format!("n{i}"),
                waypoints,
            }
        })
        .collect();
    let losses = vec![
        LossRule::always(Some(1), None, LossModel::Uniform { rate: 0.2 }),
        LossRule::always(
            None,
            Some(4),
            LossModel::GilbertElliott {
                to_bad: 0.1,
                to_good: 0.3,
                good: 0.01,
                bad: 0.8,
                is_bad: false,
            },
        ),
    ];
    let mut medium = Medium::new(params, stations, losses);
    let mut random = Stream::new(3, "load");
    let mut hash = Sha256::new();
    let mut id = 0u64;
    let mut now = 0u64;
    while now < 10_000_000_000 {
        let input = now + u64::from(random.below(4_000_000));
        while let Some(next) = medium.next_deadline().filter(|next| *next <= input) {
            medium.advance(next);
            drain(&mut medium, next, &mut hash);
        }
        now = input;
        medium.advance(now);
        id += 1;
        let from = random.below(12) as usize;
        let to = match random.below(8) {
            0 => To::Everyone,
            1 => To::Nobody,
            _ => To::Radio((from + 1 + random.below(11) as usize) % 12),
        };
        let rates = vec![
            (11.0, 2, random.below(3) == 0),
            (2.0, 3, random.below(2) == 0),
        ];
        let bytes = 60 + random.below(1400) as usize;
        medium.enqueue(
            from,
            Frame {
                id,
                to,
                bytes,
                rates,
                class: if id % 17 == 0 {
                    Class::Beacon
                } else {
                    Class::Data
                },
                routing: false,
            },
        );
        drain(&mut medium, now, &mut hash);
    }
    hash.finalize()[..8]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

fn drain(medium: &mut Medium, now: u64, hash: &mut Sha256) {
    while let Some(output) = medium.poll_output() {
        let text = match output {
            Output::Deliver {
                frame,
                from,
                to,
                rate_mbps,
                ..
            } => {
                format!("{now} deliver {frame} {from} {to} {rate_mbps}")
            }
            Output::Status {
                frame,
                radio,
                outcome,
                tries,
                ..
            } => {
                format!(
                    "{now} status {frame} {radio} {} {:?}",
                    outcome.succeeded(),
                    &tries[..2]
                )
            }
            _ => continue,
        };
        hash.update(text);
    }
}

#[test]
fn decisions_stay_as_they_were() {
    let mut kernel = params(false);
    kernel.kernel_retries = true;
    let mut no_ack = params(false);
    no_ack.no_ack = true;
    let found = [
        digest(params(false), false),
        digest(params(false), true),
        digest(params(true), false),
        digest(params(true), true),
        digest(kernel, false),
        digest(no_ack, true),
    ];
    let kept = [
        "38be0f2cd817c45b",
        "e71d94143ea3eaa9",
        "3de9737df703819d",
        "1ee64a9b35931556",
        "966dd5f3bb386818",
        "bd9f99c1723b4a65",
    ];
    assert_eq!(found, kept);
}

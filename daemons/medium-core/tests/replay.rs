// SPDX-License-Identifier: Apache-2.0
//! Seeded runs whose every decision is hashed: a change of the engine that moves one of them is
//! either a mistake or changes every result that users have kept.

use hoplab_medium_core::{
    Class, Energy, Fading, Frame, LossModel, LossRule, Medium, Nic, Output, Params, Reception,
    Station, Stream, To,
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

/// The first half of a SHA-256.
fn short(hash: Sha256) -> String {
    hash.finalize()[..8]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// Digest of (time, decision).
fn digest(params: Params, moving: bool) -> String {
    let mut hash = Sha256::new();
    play(params, moving, |now, output| {
        if let Some(text) = decision(now, output) {
            hash.update(text);
        }
    });
    short(hash)
}

/// Digest of everything that the engine tells: what was on the air, its power and its fate, and
/// all counters of radios and links at the end.
fn full_digest(params: Params, moving: bool) -> String {
    let params = Params {
        trace: true,
        histograms: true,
        ..params
    };
    let mut hash = Sha256::new();
    let medium = play(params, moving, |now, output| {
        hash.update(everything(now, output));
    });
    for radio in 0..12 {
        let counters = medium.counters(radio);
        let times = counters.times;
        let counts = [
            counters.tx_frames,
            counters.tx_bytes,
            counters.rx_frames,
            counters.rx_bytes,
            counters.retries,
            counters.retry_limit,
            counters.queue_full,
            counters.rx_overrun,
        ];
        hash.update(format!("{radio} {counts:?} {:?}", counters.airtime));
        let times = [times.tx, times.rx, times.idle, times.sleep];
        hash.update(format!("{times:?} {:?}", medium.joules(radio)));
        for (to, link, signals) in medium.links(radio) {
            let fates = [
                link.frames,
                link.delivered,
                link.collided,
                link.weak,
                link.capture_lost,
                link.error_model,
                link.deaf,
                link.off,
                link.bytes,
            ];
            hash.update(format!("{radio} {to} {fates:?} {}", link.signal_sum_dbm));
            for histogram in signals.iter().flat_map(|s| [&s.signal, &s.noise]) {
                for bin in histogram.bins() {
                    hash.update(format!("{bin:?}"));
                }
            }
        }
    }
    hash.update(format!("{}", medium.handled()));
    short(hash)
}

/// Twelve stations, some of them moving, under random load.
fn play(params: Params, moving: bool, mut told: impl FnMut(u64, Output)) -> Medium {
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
    let mut drain = |medium: &mut Medium, now: u64| {
        while let Some(output) = medium.poll_output() {
            told(now, output);
        }
    };
    let mut id = 0u64;
    let mut now = 0u64;
    while now < 10_000_000_000 {
        let input = now + u64::from(random.below(4_000_000));
        while let Some(next) = medium.next_deadline().filter(|next| *next <= input) {
            medium.advance(next);
            drain(&mut medium, next);
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
                routing: id % 13 == 0,
            },
        );
        drain(&mut medium, now);
    }
    medium
}

fn decision(now: u64, output: Output) -> Option<String> {
    match output {
        Output::Deliver {
            frame,
            from,
            to,
            rate_mbps,
            ..
        } => Some(format!("{now} deliver {frame} {from} {to} {rate_mbps}")),
        Output::Status {
            frame,
            radio,
            outcome,
            tries,
            ..
        } => {
            let (acked, tries) = (outcome.succeeded(), &tries[..2]);
            Some(format!("{now} status {frame} {radio} {acked} {tries:?}"))
        }
        _ => None,
    }
}

fn everything(now: u64, output: Output) -> String {
    match output {
        Output::Deliver {
            frame,
            from,
            to,
            signal_dbm,
            rate_mbps,
        } => format!("{now} deliver {frame} {from} {to} {signal_dbm} {rate_mbps}"),
        Output::Status {
            frame,
            radio,
            outcome,
            tries,
            kept,
        } => format!("{now} status {frame} {radio} {outcome:?} {tries:?} {kept}"),
        Output::Released { frame } => format!("{now} released {frame}"),
        Output::Aired(aired) => format!(
            "{now} aired {} {} {:?} {} {:?} {} {} {} {} {} {:?}",
            aired.at,
            aired.from,
            aired.to,
            aired.kind.name(),
            aired.frame,
            aired.bytes,
            aired.rate_mbps,
            aired.attempt,
            aired.reserve,
            aired.fate.name(),
            aired.signal_dbm
        ),
        Output::Exhausted { radio, at } => format!("{now} exhausted {radio} {at}"),
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

/// Every model, by the standard's rules and by ns-2's.
#[test]
fn everything_told_stays_as_it_was() {
    let ns2 = |params: Params| Params {
        cumulative_interference: false,
        always_backoff: true,
        ns2_reception: true,
        ..params
    };
    let noisy = Params {
        reception: Reception::ErrorRate,
        noise_dbm: Some(-90.0),
        fading: Fading::Nakagami { m: 1.5 },
        shadowing_db: 4.0,
        ..params(false)
    };
    let tired = Params {
        energy: Energy {
            tx_w: 1.3,
            rx_w: 0.9,
            idle_w: 0.7,
            sleep_w: 0.05,
            battery_j: Some(6.5),
        },
        nic: Nic {
            tx_ring: 3,
            rx_service_mbps: 1.0,
            rx_buffer_packets: 2,
        },
        routing_priority: true,
        ..params(false)
    };
    let changing = Params {
        capture_later: true,
        kernel_retries: true,
        noise_dbm: Some(-95.0),
        overhear: false,
        ..params(false)
    };
    let mut found = Vec::new();
    for kind in [params(false), noisy, tired, changing] {
        for moving in [false, true] {
            found.push(full_digest(kind.clone(), moving));
            found.push(full_digest(ns2(kind.clone()), moving));
        }
    }
    let kept = [
        "38934acb096a9c9b",
        "b72fcb53d87203a0",
        "8b2ac24e489f60f0",
        "f5797e28427698c0",
        "9e7f7f0c53ee5334",
        "8e9712031c662241",
        "6af1ae04e361bc77",
        "a7fbf3ae470b67ba",
        "aaafb6b121863c9a",
        "ff958808ea04aec8",
        "0a223bf0a1c2e00e",
        "6c42b295834d4a2c",
        "443bf57e3449f806",
        "73afa80bd956ec54",
        "b16f2822e126ab52",
        "4fa85adf085e500f",
    ];
    assert_eq!(found, kept);
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Seeded runs whose every decision is hashed. A change of the engine that moves one of them is a
//! mistake, or it changes every result that users have kept.

use hoplab_medium_core::{
    Attempts, Class, Cost, Dbm, Duration, Energy, Fading, Frame, Instant, LossModel, LossRule,
    Medium, Nic, Output, Params, Position, RadioId, Rate, Reception, Rules, Station, Stream, To,
    Waypoint,
};
use sha2::{Digest, Sha256};

fn params(ns2: bool) -> Params {
    Params {
        seed: 7,
        rules: if ns2 { Rules::Ns2 } else { Rules::Standard },
        queue_packets: 5,
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
    play(
        params,
        moving,
        (Medium::overheard, false),
        |told| match told {
            Told::Output(now, output) => hash.update(decision(now, *output).unwrap_or_default()),
            Told::Wake(_) => {}
        },
    );
    short(hash)
}

/// Digest of everything that the engine reports. It has what was on the air, its power and its
/// fate, and all counters of radios and links at the end.
fn full_digest(params: Params, moving: bool, wrap: Wrap) -> String {
    let mut hash = Sha256::new();
    let medium = play(params, moving, (wrap, true), |told| match told {
        Told::Output(now, output) => hash.update(everything(now, *output)),
        Told::Wake(at) => hash.update(format!("wake {:?}", at.map(Instant::as_nanos))),
    });
    for radio in 0..12 {
        let counters = medium.counters(RadioId::new(radio));
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
        hash.update(format!(
            "{radio} {counts:?} {:?}",
            // Without aggregates the kinds that come after these are not on the air.
            &counters.airtime.map(Duration::as_nanos)[..6]
        ));
        let times = [times.tx, times.rx, times.idle, times.sleep].map(Duration::as_nanos);
        let spent = medium.joules(RadioId::new(radio));
        let joules = [spent.tx, spent.rx, spent.idle, spent.sleep];
        hash.update(format!("{times:?} {joules:.6?}"));
        for view in medium.links(RadioId::new(radio)) {
            let (to, link, signals) = (view.to, view.counters, view.signals);
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
            let mean_dbm = link.mean_dbm();
            hash.update(format!("{radio} {to} {fates:?} {mean_dbm:.6}"));
            for histogram in [&signals.signal, &signals.noise] {
                for bin in histogram.bins() {
                    hash.update(format!("{:?}", (bin.dbm, bin.count)));
                }
            }
        }
    }
    hash.update(format!("{}", medium.handled()));
    short(hash)
}

enum Told {
    Output(Instant, Box<Output>),
    /// What [`Medium::next_output`] says after an input.
    Wake(Option<Instant>),
}

/// What a medium is wrapped in.
type Wrap = fn(Medium) -> Medium;

/// Twelve stations, some of them moving, one of them off for a while, under random load.
fn play(
    params: Params,
    moving: bool,
    (wrap, off): (Wrap, bool),
    mut tell: impl FnMut(Told),
) -> Medium {
    let stations = (0..12u64)
        .map(|i| {
            let (x, y) = ((i % 4) as f64 * 190.0, (i / 4) as f64 * 170.0);
            let mut station = Station::at(&format!("n{i}"), Position::new(x, y));
            if moving && i % 3 == 0 {
                let mut point = |s, place| station.waypoints.push(Waypoint::new(second(s), place));
                point(1, Position::new(x, y));
                point(9, Position::new(x + 300.0, y - 100.0));
            }
            station
        })
        .collect();
    let losses = vec![
        LossRule::always(
            Some(RadioId::new(1)),
            None,
            LossModel::Uniform { rate: 0.2 },
        ),
        LossRule::always(
            None,
            Some(RadioId::new(4)),
            LossModel::GilbertElliott {
                to_bad: 0.1,
                to_good: 0.3,
                good: 0.01,
                bad: 0.8,
                is_bad: false,
            },
        ),
    ];
    let mut medium = wrap(Medium::new(params, stations, losses));
    let mut random = Stream::new(3, "load");
    if off {
        medium.schedule_power(second(3), RadioId::new(5), false);
        medium.schedule_power(second(4), RadioId::new(5), true);
    }
    let mut id = 0u64;
    let mut now = Instant::ZERO;
    while now < second(10) {
        let input = now + Duration::from_nanos(random.below(4_000_000).into());
        while let Some(next) = medium.next_deadline().filter(|next| *next <= input) {
            medium.advance(next);
            take(&mut medium, next, &mut tell);
        }
        now = input;
        medium.advance(now);
        id += 1;
        let from = random.below(12) as usize;
        let to = match random.below(8) {
            0 => To::Everyone,
            1 => To::Nobody,
            _ => To::Radio(RadioId::new((from + 1 + random.below(11) as usize) % 12)),
        };
        let rates = vec![
            Attempts {
                rate: Rate::CCK_11,
                tries: 2,
                rts: random.below(3) == 0,
            },
            Attempts {
                rate: Rate::DSSS_2,
                tries: 3,
                rts: random.below(2) == 0,
            },
        ];
        let bytes = 60 + random.below(1400) as usize;
        medium.enqueue(
            RadioId::new(from),
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
                tid: None,
                numbered: None,
            },
        );
        take(&mut medium, now, &mut tell);
        tell(Told::Wake(medium.next_output()));
    }
    medium
}

fn second(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

fn take(medium: &mut Medium, now: Instant, tell: &mut impl FnMut(Told)) {
    while let Some(output) = medium.poll_output() {
        tell(Told::Output(now, Box::new(output)));
    }
}

fn decision(now: Instant, output: Output) -> Option<String> {
    let now = now.as_nanos();
    match output {
        Output::Deliver {
            frame,
            from,
            to,
            rate,
            ..
        } => Some(format!("{now} deliver {frame} {from} {to} {}", rate.mbps())),
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

fn everything(now: Instant, output: Output) -> String {
    let now = now.as_nanos();
    match output {
        Output::Deliver {
            frame,
            from,
            to,
            signal_dbm,
            rate,
        } => {
            let mbps = rate.mbps();
            format!("{now} deliver {frame} {from} {to} {signal_dbm:.6} {mbps}")
        }
        Output::Status {
            frame,
            radio,
            outcome,
            tries,
            kept,
            ..
        } => format!("{now} status {frame} {radio} {outcome:?} {tries:?} {kept}"),
        Output::Released { frame } => format!("{now} released {frame}"),
        Output::Aired(aired) => format!(
            "{now} aired {} {} {:?} {} {:?} {} {} {} {} {} {:.6?}",
            aired.at.as_nanos(),
            aired.from,
            aired.to,
            aired.kind.name(),
            aired.frame,
            aired.bytes,
            aired.rate.mbps(),
            aired.attempt,
            aired.nav.as_nanos(),
            aired.fate.name(),
            aired.signal_dbm
        ),
        Output::Exhausted { radio, at } => format!("{now} exhausted {radio} {}", at.as_nanos()),
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
        "081da8c967533424",
        "6e311c1372d4dec9",
        "3bbc6008e4b6e773",
        "0bc8a04e26515b56",
    ];
    assert_eq!(found, kept);
}

/// Every model, by the standard's rules and by ns-2's.
#[test]
fn everything_told_stays_as_it_was() {
    let ns2 = |params: Params| Params {
        rules: Rules::Ns2,
        ..params
    };
    let noisy = Params {
        reception: Reception::ErrorRate,
        noise_dbm: Some(Dbm(-90.0)),
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
            rx: Cost {
                frame_us: 0.0,
                mbps: 1.0,
            },
            rx_buffer_packets: 2,
            ..Nic::default()
        },
        routing_priority: true,
        ..params(false)
    };
    let changing = Params {
        capture_later: true,
        kernel_retries: true,
        noise_dbm: Some(Dbm(-95.0)),
        ..params(false)
    };
    let mut found = Vec::new();
    let overheard: Wrap = |medium| medium.traced().overheard();
    for (kind, wrap) in [
        (params(false), overheard),
        (noisy, overheard),
        (tired, overheard),
        (changing, Medium::traced),
    ] {
        for moving in [false, true] {
            found.push(full_digest(kind.clone(), moving, wrap));
            found.push(full_digest(ns2(kind.clone()), moving, wrap));
        }
    }
    let kept = [
        "d4c5be71770614ae",
        "7b75c6d9b25ea532",
        "e8a4efc1ade7cdfb",
        "67b4d53a1ae38b02",
        "5ddc99a8c9071349",
        "9cca6c72f1e64c1a",
        "3708b1918c45211e",
        "e86b34669d024cdd",
        "00f067b201774d65",
        "d289d3009bf4fc0b",
        "55dc50ebab75b41e",
        "fc88faf1ff6cb27c",
        "d65e118c9b97fb53",
        "e3cd64d15f45b1b6",
        "66cc594c20754ade",
        "531d8fe00178906e",
    ];
    assert_eq!(found, kept);
}

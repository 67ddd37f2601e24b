// SPDX-License-Identifier: Apache-2.0
//! The engine against closed formulae.

use hoplab_medium_core::{Class, Frame, Medium, Output, Params, Station, To};

fn params() -> Params {
    Params::default()
}

fn at(name: &str, x_m: f64) -> Station {
    Station {
        name: name.into(),
        waypoints: vec![(0, x_m, 0.0)],
    }
}

fn frame(id: u64, to: To, rate: f64, rts: bool) -> Frame {
    Frame {
        id,
        to,
        bytes: 1536,
        rates: vec![(rate, 7, rts)],
        class: Class::Data,
        routing: false,
    }
}

/// Keep every sender's queue filled for `seconds`; returns (delivered, acked) frames.
fn saturate(
    medium: &mut Medium,
    senders: &[(usize, usize)],
    seconds: u64,
    rts: bool,
) -> (u64, u64) {
    let (mut id, mut delivered, mut acked) = (0, 0, 0);
    for &(from, to) in senders {
        for _ in 0..2 {
            id += 1;
            medium.enqueue(from, frame(id, To::Radio(to), 2.0, rts));
        }
    }
    while let Some(next) = medium
        .next_deadline()
        .filter(|next| *next < seconds * 1_000_000_000)
    {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Deliver { .. } => delivered += 1,
                Output::Status { radio, outcome, .. } => {
                    acked += u64::from(outcome.succeeded());
                    id += 1;
                    let to = senders.iter().find(|s| s.0 == radio).map_or(0, |s| s.1);
                    medium.enqueue(radio, frame(id, To::Radio(to), 2.0, rts));
                }
                _ => {}
            }
        }
    }
    (delivered, acked)
}

/// Jun, Peddabachagari, Sichitiu 2003: DIFS + mean backoff + exchange, no collisions.
#[test]
fn one_sender_reaches_the_theoretical_maximum() {
    for rts in [false, true] {
        let mut medium = Medium::new(params(), vec![at("a", 0.0), at("b", 100.0)], vec![]);
        let (delivered, acked) = saturate(&mut medium, &[(0, 1)], 60, rts);
        assert_eq!(delivered, acked);
        let (plcp, sifs) = (192.0, 10.0);
        let control = |bytes: f64| plcp + bytes * 8.0;
        let data = plcp + 1536.0 * 8.0 / 2.0;
        let handshake = if rts {
            control(20.0) + control(14.0) + 2.0 * sifs
        } else {
            0.0
        };
        let cycle = 50.0 + 15.5 * 20.0 + handshake + data + sifs + control(14.0);
        let expected = 60e6 / cycle;
        let deviation = (delivered as f64 / expected - 1.0).abs();
        assert!(
            deviation < 0.015,
            "rts {rts}: {delivered} frames, theory {expected:.0}"
        );
    }
}

/// Bianchi 2000, equations 7 and 9: fixed point of tau and p; throughput from them.
fn bianchi(n: f64) -> (f64, f64) {
    let (w, m) = (32.0, 5.0);
    let tau = |p: f64| {
        2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0f64 * p).powf(m)))
    };
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..200 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - tau(p)).powf(n - 1.0) > p {
            low = p
        } else {
            high = p
        }
    }
    let p = (low + high) / 2.0;
    let t = tau(p);
    let ptr = 1.0 - (1.0 - t).powf(n);
    let ps = n * t * (1.0 - t).powf(n - 1.0) / ptr;
    let data = 192.0 + 1536.0 * 8.0 / 2.0;
    let success = data + 10.0 + 192.0 + 112.0 + 50.0;
    // The sender waits for the ACK's time and a slot; the others for EIFS: the same length.
    let collision = data + 10.0 + 192.0 + 112.0 + 50.0;
    let slot = (1.0 - ptr) * 20.0 + ptr * ps * success + ptr * (1.0 - ps) * collision;
    (ptr * ps / slot * 1e6, p)
}

#[test]
fn saturated_stations_follow_bianchi() {
    for n in [5usize, 10, 20] {
        let stations = (0..=n)
            .map(|i| at(&format!("s{i}"), 0.1 * i as f64))
            .collect();
        let mut shared = params();
        shared.retry_short = 1000;
        shared.capture_db = 1000.0;
        let mut medium = Medium::new(shared, stations, vec![]);
        let senders: Vec<_> = (1..=n).map(|i| (i, 0)).collect();
        let (delivered, _) = saturate(&mut medium, &senders, 120, false);
        let (expected, _) = bianchi(n as f64);
        let measured = delivered as f64 / 120.0;
        let deviation = (measured / expected - 1.0).abs();
        assert!(
            deviation < 0.03,
            "n {n}: {measured:.1} frames/s, Bianchi {expected:.1}"
        );
    }
}

#[test]
fn rts_helps_hidden_terminals() {
    let goodput = |rts| {
        let mut shared = params();
        shared.cs_threshold_dbm = shared.rx_threshold_dbm;
        let stations = vec![at("a", 0.0), at("b", 200.0), at("c", 400.0)];
        let mut medium = Medium::new(shared, stations, vec![]);
        saturate(&mut medium, &[(0, 1), (2, 1)], 60, rts).0
    };
    assert!(goodput(true) as f64 > 1.5 * goodput(false) as f64);
}

#[test]
fn every_frame_has_one_status() {
    let stations = (0..6)
        .map(|i| at(&format!("s{i}"), 180.0 * f64::from(i)))
        .collect();
    let mut medium = Medium::new(params(), stations, vec![]);
    let mut open = std::collections::BTreeSet::new();
    for id in 0..600u64 {
        medium.advance(id * 3_000_000);
        let from = (id % 6) as usize;
        let to = match id % 7 {
            0 => To::Everyone,
            1 => To::Nobody,
            k => To::Radio((from + k as usize - 1) % 6),
        };
        open.insert(id);
        medium.enqueue(from, frame(id, to, 2.0, id % 2 == 0));
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Status { frame, .. } => {
                    assert!(open.remove(&frame), "second status of frame {frame}");
                }
                Output::Deliver { frame, .. } => {
                    assert!(
                        open.contains(&frame),
                        "frame {frame} delivered after its status"
                    );
                }
                _ => {}
            }
        }
    }
    medium.advance(100_000_000_000);
    while let Some(output) = medium.poll_output() {
        match output {
            Output::Status { frame, .. } => {
                assert!(open.remove(&frame), "second status of frame {frame}");
            }
            Output::Deliver { frame, .. } => {
                assert!(
                    open.contains(&frame),
                    "frame {frame} delivered after its status"
                );
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "frames without status: {open:?}");
}

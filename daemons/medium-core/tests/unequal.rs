// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hosts of unequal power and cards of unequal size, and a radio without acknowledgements, against
//! numbers worked out by hand and against Bianchi's model.

use crate::common::{after, at, frame, link, saturate, Done, Load, SECOND};
use hoplab_medium_core::{
    AirKind, Cost, Dbm, Duration, Medium, Nic, Outcome, Output, Params, Position, RadioId, Rate,
    Station, To,
};

const BYTES: usize = 1000;
const SECONDS: u64 = 60;
/// DIFS, a slot, and the longest first backoff of DSSS.
const DIFS_US: f64 = 50.0;
const SLOT_US: f64 = 20.0;
const MAX_SLOTS: u32 = 31;
/// Preamble and header at 1 Mbit/s, the frame at 2 Mbit/s.
const DATA_US: f64 = 192.0 + 4.0 * BYTES as f64;
/// From one frame to the next of a radio that always has one: 15.5 slots in the mean.
const CYCLE_US: f64 = DIFS_US + 15.5 * SLOT_US + DATA_US;

fn cost(frame_us: f64, mbps: f64) -> Cost {
    Cost { frame_us, mbps }
}

/// A radio without acknowledgements: a, b and so on, 10 m apart.
fn radios(count: usize) -> Medium {
    let params = Params {
        no_ack: true,
        capture_db: 1000.0,
        queue_packets: 1000,
        ..Params::default()
    };
    let stations: Vec<Station> = (0..count)
        .map(|i| at(&format!("s{i}"), 10.0 * i as f64))
        .collect();
    Medium::new(params, stations, vec![])
}

fn one_sender(medium: &mut Medium) -> Done {
    let load = Load {
        bytes: BYTES,
        rate: Rate::DSSS_2,
        rts: false,
    };
    saturate(medium, &[(0, 1)], SECONDS, load)[0]
}

fn near(found: f64, expected: f64, part: f64) {
    assert!(
        (found / expected - 1.0).abs() < part,
        "{found} instead of {expected}"
    );
}

#[test]
fn a_slow_host_sends_as_fast_as_it_can() {
    // 800 us a frame and 8000 bits at 1 Mbit/s are 8.8 ms, more than the channel takes.
    let mut medium = radios(2);
    medium.equip(
        RadioId::new(0),
        Nic {
            tx: cost(800.0, 1.0),
            ..Nic::default()
        },
    );
    let done = one_sender(&mut medium);
    let expected = SECONDS as f64 * 1e6 / 8800.0;
    assert!((done.delivered as f64 - expected).abs() < 1.5, "{done:?}");
    // The other one's card stayed that of all.
    let mut medium = radios(2);
    medium.equip(
        RadioId::new(1),
        Nic {
            tx: cost(800.0, 1.0),
            ..Nic::default()
        },
    );
    let done = one_sender(&mut medium);
    near(
        done.delivered as f64,
        SECONDS as f64 * 1e6 / CYCLE_US,
        0.005,
    );
}

/// Mean time from frame to frame with a card of so many buffers that take `load_us` to fill.
fn cycle_us(tx_ring: usize, load_us: f64) -> f64 {
    let mut medium = radios(2);
    medium.equip(
        RadioId::new(0),
        Nic {
            tx_ring,
            load: cost(load_us, 0.0),
            ..Nic::default()
        },
    );
    SECONDS as f64 * 1e6 / one_sender(&mut medium).delivered as f64
}

#[test]
fn a_card_with_one_buffer_leaves_gaps() {
    for load_us in [100.0, 400.0, 1000.0] {
        // The channel's wait runs while the host fills the buffer; the longer of the two counts.
        let waits = (0..=MAX_SLOTS).map(|slots| DIFS_US + SLOT_US * f64::from(slots));
        let gap_us = waits.map(|wait| wait.max(load_us)).sum::<f64>() / f64::from(MAX_SLOTS + 1);
        near(cycle_us(1, load_us), gap_us + DATA_US, 0.005);
        // With a second one it is filled while the first is on the air.
        near(cycle_us(2, load_us), CYCLE_US, 0.005);
    }
    // What takes longer to fill than to send is what counts with any number of buffers.
    near(cycle_us(3, 6000.0), 6000.0, 0.001);
}

/// Frames that a host has for its card at once: what becomes of them.
fn burst(nic: Nic, frames: u64) -> (u64, u64, Medium) {
    let mut medium = radios(2);
    medium.equip(RadioId::new(0), nic);
    for id in 1..=frames {
        medium.enqueue(
            RadioId::new(0),
            frame(id, To::Radio(RadioId::new(1)), BYTES, 2.0, false),
        );
    }
    medium.advance(after(SECONDS * SECOND));
    let (mut sent, mut refused) = (0, 0);
    while let Some(output) = medium.poll_output() {
        if let Output::Status { outcome, .. } = output {
            sent += u64::from(outcome == Outcome::Sent);
            refused += u64::from(outcome == Outcome::QueueFull);
        }
    }
    (sent, refused, medium)
}

#[test]
fn what_finds_no_buffer_never_leaves_the_sender() {
    // The host makes a frame ready every 4.6 ms; a card with one buffer takes 1 ms + 4.192 ms.
    let nic = Nic {
        tx: cost(4600.0, 0.0),
        queue_packets: 8,
        tx_ring: 1,
        load: cost(1000.0, 0.0),
        ..Nic::default()
    };
    let (sent, refused, medium) = burst(nic, 5000);
    let cycle_us = 1000.0 + DATA_US;
    let expected = 5000.0 * 4600.0 / cycle_us + 9.0;
    assert!((sent as f64 - expected).abs() <= 3.0, "{sent} {expected}");
    assert_eq!(sent + refused, 5000);
    // They cost no time on the air, and the receiver has every one that was sent.
    let counters = medium.counters(RadioId::new(0));
    assert_eq!((counters.tx_frames, counters.queue_full), (sent, refused));
    assert_eq!(medium.counters(RadioId::new(1)).rx_frames, sent);
    assert!(medium.audit().holds());
    // With a card of many buffers the same host is slower than the channel, and loses nothing.
    let nic = Nic { tx_ring: 16, ..nic };
    let (sent, refused, _) = burst(nic, 5000);
    assert_eq!((sent, refused), (5000, 0));
}

#[test]
fn a_host_that_is_a_little_slower_than_the_channel_loses_the_difference() {
    // 1 % slower, and room for 20 frames: of n frames it loses n (1 - 1 / 1.01) - 20.
    let mut medium = radios(2);
    let rx_buffer_packets = 20;
    medium.equip(
        RadioId::new(1),
        Nic {
            rx: cost(1.01 * CYCLE_US - 2000.0, 4.0),
            rx_buffer_packets,
            ..Nic::default()
        },
    );
    one_sender(&mut medium);
    let sent = medium.counters(RadioId::new(1)).rx_frames as f64;
    let lost = medium.counters(RadioId::new(1)).rx_overrun as f64;
    let expected = sent * (1.0 - 1.0 / 1.01) - rx_buffer_packets as f64;
    // The backoffs' sum strays by 185 us times the root of their number.
    let stray = 3.0 * 185.0 * sent.sqrt() / CYCLE_US;
    assert!((lost - expected).abs() < stray, "{lost} {expected} {stray}");
    // Equal hosts: what the one sends the other takes.
    let equal = Nic {
        tx: cost(1.01 * CYCLE_US, 0.0),
        rx: cost(1.01 * CYCLE_US, 0.0),
        rx_buffer_packets,
        ..Nic::default()
    };
    let mut medium = radios(2);
    medium.equip(RadioId::new(0), equal);
    medium.equip(RadioId::new(1), equal);
    one_sender(&mut medium);
    assert_eq!(medium.counters(RadioId::new(1)).rx_overrun, 0);
}

/// Share of the frames of `count` saturated stations that collide at their receiver.
fn collided(count: usize) -> (f64, Medium) {
    let mut medium = radios(count + 1);
    let pairs: Vec<_> = (1..=count).map(|i| (i, 0)).collect();
    let load = Load {
        bytes: BYTES,
        rate: Rate::DSSS_2,
        rts: false,
    };
    saturate(&mut medium, &pairs, 25 * SECONDS, load);
    let links = (1..=count).map(|i| medium.link(link(i, 0)));
    let (frames, lost) = links.fold((0, 0), |(frames, lost), link| {
        (frames + link.frames, lost + link.frames - link.delivered)
    });
    (lost as f64 / frames as f64, medium)
}

/// Without acknowledgements no station learns of a collision. So the window W stays at 1 + CWmin
/// (Bianchi 2000 with m = 0: tau = 2 / (W + 1), p = 1 - (1 - tau)^(n - 1)). One frame in W draws 0.
/// It follows its station's last one in a slot that nobody else counts (Tinnirello, Bianchi, Xiao
/// 2010). The others draw 1 to W - 1, so that tau = 2 / W in the slots that all count.
#[test]
fn collisions_that_nobody_detects_are_as_frequent_as_bianchi_says() {
    for count in [2, 5, 10] {
        let (found, medium) = collided(count);
        let window = f64::from(MAX_SLOTS) + 1.0;
        let p = |tau: f64| 1.0 - (1.0 - tau).powi(count as i32 - 1);
        let bianchi = p(2.0 / (window + 1.0));
        let expected = p(2.0 / window) * (1.0 - 1.0 / window);
        println!("{count} stations: {found:.4}, model {expected:.4}, Bianchi {bianchi:.4}");
        // 10 000 collisions of two frames each: three standard deviations are 3 %.
        near(found, expected, 0.03);
        for radio in 0..=count {
            let counters = medium.counters(RadioId::new(radio));
            assert_eq!((counters.retries, counters.retry_limit), (0, 0));
            assert_eq!(counters.airtime[AirKind::Ack as usize], Duration::ZERO);
        }
        // Every sender got a success all the same.
        let audit = medium.audit();
        assert_eq!(audit.finished(), audit.sent);
    }
}

/// Mean and standard deviation of the levels in a histogram, in the middle of their bins.
fn moments(bins: impl Iterator<Item = hoplab_medium_core::Bin>) -> (f64, f64) {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for bin in bins {
        let (dbm, count) = (f64::from(bin.dbm) + 0.5, f64::from(bin.count));
        n += count;
        sum += count * dbm;
        squares += count * dbm * dbm;
    }
    let mean = sum / n;
    (mean, (squares / n - mean * mean).sqrt())
}

#[test]
fn cards_misread_levels_by_what_is_said() {
    let play = |wrap: fn(Medium) -> Medium| {
        let params = Params {
            no_ack: true,
            noise_dbm: Some(Dbm(-90.0)),
            ..Params::default()
        };
        let stations = vec![
            Station::at("a", Position::new(0.0, 0.0)),
            Station::at("b", Position::new(100.0, 0.0)),
        ];
        let mut medium = wrap(Medium::new(params, stations, vec![]));
        let done = one_sender(&mut medium);
        (done.delivered, medium)
    };
    let (delivered, medium) = play(|medium| medium.misread(2.0));
    let link = medium.links(RadioId::new(0)).next().expect("frames went");
    let signals = link.signals;
    let exact = link.counters.mean_dbm();
    for (histogram, level) in [(&signals.signal, exact), (&signals.noise, Dbm(-90.0))] {
        let (mean, deviation) = moments(histogram.bins());
        // A bin of 1 dB adds 1/12 dB^2 to the variance.
        near(deviation, (4.0f64 + 1.0 / 12.0).sqrt(), 0.03);
        assert!((Dbm(mean) - level).abs() < 0.08, "{mean} {level}");
    }
    // It is the reading that strays: the fate of no frame hangs on it.
    let (exactly, medium) = play(|medium| medium);
    assert_eq!(delivered, exactly);
    let link = medium.links(RadioId::new(0)).next().expect("frames went");
    let signals = link.signals;
    assert_eq!(signals.signal.bins().count(), 1);
    assert_eq!(signals.noise.bins().count(), 1);
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices with a single radio for several links (EMLSR, IEEE 802.11be-2024 35.3.17).

use std::collections::BTreeMap;

use crate::common::{aggregating, at, data, keep_waiting};
use hoplab_medium_core::{
    AirKind, Aired, Duration, Emlsr, Fate, Frame, FurtherLink, Guard, Instant, Medium, Mhz, Output,
    Params, RadioId, Rate, Standard, To, Width,
};

const SECONDS: u64 = 2;
const OCTETS: usize = 1500;
const AP: usize = 0;
const EMLSR: Emlsr = Emlsr {
    padding: Duration::from_micros(32),
    transition: Duration::from_micros(64),
};
const SIFS_US: f64 = 16.0;
/// aSIFSTime + aSlotTime + aRxPHYStartDelay.
const NEXT_FRAME_US: f64 = 16.0 + 9.0 + 20.0;

fn params(txop_us: u64) -> Params {
    let standard = Standard::Eht {
        signal_extension: false,
    };
    aggregating(standard, 1024, txop_us, Duration::ZERO)
}

fn rate() -> Rate {
    Rate::eht(9, 1, Width::Mhz80, Guard::Ns800).expect("an EHT rate")
}

/// An access point with two links, and so many clients. Those have a single radio if that is given.
fn cell(params: Params, clients: usize, emlsr: Option<Emlsr>) -> Medium {
    let count = 1 + clients;
    let stations = (0..count).map(|i| at(&format!("s{i}"), i as f64));
    let mut medium = Medium::new(params, stations.collect(), vec![]).traced();
    for radio in 0..count {
        medium.place_on(RadioId::new(radio), Mhz(5180));
    }
    for radio in 0..count {
        let link = FurtherLink {
            station: at(&format!("s{radio}/1"), radio as f64),
            channel: Mhz(5340),
            width: Width::Mhz80,
            frequency_mhz: None,
        };
        medium.add_link(RadioId::new(radio), link);
    }
    for client in 1..count {
        if let Some(emlsr) = emlsr {
            medium.make_single(RadioId::new(client), emlsr);
        }
    }
    medium
}

/// All transmissions of a run in which these flows always have something to send.
fn aired(medium: &mut Medium, flows: &[(usize, usize)], end: Instant) -> Vec<Aired> {
    let mut of = BTreeMap::new();
    let mut id = 0;
    let mut send = |medium: &mut Medium, of: &mut BTreeMap<u64, usize>, flow: usize| {
        id += 1;
        of.insert(id, flow);
        let (from, to) = flows[flow];
        let frame = Frame {
            tid: Some(0),
            ..data(id, to, OCTETS, rate())
        };
        medium.enqueue(RadioId::new(from), frame);
    };
    for flow in 0..flows.len() {
        (0..800).for_each(|_| send(medium, &mut of, flow));
    }
    let mut all: Vec<Aired> = Vec::new();
    while let Some(next) = medium.next_deadline().filter(|next| *next < end) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Aired(aired) => all.push(*aired),
                Output::Status { frame, .. } => {
                    let flow = of[&frame];
                    send(medium, &mut of, flow);
                }
                _ => {}
            }
        }
    }
    all.sort_by_key(|one| (one.at, one.until));
    all
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

/// Each TXOP of the access point has a call, its answer, data and theirs. The next one follows when the
/// client listens again: at once, as some link has been idle for long.
#[test]
fn an_exchange_has_the_parts_that_the_standard_gives_it() {
    let mut medium = cell(params(0), 1, Some(EMLSR));
    let all = aired(&mut medium, &[(AP, 1)], Instant(300_000_000));
    let mut exchanges: Vec<Vec<&Aired>> = Vec::new();
    for one in &all {
        if one.kind == AirKind::Trigger {
            exchanges.push(Vec::new());
        }
        let ppdu = exchanges.last_mut().expect("a call comes first");
        if one.place.is_none_or(|place| place.number == 0) {
            ppdu.push(one);
        }
    }
    assert!(exchanges.len() > 2);
    exchanges.pop();
    let kinds = [
        AirKind::Trigger,
        AirKind::Cts,
        AirKind::Data,
        AirKind::BlockAck,
    ];
    for exchange in &exchanges {
        assert!(exchange.iter().map(|one| one.kind).eq(kinds));
        assert!(exchange.iter().all(|one| one.fate == Fate::Delivered));
        assert!(exchange.iter().all(|one| one.link == exchange[0].link));
        for pair in exchange.windows(2) {
            assert_eq!(us(pair[1].at.since(pair[0].until)), SIFS_US);
        }
        // An MU-RTS for one station (9.3.1.22.5) with 32 us of padding at 24 Mbit/s.
        assert_eq!(exchange[0].bytes, 28 + 5 + 5 + 96);
        assert_eq!(exchange[0].rate, Rate::OFDM_24);
        assert_eq!(exchange[1].rate, Rate::OFDM_6);
        let left = exchange[3].until.since(exchange[0].until);
        assert_eq!(exchange[0].nav, left);
    }
    for pair in exchanges.windows(2) {
        let pause = us(pair[1][0].at.since(pair[0][3].until));
        assert_eq!(pause, NEXT_FRAME_US + us(EMLSR.transition));
    }
    assert!([0, 1]
        .iter()
        .all(|link| exchanges.iter().any(|one| one[0].link == *link)));
}

/// In a TXOP with several exchanges the client is called once.
#[test]
fn a_txop_calls_once() {
    let mut params = params(2528);
    if let Some(aggregation) = params
        .edca
        .as_mut()
        .and_then(|edca| edca.aggregation.as_mut())
    {
        aggregation.octets = 20_000;
    }
    let mut medium = cell(params, 1, Some(EMLSR));
    let all = aired(&mut medium, &[(AP, 1)], Instant(50_000_000));
    let count = |kind| {
        let of_kind = all.iter().filter(|one| one.kind == kind);
        of_kind
            .filter(|one| one.place.is_none_or(|place| place.number == 0))
            .count()
    };
    let calls = count(AirKind::Trigger);
    assert!(calls > 5);
    assert!(
        count(AirKind::Data) > calls,
        "TXOPs have more than one exchange"
    );
    assert_eq!(count(AirKind::Cts), calls);
}

/// Two clients send and receive on both links. None of them is ever on both at once.
#[test]
fn one_radio_is_on_one_link() {
    let flows = [(AP, 1), (1, AP), (AP, 2), (2, AP)];
    let mut medium = cell(params(2528), 2, Some(EMLSR));
    let all = aired(&mut medium, &flows, Instant(500_000_000));
    for client in [1, 2].map(RadioId::new) {
        let sent = all.iter().filter(|one| one.from == client);
        let received = all
            .iter()
            .filter(|one| one.to == To::Radio(client) && one.fate == Fate::Delivered);
        let mut busy: Vec<&Aired> = sent.chain(received).collect();
        busy.sort_by_key(|one| (one.at, one.until));
        assert!(busy.iter().any(|one| one.link == 0) && busy.iter().any(|one| one.link == 1));
        for pair in busy.windows(2) {
            let apart = pair[1].at >= pair[0].until;
            assert!(apart || pair[0].link == pair[1].link, "{pair:?}");
        }
    }
    let delivered = |from: usize, to: usize| {
        let to = To::Radio(RadioId::new(to));
        let of = |one: &&Aired| one.from == RadioId::new(from) && one.to == to;
        all.iter()
            .filter(of)
            .filter(|one| one.kind == AirKind::Data)
            .count()
    };
    assert!(flows.iter().all(|(from, to)| delivered(*from, *to) > 100));
}

/// The links of a single radio are as long in some state as one radio is.
#[test]
fn times_are_those_of_one_radio() {
    let mut medium = cell(params(0), 1, Some(EMLSR));
    let end = Instant(100_000_000);
    aired(&mut medium, &[(AP, 1), (1, AP)], end);
    medium.advance(end);
    let whole = |radio| {
        let times = medium.counters(RadioId::new(radio)).times;
        us(times.tx + times.rx + times.idle + times.sleep)
    };
    assert!(
        (whole(1) - us(end.since(Instant::ZERO))).abs() < 1.0,
        "{}",
        whole(1)
    );
    assert_eq!(whole(AP), 2.0 * us(end.since(Instant::ZERO)));
}

/// A link that was deaf begins by an RTS, as it does not know the NAV.
#[test]
fn a_link_that_was_deaf_for_long_begins_by_an_rts() {
    let mut medium = cell(params(0), 1, Some(EMLSR));
    let all = aired(&mut medium, &[(1, AP)], Instant(200_000_000));
    let first: Vec<&Aired> = all
        .iter()
        .filter(|one| one.from == RadioId::new(1))
        .filter(|one| one.place.is_none_or(|place| place.number == 0))
        .collect();
    let (mut on, mut changes) = (first[0].link, 0);
    for one in &first {
        let changed = core::mem::replace(&mut on, one.link) != one.link;
        changes += usize::from(changed);
        let expected = if changed { AirKind::Rts } else { one.kind };
        assert_eq!(one.kind, expected);
    }
    assert!(changes > 5, "{changes}");
}

/// With one link at a time a device carries what one link does, less the calls.
#[test]
fn a_single_radio_carries_what_one_link_does() {
    let flows = [(AP, 1, 0)];
    let mbps = |medium: &mut Medium| {
        let done = keep_waiting(medium, &flows, (OCTETS, rate()), SECONDS);
        done[0] as f64 * 8.0 * OCTETS as f64 / SECONDS as f64 / 1e6
    };
    let both = mbps(&mut cell(params(0), 1, None));
    let single = mbps(&mut cell(params(0), 1, Some(EMLSR)));
    println!("two radios {both:.1}, a single one {single:.1} Mbit/s");
    assert!(single > 0.45 * both && single < 0.52 * both);
}

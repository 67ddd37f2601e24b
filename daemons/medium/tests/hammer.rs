// SPDX-License-Identifier: Apache-2.0
//! Many mutated netlink messages and 802.11 frames against the parsers, and what parses against the
//! engine, without a fuzzing compiler. `HOPLAB_FUZZ_INPUTS` sets how many (default 200 000).

use hoplab_channel::dot11;
use hoplab_medium::port::messages::{self, Message};
use hoplab_medium_core::{
    Attempts, Class, Duration, Frame, Instant, Medium, Params, Position, RadioId, Rate, Station,
    Stream, To,
};
use hoplab_wire::ieee80211::on_air;

fn inputs() -> u64 {
    let text = std::env::var("HOPLAB_FUZZ_INPUTS").unwrap_or_else(|_| "200000".into());
    text.parse()
        .expect("HOPLAB_FUZZ_INPUTS: expected a number of inputs")
}

fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend((value.len() as u16 + 4).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// A frame whose fields are plausible more often than chance allows.
fn frame(random: &mut Stream) -> Vec<u8> {
    let mut pick = |choices: &[u8]| choices[random.below(choices.len() as u32) as usize];
    let mut frame = vec![
        pick(&[0x08, 0x88, 0x80, 0x40, 0xd4]),
        pick(&[0, 1, 3, 0x40]),
    ];
    frame.extend([0, 0, pick(&[2, 0xff]), 0, 0, 0, 0, pick(&[1, 2, 9])]);
    frame.resize(24, 0);
    frame.extend([0xaa, 0xaa, 3, 0, 0, 0]);
    frame.extend([pick(&[0x08, 0x86, 0x43]), pick(&[0, 0xdd, 5])]);
    frame.extend([
        pick(&[0x45, 0x4f, 0x60]),
        0,
        0,
        0,
        0,
        0,
        pick(&[17, 48]),
        0,
        1,
    ]);
    frame.push(pick(&[17, 48, 6]));
    for _ in 0..random.below(40) {
        frame.push(random.below(256) as u8);
    }
    frame
}

fn message(random: &mut Stream) -> Vec<u8> {
    let mut body = vec![
        [2u8, 2, 2, 2, 2, 2, 3, 1][random.below(8) as usize],
        1,
        0,
        0,
    ];
    let frame = frame(random);
    let cookie = u64::from(random.below(1000));
    let rates: Vec<u8> = (0..8).map(|_| random.below(16) as u8).collect();
    let flags: Vec<u8> = (0..12).map(|_| random.below(4) as u8).collect();
    let address = [[2, 0x42][random.below(2) as usize], 0, 0, 0, 0, 1];
    for part in 0..7 {
        // Any of them may be missing.
        if random.below(20) == 0 {
            continue;
        }
        match part {
            0 => attribute(&mut body, 2, &address),
            1 => attribute(&mut body, 3, &frame),
            2 => attribute(&mut body, 4, &random.below(8).to_ne_bytes()),
            3 => attribute(&mut body, 7, &rates),
            4 => attribute(&mut body, 8, &cookie.to_ne_bytes()),
            5 => attribute(&mut body, 19, &2412u32.to_ne_bytes()),
            _ => attribute(&mut body, 21, &flags),
        }
    }
    let kind = [30u16, 30, 30, 30, 30, 30, 2, 16][random.below(8) as usize];
    let mut bytes = Vec::new();
    bytes.extend((body.len() as u32 + 16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0; 10]);
    bytes.extend(body);
    bytes
}

#[test]
fn the_parsers_and_the_engine_survive() {
    let mut random = Stream::new(11, "hammer");
    let stations =
        |_| (0..3).map(|i| Station::at(&format!("n{i}"), Position::new(100.0 * f64::from(i), 0.0)));
    let new = |seed| {
        let params = Params {
            seed,
            ..Params::default()
        };
        Medium::new(params, stations(seed).collect(), vec![])
    };
    let mut medium = new(0);
    let (mut frames, mut now) = (0u64, Instant::ZERO);
    for round in 0..inputs() {
        if round % 5000 == 0 {
            assert!(medium.audit().holds());
            (medium, now) = (new(round), Instant::ZERO);
        }
        let mut bytes = message(&mut random);
        if random.below(2) == 0 {
            bytes.extend(message(&mut random));
        }
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u32) as usize;
            bytes[at] = random.below(256) as u8;
        }
        bytes.truncate(bytes.len() - random.below(2) as usize * random.below(40) as usize);
        for message in messages::parse(&bytes) {
            let Message::Frame(sent) = message else {
                continue;
            };
            frames += 1;
            let header = dot11::parse(sent.frame);
            assert!(on_air(sent.frame, true, 314).is_some());
            let to = match header {
                Some(header) if !header.receiver.is_group() => {
                    To::Radio(RadioId::new(usize::from(header.receiver.0[5]) % 3))
                }
                Some(_) => To::Everyone,
                None => To::Nobody,
            };
            let rates = sent.rates.iter().map(|entry| Attempts {
                rate: Rate::LEGACY[usize::from(entry.index) % 6],
                tries: entry.tries.into(),
                rts: entry.flags & 1 != 0,
            });
            medium.enqueue(
                RadioId::new(random.below(3) as usize),
                Frame {
                    id: frames,
                    to,
                    bytes: sent.frame.len() + 4,
                    rates: rates.collect(),
                    class: header.map_or(Class::Management, |header| header.class),
                    routing: header.is_some_and(|header| header.routing),
                    tid: header.and_then(|header| header.tid),
                    numbered: None,
                },
            );
        }
        now += Duration::from_nanos(random.below(3_000_000).into());
        medium.advance(now);
        assert!(medium.next_deadline().is_none_or(|at| at > now));
        while medium.poll_output().is_some() {}
    }
    assert!(frames * 4 > inputs(), "only {frames} messages were frames");
}

/// Whatever is not a message is counted as malformed, and a message before it still counts.
#[test]
fn malformed_messages_are_told_from_unknown_ones() {
    let mut random = Stream::new(1, "malformed");
    let whole = loop {
        let bytes = message(&mut random);
        if matches!(messages::parse(&bytes)[..], [Message::Frame(_)]) {
            break bytes;
        }
    };
    let mut two = whole.clone();
    two.extend(&whole[..whole.len() / 2]);
    assert!(matches!(
        messages::parse(&two)[..],
        [Message::Frame(_), Message::Malformed]
    ));
    let mut unknown = whole.clone();
    unknown[16] = 77;
    assert_eq!(messages::parse(&unknown), [Message::Unknown]);
    let mut short = whole;
    short[0..4].copy_from_slice(&8u32.to_ne_bytes());
    assert_eq!(messages::parse(&short), [Message::Malformed]);
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Echoes and transactions as their driver sees them.

use hoplab_traffic_core::{
    Draw, Duration, Echoes, End, Instant, Moment, Pinger, Thinking, Turn, Turns, Version,
};

const STEP: Duration = Duration::from_millis(100);
/// What the date is ahead of the clock.
const AHEAD: Duration = Duration::from_secs(1_000);

fn echoes(packets: Option<u64>) -> Echoes {
    Echoes {
        version: Version::V6,
        identifier: 7,
        packets,
        octets: 3,
        interval: STEP,
        timeout: Duration::from_millis(250),
        stop: Instant(0) + Duration::from_secs(1),
    }
}

fn at(ms: u64) -> Instant {
    Instant(0) + Duration::from_millis(ms)
}

fn moment(ms: u64) -> Moment {
    Moment {
        now: at(ms),
        date: at(ms) + AHEAD,
    }
}

/// What the other end's kernel answers.
fn reply(message: &[u8]) -> Vec<u8> {
    let mut reply = message.to_vec();
    reply[0] = 129;
    reply
}

#[test]
fn replies_come_in_any_order_and_once() {
    let mut pinger = Pinger::new(echoes(Some(2)), at(0));
    let first = pinger.poll_echo(moment(0)).unwrap();
    assert_eq!(pinger.poll_echo(moment(99)), None);
    let second = pinger.poll_echo(moment(130)).unwrap();
    assert_eq!(pinger.poll_echo(moment(500)), None, "two in all");
    let came = |ms| at(ms) + AHEAD;
    pinger.handle_reply(came(140), &reply(&second));
    pinger.handle_reply(came(150), &reply(&first));
    pinger.handle_reply(came(160), &reply(&first));
    let rows: Vec<_> = std::iter::from_fn(|| pinger.poll_row()).collect();
    let told: Vec<_> = rows.iter().map(|row| (row.number, row.end)).collect();
    let answered = |ms| End::Answered {
        rtt: Duration::from_millis(ms),
        octets: 3,
    };
    assert_eq!(told, [(2, answered(10)), (1, answered(150))]);
    assert_eq!((rows[0].sent, rows[0].at()), (at(130), at(140)));
    assert_eq!(pinger.next_deadline(), None);
}

#[test]
fn what_nobody_answers_is_given_up() {
    let mut pinger = Pinger::new(echoes(None), at(0));
    for ms in [0, 100, 200] {
        assert_eq!(pinger.next_deadline(), Some(at(ms)));
        pinger.poll_echo(moment(ms)).unwrap();
    }
    assert_eq!(
        pinger.next_deadline(),
        Some(at(250)),
        "the first one's timeout"
    );
    pinger.handle_time(at(260));
    assert_eq!(pinger.next_deadline(), Some(at(300)));
    // Without replies and without sending: at the end, which is the flow's however late it is asked.
    pinger.finish(at(1_200));
    let rows: Vec<_> = std::iter::from_fn(|| pinger.poll_row()).collect();
    let told: Vec<_> = rows.iter().map(|row| (row.number, row.at())).collect();
    assert_eq!(told, [(1, at(260)), (2, at(1_000)), (3, at(1_000))]);
}

#[test]
fn none_is_sent_from_the_stop_on() {
    let mut pinger = Pinger::new(echoes(None), at(0));
    let mut sent = 0;
    while let Some(due) = pinger.next_deadline() {
        let moment = Moment {
            now: due,
            date: due + AHEAD,
        };
        pinger.handle_time(due);
        sent += u32::from(pinger.poll_echo(moment).is_some());
    }
    assert_eq!(sent, 10);
}

#[test]
fn a_reply_of_others_does_not_count() {
    let mut pinger = Pinger::new(echoes(None), at(0));
    let echo = reply(&pinger.poll_echo(moment(0)).unwrap());
    for (place, octet) in [(0, 128), (4, 1), (6, 1), (7, 9)] {
        let mut other = echo.clone();
        other[place] = octet;
        pinger.handle_reply(at(1) + AHEAD, &other);
    }
    pinger.handle_reply(at(1) + AHEAD, &[]);
    assert_eq!(pinger.poll_row(), None);
}

/// Sequence numbers begin anew after 65,535; the echoes keep their numbers.
#[test]
fn numbers_go_on_where_sequence_numbers_wrap() {
    let mut long = echoes(None);
    long.interval = Duration::from_millis(1);
    long.stop = Instant::MAX;
    let mut pinger = Pinger::new(long, at(0));
    let mut last = Vec::new();
    for ms in 0..70_000 {
        last = reply(&pinger.poll_echo(moment(ms)).unwrap());
        pinger.handle_reply(at(ms) + AHEAD, &last);
    }
    assert_eq!(last[6..8], 4463u16.to_be_bytes(), "69,999 less 65,536");
    let last = std::iter::from_fn(|| pinger.poll_row()).last();
    assert_eq!(last.map(|row| row.number), Some(70_000));
}

#[test]
fn both_ends_draw_the_same_sizes() {
    let draw = Draw::Exponential {
        mean: 100.0,
        high: None,
    };
    let turns = |seed| {
        Turns::new(draw, Draw::Fixed { mean: 5.0 }, seed)
            .take(100)
            .collect::<Vec<Turn>>()
    };
    assert_eq!(turns(5), turns(5));
    assert_ne!(turns(5), turns(6));
    assert!(turns(5).iter().all(|turn| turn.response == 5));
    let mut thinking = Thinking::new(Draw::Fixed { mean: 0.25 }, 5);
    assert_eq!(thinking.time(), Duration::from_millis(250));
}

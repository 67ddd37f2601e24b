// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sender and a receiver with a wire of the test's between them, in virtual time.

use hoplab_traffic_core::{Duration, Grid, Header, Instant, Pace, Receiver, Row, Sender, Spacing};

const EPOCH: Instant = Instant(10_000_000_000);
/// Dates are so far from the driver's times.
const TO_DATE: Duration = Duration::from_secs(1_700_000_000);
const OCTETS: usize = 500;
/// 500 octets at 1 Mbit/s.
const INTERVAL: Duration = Duration::from_millis(4);

/// When the datagram of this number arrives that was sent at a time; None if it is lost.
type Wire<'a> = &'a dyn Fn(u32, Instant) -> Option<Instant>;

fn milliseconds(ms: u64) -> Instant {
    EPOCH + Duration::from_millis(ms)
}

fn sender(packets: Option<u64>) -> Sender {
    let spacing = Spacing::Even {
        interval_s: INTERVAL.as_secs_f64(),
    };
    Sender::new(Pace::new(spacing, EPOCH), packets, OCTETS, TO_DATE)
}

fn receiver(end: Instant) -> Receiver {
    Receiver::new(Grid {
        origin: EPOCH + TO_DATE,
        interval: Duration::from_millis(100),
        begin: EPOCH + TO_DATE,
        end: end + TO_DATE,
    })
}

/// The rows of a flow from time 0 until `end`.
fn rows(mut sender: Sender, end: Instant, wire: Wire<'_>) -> Vec<Row> {
    let mut arrivals = Vec::new();
    while let Some(now) = sender.next_deadline().filter(|at| *at < end) {
        let payload = sender.poll_datagram(now).unwrap().to_vec();
        let number = Header::parse(&payload).unwrap().number;
        if let Some(at) = wire(number, now) {
            arrivals.push((at, payload));
        }
    }
    arrivals.sort_by_key(|(at, _)| *at);
    let mut receiver = receiver(end);
    for (at, payload) in arrivals.into_iter().filter(|(at, _)| *at <= end) {
        receiver.handle_datagram(at + TO_DATE, &payload[..12], payload.len());
    }
    receiver.finish(end + TO_DATE);
    std::iter::from_fn(|| receiver.poll_row()).collect()
}

#[test]
fn a_flow_is_at_its_rate_from_its_start() {
    let rows = rows(sender(None), milliseconds(1000), &|_, sent| {
        Some(sent + Duration::from_millis(1))
    });
    let times: Vec<u64> = rows
        .iter()
        .map(|row| row.at.since(EPOCH + TO_DATE).0)
        .collect();
    let expected: Vec<u64> = (1..=10).map(|i| i * 100_000_000).collect();
    assert_eq!(times, expected);
    for (row, i) in rows.iter().zip(1..) {
        assert_eq!(
            (row.received, row.octets, row.lost),
            (25 * i, 12_500 * i, 0)
        );
        let delays = row.delays.unwrap();
        assert_eq!([delays.mean_ms, delays.p50_ms, delays.p99_ms], [1.0; 3]);
        assert_eq!(row.jitter_ms, Some(0.0));
    }
}

#[test]
fn a_lost_datagram_counts_when_a_later_one_comes() {
    let rows = rows(sender(Some(100)), milliseconds(500), &|number, sent| {
        // The second hundred milliseconds are lost whole, and nothing comes after 400 ms.
        (!(26..=50).contains(&number)).then_some(sent + Duration(1))
    });
    let counts: Vec<_> = rows.iter().map(|row| (row.received, row.lost)).collect();
    assert_eq!(counts, [(25, 0), (25, 0), (50, 25), (75, 25), (75, 25)]);
    assert_eq!(rows[1].delays, None, "none came");
    assert_eq!(rows[4].delays, None, "the flow is over");
}

#[test]
fn a_datagram_that_comes_late_is_lost_no_more() {
    let rows = rows(sender(Some(50)), milliseconds(300), &|number, sent| {
        let late = if number == 10 { 150 } else { 1 };
        Some(sent + Duration::from_millis(late))
    });
    let lost: Vec<_> = rows.iter().map(|row| row.lost).collect();
    assert_eq!(lost, [1, 0, 0]);
    assert_eq!(rows[1].delays.unwrap().p99_ms, 150.0);
}

#[test]
fn a_row_has_what_came_by_its_time_however_late_it_is_asked_for() {
    let mut receiver = receiver(milliseconds(1000));
    assert_eq!(receiver.next_deadline(), Some(milliseconds(100) + TO_DATE));
    let payload = Header {
        sent: EPOCH + TO_DATE,
        number: 1,
    }
    .emit();
    receiver.handle_datagram(milliseconds(100) + TO_DATE, &payload, OCTETS);
    assert_eq!(
        receiver.poll_row(),
        None,
        "another may come in the same instant"
    );
    let payload = Header {
        sent: EPOCH + TO_DATE,
        number: 2,
    }
    .emit();
    receiver.handle_datagram(milliseconds(250) + TO_DATE, &payload, OCTETS);
    let received: Vec<_> = std::iter::from_fn(|| receiver.poll_row())
        .map(|row| row.received)
        .collect();
    assert_eq!(received, [1, 1]);
    receiver.finish(milliseconds(260) + TO_DATE);
    let last = receiver.poll_row().unwrap();
    assert_eq!((last.at, last.received), (milliseconds(260) + TO_DATE, 2));
    assert_eq!(receiver.poll_row(), None);
}

#[test]
fn what_has_no_header_does_not_count() {
    let mut receiver = receiver(milliseconds(100));
    receiver.handle_datagram(milliseconds(1) + TO_DATE, &[0; 11], 11);
    receiver.finish(milliseconds(100) + TO_DATE);
    assert_eq!(receiver.poll_row().unwrap().received, 0);
}

#[test]
fn numbers_go_on_past_their_field() {
    let mut receiver = receiver(milliseconds(100));
    let now = milliseconds(1) + TO_DATE;
    // Up to the field's end in steps that it can tell from going back.
    for number in [1, 1 << 30, 1 << 31, 3 << 30, u32::MAX, 3] {
        receiver.handle_datagram(now, &Header { sent: now, number }.emit(), OCTETS);
    }
    receiver.finish(milliseconds(100) + TO_DATE);
    let row = receiver.poll_row().unwrap();
    assert_eq!((row.received, row.lost), (6, (1 << 32) + 3 - 6));
}

#[test]
fn a_counted_flow_ends() {
    let mut sender = sender(Some(2));
    for at in [EPOCH, EPOCH + INTERVAL] {
        assert_eq!(sender.next_deadline(), Some(at));
        assert_eq!(sender.poll_datagram(Instant(at.0 - 1)), None, "not yet");
        let header = Header::parse(sender.poll_datagram(at).unwrap()).unwrap();
        assert_eq!(header.sent, at + TO_DATE);
    }
    assert_eq!(sender.next_deadline(), None);
    assert_eq!(sender.poll_datagram(Instant::MAX), None);
}

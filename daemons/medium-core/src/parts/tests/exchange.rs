// SPDX-License-Identifier: Apache-2.0 OR MIT

use alloc::vec;

use hoplab_base::Duration;

use super::super::{Effect, Exchange, Ppdu, Response, Sent, Setup};
use super::{arrived, frame, rates, setup, us};
use crate::step::Step;
use crate::timing::{Answer, RTS_BYTES};
use crate::{AirKind, Frame, Outcome, Params, RadioId, To};

fn serving(frame: Frame) -> Exchange {
    let mut exchange = Exchange::default();
    exchange.begin(frame);
    exchange
}

/// The radio's turn: what it sends, and the wait that follows it.
fn turn(exchange: &mut Exchange, setup: &Setup) -> (Ppdu, u64) {
    let ppdu = exchange.turn(setup).expect("a frame is in service");
    match exchange.sent(&ppdu, true, us(0), setup) {
        Sent::Waits(wake) => (ppdu, wake.generation),
        other => panic!("an answer is awaited, not {other:?}"),
    }
}

#[test]
fn data_wait_for_an_acknowledgement() {
    let (setup, mut exchange) = (setup(), serving(frame(5)));
    let (ppdu, _) = turn(&mut exchange, &setup);
    assert_eq!(
        (ppdu.kind(), ppdu.bytes, ppdu.attempt),
        (AirKind::Data, 1000, 1)
    );
    assert_eq!(ppdu.nav, setup.timing.answered(Answer::Ack, ppdu.rate));
    assert!(!exchange.answered(Answer::Cts));
    assert!(exchange.answered(Answer::Ack));
    let done = exchange.finish(Outcome::Acked).unwrap();
    assert_eq!((done.frame, done.tries), (5, [1, 0, 0, 0]));
    assert!(exchange.frame().is_none());
}

#[test]
fn a_broadcast_waits_for_nothing() {
    let setup = setup();
    let mut exchange = serving(Frame {
        to: To::Everyone,
        rates: rates(&[(1, true)]),
        ..frame(1)
    });
    let ppdu = exchange.turn(&setup).unwrap();
    assert_eq!(
        (ppdu.kind(), ppdu.nav),
        (AirKind::Broadcast, Duration::ZERO)
    );
    let over = exchange.sent(&ppdu, true, us(0), &setup);
    assert_eq!(over, Sent::IsOver);
}

#[test]
fn an_rts_reserves_the_whole_exchange_and_data_follow_its_cts() {
    let setup = setup();
    let mut exchange = serving(Frame {
        rates: rates(&[(7, true)]),
        ..frame(1)
    });
    let (rts, _) = turn(&mut exchange, &setup);
    assert_eq!((rts.kind(), rts.bytes), (AirKind::Rts, RTS_BYTES));
    let data = setup.params.phy.duration(1000, rts.rate);
    let data = setup.timing.acknowledged(Answer::Ack, data, rts.rate);
    assert_eq!(rts.nav, setup.timing.nav_of_rts(data, rts.rate));
    assert!(exchange.answered(Answer::Cts));
    let response = Response {
        step: Step::Data,
        to: RadioId::new(1),
        rate: rts.rate,
        width: rts.width,
        nav: Duration::ZERO,
        block_ack: None,
        agreement: None,
        deliver: vec![],
    };
    let ppdu = exchange.answer(&response, &setup).unwrap();
    // The try is the one that the RTS has begun.
    assert_eq!((ppdu.kind(), ppdu.attempt), (AirKind::Data, 1));
}

#[test]
fn tries_go_through_the_rate_table() {
    let setup = Setup::new(Params {
        kernel_retries: true,
        ..Params::default()
    });
    let mut exchange = serving(Frame {
        rates: rates(&[(2, false), (1, false)]),
        ..frame(1)
    });
    for (attempt, over) in [(1, false), (2, false), (3, true)] {
        let (ppdu, generation) = turn(&mut exchange, &setup);
        assert_eq!(ppdu.attempt, attempt);
        assert_eq!(exchange.timeout(generation, setup.retry_limits), Some(over));
    }
    let done = exchange.finish(Outcome::RetryLimit).unwrap();
    assert_eq!(done.tries, [2, 1, 0, 0]);
}

/// Frames above the RTS threshold count long retries, others and RTS short ones (10.3.4.4).
#[test]
fn short_and_long_retries_have_their_own_limits() {
    let setup = setup();
    let tries_of = |rts: bool, cts_comes: bool| {
        let mut exchange = serving(Frame {
            rates: rates(&[(7, rts)]),
            ..frame(1)
        });
        (1..).find(|_| {
            let (ppdu, mut generation) = turn(&mut exchange, &setup);
            if rts && cts_comes {
                assert!(exchange.answered(Answer::Cts));
                let data = Ppdu {
                    step: Step::Data,
                    ..ppdu
                };
                let Sent::Waits(wake) = exchange.sent(&data, true, us(0), &setup) else {
                    panic!("data wait for an acknowledgement");
                };
                generation = wake.generation;
            }
            exchange.timeout(generation, setup.retry_limits).unwrap()
        })
    };
    assert_eq!(tries_of(false, false), Some(7));
    assert_eq!(tries_of(true, false), Some(7));
    assert_eq!(tries_of(true, true), Some(4));
}

#[test]
fn a_timeout_that_an_answer_has_overtaken_means_nothing() {
    let (setup, mut exchange) = (setup(), serving(frame(1)));
    let (_, generation) = turn(&mut exchange, &setup);
    assert!(exchange.answered(Answer::Ack));
    assert_eq!(exchange.timeout(generation, setup.retry_limits), None);
}

#[test]
fn a_radio_that_is_off_waits_for_nothing() {
    let (setup, mut exchange) = (setup(), serving(frame(1)));
    let ppdu = exchange.turn(&setup).unwrap();
    let sent = exchange.sent(&ppdu, false, us(0), &setup);
    assert_eq!(sent, Sent::Nothing);
    assert_eq!(exchange.abandon().map(|frame| frame.id), Some(1));
}

#[test]
fn bystanders_get_the_frame_when_its_exchange_is_over() {
    let mut exchange = serving(frame(1));
    exchange.overheard_by(RadioId::new(2), arrived(0, 1));
    exchange.overheard_by(RadioId::new(3), arrived(0, 1));
    let mut effects = vec![];
    exchange.hand_up_overheard(&mut effects);
    let up = |to| Effect::HandUp {
        to: RadioId::new(to),
        arrived: arrived(0, 1),
    };
    assert_eq!(effects, [up(2), up(3)]);
}

/// A driver that learns nothing for so long may sleep.
#[test]
fn nothing_comes_of_a_turn_before_the_acknowledgement_has_ended() {
    let (setup, exchange) = (setup(), serving(frame(1)));
    let rate = frame(1).rates[0].rate;
    let data = setup.params.phy.duration(1000, rate);
    let ahead = exchange.ahead_of_turn(&setup);
    let acknowledged = setup.timing.acknowledged(Answer::Ack, data, rate);
    assert_eq!(ahead, Some(acknowledged));
}

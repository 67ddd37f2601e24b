// SPDX-License-Identifier: Apache-2.0 OR MIT

use alloc::vec;

use hoplab_base::Duration;

use super::super::{Effect, Exchange, Ppdu, Sent, Setup};
use super::{arrived, setup, us};
use crate::step::Step;
use crate::timing::Answer;
use crate::{RadioId, To};

/// Data for radio 1.
fn data(exchange: &Exchange, setup: &Setup) -> Ppdu {
    let to = To::Radio(RadioId::new(1));
    exchange.control(Step::Data, to, 1000, Duration::ZERO, setup)
}

/// Data are sent. Returns the number of the wait that follows.
fn send(exchange: &mut Exchange, setup: &Setup) -> u64 {
    let ppdu = data(exchange, setup);
    match exchange.sent(&ppdu, true, us(0), setup) {
        Sent::Waits(wake) => wake.generation,
        other => panic!("an answer is awaited, not {other:?}"),
    }
}

#[test]
fn data_wait_for_an_acknowledgement() {
    let (setup, mut exchange) = (setup(), Exchange::default());
    send(&mut exchange, &setup);
    assert!(!exchange.answered(Answer::Cts));
    assert!(exchange.answered(Answer::Ack));
    assert_eq!(exchange.awaited(), None);
}

#[test]
fn a_broadcast_waits_for_nothing() {
    let (setup, mut exchange) = (setup(), Exchange::default());
    let ppdu = Ppdu {
        to: To::Everyone,
        ..data(&exchange, &setup)
    };
    let over = exchange.sent(&ppdu, true, us(0), &setup);
    assert_eq!(over, Sent::IsOver);
}

#[test]
fn a_timeout_that_an_answer_has_overtaken_means_nothing() {
    let (setup, mut exchange) = (setup(), Exchange::default());
    let generation = send(&mut exchange, &setup);
    assert!(exchange.answered(Answer::Ack));
    send(&mut exchange, &setup);
    assert_eq!(exchange.overdue(generation), None);
    assert_eq!(exchange.awaited(), Some(Answer::Ack));
    assert_eq!(exchange.overdue(generation + 2), Some(Answer::Ack));
}

#[test]
fn a_radio_that_is_off_waits_for_nothing() {
    let (setup, mut exchange) = (setup(), Exchange::default());
    let ppdu = data(&exchange, &setup);
    let sent = exchange.sent(&ppdu, false, us(0), &setup);
    assert_eq!(sent, Sent::Nothing);
}

#[test]
fn bystanders_get_the_frame_when_its_exchange_is_over() {
    let mut exchange = Exchange::default();
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

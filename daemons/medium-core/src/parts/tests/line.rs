// SPDX-License-Identifier: Apache-2.0 OR MIT

use alloc::vec::Vec;

use super::super::exchange::Numbers;
use super::super::{Batch, Line, Link, Setup};
use super::{frame, rates, setup};
use crate::timing::Answer;
use crate::{Frame, Outcome, Params, To};

/// A line whose only frame is in service.
fn serving(frame: Frame) -> Line {
    let mut line = Line::default();
    line.serve(frame, &mut Numbers::default());
    line
}

/// The line's turn: a try of what it sends.
fn turn(line: &mut Line, setup: &Setup) -> Batch {
    let next = line.next(
        &mut Numbers::default(),
        None,
        true,
        None,
        Link::only(),
        setup,
    );
    let batch = next.expect("a frame is in service");
    line.try_once(&batch);
    batch
}

/// The answer did not come. Whether the frame is given up.
fn fail(line: &mut Line, batch: &Batch, missing: Answer, setup: &Setup) -> bool {
    let mut done = Vec::new();
    line.fail(batch, missing, setup.retry_limits, |finished| {
        done.push(finished.outcome);
    });
    assert!(done.is_empty() || done == [Outcome::RetryLimit]);
    !done.is_empty()
}

#[test]
fn a_frame_is_done_after_its_acknowledgement() {
    let (setup, mut line) = (setup(), serving(frame(5)));
    let batch = turn(&mut line, &setup);
    assert_eq!((batch.bytes, batch.answer), (1000, Some(Answer::Ack)));
    let mut done = Vec::new();
    line.conclude(&batch, Outcome::Acked, |finished| {
        done.push((finished.frame, finished.tries));
    });
    assert_eq!(done, [(5, [1, 0, 0, 0])]);
    assert!(!line.has_work(Link::only(), &setup));
}

#[test]
fn a_broadcast_has_neither_answer_nor_rts() {
    let mut line = serving(Frame {
        to: To::Everyone,
        rates: rates(&[(1, true)]),
        ..frame(1)
    });
    let batch = turn(&mut line, &setup());
    assert_eq!((batch.answer, batch.attempts.rts), (None, false));
}

#[test]
fn tries_go_through_the_rate_table() {
    let setup = Setup::new(Params {
        kernel_retries: true,
        ..Params::default()
    });
    let mut line = serving(Frame {
        rates: rates(&[(2, false), (1, true)]),
        ..frame(1)
    });
    for (attempt, rts, over) in [(1, false, false), (2, false, false), (3, true, true)] {
        let batch = turn(&mut line, &setup);
        let made = (line.attempt(&batch), batch.attempts.rts);
        assert_eq!(made, (attempt, rts));
        assert_eq!(fail(&mut line, &batch, Answer::Ack, &setup), over);
    }
}

/// Frames above the RTS threshold count long retries, others and RTS short ones (10.3.4.4).
#[test]
fn short_and_long_retries_have_their_own_limits() {
    let setup = setup();
    let tries_of = |rts: bool, cts_comes: bool| {
        let mut line = serving(Frame {
            rates: rates(&[(7, rts)]),
            ..frame(1)
        });
        (1..).find(|_| {
            let batch = turn(&mut line, &setup);
            let missing = match (rts, cts_comes) {
                (true, false) => Answer::Cts,
                _ => Answer::Ack,
            };
            if rts && cts_comes {
                line.cleared(&batch);
            }
            fail(&mut line, &batch, missing, &setup)
        })
    };
    assert_eq!(tries_of(false, false), Some(7));
    assert_eq!(tries_of(true, false), Some(7));
    assert_eq!(tries_of(true, true), Some(4));
}

/// Lists of losses count data frames from the start of measuring on.
#[test]
fn a_frame_that_was_tried_before_measuring_has_no_number_among_data() {
    let (setup, mut line) = (setup(), serving(frame(1)));
    let batch = turn(&mut line, &setup);
    let number = |line: &Line| line.carried(&batch, &setup)[0].data_number;
    assert_eq!(number(&line), 1);
    line.forget_data_numbers();
    assert_eq!(number(&line), 0);
}

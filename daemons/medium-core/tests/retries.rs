// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose rules say how often, and with what protection, a frame is tried.

use crate::common::{after, at, attempts, category, frame, one_by_one, SECOND};
use hoplab_medium_core::{
    AirKind, Duration, Edca, LossModel, LossRule, Medium, Outcome, Output, Params, RadioId, Takes,
    To,
};

/// What goes on the air for a frame whose receiver does not hear it. It has the tries that
/// minstrel's rate table has below the RTS threshold: three plain ones, then four that ask for RTS.
fn tried(kernel_retries: bool) -> (usize, usize, [u32; 4]) {
    let params = Params {
        kernel_retries,
        ..Params::default()
    };
    let mut medium = Medium::new(params, vec![at("a", 0.0), at("b", 1000.0)], vec![]).traced();
    let mut lost = frame(1, To::Radio(RadioId::new(1)), 1000, 2.0, false);
    lost.rates = vec![attempts(2.0, 3, false), attempts(2.0, 4, true)];
    medium.enqueue(RadioId::new(0), lost);
    medium.advance(after(10 * SECOND));
    let (mut data, mut rts, mut made) = (0, 0, [0; 4]);
    let mut on_air = Duration::ZERO;
    while let Some(output) = medium.poll_output() {
        match output {
            Output::Aired(aired) => {
                on_air += aired.until.since(aired.at);
                data += usize::from(aired.kind == AirKind::Data);
                rts += usize::from(aired.kind == AirKind::Rts);
            }
            Output::Status { tries, airtime, .. } => {
                made = tries;
                assert_eq!(airtime, on_air, "all that was on the air was this frame's");
            }
            _ => {}
        }
    }
    (data, rts, made)
}

#[test]
fn the_kernels_table_is_followed_entry_by_entry() {
    assert_eq!(tried(true), (3, 4, [3, 4, 0, 0]));
}

/// A frame below the threshold has no RTS and the short limit of 7 (10.3.2.9, 10.3.4.4).
#[test]
fn by_the_standard_the_first_entry_says_whether_rts_protects() {
    assert_eq!(tried(false), (7, 0, [3, 4, 0, 0]));
}

/// What goes on the air for a frame whose data are all lost, and every other CTS with them. Returns
/// kinds with the number of the try.
fn tried_with_every_other_cts(edca: Option<Edca>) -> (Vec<(AirKind, u32)>, Option<Outcome>) {
    let params = Params {
        retry_short: 2,
        retry_long: 3,
        edca,
        ..Params::default()
    };
    let radio = RadioId::new;
    let every = LossModel::Uniform { rate: 1.0 };
    let other = LossModel::GilbertElliott {
        to_bad: 1.0,
        to_good: 1.0,
        good: 0.0,
        bad: 1.0,
        is_bad: false,
    };
    let losses = vec![
        LossRule::always(Some(radio(0)), None, every),
        LossRule {
            takes: Takes::Frames,
            ..LossRule::always(Some(radio(1)), None, other)
        },
    ];
    let mut medium = Medium::new(params, vec![at("a", 0.0), at("b", 200.0)], losses).traced();
    let mut lost = frame(1, To::Radio(radio(1)), 1000, 2.0, true);
    lost.tid = edca.map(|_| 0);
    medium.enqueue(radio(0), lost);
    medium.advance(after(SECOND));
    let (mut sent, mut end) = (Vec::new(), None);
    while let Some(output) = medium.poll_output() {
        match output {
            Output::Aired(aired) if aired.from == radio(0) => {
                sent.push((aired.kind, aired.attempt))
            }
            Output::Status { outcome, .. } => end = Some(outcome),
            _ => {}
        }
    }
    (sent, end)
}

/// A CTS shows that RTS get through, so the short count begins anew; the data go by the long one
/// (10.3.4.4). It is so by DCF and by categories.
#[test]
fn a_cts_begins_the_short_count_anew() {
    let best_effort = category(2, 31, 1023, 0);
    let categories = one_by_one([best_effort; 4]);
    for edca in [None, Some(categories)] {
        let (sent, end) = tried_with_every_other_cts(edca);
        let pair = |at| {
            [
                (AirKind::Rts, at),
                (AirKind::Rts, at + 1),
                (AirKind::Data, at + 1),
            ]
        };
        assert_eq!(sent, [pair(1), pair(3), pair(5)].concat());
        assert_eq!(end, Some(Outcome::RetryLimit));
    }
}

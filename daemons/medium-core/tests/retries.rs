// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose rules say how often, and with what protection, a frame is tried.

mod common;

use common::{after, at, attempts, frame, SECOND};
use hoplab_medium_core::{AirKind, Duration, Medium, Output, Params, RadioId, To};

/// What goes on the air for a frame whose receiver does not hear it, as minstrel has its rate
/// table below the RTS threshold: three plain tries, then four that ask for RTS.
fn tried(kernel_retries: bool) -> (usize, usize, [u32; 4]) {
    let params = Params {
        kernel_retries,
        trace: true,
        ..Params::default()
    };
    let mut medium = Medium::new(params, vec![at("a", 0.0), at("b", 1000.0)], vec![]);
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

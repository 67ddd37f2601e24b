// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each part alone: no channel, no other part.

use alloc::vec;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::{Arrived, Setup};
use crate::{Attempts, Class, Dbm, Frame, FrameId, Params, RadioId, Rate, To};

mod access;
mod exchange;
mod host;
mod line;
mod reorder;
mod sense;
mod transceiver;

fn setup() -> Setup {
    Setup::new(Params::default())
}

/// So many microseconds after time 0.
fn us(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A data frame of 1000 octets for radio 1, tried up to seven times at 1 Mbit/s.
fn frame(id: FrameId) -> Frame {
    Frame {
        id,
        to: To::Radio(RadioId::new(1)),
        bytes: 1000,
        rates: rates(&[(7, false)]),
        class: Class::Data,
        routing: false,
        tid: None,
        numbered: None,
    }
}

/// Entries of a rate table: how many tries, and whether an RTS goes first.
fn rates(entries: &[(u32, bool)]) -> Vec<Attempts> {
    let entry = |&(tries, rts)| Attempts {
        rate: Rate::DSSS_1,
        tries,
        rts,
    };
    entries.iter().map(entry).collect()
}

/// A frame of 1000 octets that was received from that radio.
fn arrived(from: usize, frame: FrameId) -> Arrived {
    Arrived {
        from: RadioId::new(from),
        frame,
        bytes: 1000,
        dbm: Dbm(-50.0),
        rate: Rate::DSSS_1,
        held: false,
    }
}

#[test]
fn a_frame_without_a_rate_of_the_standard_is_refused() {
    let (setup, mut frame) = (setup(), frame(1));
    assert!(setup.accepts(&mut frame));
    frame.rates = vec![];
    assert!(!setup.accepts(&mut frame));
    frame.rates = vec![Attempts {
        rate: Rate::OFDM_54,
        tries: 1,
        rts: false,
    }];
    assert!(!setup.accepts(&mut frame));
}

/// minstrel asks for RTS at every entry but the first.
#[test]
fn the_rts_threshold_decides_for_all_tries_of_a_frame() {
    let setup = setup();
    for first in [false, true] {
        let mut frame = frame(1);
        frame.rates = rates(&[(1, first), (1, true), (1, false)]);
        assert!(setup.accepts(&mut frame));
        assert!(frame.rates.iter().all(|entry| entry.rts == first));
    }
}

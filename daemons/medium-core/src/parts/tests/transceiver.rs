// SPDX-License-Identifier: Apache-2.0 OR MIT

use hoplab_base::{Duration, Stream};

use super::super::{Arriving, Reception, Setup, Transceiver};
use super::us;
use crate::space::{Hear, Neighbour, Span};
use crate::{Dbm, Fate, Leakage, Params, RadioId, Rate, Reception as Model};

fn transceiver() -> Transceiver {
    Transceiver::new(Stream::new(1, "fading"), Stream::new(1, "errors"))
}

fn setup(reception: Model) -> Setup {
    Setup::new(Params {
        reception,
        noise_dbm: Some(Dbm(-96.0)),
        ..Params::default()
    })
}

/// Transmission `tx` at this level, on the air for the first millisecond.
fn arriving(tx: usize, dbm: f64) -> Arriving {
    let dbm = Dbm(dbm);
    Arriving {
        signal: Neighbour {
            delay: Duration::ZERO,
            radio: RadioId::new(tx),
            dbm,
            mw: dbm.mw(),
            hear: Hear::Frame,
            span: Span::default(),
        },
        tx,
        rate: Rate::DSSS_1,
        begins: us(0),
        ends: us(1000),
        preamble: Duration::from_micros(192),
        aggregate: false,
        beams: 1,
        together: None,
    }
}

/// One that has locked on transmission 1 at this level.
fn locked(dbm: f64) -> Transceiver {
    let mut transceiver = transceiver();
    transceiver.add(&arriving(1, dbm), Fate::Delivered);
    transceiver.lock(Reception::new(&arriving(1, dbm), 0.0, None));
    transceiver
}

#[test]
fn a_frame_that_nothing_spoils_is_delivered_once() {
    let setup = setup(Model::Threshold);
    let mut transceiver = locked(-50.0);
    assert!(transceiver.receives(1) && !transceiver.receives(2));
    assert!(transceiver.end_reception(2, false, &[], &setup).is_none());
    let ended = transceiver.end_reception(1, false, &[], &setup).unwrap();
    assert_eq!((ended.fate, ended.worst_mw), (Fate::Delivered, 0.0));
    assert!(transceiver.end_reception(1, false, &[], &setup).is_none());
}

#[test]
fn a_radio_that_begins_to_send_is_deaf() {
    let setup = setup(Model::Threshold);
    let mut transceiver = locked(-50.0);
    transceiver.begin_sending(7);
    assert!(transceiver.is_sending() && !transceiver.receives(1));
    transceiver.end_sending();
    let ended = transceiver.end_reception(1, false, &[], &setup).unwrap();
    assert_eq!(ended.fate, Fate::Deaf);
}

#[test]
fn what_breaks_off_was_sent_by_a_radio_that_went_off() {
    let ended = locked(-50.0).end_reception(1, true, &[], &setup(Model::Threshold));
    assert_eq!(ended.unwrap().fate, Fate::Off);
}

#[test]
fn interference_is_what_is_heard_beside_the_frame() {
    let mut transceiver = locked(-50.0);
    transceiver.add(&arriving(2, -60.0), Fate::Collided);
    transceiver.add(&arriving(3, -70.0), Fate::Weak);
    transceiver.sum_interference(us(0));
    let both = Dbm(-60.0).mw() + Dbm(-70.0).mw();
    let found = transceiver.reception().unwrap().interference_mw();
    assert!((found / both - 1.0).abs() < 1e-9);
    // A signal that ends says why it was not received.
    let hearing = setup(Model::Threshold).hearing;
    let mut remove = |tx| transceiver.remove(tx, false, us(500), &hearing);
    assert_eq!(remove(2), Fate::Collided);
    assert_eq!(remove(3), Fate::Weak);
    transceiver.sum_interference(us(0));
    assert!(transceiver.reception().unwrap().interference_mw() < 1e-18);
}

#[test]
fn the_channel_is_busy_while_a_sensed_signal_is_there() {
    let mut transceiver = transceiver();
    for tx in [1, 2] {
        transceiver.add(&arriving(tx, -70.0), Fate::Weak);
        transceiver.begins_to_sense();
    }
    let hearing = setup(Model::Threshold).hearing;
    transceiver.remove(1, true, us(500), &hearing);
    assert!(transceiver.senses());
    transceiver.remove(2, true, us(500), &hearing);
    assert!(!transceiver.senses());
}

/// Bits at a ratio far above what DSSS needs come through, bits far below do not.
#[test]
fn bits_decide_where_reception_is_by_error_rate() {
    let setup = setup(Model::ErrorRate);
    let fate_at = |interference: Dbm| {
        let mut transceiver = locked(-60.0);
        let reception = transceiver.reception_mut().unwrap();
        reception.disturb(interference.mw(), us(0));
        reception.worst_mw = interference.mw();
        transceiver.count_bits(us(1000), &setup.params.phy, &setup.hearing);
        let ended = transceiver.end_reception(1, false, &[], &setup);
        ended.unwrap().fate
    };
    assert_eq!(fate_at(Dbm(-90.0)), Fate::Delivered);
    assert_eq!(fate_at(Dbm(-50.0)), Fate::Collided);
}

#[test]
fn thresholds_decide_what_is_sensed_and_what_is_decoded() {
    let hearing = setup(Model::Threshold).hearing;
    let Params {
        rx_threshold_dbm: rx,
        cs_threshold_dbm: cs,
        ..
    } = Params::default();
    assert!(hearing.senses(cs) && !hearing.senses(cs - 0.001));
    assert!(hearing.decodes(rx) && !hearing.decodes(rx - 0.001));
}

#[test]
fn leaks_make_the_channel_busy_by_their_energy_only() {
    let hearing = Setup::new(Params {
        leakage: Some(Leakage {
            ed_threshold_dbm: Dbm(-58.0),
            pairs: alloc::vec![],
        }),
        ..Params::default()
    })
    .hearing;
    let mut transceiver = transceiver();
    let mut hear = |tx, dbm| {
        let mut leak = arriving(tx, dbm);
        leak.signal.hear = Hear::Leak;
        transceiver.add(&leak, Fate::Weak);
        hearing.senses_together(transceiver.sums())
    };
    assert!(!hear(1, -60.0));
    // Twice as much is 3 dB more.
    assert!(hear(2, -60.0));
}

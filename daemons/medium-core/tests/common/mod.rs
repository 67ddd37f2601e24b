// SPDX-License-Identifier: Apache-2.0
//! What tests of the engine share.
#![allow(dead_code)] // Each test program uses a part.

use hoplab_medium_core::{Class, Frame, Medium, Nanos, Output, Station, To};

pub const SECOND: Nanos = 1_000_000_000;

pub fn at(name: &str, x_m: f64) -> Station {
    Station {
        name: name.into(),
        waypoints: vec![(0, x_m, 0.0)],
    }
}

pub fn frame(id: u64, to: To, bytes: usize, rate_mbps: f64, rts: bool) -> Frame {
    Frame {
        id,
        to,
        bytes,
        rates: vec![(rate_mbps, 7, rts)],
        class: Class::Data,
        routing: false,
    }
}

/// What saturated senders came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub delivered: u64,
    pub acked: u64,
}

/// How senders are loaded.
#[derive(Clone, Copy)]
pub struct Load {
    pub bytes: usize,
    pub rate_mbps: f64,
    pub rts: bool,
}

/// Keep the queue of every (sender, receiver) filled for `seconds`; one result per pair.
pub fn saturate(
    medium: &mut Medium,
    pairs: &[(usize, usize)],
    seconds: u64,
    load: Load,
) -> Vec<Done> {
    let mut done = vec![Done::default(); pairs.len()];
    let mut id = 0;
    let mut send = |medium: &mut Medium, pair: (usize, usize)| {
        id += 1;
        let to = To::Radio(pair.1);
        medium.enqueue(pair.0, frame(id, to, load.bytes, load.rate_mbps, load.rts));
    };
    for &pair in pairs {
        send(medium, pair);
        send(medium, pair);
    }
    let of = |radio: usize| pairs.iter().position(|pair| pair.0 == radio);
    while let Some(next) = medium.next_deadline().filter(|at| *at < seconds * SECOND) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Deliver { from, .. } => {
                    if let Some(pair) = of(from) {
                        done[pair].delivered += 1;
                    }
                }
                Output::Status { radio, outcome, .. } => {
                    if let Some(pair) = of(radio) {
                        done[pair].acked += u64::from(outcome.succeeded());
                        send(medium, pairs[pair]);
                    }
                }
                _ => {}
            }
        }
    }
    done
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Thirty moving radios whose queues are always full, until so many frames have had their status.
//! A line for each tenth of the frames with the memory of this process, since the engine must forget
//! whatever has ended.
//!
//! `cargo run --release -p hoplab-medium-core --example soak RULES FRAMES`
//!
//! RULES are `dcf` (2 Mbit/s, frame by frame) or `edca` (802.11ax at MCS 7, A-MPDUs of up to 64
//! frames in four access categories).

#[path = "../tests/common/mod.rs"]
mod common;

use common::{after, at_5_ghz, category, frame};
use hoplab_medium_core::{
    Aggregation, Attempts, Duration, Edca, Frame, Guard, Medium, Output, Params, Position, RadioId,
    Rate, Standard, Station, Stream, To, Waypoint, Width,
};

const RADIOS: usize = 30;
const WIDTH_M: f64 = 1500.0;
const DEPTH_M: f64 = 300.0;
const LINES: u64 = 10;
/// Frames in a row that a radio sends to one neighbour by one TID, so that they can go together.
const BATCH: u64 = 64;

/// How the radios send.
struct Load {
    params: Params,
    rate: Rate,
    tids: &'static [Option<u8>],
}

impl Load {
    fn dcf() -> Self {
        Self {
            params: Params::default(),
            rate: Rate::DSSS_2,
            tids: &[None],
        }
    }

    fn edca() -> Self {
        let edca = Edca {
            categories: [
                category(2, 3, 7, 1504),
                category(2, 7, 15, 3008),
                category(3, 15, 1023, 0),
                category(7, 15, 1023, 0),
            ],
            aggregation: Some(Aggregation {
                window: 64,
                octets: usize::MAX,
                start_spacing: Duration::from_micros(8),
                by_hosts: false,
            }),
            rts_threshold: usize::MAX,
        };
        let phy = at_5_ghz(Standard::He {
            signal_extension: false,
        });
        Self {
            params: Params {
                phy,
                edca: Some(edca),
                queue_packets: 2 * BATCH as usize,
                ..Params::default()
            },
            rate: Rate::he(7, 1, Width::Mhz20, Guard::Ns800).expect("a rate of HE"),
            tids: &[Some(0), Some(5), Some(6), Some(1)],
        }
    }

    /// The next frame of a radio, to another neighbour each batch.
    fn send(&self, medium: &mut Medium, radio: usize, sent: &mut u64) {
        let batch = *sent / BATCH;
        *sent += 1;
        let to = (radio + 1 + (batch as usize) % (RADIOS - 1)) % RADIOS;
        let id = *sent * RADIOS as u64 + radio as u64;
        let rates = vec![Attempts {
            rate: self.rate,
            tries: 7,
            rts: false,
        }];
        let tid = self.tids[batch as usize % self.tids.len()];
        let sent = frame(id, To::Radio(RadioId::new(to)), 1536, 1.0, false);
        medium.enqueue(RadioId::new(radio), Frame { rates, tid, ..sent });
    }
}

/// Between a place of its own and the opposite one forever, so that links come and go.
fn stations() -> Vec<Station> {
    let mut random = Stream::new(1, "soak");
    let one = |i: usize| {
        let begin = Position::new(WIDTH_M * random.unit(), DEPTH_M * random.unit());
        let turn = Position::new(WIDTH_M - begin.x_m, begin.y_m);
        let mut station = Station::at(&format!("n{i}"), begin);
        for leg in 1..=1000 {
            let to = if leg % 2 == 0 { begin } else { turn };
            let at = after(Duration::from_secs(100 * leg));
            station.waypoints.push(Waypoint::new(at, to));
        }
        station
    };
    (0..RADIOS).map(one).collect()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rules, frames] = &words[..] else {
        panic!("expected RULES FRAMES");
    };
    let load = match rules.as_str() {
        "dcf" => Load::dcf(),
        "edca" => Load::edca(),
        other => panic!("{other}: expected dcf or edca"),
    };
    let frames: u64 = frames.parse().expect("a number of frames");
    let mut medium = Medium::new(load.params.clone(), stations(), Vec::new());
    let mut sent = [0; RADIOS];
    for (radio, sent) in sent.iter_mut().enumerate() {
        for _ in 0..load.params.queue_packets / 2 {
            load.send(&mut medium, radio, sent);
        }
    }
    let mut ended = 0;
    while ended < frames {
        let next = medium.next_deadline().expect("there is always a frame");
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            if let Output::Status { radio, .. } = output {
                ended += 1;
                load.send(&mut medium, radio.index(), &mut sent[radio.index()]);
                if ended % (frames / LINES).max(1) == 0 {
                    println!("{ended} {}", resident_kb());
                }
            }
        }
    }
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let words = line.expect("a size").split_whitespace();
    words.rev().nth(1).expect("kB").parse().expect("a number")
}

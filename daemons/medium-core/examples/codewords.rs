// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often a codeword of LDPC is lost in white Gaussian noise, for each MCS of HE and EHT. That is
//! the table of `src/ldpc/errors.rs`. Codewords have 1944 bits (IEEE 802.11-2020 19.3.11.7, annex F).
//!
//! `cargo run --release --example codewords` prints it, or with numbers only those MCS.
//! What is simulated: Gray-coded square QAM
//! (27.3.12.9), soft bits by the nearest points (max-log), belief propagation with at most 12 iterations.
//! The codeword is all zeros behind a random mask, which a linear code permits and which makes the bits
//! of a QAM symbol random.

use hoplab_medium_core::Stream;

/// Rows and columns of a matrix are so many times those of its prototype.
const Z: usize = 81;
const BLOCKS: usize = 24;
const BITS: usize = Z * BLOCKS;
const ITERATIONS: usize = 12;
/// A point ends with so many lost codewords, or after so many in all.
const LOST: u32 = 300;
const MOST: u32 = 20_000;
/// The table begins where nearly all are lost, and ends where nearly none is.
const LEAST_RATE: f64 = 1e-3;
const STEP_DB: f64 = 0.25;

/// Shifts of the prototypes of annex F for 1944 bits; a dot is a block of zeros.
const HALF: &str = "\
57 . . . 50 . 11 . 50 . 79 . 1 0 . . . . . . . . . .
3 . 28 . 0 . . . 55 7 . . . 0 0 . . . . . . . . .
30 . . . 24 37 . . 56 14 . . . . 0 0 . . . . . . . .
62 53 . . 53 . . 3 35 . . . . . . 0 0 . . . . . . .
40 . . 20 66 . . 22 28 . . . . . . . 0 0 . . . . . .
0 . . . 8 . 42 . 50 . . 8 . . . . . 0 0 . . . . .
69 79 79 . . . 56 . 52 . . . 0 . . . . . 0 0 . . . .
65 . . . 38 57 . . 72 . 27 . . . . . . . . 0 0 . . .
64 . . . 14 52 . . 30 . . 32 . . . . . . . . 0 0 . .
. 45 . 70 0 . . . 77 9 . . . . . . . . . . . 0 0 .
2 56 . 57 35 . . . . . 12 . . . . . . . . . . . 0 0
24 . 61 . 60 . . 27 51 . . 16 1 . . . . . . . . . . 0";
const TWO_THIRDS: &str = "\
61 75 4 63 56 . . . . . . 8 . 2 17 25 1 0 . . . . . .
56 74 77 20 . . . 64 24 4 67 . 7 . . . . 0 0 . . . . .
28 21 68 10 7 14 65 . . . 23 . . . 75 . . . 0 0 . . . .
48 38 43 78 76 . . . . 5 36 . 15 72 . . . . . 0 0 . . .
40 2 53 25 . 52 62 . 20 . . 44 . . . . 0 . . . 0 0 . .
69 23 64 10 22 . 21 . . . . . 68 23 29 . . . . . . 0 0 .
12 0 68 20 55 61 . 40 . . . 52 . . . 44 . . . . . . 0 0
58 8 34 64 78 . . 11 78 24 . . . . . 58 1 . . . . . . 0";
const THREE_QUARTERS: &str = "\
48 29 28 39 9 61 . . . 63 45 80 . . . 37 32 22 1 0 . . . .
4 49 42 48 11 30 . . . 49 17 41 37 15 . 54 . . . 0 0 . . .
35 76 78 51 37 35 21 . 17 64 . . . 59 7 . . 32 . . 0 0 . .
9 65 44 9 54 56 73 34 42 . . . 35 . . . 46 39 0 . . 0 0 .
3 62 7 80 68 26 . 80 55 . 36 . 26 . 9 . 72 . . . . . 0 0
26 75 33 21 69 59 3 38 . . . 35 . 62 36 26 . . 1 . . . . 0";
const FIVE_SIXTHS: &str = "\
13 48 80 66 4 74 7 30 76 52 37 60 . 49 73 31 74 73 23 . 1 0 . .
69 63 74 56 64 77 57 65 6 16 51 . 64 . 68 9 48 62 54 27 . 0 0 .
51 15 0 80 24 25 42 54 44 71 71 9 67 35 . 58 . 29 . 53 0 . 0 0
16 29 36 41 44 56 59 37 50 24 . 65 4 65 52 . 4 . 73 52 1 . . 0";

/// Bits of a symbol and code of each MCS, and roughly where its codewords begin to come through.
const SCHEMES: [(usize, &str, f64); 14] = [
    (1, HALF, -3.0),
    (2, HALF, 0.0),
    (2, THREE_QUARTERS, 3.0),
    (4, HALF, 5.0),
    (4, THREE_QUARTERS, 8.5),
    (6, TWO_THIRDS, 12.5),
    (6, THREE_QUARTERS, 14.0),
    (6, FIVE_SIXTHS, 15.5),
    (8, THREE_QUARTERS, 19.0),
    (8, FIVE_SIXTHS, 21.0),
    (10, THREE_QUARTERS, 24.0),
    (10, FIVE_SIXTHS, 26.0),
    (12, THREE_QUARTERS, 30.0),
    (12, FIVE_SIXTHS, 32.0),
];

/// A row of the prototype: its blocks and how far each is shifted.
type Row = Vec<(usize, usize)>;

fn rows(prototype: &str) -> Vec<Row> {
    let row = |line: &str| {
        let shifts = line.split_whitespace().enumerate();
        shifts
            .filter_map(|(block, shift)| Some((block, shift.parse().ok()?)))
            .collect()
    };
    prototype.lines().map(row).collect()
}

/// -ln tanh(x / 2), which is its own inverse, from a table.
struct Phi(Vec<f32>);

impl Phi {
    const A_UNIT: f32 = 256.0;
    const MOST: usize = 20 * 256;
    const LEAST: f32 = 1e-3;

    fn new() -> Self {
        let value = |step: usize| {
            let x = (step as f64 / f64::from(Self::A_UNIT)).max(f64::from(Self::LEAST));
            -libm::log(libm::tanh(x / 2.0)) as f32
        };
        Self((0..=Self::MOST).map(value).collect())
    }

    fn of(&self, x: f32) -> f32 {
        let place = x * Self::A_UNIT;
        let low = place as usize;
        if low >= Self::MOST {
            return self.0[Self::MOST];
        }
        if low == 0 {
            let x = x.max(Self::LEAST);
            return -libm::logf(libm::tanhf(x / 2.0));
        }
        let above = place - low as f32;
        self.0[low] + above * (self.0[low + 1] - self.0[low])
    }
}

/// Whether a codeword of zeros is found from these soft bits, positive for a zero. All checks
/// report to their bits at once what the others say, and again.
fn decodes(rows: &[Row], heard: &[f32], messages: &mut [f32], phi: &Phi) -> bool {
    messages.fill(0.0);
    let mut soft = heard.to_vec();
    for _ in 0..ITERATIONS {
        let mut next = heard.to_vec();
        let mut edge = 0;
        for row in rows {
            for check in 0..Z {
                let bit = |&(block, shift): &(usize, usize)| block * Z + (check + shift) % Z;
                let (mut sum, mut negative) = (0.0, false);
                let mut of = [(0.0_f32, false); BLOCKS];
                for (at, place) in row.iter().enumerate() {
                    let value = soft[bit(place)] - messages[edge + at];
                    of[at] = (phi.of(value.abs()), value < 0.0);
                    sum += of[at].0;
                    negative ^= of[at].1;
                }
                for (at, place) in row.iter().enumerate() {
                    let size = phi.of(sum - of[at].0);
                    let message = if negative ^ of[at].1 { -size } else { size };
                    messages[edge + at] = message;
                    next[bit(place)] += message;
                }
                edge += row.len();
            }
        }
        soft = next;
        if soft.iter().all(|bit| *bit > 0.0) {
            return true;
        }
    }
    false
}

/// Amplitude of so many bits of an axis, Gray-coded, with points at odd numbers.
fn amplitude(bits: &[bool]) -> f64 {
    let mut index = 0;
    let mut last = false;
    for bit in bits {
        last ^= bit;
        index = 2 * index + i32::from(last);
    }
    f64::from(2 * index + 1 - (1 << bits.len()))
}

/// The points of an axis of so many bits, with the bits of each.
fn points(axis_bits: usize) -> Vec<(u32, f64)> {
    let point = |number: u32| {
        let bits: Vec<bool> = (0..axis_bits).map(|bit| number >> bit & 1 == 1).collect();
        (number, amplitude(&bits))
    };
    (0..1 << axis_bits).map(point).collect()
}

/// Send bits over an axis and say how sure each is: positive for false.
fn axis(
    points: &[(u32, f64)],
    mask: &[bool],
    deviation: f64,
    stream: &mut Stream,
    soft: &mut Vec<f32>,
) {
    let heard = amplitude(mask) + deviation * stream.gaussian();
    for (bit, masked) in mask.iter().enumerate() {
        let nearest = |value: bool| {
            let of = points
                .iter()
                .filter(|(bits, _)| (bits >> bit & 1 == 1) == value);
            of.map(|(_, place)| (heard - place) * (heard - place))
                .fold(f64::INFINITY, f64::min)
        };
        let sure = (nearest(true) - nearest(false)) / (2.0 * deviation * deviation);
        // Behind the mask every bit is a zero.
        soft.push(if *masked { -sure } else { sure } as f32);
    }
}

/// Share of codewords that is lost at this ratio in dB.
fn lost(symbol_bits: usize, rows: &[Row], phi: &Phi, db: f64, stream: &mut Stream) -> f64 {
    let axis_bits = symbol_bits.div_ceil(2);
    let mean_square = (f64::from(1 << (2 * axis_bits)) - 1.0) / 3.0;
    let axes = symbol_bits.min(2) as f64;
    // Noise of an axis; BPSK has its power in one axis, the others in two.
    let noise = axes * mean_square / libm::pow(10.0, db / 10.0) / 2.0;
    let deviation = libm::sqrt(noise);
    let edges: usize = rows.iter().map(|row| row.len() * Z).sum();
    let mut messages = vec![0.0; edges];
    let points = points(axis_bits);
    let (mut sent, mut failed) = (0, 0);
    while sent < MOST && failed < LOST {
        let mut soft = Vec::with_capacity(BITS + axis_bits);
        while soft.len() < BITS {
            let mask: Vec<bool> = (0..axis_bits).map(|_| stream.bits() & 1 == 1).collect();
            axis(&points, &mask, deviation, stream, &mut soft);
        }
        // As the interleaving of tones does: bits of a symbol are far from each other.
        for last in (1..BITS).rev() {
            let other = stream.below(last as u32 + 1) as usize;
            soft.swap(last, other);
        }
        sent += 1;
        failed += u32::from(!decodes(rows, &soft[..BITS], &mut messages, phi));
    }
    f64::from(failed) / f64::from(sent)
}

fn main() {
    let phi = Phi::new();
    let asked: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|mcs| mcs.parse().ok())
        .collect();
    for (mcs, (symbol_bits, prototype, from_db)) in SCHEMES.into_iter().enumerate() {
        if !asked.is_empty() && !asked.contains(&mcs) {
            continue;
        }
        let rows = rows(prototype);
        let mut stream = Stream::new(1, &format!("codewords of MCS {mcs}"));
        let mut db = from_db;
        while lost(symbol_bits, &rows, &phi, db, &mut stream) < 0.99 {
            db -= STEP_DB;
        }
        let mut found = Vec::new();
        loop {
            let share = lost(symbol_bits, &rows, &phi, db, &mut stream);
            if share < 0.99 {
                found.push((db, share));
            }
            if share < LEAST_RATE {
                break;
            }
            db += STEP_DB;
        }
        // What is too rare to be counted well goes on as the last that is not.
        found.retain(|(_, share)| *share >= LEAST_RATE);
        println!("    // MCS {mcs}");
        println!("    ({:.2}, &[", found[0].0);
        for (_, share) in found {
            println!("        {share:.3e},");
        }
        println!("    ]),");
    }
}

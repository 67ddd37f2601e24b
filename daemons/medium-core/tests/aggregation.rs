// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Access categories and A-MPDUs against closed formulae and a simulation of the window alone.
//! `--nocapture` prints the tables of `docs/medium-figures.md`.

use crate::common::{after, at, at_5_ghz, category, keep_waiting, SECOND};
use hoplab_medium_core::{
    Aggregation, AirKind, Attempts, Class, Duration, Edca, Frame, Guard, LossModel, LossRule,
    Medium, Modulation, Output, Params, RadioId, Rate, Standard, Stream, To, Width,
};

/// Octets of a frame beyond UDP's payload: UDP, IP, LLC and SNAP, header with QoS, FCS.
const OVERHEAD: usize = 8 + 20 + 8 + 26 + 4;
const SLOT_US: f64 = 9.0;
const SIFS_US: f64 = 16.0;
const CW_MIN: f64 = 15.0;
const SPACING_US: f64 = 8.0;
/// At 24 Mbit/s: preamble of 20 us, 22 bits of service and tail, 96 bits a symbol of 4 us.
fn control_us(octets: f64) -> f64 {
    20.0 + 4.0 * ((22.0 + 8.0 * octets) / 96.0).ceil()
}

/// At 5 GHz with the standard's categories, but this TXOP of best effort, and this window where frames
/// go together.
fn params(txop_us: u64, rts: bool, window: Option<usize>) -> Params {
    Params {
        phy: at_5_ghz(Standard::He {
            signal_extension: false,
        }),
        edca: Some(Edca {
            categories: [
                category(2, 3, 7, 1504),
                category(2, 7, 15, 3008),
                category(3, 15, 1023, txop_us),
                category(7, 15, 1023, 0),
            ],
            aggregation: window.map(|window| Aggregation {
                window,
                octets: usize::MAX,
                start_spacing: Duration::from_micros(8),
                by_hosts: false,
            }),
            rts_threshold: if rts { 0 } else { usize::MAX },
        }),
        queue_packets: 2000,
        capture_db: 1000.0,
        ..Params::default()
    }
}

/// How an A-MPDU of one sender without errors is timed (IEEE 802.11-2020 10.12, 21.4.3).
struct Formula {
    rate: Rate,
    /// Of the preamble, in us, and the tail bits of all encoders.
    preamble_us: f64,
    tail_bits: f64,
    most_octets: usize,
    /// Frames of an A-MPDU, and of what a BlockAck speaks.
    window: usize,
    /// A PSDU is an A-MPDU even where it holds one frame: of VHT and HE.
    is_vht: bool,
}

impl Formula {
    fn ppdu_us(&self, octets: usize) -> f64 {
        let guard = self.rate.scheme().map(|scheme| scheme.guard);
        if let (Modulation::He(_), Some(guard)) = (self.rate.modulation(), guard) {
            let symbol_us = 12.8 + guard.lasts().as_nanos() as f64 / 1000.0;
            let a_symbol = (self.rate.mbps() * symbol_us).round();
            let symbols = ((16.0 + 8.0 * octets as f64) / a_symbol).ceil();
            // One of these frames fills its only symbol of 13,066 data bits, 15,680 coded. They are
            // 9 codewords of 1944, with 1514 bits shortened and 302 punctured. The 302 are more
            // than a tenth of the 2916 check bits, and 1514 < 1.2 x 302 x 5. So a further symbol is
            // sent (19.3.11.7.5).
            let further = f64::from(u8::from(a_symbol == 13_066.0 && octets == 1542));
            return self.preamble_us + symbol_us * (symbols + further);
        }
        let symbol_us = if guard == Some(Guard::Ns400) {
            3.6
        } else {
            4.0
        };
        let a_symbol = self.rate.mbps() * symbol_us;
        let symbols = ((16.0 + self.tail_bits + 8.0 * octets as f64) / a_symbol - 1e-9).ceil();
        self.preamble_us + ((symbols * symbol_us) / 4.0 - 1e-9).ceil() * 4.0
    }

    /// Octets of an A-MPDU of `frames`.
    fn octets(&self, frames: usize, frame: usize) -> usize {
        if frames == 1 {
            return frame + if self.is_vht { 4 } else { 0 };
        }
        let spacing = (SPACING_US * self.rate.mbps() / 8.0).ceil() as usize;
        let padded = (4 + frame).max(spacing).next_multiple_of(4);
        (frames - 1) * padded + 4 + frame
    }

    fn exchange_us(&self, frames: usize, frame: usize, rts: bool) -> f64 {
        let bitmap = self.window as f64 / 8.0;
        let answer = if frames == 1 { 14.0 } else { 24.0 + bitmap };
        let protection = if rts {
            control_us(20.0) + SIFS_US + control_us(14.0) + SIFS_US
        } else {
            0.0
        };
        let ppdu = self.ppdu_us(self.octets(frames, frame));
        protection + ppdu + SIFS_US + control_us(answer)
    }

    /// Mbit/s of payload, and frames of the first A-MPDU.
    fn throughput(&self, payload: usize, txop_us: f64, rts: bool) -> (f64, usize) {
        self.with_frames(payload, txop_us, rts, self.window)
    }

    /// With so many frames in an A-MPDU at most.
    fn with_frames(&self, payload: usize, txop_us: f64, rts: bool, most: usize) -> (f64, usize) {
        let frame = payload + OVERHEAD;
        let largest = |left_us: Option<f64>| {
            (1..=most).rev().find(|frames| {
                let octets = self.octets(*frames, frame);
                let fits = octets <= self.most_octets && self.ppdu_us(octets) <= 5484.0;
                let exchange = self.exchange_us(*frames, frame, rts);
                fits && left_us.is_none_or(|left| exchange <= left + 1e-9)
            })
        };
        let mut cycle = SIFS_US + 3.0 * SLOT_US + CW_MIN / 2.0 * SLOT_US;
        let first = largest((txop_us > 0.0).then_some(txop_us)).unwrap_or(1);
        let (mut sent, mut spent) = (first, self.exchange_us(first, frame, rts));
        while let Some(more) = largest(Some(txop_us - spent - SIFS_US)) {
            sent += more;
            spent += SIFS_US + self.exchange_us(more, frame, rts);
        }
        cycle += spent;
        ((sent * payload) as f64 * 8.0 / cycle, first)
    }
}

const HT: (usize, usize) = (65_535, 64);
const VHT: (usize, usize) = (1_048_575, 64);
const HE: (usize, usize) = (6_500_631, 256);

fn formulas() -> Vec<(&'static str, Formula)> {
    let of = |name, rate: Option<Rate>, preamble_us, tail_bits, (most_octets, window)| {
        let rate = rate.expect("a rate of the standard");
        let is_vht = !matches!(rate.modulation(), Modulation::Ht(_));
        let formula = Formula {
            rate,
            preamble_us,
            tail_bits,
            most_octets,
            window,
            is_vht,
        };
        (name, formula)
    };
    use Guard::{Ns1600, Ns3200, Ns800};
    use Width::{Mhz160, Mhz20, Mhz40, Mhz80};
    vec![
        of("HT20 MCS 7", Rate::ht(7, Mhz20, false), 36.0, 6.0, HT),
        of(
            "HT40 MCS 15, short guard",
            Rate::ht(15, Mhz40, true),
            40.0,
            6.0,
            HT,
        ),
        of(
            "VHT80 MCS 9, two streams, short guard",
            Rate::vht(9, 2, Mhz80, true),
            44.0,
            12.0,
            VHT,
        ),
        of(
            "VHT160 MCS 8, long guard",
            Rate::vht(8, 1, Mhz160, false),
            40.0,
            12.0,
            VHT,
        ),
        // Preambles: 36 us and a long training field of 6.4 us with its guard interval each stream;
        // of 12.8 us with the longest guard interval.
        of(
            "HE20 MCS 4, guard 3.2 us",
            Rate::he(4, 1, Mhz20, Ns3200),
            36.0 + 16.0,
            0.0,
            HE,
        ),
        of(
            "HE20 MCS 11",
            Rate::he(11, 1, Mhz20, Ns800),
            36.0 + 7.2,
            0.0,
            HE,
        ),
        of(
            "HE80 MCS 9, two streams, guard 1.6 us",
            Rate::he(9, 2, Mhz80, Ns1600),
            36.0 + 2.0 * 8.0,
            0.0,
            HE,
        ),
        of(
            "HE160 MCS 11, four streams",
            Rate::he(11, 4, Mhz160, Ns800),
            36.0 + 4.0 * 7.2,
            0.0,
            HE,
        ),
    ]
}

#[test]
fn one_sender_of_aggregates_reaches_the_formula() {
    println!("rate payload txop_us rts frames measured_mbps formula_mbps deviation");
    for (name, formula) in formulas() {
        for payload in [100, 1472] {
            for txop_us in [0, 3008] {
                for rts in [false, true] {
                    let stations = vec![at("a", 0.0), at("b", 10.0)];
                    let mut medium =
                        Medium::new(params(txop_us, rts, Some(formula.window)), stations, vec![]);
                    let load = (payload + OVERHEAD, formula.rate);
                    let done = keep_waiting(&mut medium, &[(0, 1, 0)], load, 4)[0];
                    let measured = (done as usize * payload) as f64 * 8.0 / 4e6;
                    let (expected, frames) = formula.throughput(payload, txop_us as f64, rts);
                    let off = measured / expected - 1.0;
                    println!(
                        "{name} {payload} {txop_us} {rts} {frames} {measured:.2} {expected:.2} {:+.2} %",
                        100.0 * off
                    );
                    assert!(off.abs() < 0.01, "{name} {payload} {txop_us} {rts}");
                }
            }
        }
    }
}

/// AIFS is a slot longer than DIFS, and ACK go at 24 Mbit/s.
#[test]
fn one_sender_without_aggregation_waits_aifs() {
    for (name, formula) in formulas() {
        for payload in [100, 1472] {
            let stations = vec![at("a", 0.0), at("b", 10.0)];
            let mut medium = Medium::new(params(0, false, None), stations, vec![]);
            let load = (payload + OVERHEAD, formula.rate);
            let done = keep_waiting(&mut medium, &[(0, 1, 0)], load, 4)[0];
            let measured = (done as usize * payload) as f64 * 8.0 / 4e6;
            let (expected, _) = formula.with_frames(payload, 0.0, false, 1);
            let off = measured / expected - 1.0;
            println!(
                "{name} {payload} {measured:.2} {expected:.2} {:+.2} %",
                100.0 * off
            );
            assert!(off.abs() < 0.01, "{name} {payload}");
        }
    }
}

/// A simulation of the window alone. Every frame of an A-MPDU is lost by itself, and what is
/// missing goes again first. The window ends 64 after the first one missing.
fn window_alone(loss: f64, formula: &Formula, payload: usize) -> f64 {
    const EXCHANGES: usize = 40_000;
    let frame = payload + OVERHEAD;
    let largest = formula.throughput(payload, 0.0, false).1;
    let mut random = Stream::new(7, "window");
    let (mut next, mut spent_us, mut done) = (0u64, 0.0, 0u64);
    let mut missing: Vec<u64> = Vec::new();
    for _ in 0..EXCHANGES {
        let start = missing.first().copied().unwrap_or(next);
        while missing.len() < largest && next < start + 64 {
            missing.push(next);
            next += 1;
        }
        let sent = missing.len().min(largest);
        spent_us += SIFS_US + 3.0 * SLOT_US + CW_MIN / 2.0 * SLOT_US;
        spent_us += formula.exchange_us(sent, frame, false);
        let mut at = 0;
        let before = missing.len();
        missing.retain(|_| {
            at += 1;
            at > sent || random.unit() < loss
        });
        done += (before - missing.len()) as u64;
    }
    done as f64 * payload as f64 * 8.0 / spent_us
}

#[test]
fn errors_shrink_aggregates_as_the_window_alone_has_it() {
    let (name, formula) = formulas().swap_remove(1);
    println!("loss measured_mbps window_alone_mbps deviation");
    for loss in [0.01, 0.03, 0.05, 0.1, 0.2, 0.3] {
        let rule = LossRule::always(None, None, LossModel::Uniform { rate: loss });
        let mut found = 0.0;
        for seed in 1..=4 {
            let params = Params {
                seed,
                // Nothing is given up, and nobody misses a BlockAck: it is no data.
                retry_short: 100,
                retry_long: 100,
                ..params(0, false, Some(64))
            };
            let stations = vec![at("a", 0.0), at("b", 10.0)];
            let mut medium = Medium::new(params, stations, vec![rule.clone()]);
            let load = (1472 + OVERHEAD, formula.rate);
            let done = keep_waiting(&mut medium, &[(0, 1, 0)], load, 4)[0];
            found += (done as usize * 1472) as f64 * 8.0 / 4e6 / 4.0;
        }
        let expected = window_alone(loss, &formula, 1472);
        let off = found / expected - 1.0;
        println!(
            "{name} {loss} {found:.2} {expected:.2} {:+.2} %",
            100.0 * off
        );
        assert!(off.abs() < 0.02, "{loss}");
    }
}

/// Rate control tries another rate with one frame: it does not go with its neighbours.
#[test]
fn an_ampdu_has_one_rate() {
    let stations = vec![at("a", 0.0), at("b", 50.0)];
    let mut medium = Medium::new(params(0, false, Some(64)), stations, vec![]).traced();
    let rate = |mcs| Rate::ht(mcs, Width::Mhz20, false).expect("a rate of the standard");
    for id in 1..=10 {
        let tried = Attempts {
            rate: rate(if id == 5 { 4 } else { 7 }),
            tries: 7,
            rts: false,
        };
        let frame = Frame {
            id,
            to: To::Radio(RadioId::new(1)),
            bytes: 1500,
            rates: vec![tried],
            class: Class::Data,
            routing: false,
            tid: Some(0),
            numbered: None,
        };
        medium.enqueue(RadioId::new(0), frame);
    }
    let mut ampdus = vec![];
    while let Some(next) = medium.next_deadline().filter(|next| *next < after(SECOND)) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            if let Output::Aired(aired) = output {
                let frames = aired.place.map_or(1, |place| place.frames);
                if aired.kind == AirKind::Data && aired.place.is_none_or(|place| place.number == 0)
                {
                    ampdus.push((aired.rate, frames));
                }
            }
        }
    }
    assert_eq!(ampdus, [(rate(7), 4), (rate(4), 1), (rate(7), 5)]);
}
